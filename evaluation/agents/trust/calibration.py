"""Whether agents know how sure they may be: stated confidence beside what a judge says."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.urls import reverse

from corpus.models import Benchmark
from evaluation.agents.models import AgentRun, AgentState, JudgeRun
from evaluation.agents.protocol.measures import COMPLETE, calibration_bins, calibration_error
from evaluation.agents.reading import verdicts_by
from kit.charts.drawing import Drawing
from kit.charts.plots import crosses, percents
from kit.lists.report_tables import Cell, ReportTable, percent, text
from kit.stats.means import Mean
from kit.stats.proportions import proportion

BINS: Final = 10
MOST_BINS: Final = 100


@dataclass(frozen=True)
class Stated:
    """The answers of a run: (confidence from 0 to 1, 1 where it is complete) of those that count.

    `missing` state no confidence, `unjudged` do and have no verdict; both are left out.
    """

    run: AgentRun
    pairs: Sequence[tuple[float, float]]
    missing: int
    unjudged: int

    def error(self, bins: int) -> float | None:
        """Expected calibration error in bins of equal count."""
        return calibration_error(self.pairs, bins)


def stated(benchmark: Benchmark, judge: JudgeRun | None) -> list[Stated]:
    """Every run with an answer, by name; with fixed rounds the answers after the last."""
    said = verdicts_by(judge) if judge else {}
    found = []
    for run in benchmark.agent_runs.order_by("name", "pk"):
        pairs, missing, unjudged = list[tuple[float, float]](), 0, 0
        done = run.items.exclude(state__in=(AgentState.WAITING, AgentState.FAILED))
        for item in done.order_by("pk"):
            answer = _last(item.answers, run.rounds)
            if answer is None or answer["confidence"] is None:
                missing += 1
                continue
            points = [
                row.completeness
                for row in said.get((item.pk, answer["round"]), ())
                if row.completeness is not None
            ]
            if points:
                right = sum(points) / len(points) >= COMPLETE
                pairs.append((answer["confidence"] / 100, float(right)))
            else:
                unjudged += 1
        if pairs or missing or unjudged:
            found.append(Stated(run, pairs, missing, unjudged))
    return found


def states_any(found: Sequence[Stated]) -> bool:
    """Whether an answer states a confidence."""
    return any(each.pairs or each.unjudged for each in found)


def tables(found: Sequence[Stated], bins: int) -> list[ReportTable]:
    """Each run in one line, and its bins."""
    return [each for each in (_runs(found, bins), _bins(found, bins)) if each.rows]


def charts(found: Sequence[Stated], bins: int) -> list[Drawing]:
    """A reliability picture of each run, its points numbered as the rows of its bins."""
    drawn = []
    for each in found:
        rows: list[Any] = [
            (str(n), f"bin {n}", Mean(part.n, part.confidence), proportion(int(part.right), part.n))
            for n, part in enumerate(calibration_bins(each.pairs, bins), start=1)
        ]
        drawn.append(
            crosses(
                f"calibration-{each.run.pk}",
                f"Stated confidence and what is complete: {each.run.name}",
                ("stated confidence", percents),
                ("share complete", percents),
                rows,
                limits=(0.0, 1.0),
                diagonal=True,
            )
        )
    return [each for each in drawn if each]


def _runs(found: Sequence[Stated], bins: int) -> ReportTable:
    rows = []
    for each in found:
        n, right = len(each.pairs), int(sum(right for _, right in each.pairs))
        mean = sum(confidence for confidence, _ in each.pairs) / n if n else None
        url = reverse("agent-run", args=[each.run.benchmark.slug, each.run.pk])
        rows.append(
            (
                text(each.run.name, url),
                Cell(n, "number"),
                Cell(each.missing, "number"),
                Cell(each.unjudged, "number"),
                Cell(mean, "percent"),
                percent(proportion(right, n)),
                Cell(each.error(bins), "coefficient"),
            )
        )
    header = (
        *("run", "answers", "state none", "not judged", "mean confidence", "complete"),
        "calibration error",
    )
    notes = (
        f"An answer is complete where the judge gives {COMPLETE} points or more, on average over "
        "its repetitions; with fixed rounds the answers after the last count. Those that state no "
        "confidence and those without a verdict are left out and counted.",
        f"The error is the mean distance of confidence and share complete over {bins} bins of "
        "equal count, weighted by their answers: 0 is calibrated, 1 is certain and always wrong. "
        "Intervals: Wilson's, 95 %.",
    )
    return ReportTable("calibration", "Stated confidence", header, tuple(rows), notes)


def _bins(found: Sequence[Stated], bins: int) -> ReportTable:
    rows = [
        (
            text(each.run.name),
            text(str(number)),
            Cell(part.n, "number"),
            Cell(part.least, "percent"),
            Cell(part.most, "percent"),
            Cell(part.confidence, "percent"),
            percent(proportion(int(part.right), part.n)),
        )
        for each in found
        for number, part in enumerate(calibration_bins(each.pairs, bins), start=1)
    ]
    header = ("run", "bin", "answers", "from", "to", "mean confidence", "complete")
    return ReportTable("bins", "Bins of equal count", header, tuple(rows))


def _last(answers: Sequence[dict[str, Any]], rounds: int | None) -> dict[str, Any] | None:
    if rounds is None:
        return answers[-1] if answers else None
    return next((each for each in answers if each["round"] == rounds), None)
