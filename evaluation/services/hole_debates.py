"""From retrieval runs to a pool to a debate run over it, in one go."""

from collections.abc import Sequence
from decimal import Decimal

from django.contrib.auth.models import User
from django.db import transaction

from corpus.models import Benchmark, PoolBuild, RankedList, RetrievalRun
from corpus.services.pool_builds import carry_out, start_build
from debate.models import DebateRun
from debate.services.runs import start_run
from kit.errors import Refused
from kit.runs import RunStatus
from llm.endpoints import Endpoint
from llm.paying import check_budget

# A pool of more lists takes longer than a person waits for a page.
MOST_LISTS = 20_000
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
    check_budget(budget_usd, [(endpoint.name, endpoint.default_model)])
    count = RankedList.objects.filter(run__in=list(runs)).count()
    if count > MOST_LISTS:
        raise Refused(
            f"These runs hold {count:,} lists. Build the pool under Pools first, then start a "
            "debate run over it.",
            field="runs",
        )
    runs = sorted(runs, key=lambda run: run.pk)
    with transaction.atomic():
        # One at a time, also where a button is pressed twice.
        Benchmark.objects.select_for_update().get(pk=benchmark.pk)
        before = PoolBuild.objects.filter(
            benchmark=benchmark, runs=[run.pk for run in runs], depth=depth
        )
        if before.filter(status__in=_LIVE).exists():
            raise Refused("These runs are being pooled already. Look under Debate runs.")
        going = DebateRun.objects.filter(
            pool__in=before.values("pool"), status__in=_LIVE, endpoint=endpoint.name
        )
        if (found := going.order_by("-pk").first()) is not None:
            return found
        build = start_build(benchmark=benchmark, runs=runs, depth=depth, actor=actor, claim=True)
    carry_out(build)
    build.refresh_from_db()
    if build.status != RunStatus.DONE or build.pool is None:
        raise Refused(build.error or f"The build is {build.get_status_display().lower()}.")
    return start_run(
        benchmark=benchmark,
        pool=build.pool,
        endpoint=endpoint,
        rounds=rounds,
        budget_usd=budget_usd,
        actor=actor,
    )
