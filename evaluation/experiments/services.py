"""Comparing debate runs over the same pairs (DREAM's Table 1; docs/protocol.md 2.8, 6.9, 1.4)."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.urls import reverse

from annotate.models import VotingPlan
from corpus.models import Benchmark
from debate.measures.accuracy import Comparison, compare
from debate.measures.timing import Timing, timing
from debate.models import DebateRun
from debate.references import Reference, judged, reference_called
from debate.runs.figures import pairs_url, run_spending
from debate.runs.trajectories import trajectories
from evaluation.experiments.costs import (
    Cost,
    Part,
    Parts,
    Systems,
    Votes,
    parts_table,
    people,
    people_table,
    systems_of,
)
from evaluation.experiments.models import Experiment
from kit import audit
from kit.errors import Refused
from kit.lists.report_tables import Cell, ReportTable, measured, percent, text

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
    *, benchmark: Benchmark, name: str, reference: str, runs: Sequence[DebateRun], actor: User
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
        title=f"Runs beside {reference.name}" if reference else "Runs",
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


def _note(experiment: Experiment, actor: User, verb: str, data: dict[str, object]) -> None:
    scope = experiment.benchmark.slug
    audit.record(actor=actor, verb=verb, target=experiment, scope=scope, data=data)
