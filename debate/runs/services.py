"""Starting debate runs, and debating again what failed: one pair, or one kind of failure.

Only pairs without an outcome of the debate can be tried again. An answer that was paid for comes
from the ledger, so a pair that was agreed, disputed or unreadable would end in the same way."""

from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import QuerySet

from annotate.models import Aspect
from corpus.models import Benchmark, Pool
from corpus.pools.services import reference_labels
from debate.models import Debate, DebateFlag, DebateRun, DebateStatus, RunKind, Turn
from debate.runs.configuration import (
    ASPECTS,
    PAIRS,
    SIMULATED,
    STANCES,
    BadConfig,
    ModelChoice,
    RunConfig,
    as_json,
    check,
    role_of,
)
from debate.runs.kinds import prompts_of
from debate.runs.models import MAX_TOKENS
from debate.runs.prompts import prompt_numbered
from kit import audit
from kit.errors import Refused
from kit.runs.models import RunStatus, begin, wake
from kit.runs.moves import move_run
from llm import endpoints
from llm.endpoints import Endpoint
from llm.ledger.accounts import set_budget
from llm.profiles import likely_thoughts


def start_run(
    *,
    benchmark: Benchmark,
    pool: Pool,
    endpoint: Endpoint,
    actor: User | None,
    name: str = "",
    rounds: int = 2,
    config: RunConfig | None = None,
    prompt_version: int | None = None,
    budget_usd: Decimal | None = None,
    claimed: bool = False,
    reheard_of: DebateRun | None = None,
) -> DebateRun:
    """Make a run over every pair of the pool and wake a worker.

    `config` says what is done with the pairs; without one two agents debate for `rounds`.
    `endpoint` with its model is asked wherever the configuration names none. `claimed` keeps
    the run for the calling process (a command drives it itself). `reheard_of` is the run whose
    disputes are debated again (debate/rehearings). `prompt_version` is that of the
    debate prompt, the newest where none is named. Raises Refused for an empty pool, a
    configuration that cannot be, an endpoint that is not set up, simulated LARA over pairs
    without a known label, or a budget that cannot be kept.
    """
    config = replace(config or RunConfig(rounds=rounds), about=about_of(pool))
    config = name_models(config, endpoint)
    check_pool(benchmark, pool, config)
    version, prompt = prompt_numbered(benchmark, prompt_version)
    prompts = prompts_of(config, debate_turn=prompt)
    main = next(iter(prompts.values()), None)
    with transaction.atomic():
        run = DebateRun.objects.create(
            benchmark=benchmark,
            pool=pool,
            name=name[:120] or _name(pool, config),
            **_columns(config, endpoint),
            config=as_json(config) | {"prompts": {k: p.sha256 for k, p in prompts.items()}},
            prompt_version=version if main is prompt else main.version if main else 0,
            prompt_sha256=main.sha256 if main else "",
            created_by=actor,
            reheard_of=reheard_of,
            max_tokens=max(
                _longest(choice, config) for choice in config.everybody or [ModelChoice("", "")]
            ),
            calls_in_flight=settings.ASSAY_CALLS_IN_FLIGHT,
        )
        run.total = _add_debates(run, pool)
        run.save(update_fields=["total"])
        audit.record(actor=actor, verb="start debate run", target=run, scope=benchmark.slug)
        if budget_usd is not None:
            set_budget(run, budget_usd, actor=actor, scope=benchmark.slug)
        begin(run, claimed=claimed)
    return run


def retry_failed(*, run: DebateRun, actor: User) -> None:
    """Debate the failed pairs of a finished or failed run again, and what still waits with them.

    Turns so far are dropped from the run; the ledger keeps it, and answers that
    were paid for are not paid again. Raises Refused where no pair has failed.
    """
    with transaction.atomic():
        over = (RunStatus.DONE, RunStatus.FAILED)
        verb = "retry failed debates"
        move_run(run, RunStatus.QUEUED, actor=actor, verb=verb, sources=over)
        if not _begin_anew(run.debates.filter(status=DebateStatus.FAILED)):
            raise Refused("No pair of this run has failed.")
        run.done = run.debates.exclude(status=DebateStatus.WAITING).count()
        run.save(update_fields=["done"])
        wake(run)


def _begin_anew(pairs: QuerySet[Debate]) -> int:
    """Set pairs waiting, without their turns; how many."""
    Turn.objects.filter(debate__in=pairs).delete()
    DebateFlag.objects.filter(debate__in=pairs).delete()
    waiting = {"status": DebateStatus.WAITING, "round": None, "error": "", "error_class": ""}
    return pairs.update(**waiting, judgment=None, support=None, ended_at=None)


def about_of(pool: Pool) -> str:
    """What a run over the pool asks."""
    return ASPECTS if pool.of_aspects else PAIRS


def name_models(config: RunConfig, endpoint: Endpoint) -> RunConfig:
    """The configuration with every model named. Raises Refused."""
    try:
        check(config)
    except BadConfig as fault:
        raise Refused(str(fault), field=fault.field) from None
    # Asked here alone: runs that had been started with it before are still read.
    if config.kind != RunKind.DEBATE and config.first != STANCES[0]:
        raise Refused("Only the agents of a debate open with a stance.", field="first")
    agents = tuple(replace(s, endpoint=s.endpoint or endpoint.name) for s in config.agents)
    judge = config.adjudicator
    if judge:
        judge = replace(judge, endpoint=judge.endpoint or endpoint.name)
    config = replace(config, agents=agents, adjudicator=judge)
    placed = endpoints.in_role(endpoint, role_of(config.kind))
    return config.with_models(placed.default_model, placed.name)


def _columns(config: RunConfig, endpoint: Endpoint) -> dict[str, Any]:
    """What lists show of the configuration."""
    first = config.agents[0] if config.agents else ModelChoice("", endpoint.name)
    return {
        "kind": config.kind,
        "preset": config.preset,
        "is_trial": config.is_trial,
        "endpoint": first.endpoint,
        "model": first.model,
        "practice": bool(config.agents) and _has_practice(config, endpoint),
        "rounds": config.rounds,
        "temperature": config.temperature,
    }


def _longest(choice: ModelChoice, config: RunConfig) -> int:
    """What an answer of that model gets where the run names no length: its thoughts count too."""
    return MAX_TOKENS + likely_thoughts(choice.model, config.reasoning_effort)


def _has_practice(config: RunConfig, endpoint: Endpoint) -> bool:
    """Whether any of the models is the practice model. Raises Refused for an unknown endpoint."""
    names = {choice.endpoint for choice in config.everybody} - {endpoint.name}
    others = [endpoints.get(name, field="agents") for name in names]
    return any(each.is_practice for each in (endpoint, *others))


def _name(pool: Pool, config: RunConfig) -> str:
    # A pool may be named after a long file.
    start = pool.name[:80]
    if config.preset:
        return f"{start}, {config.preset}"
    if config.kind != RunKind.DEBATE:
        return f"{start}, {RunKind(config.kind).label}"
    count = len(config.agents)
    agents = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}[count]
    return f"{start}, {agents} agents, {config.rounds} rounds"


def check_pool(benchmark: Benchmark, pool: Pool, config: RunConfig) -> None:
    """Raises Refused for a pool that a run of this configuration cannot judge."""
    if pool.benchmark_id != benchmark.pk:
        raise Refused("This pool belongs to another benchmark.", field="pool")
    count = pool.entries.count()
    if not count:
        raise Refused("This pool has no pairs. Import pairs first.", field="pool")
    if config.kind == RunKind.LARA and config.lara.mode == SIMULATED:
        unknown = count - len(reference_labels(pool))
        if unknown:
            raise Refused(
                f"LARA is simulated over known labels; {unknown} of the pool's {count} pairs "
                "have none, neither in the imported gold nor from people. Let people label its "
                "picks instead (mode live or at_once).",
                field="pool",
            )


def _add_debates(run: DebateRun, pool: Pool) -> int:
    """One INSERT ... SELECT, so that a large pool costs one statement; how many.

    An aspect that was removed since the pool was built is not asked about.
    """
    debates, entries = Debate._meta.db_table, pool.entries.model._meta.db_table
    aspects = Aspect._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {debates} "  # noqa: S608
            "(run_id, query_id, passage_id, aspect_id, status, error) "
            f"SELECT %s, e.query_id, e.passage_id, a.id, 'waiting', '' FROM {entries} e "
            f"LEFT JOIN {aspects} a ON a.query_id = e.query_id AND a.k = e.aspect "
            "AND a.removed_at IS NULL "
            "WHERE e.pool_id = %s AND (e.aspect IS NULL OR a.id IS NOT NULL) ORDER BY e.id",
            [run.pk, pool.pk],
        )
    return run.debates.count()


_AGAIN: Final = (DebateStatus.FAILED, DebateStatus.SKIPPED_NO_ANSWER)
# A run that is over goes back into the queue; in these the pairs only wait with the others.
_WAITS: Final = (RunStatus.QUEUED, RunStatus.PAUSED)
_OVER: Final = (RunStatus.DONE, RunStatus.FAILED)


def requeue_pair(*, run: DebateRun, debate: Debate, actor: User | None) -> None:
    """Debate one pair of the run again.

    Turns so far are dropped from the run; the ledger keeps it, and answers that were
    paid for are not paid again. Raises Refused for a pair that has an outcome, and while the run
    is at work or cancelled.
    """
    with transaction.atomic():
        pairs = run.debates.filter(pk=debate.pk, status__in=_AGAIN)
        if not _requeue(run, pairs, actor, {"debate": debate.pk}):
            raise Refused(
                "Only a pair that failed or had no answers can be debated again: "
                "the paid answers of any other would lead to the same end."
            )


def requeue_failures(*, run: DebateRun, error_class: str, actor: User | None) -> int:
    """Debate all pairs again that failed in this way (llm.errors.ErrorClass); how many.

    Raises Refused where there is none, and while the run is at work or cancelled.
    """
    with transaction.atomic():
        pairs = run.debates.filter(status=DebateStatus.FAILED, error_class=error_class)
        count = _requeue(run, pairs, actor, {"error_class": error_class})
        if not count:
            raise Refused("No pair of this run failed in this way.", field="error_class")
    return count


def _requeue(
    run: DebateRun, pairs: QuerySet[Debate], actor: User | None, what: dict[str, object]
) -> int:
    """Set the pairs waiting and wake the run, inside the caller's transaction."""
    # Held until the end: a worker that claims the run meanwhile sees the pairs waiting.
    DebateRun.objects.select_for_update().get(pk=run.pk)
    run.refresh_from_db()
    if run.status == RunStatus.RUNNING:
        raise Refused("This run is at work. Pause it first, or wait until it is done.")
    if run.status not in (*_WAITS, *_OVER):
        raise Refused(f"This run is {run.get_status_display().lower()}.")
    count = _begin_anew(pairs)
    if not count:
        return 0
    done = run.debates.exclude(status=DebateStatus.WAITING).count()
    if run.status in _OVER:
        run.move(RunStatus.QUEUED, sources=_OVER, done=done)
        wake(run)
    else:
        run.done = done
        run.save(update_fields=["done"])
    audit.record(actor, "requeue debates", run, run.benchmark.slug, {**what, "pairs": count})
    return count
