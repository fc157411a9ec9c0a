"""What a judge says when it is asked again: the spread of its scores (docs/protocol.md 3.5)."""

from collections.abc import Iterable, Sequence
from typing import Final

from django.urls import reverse

from evaluation.agents.models import AnswerVerdict, JudgeRun
from evaluation.agents.protocol.judging import TIERS
from evaluation.agents.protocol.measures import spread
from kit.lists.report_tables import Cell, ReportTable, text

MEASURES: Final = ("completeness", "quality")
_SHOWN: Final = 50


def repeated(rows: Iterable[AnswerVerdict]) -> list[list[AnswerVerdict]]:
    """Verdicts by item (an answer, or a tier of a trial), of items with two of them at least."""
    found: dict[tuple[object, ...], list[AnswerVerdict]] = {}
    for row in rows:
        if row.quality is not None:
            found.setdefault((row.query_id, row.item_id, row.round, row.tier), []).append(row)
    return [each for each in found.values() if len(each) > 1]


def reliability_table(items: Sequence[Sequence[AnswerVerdict]]) -> ReportTable:
    """Population sigma of each item's repetitions: mean and maximum, of a trial by tier too."""
    tiers = [tier for tier in TIERS if any(item[0].tier == tier for item in items)]
    parts = [("all", items)]
    parts += [(tier, [item for item in items if item[0].tier == tier]) for tier in tiers]
    rows = []
    for name in MEASURES if items else ():
        for part, own in parts:
            count, *sigmas = spread([[getattr(row, name) for row in item] for item in own])
            cells = (Cell(each, "coefficient") for each in sigmas)
            rows.append((text(name), text(part), Cell(count, "number"), *cells))
    notes = (
        "Sigma is the population's, of one answer's repetitions; aim at a mean below .5. Answers "
        "with one verdict say nothing here.",
    )
    header = ("score", "answers are", "answers", "mean sigma", "highest sigma")
    return ReportTable(
        "reliability", "What asking the judge again does", header, tuple(rows), notes
    )


def items_table(run: JudgeRun, items: Sequence[Sequence[AnswerVerdict]]) -> ReportTable:
    """Sigma of each item, the highest first."""
    lines = []
    for item in items:
        sigmas = [spread([[getattr(row, name) for row in item]])[2] or 0 for name in MEASURES]
        lines.append((item, sigmas))
    lines.sort(key=lambda each: (-max(each[1]), each[0][0].pk))
    rows = tuple(
        (
            text(f"{item[0].query}, {item[0].tier or f'round {item[0].round}'}", _url(run, item)),
            Cell(len(item), "number"),
            *(Cell(value, "coefficient") for value in sigmas),
        )
        for item, sigmas in lines[:_SHOWN]
    )
    notes = (f"The first {_SHOWN} of {len(lines):,}.",) if len(lines) > _SHOWN else ()
    heads = (f"sigma of {name}" for name in MEASURES)
    return ReportTable(
        "items", "Where it differs most", ("answer", "repetitions", *heads), rows, notes
    )


def _url(run: JudgeRun, item: Sequence[AnswerVerdict]) -> str:
    key = item[0].item_id
    return "" if key is None else reverse("agent-trace", args=[run.benchmark.slug, key])
