"""Every printed figure with whether it is reproduced here, how, and what it would take.

Three ways, the most telling first: runs of our own, files that were imported (lists, gold), and
other printed figures. Each figure has the badge of one of them at most.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from corpus.models import Benchmark
from evaluation.published import ours
from evaluation.published.services import CHANGES, MEAN, PublishedTable, tables
from evaluation.reproduction.evidence import (
    Evidence,
    Kind,
    by_formula,
    of_benchmark,
    of_gains,
    recomputed,
)
from evaluation.reproduction.formulas import SINGLE, Place, Tables, decimals
from kit.lists.report_tables import Cell, ReportTable, text

# A hair more: .3 is no exact number.
_HAIR = 1e-9


class State(StrEnum):
    """What came of it."""

    REPRODUCED = "reproduced"
    DIFFERS = "differs"
    EXPLAINED = "differs, known why"
    UNTRIED = "not tried here"


_TONES = {
    State.REPRODUCED: "good",
    State.DIFFERS: "bad",
    State.EXPLAINED: "warn",
    State.UNTRIED: "",
}


@dataclass(frozen=True)
class Figure:
    """A printed figure and its badge; `why` says why it differs, or what it would take to try."""

    table: PublishedTable
    row: str
    column: str
    printed: float
    digits: int
    state: State
    found: Evidence | None
    why: str

    @property
    def kind(self) -> str:
        """What it is reproduced from, or nothing."""
        return str(self.found.kind) if self.found else ""

    @property
    def difference(self) -> float | None:
        """Ours minus theirs."""
        return None if self.found is None else self.found.ours - self.printed

    @property
    def finer(self) -> int:
        """One decimal more than were printed: half a unit has it."""
        return self.digits + 1

    @property
    def shown(self) -> int:
        """Decimals of ours, one more where the difference needs it."""
        differs = self.state in (State.DIFFERS, State.EXPLAINED)
        return self.finer if differs and self.digits else self.digits

    @property
    def tone(self) -> str:
        """How the badge looks."""
        return _TONES[self.state]

    @property
    def name(self) -> str:
        """Row and column; of a table of single figures the row."""
        return self.row if self.column == SINGLE else f"{self.row}, {self.column}"


# A benchmark and whether who asks may read what machines did in it: experiments, agents.
Readable = tuple[Benchmark, bool]


def figures(readable: Iterable[Readable] = (), given: Tables | None = None) -> list[Figure]:
    """Every printed figure, tried on what these benchmarks hold; of `given` tables, by default all.

    Where several benchmarks tell of a figure in one way, the newest counts.
    """
    known = tables() if given is None else given
    best = dict(recomputed() if given is None else by_formula(known))
    for benchmark, with_machines in sorted(readable, key=lambda each: -each[0].pk):
        for place, found in of_benchmark(known, benchmark, with_machines):
            if place not in best or _rank(found.kind) < _rank(best[place].kind):
                best[place] = found
    best |= of_gains(known, best)
    return list(_figures(known, best))


def _rank(kind: Kind) -> int:
    return list(Kind).index(kind)


def _figures(known: Tables, best: Mapping[Place, Evidence]) -> Iterator[Figure]:
    for table in known.values():
        for number, (row, values) in enumerate(table.rows):
            for column, value in zip(table.columns, values, strict=True):
                if value is not None:
                    place = (table.id, number, column)
                    found = best.get(place)
                    state, why = _judged(table, row, column, value, found)
                    digits = decimals(known, place)
                    yield Figure(table, row, column, value, digits, state, found, why)


def _judged(
    table: PublishedTable, row: str, column: str, value: float, found: Evidence | None
) -> tuple[State, str]:
    if found is None:
        return State.UNTRIED, _needed(table, row, column)
    difference = found.ours - value
    if abs(difference) <= found.tolerance + _HAIR:
        return State.REPRODUCED, ""
    if why := table.why(row, column, found.kind, difference):
        return State.EXPLAINED, why
    if abs(difference) <= found.tolerance + found.slack + _HAIR:
        return (
            State.EXPLAINED,
            f"What it is made of is rounded, which leaves ±{found.slack:.2g} open.",
        )
    return State.DIFFERS, ""


def _needed(table: PublishedTable, row: str, column: str) -> str:
    """What it would take to try a figure."""
    if table.needs:
        return table.needs
    on = table.corpus or table.paper
    if table.metric:
        over = f"all sets of {on}" if column in (MEAN, *CHANGES) else f"{column} of {on}"
        name = f"{row}, {table.condition}" if table.condition else row
        return (
            f"Import or compute a run named “{name}” over {over}; score it under {table.profile}."
        )
    if table.compared_with == "release" and column in ours.COUNTED:
        return f"Import {on} and build a release; what the table counts is then counted there."
    if table.compared_with == "cleaning":
        return "Import BRIGHT and clean it with all agents of MARCUS."
    if table.is_of_debates:
        return f"Debate pairs of all sets of {on} in a run “{row}”, and make an experiment of it."
    return "Nothing of ours is compared with it."


def summary(found: Sequence[Figure]) -> list[tuple[str, str]]:
    """Of each paper one sentence of counts: (paper, sentence)."""
    papers: dict[str, list[Figure]] = {}
    for each in found:
        papers.setdefault(each.table.paper, []).append(each)
    return [(paper, _sentence(own)) for paper, own in papers.items()]


def _sentence(own: Sequence[Figure]) -> str:
    states = Counter(each.state for each in own)
    kinds = Counter(each.kind for each in own if each.state is State.REPRODUCED)
    how = ", ".join(f"{kinds[kind]:,} from {kind}" for kind in Kind if kinds[kind])
    return (
        f"Of {len(own):,} published results {states[State.REPRODUCED]:,} are reproduced"
        f"{f' ({how})' if how else ''}, {states[State.DIFFERS]:,} differ, "
        f"{states[State.EXPLAINED]:,} differ for a known reason, "
        f"{states[State.UNTRIED]:,} were not tried here."
    )


def as_table(found: Sequence[Figure]) -> ReportTable:
    """The figures as a table for CSV and the API."""
    places = ("paper", "table", "where", "row", "column")
    header = (*places, "printed", "ours", "difference", "tolerance", "from", "state", "source")
    rows = tuple(
        (
            *map(text, (each.table.paper, each.table.title, each.table.where)),
            *map(text, (each.row, each.column)),
            Cell(each.printed),
            Cell(each.found.ours if each.found else None),
            Cell(each.difference),
            Cell(each.found.tolerance if each.found else None),
            *map(text, (each.kind, each.state, each.found.source if each.found else "", each.why)),
        )
        for each in found
    )
    return ReportTable(
        "reproduction", "Published results and ours", (*header, "why or what it takes"), rows
    )
