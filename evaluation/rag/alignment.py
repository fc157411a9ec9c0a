"""Whether retrieval foretells answers: RAGAlign, correlations, and ranks on both sides."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from django.urls import reverse

from evaluation.metrics.alignment import (
    Alignment,
    fisher_interval,
    min_max,
    partial_correlation,
    rag_align,
    system_pearson,
)
from evaluation.metrics.run import Flags, Floats
from evaluation.metrics.standings import ranks_of
from evaluation.rag.models import SourceKind
from evaluation.rag.reading import VIEWS, Board, means_of, outcome_words
from evaluation.scores.services import GoldView
from kit.charts.plots import Slope
from kit.lists.report_tables import Cell, ReportTable, measured, text
from kit.stats.proportions import proportion

CELLS: Final = {
    "hit_correct": "hit and correct",
    "hit_wrong": "hit and wrong",
    "miss_correct": "miss and correct",
    "miss_wrong": "miss and wrong",
}
GOLD: Final = {GoldView.BASE: "before holes", GoldView.REFINED: "after holes"}
# Of a baseline, which has no ranking.
BY_RULE: Final = "by definition"


def align_table(board: Board, outcome: str) -> ReportTable:
    """RAGAlign with its four cells, before and after holes were filled; each cell opens its
    queries."""
    rows = []
    systems: list[tuple[int, GoldView | None]] = list(_ranked(board))
    baselines = [(row, None) for row in range(len(board.systems)) if row not in dict(systems)]
    for row, view in [*baselines, *systems]:
        hits, correct, known = outcome_pairs(board, outcome, row, view)
        found = rag_align(hits[known].tolist(), correct[known].tolist())
        parts = [
            rag_align(h[k].tolist(), c[k].tolist())
            for h, c, k in _split(board, hits, correct, known)
        ]
        shares = [each.share for each in parts if each.share is not None]
        rows.append(
            (
                text(board.systems[row].name),
                text(GOLD[view] if view else BY_RULE),
                *(Cell(count, url=cell_url(board, row, view or VIEWS[-1], name, outcome))
                  for name, count in zip(CELLS, found, strict=True)),
                _share(found),
                *map(_share, parts),
                Cell(sum(shares) / len(shares) if shares else None, "coefficient"),
                Cell(sum(found)),
                Cell(int((board.asked[row] & ~known).sum())),
            )
        )  # fmt: skip
    header = (
        *("system", "gold", *CELLS.values(), f"RAGAlign@{board.run.k}", *board.domains),
        *("mean of domains", "queries", "left out"),
    )
    notes = (
        f"Share of queries in which retrieval ({board.measures[0]}) and generation "
        f"({outcome_words(board, outcome)}) come out alike, with Wilson's interval. Queries "
        "without gold or grade are left out.",
        "By definition no retrieval never hits and gold evidence always does: what is alike there "
        "is the share that is wrong, and that is right.",
    )
    rows += _means_of_systems(rows[len(baselines) :], 2)
    return ReportTable("align", "Do answers follow retrieval?", header, tuple(rows), notes)


def correlation_table(board: Board, outcome: str) -> ReportTable:
    """Point-biserial correlations of retrieval and outcome by query, and what is left of them
    given which queries the generator answers from gold."""
    gold = board.baseline(SourceKind.GOLD)
    rows = []
    for row, view in _ranked(board):
        cells: list[Cell] = []
        for name in board.measures[1:]:
            pair = board.retrieved[view, name][row], board.outcomes[outcome][row]
            cells += _correlation(*_pearson(*pair))
            left: tuple[float | None, int] = None, 0
            if gold is not None:
                left = _partial(*pair, board.outcomes[outcome][gold])
            cells += _correlation(*left, given=1)
        rows.append((text(board.systems[row].name), text(GOLD[view]), *cells))
    heads = [
        each
        for name in board.measures[1:]
        for head in (name, f"{name}, given answerable")
        for each in (head, f"{head}: queries")
    ]
    notes = (
        "Pearson's correlation over queries; where the outcome is right or wrong, that is the "
        "point-biserial one. Undefined where one of both never varies. Intervals: 95 %, "
        "Fisher's z, queries as drawn one by one.",
        "Given answerable: what the generator makes of the query from "
        f"{'gold evidence' if gold is None else board.systems[gold].name} is taken out "
        "(partial correlation).",
        *baselines_note(board, outcome),
    )
    header = ("system", "gold", *heads)
    rows += _means_of_systems(rows, 2)
    return ReportTable("correlation", "Correlation by query", header, tuple(rows), notes)


def domains_table(board: Board, outcome: str) -> ReportTable:
    """The same correlations within each domain, and their mean over domains, as DREAM has them:
    over all queries together what tells domains apart is part of them."""
    gold = board.baseline(SourceKind.GOLD)
    answers = board.outcomes[outcome]
    rows = []
    for row, view in _ranked(board):
        for name in board.measures[1:]:
            pair = _split(board, board.retrieved[view, name][row], answers[row])
            sides = {name: [_pearson(*each) for each in pair]}
            if gold is not None:
                three = _split(board, board.retrieved[view, name][row], answers[row], answers[gold])
                sides[f"{name}, given answerable"] = [_partial(*each) for each in three]
            for words, found in sides.items():
                known = [value for value, _ in found if value is not None]
                rows.append(
                    (
                        *(text(each) for each in (board.systems[row].name, GOLD[view], words)),
                        *(_correlation(value, n, given=int(words != name))[0]
                          for value, n in found),
                        Cell(sum(known) / len(known) if known else None, "coefficient"),
                        Cell(len(known)),
                    )
                )  # fmt: skip
    header = ("system", "gold", "retrieval", *board.domains, "mean of domains", "domains")
    notes = (
        "Means are over the domains, and the systems, that have a value: a domain in which either "
        "side never varies has none.",
        *baselines_note(board, outcome),
    )
    rows += _means_of_systems(rows, 3)
    title = "Correlation by query within each domain"
    return ReportTable("correlation-domains", title, header, tuple(rows), notes)


def systems_table(board: Board, outcome: str) -> ReportTable:
    """Over systems: do those that retrieve better have better answers?"""
    rows = []
    for view in VIEWS:
        for name in board.measures:
            both = _both(board, outcome, view, name)
            found = system_pearson([row[1] for row in both], [row[2] for row in both])
            ranks = [ranks_of(np.array([row[at] for row in both])) for at in (1, 2)]
            moved = int((ranks[0] != ranks[1]).sum()) if both else 0
            rows.append(
                (
                    text(name),
                    text(GOLD[view]),
                    *_correlation(found, len(both)),
                    Cell(moved),
                )
            )
    notes = (
        "Pearson's correlation of means over systems. The paper prints .985 for Hit@10 after "
        "holes were filled; 20 of 25 systems change rank. Of two systems it is always 1 or -1. "
        "Intervals: 95 %, Fisher's z, from four systems on; systems that share queries are not "
        "independent, which no interval here knows.",
        *baselines_note(board, outcome),
    )
    header = ("retrieval", "gold", "Pearson", "systems", "rank changed")
    return ReportTable("systems", "Correlation over systems", header, tuple(rows), notes)


def _share(found: Alignment) -> Cell:
    n = sum(found)
    return measured(proportion(found.hit_correct + found.miss_wrong, n), "coefficient")


def _correlation(value: float | None, n: int, *, given: int = 0) -> tuple[Cell, Cell]:
    """The coefficient with its interval, and over how many."""
    ends = fisher_interval(value, n, given=given)
    low, high = (ends.low, ends.high) if ends else (None, None)
    return Cell(value, "coefficient", low, high), Cell(n)


def shift_table(board: Board, outcome: str) -> ReportTable:
    """The numbers of the pictures: means, scaled means and ranks on both sides."""
    kind = "coefficient" if board.best(outcome) == 1 else "number"
    rows = []
    if any(shifts(board, outcome, view)[2] for view in VIEWS):
        rows += [
            (text(name), text(BY_RULE), *(Cell(None),) * 3, Cell(mean, kind), *(Cell(None),) * 3)
            for name, mean in _baselines(board, outcome)
        ]
    for view in VIEWS:
        measure, both, lines = shifts(board, outcome, view)
        rows += [
            (
                *(text(line.name), text(f"{measure}, {GOLD[view]}")),
                *(Cell(one, "coefficient"), Cell(100 * line.before), Cell(line.rank_before)),
                *(Cell(other, kind), Cell(100 * line.after), Cell(line.rank_after)),
                Cell(line.rank_before - line.rank_after),
            )
            for (_, one, other), line in zip(both, lines, strict=True)
        ]
    header = (
        *("system", "retrieval by", "retrieval", "from 0 to 100", "rank"),
        *(outcome_words(board, outcome), "answers from 0 to 100", "rank of answers", "places won"),
    )
    notes = ("By hits; where all systems hit alike, by the first measure that tells them apart.",)
    return ReportTable("shift", "Rank shift", header, tuple(rows), notes)


def baselines_note(board: Board, outcome: str) -> list[str]:
    """What answers come to without retrieval and from gold evidence, where a table is of what
    varies with retrieval and so can have no row of them."""
    known = _baselines(board, outcome)
    digits = 3 if board.best(outcome) == 1 else 1
    told = ", ".join(f"{name} {mean:.{digits}f}" for name, mean in known)
    what = (
        f"Baselines retrieve alike for every query and have no row; {outcome_words(board, outcome)}"
    )
    return [f"{what}: {told}."] if told else []


def _baselines(board: Board, outcome: str) -> list[tuple[str, float]]:
    """Of each baseline that has a mean over domains its name and that."""
    means = means_of(board, board.outcomes[outcome]).tolist()
    return [
        (each.name, mean)
        for each, mean in zip(board.systems, means, strict=True)
        if each.kind != SourceKind.RUN and not np.isnan(mean)
    ]


def shifts(
    board: Board, outcome: str, view: str
) -> tuple[str, Sequence[tuple[int, float, float]], list[Slope]]:
    """What retrieval is ranked by, (row, its mean, mean of answers) of each system, and both
    scaled and ranked; no system where no measure tells two apart."""
    for measure in board.measures:
        both = _both(board, outcome, view, measure)
        if len({row[1] for row in both}) > 1:
            break
    else:
        return board.measures[0], [], []
    scaled = [min_max([row[at] for row in both]) for at in (1, 2)]
    ranks = [ranks_of(np.array([row[at] for row in both])).tolist() for at in (1, 2)]
    sides = zip(*scaled, *ranks, strict=True)
    named = zip(both, sides, strict=True)
    return measure, both, [Slope(board.systems[row[0]].name, *side) for row, side in named]


def queries_in(board: Board, outcome: str, row: int, view: str, cell: str) -> list[int]:
    """Columns of the queries in one of the four cells."""
    hits, correct, known = outcome_pairs(board, outcome, row, view)
    is_hit, is_correct = cell.startswith("hit"), cell.endswith("correct")
    return np.flatnonzero(known & (hits == is_hit) & (correct == is_correct)).tolist()


def cell_url(board: Board, row: int, view: str, cell: str, outcome: str) -> str:
    """Where the queries of a cell are listed."""
    here = reverse("rag-cell", args=[board.run.benchmark.slug, board.systems[row].pk])
    return f"{here}?view={view}&cell={cell}&outcome={outcome}"


def _ranked(board: Board) -> Iterator[tuple[int, GoldView]]:
    """Rows that have a ranking, each before and after."""
    for row, source in enumerate(board.systems):
        if source.kind == SourceKind.RUN:
            yield from ((row, view) for view in VIEWS)


def outcome_pairs(
    board: Board, outcome: str, row: int, view: str | None
) -> tuple[Flags, Flags, Flags]:
    """By query whether retrieval hit, whether the answer is right, and whether both are known. A
    baseline hits by definition, whatever the view: nothing is no hit, and gold is one."""
    correct, kind = board.outcomes[outcome][row], board.systems[row].kind
    if view is None or kind != SourceKind.RUN:
        hits = np.full(len(correct), float(kind == SourceKind.GOLD))
    else:
        hits = board.retrieved[view, board.measures[0]][row]
    known = ~np.isnan(hits) & ~np.isnan(correct)
    return np.asarray(hits > 0), np.asarray(correct > 0), np.asarray(known)


def _both(
    board: Board, outcome: str, view: str, measure: str
) -> Sequence[tuple[int, float, float]]:
    """(row, mean of retrieval, mean of generation) of the systems that have both."""
    sides = [board.retrieved[view, measure], board.outcomes[outcome]]
    one, other = (means_of(board, side).tolist() for side in sides)
    return [
        (row, one[row], other[row])
        for row, source in enumerate(board.systems)
        if source.kind == SourceKind.RUN and not np.isnan([one[row], other[row]]).any()
    ]


def _split(board: Board, *columns: Any) -> Iterator[tuple[Any, ...]]:
    """By domain its part of each column."""
    return zip(*(np.split(each, board.starts[1:]) for each in columns), strict=True)


def _pearson(one: Floats, other: Floats) -> tuple[float | None, int]:
    """The correlation of two over what both have, and over how many that is."""
    x, y = _together(one, other)
    return system_pearson(x.tolist(), y.tolist()), len(x)


def _partial(one: Floats, other: Floats, given: Floats) -> tuple[float | None, int]:
    """The same with what both owe to a third taken out."""
    three = _together(one, other, given)
    return partial_correlation(*(each.tolist() for each in three)), len(three[0])


def _means_of_systems(rows: Sequence[tuple[Cell, ...]], names: int) -> list[tuple[Cell, ...]]:
    """Of several systems the mean of each coefficient, over those that have one; a row for each of
    the names behind the system's."""
    found = []
    for labels in dict.fromkeys(row[1:names] for row in rows):
        own = [row for row in rows if row[1:names] == labels]
        if len(own) < 2:
            continue
        cells = [text("mean of systems"), *labels]
        for column in list(zip(*own, strict=True))[names:]:
            known = [cell.value for cell in column
                     if cell.kind == "coefficient" and cell.value is not None]  # fmt: skip
            cells.append(Cell(sum(known) / len(known) if known else None, "coefficient"))
        found.append(tuple(cells))
    return found


def _together(*columns: Floats) -> list[Floats]:
    known = ~np.isnan(np.stack(columns)).any(axis=0)
    return [column[known] for column in columns]
