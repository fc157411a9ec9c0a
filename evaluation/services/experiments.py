"""Comparing debate runs over the same pairs (DREAM's Table 1; protocol.md 2.8, 6.9, 1.4)."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.urls import reverse

from corpus.models import Benchmark
from debate.measures.accuracy import Comparison, compare
from debate.measures.timing import Timing, timing
from debate.models import DebateRun
from debate.services.courses import played
from debate.services.references import Reference, judged, reference_called
from debate.services.report import pairs_url
from evaluation.models import Experiment
from kit import audit
from kit.errors import Refused
from kit.sheets import Cell, Sheet, measured, percent, text

MOST_RUNS = 30


@dataclass(frozen=True)
class Measured:
    """One run of an experiment with what it comes to."""

    run: DebateRun
    found: Comparison
    timing: Timing


def create_experiment(
    *, benchmark: Benchmark, name: str, reference: str, runs: Sequence[DebateRun], actor: User
) -> Experiment:
    """Name runs that are compared from now on.

    Raises Refused for a name that is taken, a reference or run that is not of this benchmark,
    and runs over different pools.
    """
    if reference_called(benchmark, reference) is None:
        raise Refused("This benchmark has no such reference.", field="reference")
    if not 1 <= len(runs) <= MOST_RUNS:
        raise Refused(f"Choose 1 to {MOST_RUNS} runs.", field="runs")
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
    runs = list(experiment.runs.order_by("pk").select_related("pool__corpus_version"))
    truths = reference.truths(runs[0].pool) if reference and runs else {}
    return [_measure(run, truths) for run in runs]


def table(experiment: Experiment, measures: Sequence[Measured]) -> Sheet:
    """One row a run, every number with its interval and the rows behind it."""
    reference = _reference(experiment)
    sizes = {each.found.items for each in measures}
    notes = [
        "Recalls and balanced accuracy are over the pairs that a run labelled itself; in “all "
        "cases” a disputed pair carries the label that people or an adjudicator gave it. Shares "
        "have Wilson’s 95 % interval, means of two recalls the square-and-add of both, seconds "
        "and dollars Student’s.",
    ]
    if len(sizes) > 1:
        notes.append("The runs have labels for different numbers of these pairs: see “Pairs”.")
    if any(each.run.practice for each in measures):
        notes.append("Runs marked practice were made without a language model.")
    return Sheet(
        name="runs",
        title=f"Runs beside {reference.name}" if reference else "Runs",
        header=(
            *("Run", "Pairs", "Irrelevant found", "Relevant found", "Balanced accuracy"),
            *("Disputed", "All cases", "Cost of a pair", "In sequence", "In parallel"),
        ),
        rows=tuple(_row(number, each, experiment) for number, each in enumerate(measures, 1)),
        notes=tuple(notes),
        empty="No run is left in this experiment.",
    )


def _row(number: int, each: Measured, experiment: Experiment) -> tuple[Cell, ...]:
    to, key, found = pairs_url(each.run), experiment.reference, each.found
    page = reverse("debate-run-report", args=[experiment.benchmark.slug, each.run.pk])
    all_pairs = to(truth=f"{key}:any")
    practice = " (practice)" if each.run.practice else ""
    return (
        text(f"{number}. {each.run.name}{practice}", f"{page}?reference={key}"),
        Cell(found.items, url=all_pairs),
        percent(found.labelled.irrelevant, to(truth=f"{key}:0", label=0)),
        percent(found.labelled.relevant, to(truth=f"{key}:1", label=1)),
        percent(found.labelled.balanced, to(truth=f"{key}:any", label="any")),
        percent(found.escalation, to(truth=f"{key}:any", status="escalated")),
        percent(found.overall.balanced, all_pairs),
        *(measured(each.timing.usd, "usd"), measured(each.timing.sequential_s, "seconds")),
        measured(each.timing.parallel_s, "seconds"),
    )


def _measure(run: DebateRun, truths: dict[tuple[int, int], int]) -> Measured:
    items = dict(judged(run, truths))
    found = [pair.spent() for pair in played(run, set(items))]
    return Measured(run, compare(items.values()), timing(found))


def _reference(experiment: Experiment) -> Reference | None:
    """None where a gold was taken away since."""
    return reference_called(experiment.benchmark, experiment.reference)


def _note(experiment: Experiment, actor: User, verb: str, data: dict[str, object]) -> None:
    scope = experiment.benchmark.slug
    audit.record(actor=actor, verb=verb, target=experiment, scope=scope, data=data)
