"""Comparing debate runs over the same pairs (DREAM's Table 1; docs/protocol.md 2.8, 6.9, 1.4).

What the pairs of an experiment cost: models by role, round, task and retriever, and people."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, TypeAlias

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Count, Q, Sum
from django.urls import reverse

from annotate.models import Vote, VotingPlan
from corpus.models import Benchmark, Pool
from debate.measures import Comparison, Timing, compare, timing
from debate.models import DebateRun
from debate.references import Reference, judged, reference_called
from debate.runs.figures import pairs_url, run_spending
from debate.runs.trajectories import Trajectory, trajectories
from evaluation.experiments.models import Experiment
from kit import audit
from kit.errors import Refused
from kit.lists.report_tables import Cell, ReportTable, measured, percent, text

Part: TypeAlias = tuple[str, str]
# What a debate asks: query, passage, and the number of the aspect, None where it is about answers.
Asked: TypeAlias = tuple[int, int, int | None]
Systems: TypeAlias = Mapping[Asked, tuple[str, ...]]
Votes: TypeAlias = tuple[int, int, int, float]
KINDS: Final = ("role", "round", "task", "retriever")


@dataclass
class Cost:
    """What a part of some pairs costs; unknown where an answer has no price."""

    pairs: set[int] = field(default_factory=set)
    seconds: float = 0.0
    usd: Decimal = Decimal(0)
    unpriced: int = 0

    @property
    def known_usd(self) -> float | None:
        """The cost, where it is known."""
        return None if self.unpriced else float(self.usd)


class Parts:
    """Adds pairs of a run up by their parts."""

    def __init__(self, run: DebateRun, debates: set[int], systems: Systems) -> None:
        self.costs: dict[Part, Cost] = defaultdict(Cost)
        rows = run.debates.order_by().values_list("pk", "query_id", "passage_id", "aspect__k")
        self._systems = systems
        self._asked: dict[int, Asked] = {
            pk: (query, passage, k) for pk, query, passage, k in rows if pk in debates
        }
        named = run.debates.order_by().values_list("query_id", "query__domain__name").distinct()
        self._tasks: dict[int, str] = dict(named)

    def counted(self, pairs: Iterable[Trajectory]) -> Iterator[Trajectory]:
        """The same pairs, each counted as it passes."""
        for pair in pairs:
            asked = self._asked[pair.debate]
            whole = [("task", self._tasks[asked[0]])]
            whole += [("retriever", each) for each in self._systems.get(asked, ())]
            for (number, agent), seconds in pair.seconds.items():
                for part in (("role", agent), ("round", str(number)), *whole):
                    cost = self.costs[part]
                    cost.pairs.add(pair.debate)
                    cost.seconds += seconds
                    cost.usd += pair.priced.get((number, agent), Decimal(0))
                    cost.unpriced += pair.unpriced.get((number, agent), 0)
            yield pair


def people(run: DebateRun, debates: set[int]) -> Votes:
    """What people gave to these pairs: cases, standing votes, those that were timed, and the
    seconds these took. A case that two runs share counts for each."""
    cases = {
        case
        for pk, case in run.debates.filter(case__isnull=False).values_list("pk", "case")
        if pk in debates
    }
    timed = Q(elapsed_ms__isnull=False, abandoned=False)
    found = Vote.objects.standing().filter(case__in=cases).order_by()
    sums = found.aggregate(
        votes=Count("pk"), timed=Count("pk", filter=timed), ms=Sum("elapsed_ms", filter=timed)
    )
    return len(cases), sums["votes"], sums["timed"], (sums["ms"] or 0) / 1000


def parts_table(runs: Sequence[tuple[str, dict[Part, Cost]]]) -> ReportTable:
    """What the models of each run took, part by part."""
    rows = [
        (
            text(name),
            *(text(kind.capitalize()), text(part)),
            *(Cell(len(cost.pairs)), Cell(round(cost.seconds, 3), "seconds")),
            Cell(cost.known_usd, "usd"),
            Cell(None if cost.known_usd is None else cost.known_usd / len(cost.pairs), "usd"),
        )
        for name, parts in runs
        for kind in KINDS
        for (of, part), cost in sorted(parts.items())
        if of == kind
    ]
    return ReportTable(
        name="parts",
        title="Cost of models by role, round, task and retriever",
        header=("Run", "By", "Part", "Pairs", "Seconds", "Cost", "Cost of a pair"),
        rows=tuple(rows),
        notes=(
            "Over the same pairs as above. Roles, rounds and tasks each add up to the whole; a "
            "pair that several retrievers proposed counts for each of them.",
        ),
        empty="No call was made for these pairs.",
    )


def paid_to_people(seconds: float, plan: VotingPlan) -> float | None:
    """What so many seconds cost at the hourly rate of the plan, None where it states none."""
    pay = plan.hourly_pay
    return None if pay is None else round(float(pay) * seconds / 3600, 4)


def people_table(runs: Sequence[tuple[str, Votes, float | None]], plan: VotingPlan) -> ReportTable:
    """What people gave to each run's pairs and what it costs in addition to the models."""
    rate = None if plan.hourly_pay is None else float(plan.hourly_pay)
    rows = [
        (
            text(name),
            *map(Cell, counts),
            Cell(seconds, "seconds"),
            Cell(rate),
            Cell(paid_to_people(seconds, plan)),
            Cell(usd, "usd"),
        )
        for name, (*counts, seconds), usd in runs
    ]
    return ReportTable(
        name="people",
        title="Cost of people",
        header=(
            *("Run", "Pairs before people", "Votes", "Timed", "Seconds of the timed"),
            *(f"An hour, {plan.currency}", f"People, {plan.currency}", "Models"),
        ),
        rows=tuple(rows),
        notes=(
            "Seconds are those in which the page of a case was open, until its vote; people cost "
            "these seconds at the hourly rate of the present voting plan. Votes that were not "
            "timed are not in it.",
        ),
        empty="No run is left in this experiment.",
    )


def systems_of(pool: Pool) -> Systems:
    """Which retrievers proposed each pair of the pool, for each aspect that it is asked of."""
    rows = pool.entries.exclude(systems=[]).order_by()
    asked = rows.values_list("query_id", "passage_id", "aspect", "systems")
    return {
        (query, passage, aspect): tuple({str(each["system"]) for each in systems})
        for query, passage, aspect, systems in asked.iterator()
    }


MAX_RUNS = 30


@dataclass(frozen=True)
class Measured:
    """One run of an experiment with what it comes to."""

    run: DebateRun
    found: Comparison
    timing: Timing
    parts: dict[Part, Cost]
    people: Votes


def create_experiment(
    *,
    benchmark: Benchmark,
    name: str,
    reference: str,
    runs: Sequence[DebateRun],
    actor: User | None,
) -> Experiment:
    """Name runs that are compared from now on.

    Raises Refused for a name that is taken, a reference or run that is not of this benchmark,
    and runs over different pools.
    """
    if reference_called(benchmark, reference) is None:
        raise Refused("This benchmark has no such reference.", field="reference")
    if not 1 <= len(runs) <= MAX_RUNS:
        raise Refused(f"Choose 1 to {MAX_RUNS} runs.", field="runs")
    if any(run.benchmark_id != benchmark.pk for run in runs):
        raise Refused("A run belongs to another benchmark.", field="runs")
    if len({run.pool_id for run in runs}) > 1:
        raise Refused("These runs are over different pairs; choose runs of one pool.", field="runs")
    with transaction.atomic():
        try:
            with transaction.atomic():
                made = Experiment.objects.create(
                    benchmark=benchmark, name=name, reference=reference, created_by=actor
                )
        except IntegrityError:
            raise Refused("An experiment of this name exists already.", field="name") from None
        made.runs.set(runs)
        data: dict[str, object] = {"runs": sorted(run.pk for run in runs), "reference": reference}
        _note(made, actor, "create experiment", data)
    return made


def delete_experiment(*, experiment: Experiment, actor: User) -> None:
    """Forget a comparison; runs and labels stay as they are."""
    with transaction.atomic():
        _note(experiment, actor, "delete experiment", {"name": experiment.name})
        experiment.delete()


def measure(experiment: Experiment) -> list[Measured]:
    """Every run over those of its pairs that the reference has labelled, in order of the runs."""
    reference = _reference(experiment)
    runs = list(experiment.runs.order_by("pk").select_related("pool__corpus_version", "account"))
    truths = reference.truths(runs[0].pool) if reference and runs else {}
    systems = systems_of(runs[0].pool) if runs else {}  # runs of one pool
    return [_measure(run, truths, systems) for run in runs]


def table(experiment: Experiment, measures: Sequence[Measured]) -> ReportTable:
    """One row a run, every number with its interval and the rows behind it."""
    reference = _reference(experiment)
    sizes = {each.found.items for each in measures}
    notes = [
        "Recalls and balanced accuracy are over the pairs that a run labelled itself; in “all "
        "cases” a disputed pair carries the label that people or an adjudicator gave it. Shares "
        "have Wilson’s 95 % interval, means of two recalls the square-and-add of both, seconds "
        "and dollars Student’s. A pair costs what all calls behind its turns cost, whichever run "
        "paid for them, also answers that could not be read; its seconds are theirs. What a run "
        "paid itself is in the last column: answers out of the ledger are not paid again.",
    ]
    if len(sizes) > 1:
        notes.append("The runs have labels for different numbers of these pairs: see “Pairs”.")
    if any(each.run.practice for each in measures):
        notes.append("Runs marked practice were made without a language model.")
    return ReportTable(
        name="runs",
        title=f"Runs compared with {reference.name}" if reference else "Runs",
        header=(
            *("Run", "Pairs", "Irrelevant found", "Relevant found", "Balanced accuracy"),
            *("Disputed", "All cases", "Cost of a pair", "In sequence", "In parallel"),
            "Spent by the run",
        ),
        rows=tuple(_row(number, each, experiment) for number, each in enumerate(measures, 1)),
        notes=tuple(notes),
        empty="No run is left in this experiment.",
    )


def sheets(experiment: Experiment, measures: Sequence[Measured]) -> list[ReportTable]:
    """The table of the runs, and what they cost: models part by part, and people."""
    named = [(_name(number, each), each) for number, each in enumerate(measures, 1)]
    plan = VotingPlan.objects.current(experiment.benchmark)
    return [
        table(experiment, measures),
        parts_table([(name, each.parts) for name, each in named]),
        people_table([(name, each.people, _models_usd(each)) for name, each in named], plan),
    ]


def _models_usd(each: Measured) -> float | None:
    """What all calls behind the pairs cost; the tasks add up to it."""
    found = [cost.known_usd for (kind, _), cost in each.parts.items() if kind == "task"]
    known = [usd for usd in found if usd is not None]
    return sum(known) if found and len(known) == len(found) else None


def _name(number: int, each: Measured) -> str:
    practice = " (practice)" if each.run.practice else ""
    return f"{number}. {each.run.name}{practice}"


def _row(number: int, each: Measured, experiment: Experiment) -> tuple[Cell, ...]:
    to, key, found = pairs_url(each.run), experiment.reference, each.found
    page = reverse("debate-run-report", args=[experiment.benchmark.slug, each.run.pk])
    spent = reverse("debate-run-spending", args=[experiment.benchmark.slug, each.run.pk])
    all_pairs = to(truth=f"{key}:any")
    paid = run_spending(each.run).known_usd
    return (
        text(_name(number, each), f"{page}?reference={key}"),
        Cell(found.items, url=all_pairs),
        percent(found.labelled.irrelevant, to(truth=f"{key}:0", label=0)),
        percent(found.labelled.relevant, to(truth=f"{key}:1", label=1)),
        percent(found.labelled.balanced, to(truth=f"{key}:any", label="any")),
        percent(found.escalation, to(truth=f"{key}:any", status="escalated")),
        percent(found.overall.balanced, all_pairs),
        *(measured(each.timing.usd, "usd"), measured(each.timing.sequential_s, "seconds")),
        measured(each.timing.parallel_s, "seconds"),
        Cell(None if paid is None else float(paid), "usd", url=spent),
    )


def _measure(run: DebateRun, truths: dict[tuple[int, int], int], systems: Systems) -> Measured:
    items = dict(judged(run, truths))
    debates = set(items)
    parts = Parts(run, debates, systems)
    found = [pair.spent() for pair in parts.counted(trajectories(run, debates))]
    compared = compare(items.values())
    return Measured(run, compared, timing(found), parts.costs, people(run, debates))


def _reference(experiment: Experiment) -> Reference | None:
    """None where a gold was taken away since."""
    return reference_called(experiment.benchmark, experiment.reference)


def _note(experiment: Experiment, actor: User | None, verb: str, data: dict[str, object]) -> None:
    scope = experiment.benchmark.slug
    audit.record(actor=actor, verb=verb, target=experiment, scope=scope, data=data)
