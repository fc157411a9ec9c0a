"""Published tables (docs/protocol.md 10, X05), and our own figures compared with them."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from corpus.models import Benchmark, RetrievalRun
from evaluation.leaderboard.services import Board, Line, board_of
from evaluation.models import ScoreSheet
from kit.errors import Refused

_FOLDER = Path(__file__).parent
MEAN = "mean"
# What the mean gained since the base gold, as the papers head it.
CHANGES = ("gain", "change")


@dataclass(frozen=True)
class PublishedTable:
    """A table as it was printed.

    `metric` and `view` name the board of ours that it can be compared with; `beside` what else of
    ours can be: a cleaning, a release, debate runs (ours.py); "" where nothing can.
    """

    id: str
    title: str
    paper: str
    where: str
    unit: str
    tolerance: float
    metric: str | None
    view: str | None
    note: str
    columns: tuple[str, ...]
    # (name, values in the order of the columns).
    rows: tuple[tuple[str, list[float | None]], ...]
    beside: str = ""

    @property
    def is_of_debates(self) -> bool:
        """Whether debate runs of an experiment can be compared with it."""
        return self.beside.startswith("experiment")

    @property
    def digits(self) -> int:
        """Decimals with which ours is shown."""
        return {"share": 3, "number": 2, "dollars and seconds": 5}.get(self.unit, 1)

    @property
    def scale(self) -> float:
        """What our values are multiplied with to compare them with the printed ones."""
        return 100.0 if self.unit == "percent" else 1.0


@dataclass(frozen=True)
class Comparison:
    """A printed figure and ours; `difference` is ours minus theirs, None where one is missing."""

    column: str
    printed: float | None
    ours: float | None
    tolerance: float

    @property
    def difference(self) -> float | None:
        """Ours minus theirs, in the table's unit."""
        if self.printed is None or self.ours is None:
            return None
        return self.ours - self.printed

    @property
    def agrees(self) -> bool | None:
        """Whether the difference is within the tolerance."""
        # A hair more: .3 is no exact number.
        return None if self.difference is None else abs(self.difference) <= self.tolerance + 1e-9


@dataclass(frozen=True)
class ComparedRow:
    """A printed system with the run of ours that has its name, None where none has."""

    name: str
    run: str | None
    cells: tuple[Comparison, ...]


# Our name of a row, and our values in the order of the columns; no values where there is none.
Ours = tuple[str | None, Sequence[float | None]]


@cache
def tables() -> dict[str, PublishedTable]:
    """Every table by its id, in the order of the papers."""
    found = [_read(json.loads(path.read_text("utf-8"))) for path in sorted(_FOLDER.glob("*.json"))]
    return {table.id: table for table in sorted(found, key=lambda each: (each.paper, each.id))}


def table_called(name: str) -> PublishedTable:
    """A table by its id; raises Refused."""
    found = tables().get(name)
    if found is None:
        raise Refused(f"There is no published table {name!r}.", field="table")
    return found


def tables_for(board: Board) -> list[PublishedTable]:
    """The tables that a board's metric can be compared with."""
    return [table for table in tables().values() if table.metric == board.metric]


def compared(
    table: PublishedTable, sheet: ScoreSheet | None, names: Sequence[tuple[str, str]] = ()
) -> list[ComparedRow]:
    """The table's rows with our figures where a run has the system's name and a domain the set's.

    Names are compared without regard to case and signs; `names` adds pairs (printed, ours).
    """
    board = None
    if sheet is not None and table.metric is not None:
        board = board_of(sheet, metric=table.metric, view=table.view or "refined")
    lines = {plain(each.run.name): each for each in board.lines} if board else {}
    known = {plain(printed): plain(ours) for printed, ours in names}
    places = _places(table.columns, board.domains if board else ())

    def ours(row: str) -> Ours:
        line = lines.get(known.get(row, row))
        if line is None:
            return None, ()
        found = [_ours(line, place) for place in places]
        return line.run.name, [None if each is None else each * table.scale for each in found]

    return compare_rows(table, ours)


def compare_rows(table: PublishedTable, ours: Callable[[str], Ours]) -> list[ComparedRow]:
    """Each printed row with what `ours` has under its plain name."""
    rows = []
    for printed_name, row in table.rows:
        name, values = ours(plain(printed_name))
        own = values or [None] * len(row)
        cells = tuple(
            Comparison(*figures, table.tolerance)
            for figures in zip(table.columns, row, own, strict=True)
        )
        rows.append(ComparedRow(printed_name, name, cells))
    return rows


def plain(name: str) -> str:
    """A name without case, spaces and signs."""
    return re.sub(r"[\W_]+", "", name.lower())


def _places(columns: Iterable[str], domains: Sequence[str]) -> list[int | str | None]:
    """For each column the number of our domain, its own name if it is over all sets, or None."""
    numbers = {plain(domain): place for place, domain in enumerate(domains)}
    # A mean over other domains than the table's is another number.
    sets = [column for column in columns if column not in (MEAN, *CHANGES)]
    is_whole = all(plain(each) in numbers for each in sets) and len(sets) == len(domains)
    found: list[int | str | None] = []
    for column in columns:
        if column in (MEAN, *CHANGES):
            found.append(column if is_whole or (not sets and domains) else None)
        else:
            found.append(numbers.get(plain(column)))
    return found


def _ours(line: Line, place: int | str | None) -> float | None:
    if place is None:
        return None
    if place in CHANGES:
        return line.change
    return line.mean if place == MEAN else line.domains[int(place)]


def _read(data: dict[str, Any]) -> PublishedTable:
    rows = tuple((row["name"], row["values"]) for row in data.pop("rows"))
    columns = tuple(data.pop("columns"))
    return PublishedTable(**data, columns=columns, rows=rows)


@cache
def known_systems() -> tuple[dict[str, Any], ...]:
    """The 25 retrieval systems of DREAM/BRIDGE (section 4.1), in the order of its Table 16.

    Each has `name`, `kind` and `parts`. The kind is sparse, dense, rerank (the second part orders
    what the first found) or rewrite (the second part writes the query that the first searches for).
    A part is a model or package: {"name", "link"}, where its makers publish it.
    """
    return tuple(json.loads((_FOLDER.parent / "systems.json").read_text("utf-8"))["systems"])


def systems_with_runs(benchmark: Benchmark) -> list[tuple[dict[str, Any], RetrievalRun | None]]:
    """Each system with the run of its name, of the loaded texts before others; None without one.

    Names are compared without regard to case and signs.
    """
    found: dict[str, RetrievalRun] = {}
    for run in benchmark.retrieval_runs.order_by("corpus_version", "pk"):
        known = found.get(plain(run.name))
        if known is None or (known.corpus_version_id is not None and run.corpus_version_id is None):
            found[plain(run.name)] = run
    return [(system, found.get(plain(system["name"]))) for system in known_systems()]
