"""Tables of a report: each number with its interval and the rows behind it.

One table is shown on a page (kit/report_table.html), sent as CSV and answered by the API.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class HasInterval(Protocol):
    """What a measure with its interval looks like."""

    @property
    def value(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


@dataclass(frozen=True)
class Cell:
    """A number or a text; `kind` says how people read it.

    number, percent, points and gain (measures in 0..1, a gain with its sign), coefficient (three
    decimals), p (of a test, never 0), seconds, usd or text. The `best` of a column is printed bold.
    """

    value: Any
    kind: str = "number"
    low: float | None = None
    high: float | None = None
    url: str = ""
    best: bool = False


@dataclass(frozen=True)
class ReportTable:
    """A named table; the first cell of a row names the row. `notes` say what to know about it,
    `summary` above it what comes out."""

    name: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    empty: str = ""
    summary: str = ""

    @property
    def heads(self) -> list[tuple[str, bool]]:
        """Heads, and whether numbers stand under them."""
        return [
            (head, any(row[place].kind != "text" for row in self.rows))
            for place, head in enumerate(self.header)
        ]

    @property
    def labelled_rows(self) -> list[list[tuple[str, Cell]]]:
        """Rows with the head of each cell."""
        return [list(zip(self.header, row, strict=True)) for row in self.rows]


def text(value: str, url: str = "") -> Cell:
    """A cell of words."""
    return Cell(value, "text", url=url)


def percent(found: HasInterval, url: str = "") -> Cell:
    """A share with its interval; a dash where it is undefined."""
    return Cell(found.value, "percent", found.low, found.high, url)


def measured(found: HasInterval, kind: str) -> Cell:
    """A mean with its interval."""
    return Cell(found.value, kind, found.low, found.high)


def csv_header(sheet: ReportTable) -> list[str]:
    """Every column, with two more for the interval wherever one is given."""
    names: list[str] = []
    for place, head in enumerate(sheet.header):
        names += [head, f"{head} low", f"{head} high"] if _has_interval(sheet, place) else [head]
    return names


def csv_rows(sheet: ReportTable) -> Iterator[list[Any]]:
    """The rows in full precision."""
    places = [_has_interval(sheet, place) for place in range(len(sheet.header))]
    for row in sheet.rows:
        yield [
            value
            for cell, wide in zip(row, places, strict=True)
            for value in ([cell.value, cell.low, cell.high] if wide else [cell.value])
        ]


def as_data(sheets: Sequence[ReportTable]) -> list[dict[str, Any]]:
    """The tables for the API."""
    return [
        {
            "name": sheet.name,
            "title": sheet.title,
            "header": list(sheet.header),
            "rows": [
                [{"value": c.value, "low": c.low, "high": c.high} for c in row]
                for row in sheet.rows
            ],
            "notes": list(sheet.notes),
        }
        for sheet in sheets
    ]


def _has_interval(sheet: ReportTable, place: int) -> bool:
    return any(row[place].low is not None for row in sheet.rows)
