"""What each step of a chain did to the measures, and what it cost: a table and a picture."""

from collections.abc import Mapping, Sequence
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

# The measures by the name of a figure: how people call them.
BOARDS: Final = {
    "nDCG@10": "nDCG@10",
    "alpha_nDCG@25": "α-nDCG@25",
    "hole@10": "hole@10",
}
COMPLETENESS, ALIGNED = "completeness", "RAGAlign"
NAMES: Final = BOARDS | {
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
    """Each step with the measures after it, and what it cost."""
    shown = [name for name in NAMES if any(name in step.figures for step in steps)]
    rows = []
    for step in steps:
        seconds = None
        if step.started_at and step.ended_at:
            seconds = (step.ended_at - step.started_at).total_seconds()
        rows.append(
            (
                text(str(step)),
                *(Cell(step.figures.get(name), "coefficient") for name in shown),
                Cell(float(step.spent_usd), "usd"),
                Cell(seconds, "seconds"),
                text(step.output_sha256[:12]),
            )
        )
    header = ("after step", *(NAMES[name] for name in shown), "spent", "took", "output")
    notes = (
        "Means over the chain's systems, with the holes that were filled (refined view). A measure "
        "begins where what it needs is there: systems, labels, judged answers, grades.",
        "A cleaned corpus has other passages, so what comes after “clean” is of another version.",
    )
    return ReportTable("effects", "What each step did", header, tuple(rows), notes)


def effect_chart(steps: Sequence[ChainStep]) -> Drawing | None:
    """The measures from step to step; completeness as a share of its best."""
    done = [step for step in steps if step.state == StepState.DONE]
    return courses(
        "effects",
        "What each step did",
        [str(step.number) for step in done],
        [(words, [_share(name, step) for step in done]) for name, words in NAMES.items()],
        across="step",
    )


def _share(name: str, step: ChainStep) -> float | None:
    value = step.figures.get(name)
    return value / BEST if value is not None and name == COMPLETENESS else value
