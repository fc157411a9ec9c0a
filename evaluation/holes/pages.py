"""What the page of holes shows, read from a score sheet: table, curves, estimate."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from evaluation.leaderboard.services import Leaderboard, Line, leaderboard_of
from evaluation.scores.models import ScoreSheet
from evaluation.scores.services import GoldView
from kit.charts.drawing import Drawing
from kit.charts.plots import MAX_ROWS, Square, decimals, growth, heat_map
from kit.lists.report_tables import Cell, ReportTable, text


def holes_leaderboard(sheet: ScoreSheet) -> Leaderboard:
    """Hole@10 of every system in every domain."""
    return leaderboard_of(sheet, metric="hole@10", view=GoldView.REFINED)


def heat_of(slug: str, board: Leaderboard) -> Drawing | None:
    """Where the holes are: every cell leads to the queries of its system and domain."""
    lines = board.lines[:MAX_ROWS]

    def square(line: Line, value: float | None, domain: str) -> Square:
        asked = urlencode({"metric": "hole@10", "domain": domain})
        return Square(
            value,
            "–" if value is None else decimals(value),
            "shade",
            f"{reverse('leaderboard-run', args=[slug, line.run.pk])}?{asked}" if value else "",
            f"{line.run.name} in {domain}: {decimals(value or 0)}",
        )

    return heat_map(
        "holes",
        "Hole@10 by system and domain",
        [line.run.name for line in lines],
        board.domains,
        [[square(line, value, domain) for value, domain, _ in line.marked] for line in lines],
    )


def domains_of(sheet: ScoreSheet) -> list[dict[str, Any]]:
    """Every domain that has systems, with its drawing: None where no system found any hole."""
    return [
        {
            "name": name,
            "found": found,
            "curves": growth(
                f"growth-{place}",
                f"Holes reached by the first systems in {name}",
                "systems",
                "holes reached",
                found["reach"],
            ),
            "growth": growth_table(name, found),
        }
        for place, (name, found) in enumerate(sheet.holes.items())
    ]


def growth_table(name: str, found: dict[str, Any]) -> ReportTable:
    """Means over the orders at each number of systems: reach, growth, contribution."""
    reach = found["reach"]
    size = len(reach[0]) if reach else 0
    marginal = found["marginal"] or {}
    header = ["systems", "holes reached", "growth", "growth by weight of aspects"]
    header += [f"contribution to {metric} of one more" for metric in marginal]
    rows = []
    if marginal:
        none_known = [Cell(_at(values, 0)) for values in marginal.values()]
        rows.append((Cell(0), Cell(0), Cell(None), Cell(None), *none_known))
    for place in range(size):
        cells = [
            Cell(place + 1),
            Cell(sum(order[place] for order in reach) / len(reach)),
            Cell(found["growth"][place]),
            Cell(found["aspect_growth"][place] if found["aspect_growth"] else None),
        ]
        # A held-out system joins m others: beyond m - 1 there is none left.
        cells += [Cell(_at(values, place + 1)) for values in marginal.values()]
        rows.append(tuple(cells))
    notes = (
        "Means over ten seeded orders of the systems; nothing is divided by an empty set.",
        "Contribution: how far the measure of a system moves once its own holes count, "
        "given those that so many others found.",
    )
    return ReportTable(f"growth-{name}", f"Growth in {name}", tuple(header), tuple(rows), notes)


def all_growth(sheet: ScoreSheet) -> ReportTable:
    """The domains' tables one under the other, for CSV and API."""
    tables = [(name, growth_table(name, found)) for name, found in sheet.holes.items()]
    header: list[str] = []
    for _, table in tables:
        header += [head for head in table.header if head not in header]
    rows = []
    for name, table in tables:
        for row in table.rows:
            cells = dict(zip(table.header, row, strict=True))
            rows.append((text(name), *(cells.get(head, Cell(None)) for head in header)))
    return ReportTable("growth", "Growth of holes", ("domain", *header), tuple(rows))


def _at(values: Sequence[float | None], place: int) -> float | None:
    return values[place] if place < len(values) else None
