"""Published tables (docs/protocol.md 10, X05), and our own figures compared with them."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from django.db.models import Count

from corpus.models import Benchmark, RetrievalRun
from evaluation.leaderboard.services import Leaderboard, Line, leaderboard_of
from evaluation.metrics.profiles import REFERENCE
from evaluation.scores.models import ScoreSheet
from kit.errors import Refused

T = TypeVar("T")
_FOLDER = Path(__file__).parent
MEAN = "mean"
# Queries of the sets that the papers print, as each of them counts: BRIGHT (Table 2), Bright-Pro as
# released, DREAM (Table 2; docs/protocol.md 10).
QUERIES: Mapping[str, tuple[int, ...]] = {
    "biology": (103,),
    "earthscience": (116, 115),
    "economics": (103, 99),
    "psychology": (101, 100),
    "robotics": (101,),
    "stackoverflow": (117, 115),
    "sustainableliving": (108, 106),
    "leetcode": (142,),
    "pony": (112,),
    "aops": (111,),
    "theoremqaquestions": (194,),
    "theoremqatheorems": (76,),
    **dict.fromkeys(("msmarco", "nq", "lifestyle", "recreation", "technology", "writing"), (550,)),
    "science": (357,),
}
# What papers call the queries of a source that has another name here, by its plain name: folders of
# BRIGHT are imported by theirs.
_CALLED: Mapping[str, Sequence[str]] = {"gpt4": ["GPT-4 Reason-query"], "llama370b": ["LLaMA"]}
# What the mean gained since the base gold, as the papers head it.
CHANGES = ("gain", "change")


@dataclass(frozen=True)
class PublishedTable:
    """A table as it was printed.

    `metric` and `view` name the leaderboard of ours that it can be compared with, `compared_with`
    what else: a cleaning, a release, debate runs (ours.py); "" where nothing can. `sets` are those
    of a mean that stands alone, `sizes` the printed numbers of queries by the plain name of a set.
    `corpus` names what it was measured on, `condition` what all its rows share, such as the wording
    of the queries; `needs` what it would take to reproduce what nothing here is compared with.
    `known` are reasons why figures of ours differ: {"why"}, with "row", "column" and "kind" of
    reproduction where one holds of these only, and "within", how far they do.
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
    compared_with: str = ""
    corpus: str = ""
    condition: str = ""
    profile: str = REFERENCE.name
    needs: str = ""
    known: Sequence[Mapping[str, Any]] = ()
    sets: tuple[str, ...] = ()
    sizes: Mapping[str, Sequence[float]] = field(default_factory=lambda: QUERIES)

    def allows(self, name: str, queries: float) -> bool:
        """Whether a domain of ours with so many queries is of the size of the set of its name."""
        return is_alike(queries, self.sizes.get(plain(name), (queries,)))

    def why(self, row: str, column: str, kind: str, difference: float) -> str:
        """The known reason why a figure of ours differs so much; empty where none is."""
        asked = {"row": row, "column": column, "kind": kind}
        for each in self.known:
            fits = all(each.get(name, value) == value for name, value in asked.items())
            if fits and abs(difference) <= each.get("within", abs(difference)) + 1e-9:
                return str(each["why"])
        return ""

    def is_about(self, names: Iterable[str]) -> bool:
        """Whether one of these domains has the name of a set that it prints."""
        rows = (name for name, _ in self.rows)
        sets = {plain(each) for each in (*self.columns, *self.sets, *rows)}
        return not sets.isdisjoint(map(plain, names))

    @property
    def is_of_debates(self) -> bool:
        """Whether debate runs of an experiment can be compared with it."""
        return self.compared_with.startswith("experiment")

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


def tables_for(board: Leaderboard) -> list[PublishedTable]:
    """The tables that a board's metric can be compared with, on sets that it has."""
    own = [table for table in tables().values() if table.is_about(board.domains)]
    return [table for table in own if table.metric == board.metric]


def compared(
    table: PublishedTable,
    sheet: ScoreSheet | None,
    names: Sequence[tuple[str, str]] = (),
    *,
    only: Collection[str] | None = None,
) -> list[ComparedRow]:
    """The table's rows with our figures where a run has the system's name and a domain the set's
    and its size.

    Names are compared without regard to case and signs, query sources also by the names that papers
    have for them; `names` adds pairs (printed, ours). Of the domains `only` these, by default all,
    can be compared.
    """
    board = None
    if sheet is not None and table.metric is not None:
        board = leaderboard_of(sheet, metric=table.metric, view=table.view or "refined")
    lines = by_name(board.lines, lambda each: each.run) if board else {}
    known = {plain(printed): plain(ours) for printed, ours in names}
    sizes = queries_of(sheet.benchmark) if sheet else {}
    domains = board.domains if board else ()
    alike = {each for each in domains if table.allows(each, sizes[each])}
    kept = alike if only is None else alike & set(only)
    places = _places(table, [each if each in kept else None for each in domains])

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


def called(source: str) -> list[str]:
    """The names of a query source: its own, then those that papers have for it."""
    return [source, *_CALLED.get(plain(source), ())]


def by_name(rows: Iterable[T], run_of: Callable[[T], RetrievalRun]) -> dict[str, T]:
    """What is said of runs by their plain names, and by those that they have where their query
    source is called as papers do."""
    found: dict[str, T] = {}
    own: dict[str, T] = {}
    for row in rows:
        run = run_of(row)
        own[plain(run.name)] = row
        source = str(run.provenance.get("queries") or "")
        for name in called(source) if source else ():
            found.setdefault(plain(run.name.replace(source, name)), row)
    return found | own


def queries_of(benchmark: Benchmark) -> dict[str, int]:
    """How many queries each domain has, by its name."""
    rows = benchmark.domains.order_by().values_list("name")
    return dict(rows.annotate(n=Count("queries")))


def is_alike(ours: float, printed: Iterable[float]) -> bool:
    """Whether a number is one of the printed ones, give or take a tenth of it."""
    return any(abs(ours - each) <= each / 10 for each in printed)


def _places(table: PublishedTable, domains: Sequence[str | None]) -> list[int | str | None]:
    """For each column the number of our domain, its own name if it is over all sets, or None.

    Of the domains those of another size than the set of their name are None.
    """
    numbers = {plain(domain): place for place, domain in enumerate(domains) if domain}
    # A mean over other domains than the table's is another number.
    sets = table.sets or [each for each in table.columns if each not in (MEAN, *CHANGES)]
    is_whole = {plain(each) for each in sets} == numbers.keys() and len(sets) == len(domains)
    found: list[int | str | None] = []
    for column in table.columns:
        if column in (MEAN, *CHANGES):
            found.append(column if is_whole else None)
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
    sets = tuple(data.pop("sets", ()))
    return PublishedTable(**data, columns=columns, rows=rows, sets=sets)


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
