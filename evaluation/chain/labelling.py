"""Steps of a chain that make labels and aspects: pools, debates, people, what is missing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Any

from django.db.models import QuerySet

from annotate.assignments.models import HANDED_IN
from annotate.models import (
    ActiveSpan,
    Assignment,
    CaseStatus,
    EscalationCase,
    Vote,
    VotingPlan,
    WorkState,
)
from annotate.voting.majority import QUOTA
from annotate.worked import seconds_a_query_here, seconds_a_vote_here
from corpus.models import Query
from corpus.pools.builds import start_build
from debate.adoption.services import adopt_run
from debate.filters.services import filter_report, keep_pairs
from debate.models import Debate, DebateRun
from debate.runs.forecast import forecast_plan
from debate.runs.planning import Plan, plan_run, start_planned
from evaluation.chain.effects import CURRENCY, PEOPLE
from evaluation.chain.here import Here, Kind, Lines, Settings
from evaluation.chain.source import annotated
from evaluation.experiments.services import paid_to_people, people
from evaluation.holes.next_labels import checked_name, open_proposals, pool_next
from evaluation.holes.tables import all_growth, aspect_tables
from evaluation.scores import sheets
from kit.errors import Refused
from kit.runs.models import TrackedRun


def _pool(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    return [
        start_build(
            benchmark=here.benchmark,
            runs=here.systems(settings.get("runs", ())),
            depth=settings.get("depth", 10),
            name=settings.get("name", ""),
            of_aspects=settings.get("aspects", False),
            actor=here.actor,
        )
    ]


def _left(pool: Any) -> dict[str, Any]:
    return {"pool": pool and pool.pk, "pairs": pool.entries.count() if pool else 0}


def _pairs(here: Here, runs: Sequence[Any]) -> Lines:
    if here.pool is None:
        return ()
    named = ["query__domain__name", "query__qid", "passage__pid"]
    named += ["aspect"] * here.pool.of_aspects  # asked of each aspect of a passage
    return here.pool.entries.order_by(*named, "pk").values_list(*named).iterator()


def _planned(here: Here, settings: Settings, preset: str) -> Plan | None:
    if here.pool is None:
        return None
    return plan_run(
        benchmark=here.benchmark,
        pool=here.pool,
        endpoint=here.endpoint(settings, "judge" if preset == "filter" else "agents"),
        preset=preset,
        settings=settings.get("settings"),
        budget_usd=here.budget,
    )


def _run_of(preset: str) -> dict[str, Any]:
    """Beginning and forecast of a run over the pool: of this preset, else of the step's own."""

    def begin(here: Here, settings: Settings) -> Sequence[TrackedRun]:
        plan = _planned(here, settings, preset or settings.get("preset", ""))
        if plan and settings.get("adopt") and plan.config.is_trial and plan.pool.of_aspects:
            raise Refused("Labels of a trial over aspects are not adopted: leave out adopt.")
        return [start_planned(plan=plan, actor=here.actor)] if plan else ()

    def forecast(here: Here, settings: Settings) -> dict[str, Any]:
        plan = _planned(here, settings, preset or settings.get("preset", ""))
        if plan is None:
            return {}
        told = forecast_plan(plan)
        work = told["people"]
        # Of a trial nobody is asked before its labels count.
        is_asked = settings.get("adopt", False) or not work["after_adoption"]
        people = {"cases": "cases", "votes": "votes", "people_seconds": "seconds"}
        return {name: _likely(told[name]) for name in ("calls", "usd", "seconds")} | {
            name: _likely(work[key]) for name, key in people.items() if is_asked
        }

    return {"begin": begin, "forecast": forecast}


def _likely(span: Any) -> Any:
    """Of {low, likely, high} what is likely."""
    return span.get("likely") if isinstance(span, dict) else span


def _filtered(here: Here, settings: Settings, runs: Sequence[Any]) -> dict[str, Any]:
    for run in runs:
        report = filter_report(run)
        kept = report.kept or report.failed
        return _left(keep_pairs(run=run, actor=here.actor) if kept else None)
    return {}


def _debated(here: Here, settings: Settings, runs: Sequence[Any]) -> dict[str, Any]:
    for run in runs:
        if settings.get("adopt") and run.is_trial and run.adopted_at is None:
            adopt_run(run=run, actor=here.actor)
    return {"debate": runs[0].pk} if runs else {}


def _verdicts(here: Here, runs: Sequence[Any]) -> Lines:
    named = ["query__domain__name", "query__qid", "passage__pid"]
    named += ["aspect__k"] * bool(runs and runs[0].pool.of_aspects)
    rows = Debate.objects.filter(run__in=[run.pk for run in runs])
    return rows.order_by(*named, "pk").values_list(*named, "status", "label").iterator()


def _cases(here: Here) -> QuerySet[EscalationCase]:
    debates = Debate.objects.filter(run=here.left.get("debate"), case__isnull=False)
    # Of an aspect that was removed since nobody is asked any more.
    return EscalationCase.objects.filter(pk__in=debates.values("case"), aspect__removed_at=None)


def _people_wait(here: Here, settings: Settings) -> str:
    cases = _cases(here)
    total = cases.count()
    left = total - cases.filter(status=CaseStatus.CLOSED).count()
    return f"people, who have {left:,} of {total:,} disputed pairs to decide" if left else ""


def _people_left(here: Here, settings: Settings) -> dict[str, Any]:
    """Of the cases that are open the votes that they lack, and what these take."""
    if "debate" not in here.left:
        return {}
    still = _cases(here).exclude(status=CaseStatus.CLOSED)
    cases, given = still.count(), Vote.objects.standing().filter(case__in=still).count()
    votes = max(cases, QUOTA * cases - given)  # who abstains, or differs, makes more necessary
    pace, _ = seconds_a_vote_here(VotingPlan.objects.current(here.benchmark))
    return {"cases": cases, "votes": votes, "people_seconds": votes * pace}


def _decided(here: Here, runs: Sequence[Any]) -> Lines:
    named = ("query__domain__name", "query__qid", "passage__pid", "aspect__k", "label")
    return _cases(here).order_by(*named, "pk").values_list(*named).iterator()


def _named(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    if settings.get("next"):
        checked_name(here.benchmark, settings.get("name", ""))
    return ()


def cost_of_votes(here: Here) -> dict[str, Any]:
    """What the timed votes on the cases of the latest debate cost by the voting plan, and in which
    currency; nothing where it states no pay."""
    run = DebateRun.objects.filter(pk=here.left.get("debate") or 0).first()
    if run is None:
        return {}
    *_, seconds = people(run, set(run.debates.values_list("pk", flat=True)))
    return _paid(here, seconds)


def cost_of_experts(here: Here, start: datetime, end: datetime) -> dict[str, Any]:
    """The same of the time in which experts and reviewers were at work on queries meanwhile."""
    queries = Query.objects.in_benchmark(here.benchmark).filter(domain__is_ready=True)
    spans = ActiveSpan.objects.filter(query__in=queries, end__gt=start, start__lt=end)
    seconds = (
        (min(end, to) - max(start, at)).total_seconds()
        for at, to in spans.order_by().values_list("start", "end")
    )
    return _paid(here, sum(seconds))


def _paid(here: Here, seconds: float) -> dict[str, Any]:
    plan = VotingPlan.objects.current(here.benchmark)
    paid = paid_to_people(seconds, plan)
    return {} if paid is None else {PEOPLE: paid, CURRENCY: plan.currency}


def _next(here: Here, settings: Settings, runs: Sequence[Any]) -> dict[str, Any]:
    count = settings.get("next", 0)
    if not count:
        return {}
    version = here.ranked  # whose ids the chain's pools hold
    if not open_proposals(here.benchmark, version).exists():
        return _left(None)
    name = settings.get("name", "")
    made = pool_next(
        benchmark=here.benchmark, count=count, name=name, version=version, actor=here.actor
    )
    return _left(made)


def _missing(here: Here, runs: Sequence[Any]) -> Lines:
    """How the find grows and what is thin, as the page of holes tells it; the next labels."""
    sheet = sheets.latest(here.benchmark, here.ranked)
    for table in [all_growth(sheet), *aspect_tables(sheet)] if sheet else ():
        for row in table.rows:
            yield [cell.value for cell in row]
    yield from _pairs(here, runs)


@dataclass(frozen=True)
class _Queries:
    """Waiting until experts have brought a share of the queries into one of these states."""

    states: Sequence[str]
    words: str
    by_reviewers: bool = False

    def _count(self, here: Here, settings: Settings) -> tuple[int, int, float]:
        """How many are there, of how many, and which share is wanted. Raises Refused."""
        total = Query.objects.in_benchmark(here.benchmark).filter(domain__is_ready=True).count()
        rows = Assignment.objects.in_benchmark(here.benchmark)
        wanted = settings.get("share", 1.0)
        if isinstance(wanted, bool) or not isinstance(wanted, int | float) or not 0 <= wanted <= 1:
            raise Refused("share is a number from 0 to 1.")
        return rows.filter(state__in=self.states).count(), total, wanted

    def left(self, here: Here, settings: Settings) -> dict[str, Any]:
        """Of the forecast: queries, and the time of those so far where any was timed."""
        done, total, wanted = self._count(here, settings)
        queries = max(0, ceil(round(wanted * total, 6)) - done)
        pace = seconds_a_query_here(here.benchmark, of_reviewers=self.by_reviewers)
        return {"queries": queries, "people_seconds": None if pace is None else queries * pace}

    def wait(self, here: Here, settings: Settings) -> str:
        """What is waited for, in words."""
        done, total, wanted = self._count(here, settings)
        if done >= round(wanted * total, 6):  # .28 * 25 is more than 7
            return ""
        return f"experts: {done:,} of {total:,} queries are {self.words}, {wanted:.0%} are wanted"


def _annotated(here: Here, runs: Sequence[Any]) -> Lines:
    return annotated(here.benchmark)


_SUBMITTED = _Queries(HANDED_IN, "submitted")
_ACCEPTED = _Queries((WorkState.ACCEPTED, WorkState.ANSWERED), "accepted", by_reviewers=True)
LABELLING = {
    "pool": Kind(_pool, lambda here, settings, runs: _left(runs[0].pool), _pairs),
    "filter": Kind(leave=_filtered, lines=_pairs, **_run_of("filter")),
    "debate": Kind(leave=_debated, lines=_verdicts, **_run_of("")),
    "people": Kind(lines=_decided, waits=_people_wait, forecast=_people_left),
    "holes": Kind(_named, _next, _missing),
    "aspects": Kind(lines=_annotated, waits=_SUBMITTED.wait, forecast=_SUBMITTED.left),
    "review": Kind(lines=_annotated, waits=_ACCEPTED.wait, forecast=_ACCEPTED.left),
}
