"""What each step of a chain did to the measures, and what it cost: a table and a picture."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

from evaluation.agents.models import AgentRun, JudgeRun
from evaluation.agents.protocol.judging import BEST
from evaluation.agents.reading import figures_of
from evaluation.chain.models import ChainStep, StepState
from evaluation.leaderboard.services import leaderboard_of
from evaluation.metrics.alignment import rag_align
from evaluation.models import RagRun
from evaluation.rag.alignment import outcome_pairs
from evaluation.rag.reading import board_of
from evaluation.scores.models import ScoreSheet
from evaluation.scores.services import GoldView
from kit.charts.drawing import Drawing
from kit.charts.plots import courses
from kit.lists.report_tables import Cell, ReportTable, text
from kit.templatetags.figures import usd

# The measures by the name of a figure: how people call them.
BOARDS: Final = {
    "nDCG@10": "nDCG@10",
    "alpha_nDCG@25": "α-nDCG@25",
    "hole@10": "hole@10",
}
# Machine gold counts in measures of aspects alone, which stand beside the boards.
ASPECTS: Final = ("aspect_hole@10", "new_aspect@10")
COMPLETENESS, ALIGNED = "completeness", "RAGAlign"
NAMES: Final = {
    **BOARDS,
    **{name: name for name in ASPECTS},
    COMPLETENESS: "completeness",
    ALIGNED: "RAGAlign",
}


def measured(sheet: ScoreSheet | None, left: Mapping[str, Any]) -> dict[str, float]:
    """The figures of a sheet: means over the chain's systems (of all, if it has none).

    A figure that cannot be had yet is left out: no systems, no labels, no answers.
    """
    found: dict[str, float] = {}
    own = set(left.get("systems") or ())
    for name in BOARDS:
        if sheet is None:
            break
        lines = leaderboard_of(sheet, metric=name, view=GoldView.REFINED).lines
        values = [each.mean for each in lines if not own or each.run.pk in own]
        known = [value for value in values if value is not None]
        if known:
            found[name] = sum(known) / len(known)
    if sheet is not None:
        found |= _of_aspects(sheet, own)
    judged = JudgeRun.objects.filter(pk__in=left.get("judges") or ()).first()
    if judged is not None:
        runs = AgentRun.objects.filter(pk__in=left["agents"])
        means = [_completeness(run, judged) for run in runs]
        known = [value for value in means if value is not None]
        if known:
            found[COMPLETENESS] = sum(known) / len(known)
    if left.get("grades"):
        aligned = _aligned(RagRun.objects.get(pk=left["answers"]))
        if aligned is not None:
            found[ALIGNED] = aligned
    return found


def _of_aspects(sheet: ScoreSheet, own: set[int]) -> dict[str, float]:
    """Means over systems of their means over domains, as those of the boards."""
    by_system: dict[str, dict[int, list[float]]] = {name: {} for name in ASPECTS}
    for of in sheet.holes.values():
        for each in of.get("aspects", {}).get("systems", ()):
            for name in ASPECTS:
                if each[name] is not None and (not own or each["run"] in own):
                    by_system[name].setdefault(each["run"], []).append(each[name])
    return {
        name: sum(sum(values) / len(values) for values in of.values()) / len(of)
        for name, of in by_system.items()
        if of
    }


def metric_asked(step: ChainStep) -> str:
    """What a sheet has to hold for RAGAlign, whether the passages behind answers hold gold: of the
    latest answers, else of the first to come, so that systems are not scored again for these."""
    answers = step.chain.steps.filter(do="answers")
    before = answers.filter(number__lte=step.number).last()
    of = before or answers.first()
    return f"hit@{of.settings.get('k', 10)}" if of else ""


def _completeness(run: AgentRun, judged: JudgeRun) -> float | None:
    found = figures_of(run, judged)
    scored = found.by_round[-1].completeness if found.by_round else found.completeness
    return scored.mean.value


def _aligned(run: RagRun) -> float | None:
    """Share of queries of all systems in which retrieval and generation come out alike."""
    board = board_of(run)
    outcome = next(iter(board.outcomes), "")
    hits: list[int] = []
    correct: list[int] = []
    for row, source in enumerate(board.systems):
        if source.retrieval_run_id and outcome and board.is_binary(outcome):
            hit, right, known = outcome_pairs(board, outcome, row, GoldView.REFINED)
            hits += hit[known].astype(int).tolist()
            correct += right[known].astype(int).tolist()
    return rag_align(hits, correct).share if hits else None


def effect_table(steps: Sequence[ChainStep]) -> ReportTable:
    """Each step with the measures after it, how far it moved them, and what it cost."""
    columns = [column for name in NAMES for column in _columns(name, steps)]
    rows = []
    for place, step in enumerate(steps):
        seconds = None
        if step.started_at and step.ended_at:
            seconds = (step.ended_at - step.started_at).total_seconds()
        rows.append(
            (
                text(str(step)),
                *(Cell(values[place], "coefficient") for _, values in columns),
                Cell(float(step.spent_usd), "usd"),
                Cell(seconds, "seconds"),
                text(step.output_sha256[:12]),
            )
        )
    header = ("after step", *(head for head, _ in columns), "spent", "took", "output")
    notes = (
        "Means over the chain's systems, with the holes that were filled (refined view); "
        "aspect_hole@10 and new_aspect@10 count machine gold, too. A measure begins where what it "
        "needs is there: systems, labels, judged answers, grades.",
        "Changes are against the last step before that has the measure.",
        "A cleaned corpus has other passages, so what comes after “clean” is of another version.",
    )
    return ReportTable("effects", "What each step did", header, tuple(rows), notes)


def _columns(name: str, steps: Sequence[ChainStep]) -> Iterator[tuple[str, list[float | None]]]:
    """A measure after each step, its change, and that per dollar; nothing that no step has."""
    values = [step.figures.get(name) for step in steps]
    changes, before = list[float | None](), None
    for value in values:
        changes.append(None if value is None or before is None else value - before)
        before = before if value is None else value
    per_dollar = [
        change / float(step.spent_usd) if change is not None and step.spent_usd else None
        for change, step in zip(changes, steps, strict=True)
    ]
    words = NAMES[name]
    for head, column in (
        (words, values),
        (f"change of {words}", changes),
        (f"change of {words} per dollar", per_dollar),
    ):
        if any(each is not None for each in column):
            yield head, column


def effect_chart(steps: Sequence[ChainStep]) -> Drawing | None:
    """The measures from step to step, completeness as a share of its best, and what was spent by
    then as a share of the whole."""
    done = [step for step in steps if step.state == StepState.DONE]
    spent = list(accumulate(float(step.spent_usd) for step in done))
    lines = [(words, [_share(name, step) for step in done]) for name, words in NAMES.items()]
    if spent and spent[-1]:
        lines.append((f"spent, of {usd(spent[-1])}", [each / spent[-1] for each in spent]))
    return courses(
        "effects",
        "What each step did",
        [str(step.number) for step in done],
        lines,
        across="step",
    )


def _share(name: str, step: ChainStep) -> float | None:
    value = step.figures.get(name)
    return value / BEST if value is not None and name == COMPLETENESS else value
