"""From retrieval runs to a pool to a debate run over it, in one go."""

from collections.abc import Sequence
from decimal import Decimal

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from corpus.models import Benchmark, Pool, PoolBuild, RankedList, RetrievalRun
from corpus.pools.builds import run_build, start_build
from debate.models import DebateRun
from debate.runs.services import start_run
from kit.errors import Refused
from kit.runs.models import RunStatus
from llm.endpoints import Endpoint, in_role
from llm.ledger.accounts import check_budget

# A pool of more lists takes longer than a person waits for a page.
MAX_LISTS = 20_000
_LIVE = (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.PAUSED)


def debate_holes(
    *,
    benchmark: Benchmark,
    runs: Sequence[RetrievalRun],
    endpoint: Endpoint,
    depth: int = 10,
    rounds: int = 2,
    budget_usd: Decimal | None = None,
    actor: User | None,
) -> DebateRun:
    """Pool what the runs rank highest, without the gold, and debate every pair of it.

    Asked again while these runs are debated at that depth and endpoint, it gives the debate run
    that is under way: nothing is pooled or paid twice. Raises Refused as pools, budgets and debate
    runs do; where the debate cannot start the pool stays.
    """
    endpoint = in_role(endpoint, "agents")
    check_budget(budget_usd, [(endpoint.name, endpoint.default_model)])
    count = RankedList.objects.filter(run__in=list(runs)).count()
    if count > MAX_LISTS:
        raise Refused(
            f"These runs hold {count:,} lists. Build the pool under Pools first, then start a "
            "debate run over it.",
            field="runs",
        )
    runs = sorted(runs, key=lambda run: run.pk)
    asked = PoolBuild.objects.filter(
        benchmark=benchmark, runs=[run.pk for run in runs], depth=depth
    )
    with transaction.atomic():
        _take_turns(benchmark)
        if asked.filter(status__in=_LIVE).exists():
            raise Refused("These runs are being pooled already. Look under Debate runs.")
        if (found := _going(asked, endpoint)) is not None:
            return found
        build = start_build(benchmark=benchmark, runs=runs, depth=depth, actor=actor, claim=True)
    pool = _carried_out(build)
    with transaction.atomic():
        _take_turns(benchmark)
        # Somebody may have asked when the pool was there and its debate not yet.
        return _going(asked, endpoint) or start_run(
            benchmark=benchmark,
            pool=pool,
            endpoint=endpoint,
            rounds=rounds,
            budget_usd=budget_usd,
            actor=actor,
        )


def _take_turns(benchmark: Benchmark) -> None:
    """One at a time until the transaction ends, also where a button is pressed twice."""
    Benchmark.objects.select_for_update(no_key=True).get(pk=benchmark.pk)


def _going(builds: QuerySet[PoolBuild], endpoint: Endpoint) -> DebateRun | None:
    """The debate run over a pool of these builds that is under way."""
    rows = DebateRun.objects.filter(
        pool__in=builds.values("pool"), status__in=_LIVE, endpoint=endpoint.name
    )
    return rows.order_by("-pk").first()


def _carried_out(build: PoolBuild) -> Pool:
    run_build(build)
    build.refresh_from_db()
    if build.status != RunStatus.DONE or build.pool is None:
        raise Refused(build.error or f"The build is {build.get_status_display().lower()}.")
    return build.pool
