"""What repeating an agent alone does, and what of a board is no more than that."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import sqrt
from typing import Final

from evaluation.agents.models import JudgeRun
from evaluation.agents.protocol.measures import COMPLETE, flips, order_flips
from evaluation.agents.reading import Figures
from evaluation.agents.trust.bridges import bridge_table
from evaluation.agents.trust.repeating import items_table, reliability_table, repeated
from kit.lists.report_tables import Cell, ReportTable, percent, text
from kit.stats.proportions import proportion

MEASURES: Final = ("completeness", "quality")
_MOST: Final = 12
_Row = tuple[Cell, ...]


def noise_tables(*kinds: Sequence[Figures]) -> list[ReportTable]:
    """Each run by itself, and each two of a kind that were repeated on the same queries."""
    alone = [row for found in kinds for each in found for row in _alone(each)]
    pairs = [
        row
        for found in kinds
        for one, other in combinations([each for each in found if each.noise("quality")][:_MOST], 2)
        for row in _pair(one, other)
    ]
    header = ("run", "score", "queries", "variance within", "variance between", "must differ by")
    notes = (
        "Over queries with several repetitions; with fixed rounds after the last. Two single runs "
        "over as many queries must differ by that much to mean anything: 1.96 times the root of "
        "twice the variance within, over the queries. A query flips where some repetitions are "
        f"complete ({COMPLETE} points or more) and others are not.",
    )
    flipped = (
        "A query flips where now the one run is better and now the other. The means of single runs "
        "must differ by 1.96 times the root of both variances within, over the queries.",
    )
    heads = ("runs", "score", "queries", "queries that flip", "apart by", "must differ by", "means")
    return [
        ReportTable(
            "noise",
            "What repeating alone does",
            (*header, "queries that flip"),
            tuple(alone),
            notes,
        ),
        ReportTable("orders", "Whether two runs keep their order", heads, tuple(pairs), flipped),
    ]


def _alone(each: Figures) -> list[_Row]:
    rows: list[_Row] = []
    for name in MEASURES:
        if (noise := each.noise(name)) is None:
            continue
        crossed = flips([list(values.values()) for values in each.points[name].values()])
        rows.append(
            (
                text(each.run.name),
                text(name),
                Cell(noise.queries, "number"),
                Cell(noise.within, "coefficient"),
                Cell(noise.between, "coefficient"),
                Cell(noise.least, "coefficient"),
                percent(proportion(*crossed)) if name == "completeness" else text("–"),
            )
        )
    return rows


def _pair(one: Figures, other: Figures) -> list[_Row]:
    rows: list[_Row] = []
    for name in MEASURES:
        flipped, queries = order_flips(one.points[name], other.points[name])
        least = _least(one, other, name, queries)
        if least is None:
            continue
        shared = one.points[name].keys() & other.points[name].keys()
        here, there = (
            _mean([each.points[name][query] for query in shared]) for each in (one, other)
        )
        apart = here - there
        rows.append(
            (
                text(f"{one.run.name} and {other.run.name}"),
                text(name),
                Cell(queries, "number"),
                percent(proportion(flipped, queries)),
                Cell(apart, "coefficient"),
                Cell(least, "coefficient"),
                text("a difference" if abs(apart) > least else "nothing"),
            )
        )
    return rows


def _least(one: Figures, other: Figures, name: str, queries: int) -> float | None:
    noises = [each.noise(name) for each in (one, other)]
    if not queries or None in noises:
        return None
    return 1.96 * sqrt(sum(each.within for each in noises if each) / queries)


def _mean(points: Sequence[Mapping[int, float]]) -> float:
    return sum(sum(each.values()) / len(each) for each in points) / len(points)


def mark_best(
    table: ReportTable, found: Sequence[Figures], columns: Mapping[str, str]
) -> ReportTable:
    """The best of these columns (with their measure), where its lead exceeds what repeating does.

    The largest of the runs' numbers is what a lead must exceed; without a repeated run nothing is
    marked, since nobody knows.
    """
    rows, notes = [list(row) for row in table.rows], []
    for head, measure in columns.items():
        leasts = [noise.least for each in found if (noise := each.noise(measure)) is not None]
        place = table.header.index(head)
        ranked = sorted(
            (row for row in rows if isinstance(row[place].value, float)),
            key=lambda row: -row[place].value,
        )
        if len(ranked) < 2:
            continue
        if not leasts:
            notes.append(f"{head}: no best is marked, because no run was repeated.")
        elif ranked[0][place].value - ranked[1][place].value > max(leasts):
            ranked[0][place] = replace(ranked[0][place], best=True)
        else:
            notes.append(
                f"{head}: no best is marked, because the first two are no more than "
                f"{max(leasts):.2f} apart, as repeating alone may set them."
            )
    return replace(table, rows=tuple(map(tuple, rows)), notes=(*table.notes, *notes))


def tables_of(run: JudgeRun) -> list[ReportTable]:
    """Those that have a row."""
    found = [bridge_table(run)] if run.bridge_from_id else []
    if run.repetitions > 1:
        items = repeated(run.verdicts.select_related("query__domain").order_by("pk"))
        found += [reliability_table(items), items_table(run, items)]
    return [each for each in found if each.rows]
