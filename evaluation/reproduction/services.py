"""Every printed figure with whether it is reproduced here, how, and what it would take.

Three ways, the most telling first: runs of our own, files that were imported (lists, gold), and
other printed figures. Each figure has the badge of one of them at most.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from corpus.models import Benchmark, CorpusVersion, RetrievalRun
from evaluation.experiments.services import measure
from evaluation.published import ours
from evaluation.published.services import (
    CHANGES,
    MEAN,
    ComparedRow,
    PublishedTable,
    compared,
    plain,
    tables,
)
from evaluation.reproduction.formulas import (
    SINGLE,
    Formula,
    Place,
    Tables,
    decimals,
    formulas,
    half_unit,
    printed,
    recompute,
)
from evaluation.reproduction.recognising import Counts, counts_of, recognised
from evaluation.scores import sheets
from kit.lists.report_tables import Cell, ReportTable, text

# A hair more: .3 is no exact number.
_HAIR = 1e-9


class Kind(StrEnum):
    """What a figure is reproduced from, the most telling first."""

    OWN = "own runs"
    FILES = "imported files"
    FORMULA = "printed figures"


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
class Evidence:
    """What one way gives for a figure; `slack` is how far rounded inputs may have moved it."""

    kind: Kind
    ours: float
    tolerance: float
    source: str
    slack: float = 0.0


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


# A benchmark and whether who asks may read its experiments.
Readable = tuple[Benchmark, bool]


def figures(readable: Iterable[Readable] = (), given: Tables | None = None) -> list[Figure]:
    """Every printed figure, tried on what these benchmarks hold; of `given` tables, by default all.

    Where several benchmarks tell of a figure in one way, the newest counts.
    """
    known = tables() if given is None else given
    best = dict(_recomputed() if given is None else _by_formula(known))
    for benchmark, with_experiments in sorted(readable, key=lambda each: -each[0].pk):
        for place, found in _of_benchmark(known, benchmark, with_experiments):
            if place not in best or _rank(found.kind) < _rank(best[place].kind):
                best[place] = found
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


@cache
def _recomputed() -> Mapping[Place, Evidence]:
    return dict(_by_formula(tables()))


def _by_formula(known: Tables) -> Iterator[tuple[Place, Evidence]]:
    found: Mapping[Place, Formula] = formulas(known)
    for place, formula in found.items():
        value, slack = recompute(known, formula)
        if value is not None and printed(known, place) is not None:
            tolerance = half_unit(known, place)
            yield place, Evidence(Kind.FORMULA, value, tolerance, formula.words, slack)


def _of_benchmark(
    known: Tables, benchmark: Benchmark, with_experiments: bool
) -> Iterator[tuple[Place, Evidence]]:
    """What a benchmark's scores, releases, cleanings and experiments tell; nothing where no domain
    has the name of a printed set."""
    names = list(benchmark.domains.ready().values_list("name", flat=True))
    about = [table for table in known.values() if table.is_about(names)]
    if not about:
        return
    for version in _versions(benchmark):
        derived = version is not None and version.is_derived
        counts = counts_of(benchmark, version)
        for table in about:
            if here := recognised(table, counts, known, is_derived=derived):
                yield from _of_scores(known, table, benchmark, version, here)
                if table.compared_with == "release" and not derived:
                    yield from _of_release(known, table, benchmark, here, counts)
    debates = [table for table in known.values() if table.is_of_debates]
    if with_experiments and _has_all_sets(known, benchmark, names):
        yield from _of_experiment(known, debates, benchmark)
    yield from _of_cleaning(known, benchmark)


def _versions(benchmark: Benchmark) -> Sequence[CorpusVersion | None]:
    return [*CorpusVersion.objects.choices(benchmark)] or [None]


def score_missing(
    benchmark: Benchmark, score: Callable[[CorpusVersion | None, str, str], object]
) -> None:
    """Have `score` compute what printed tables are compared with: version, metric, profile."""
    names = list(benchmark.domains.ready().values_list("name", flat=True))
    known = tables()
    about = [table for table in known.values() if table.metric and table.is_about(names)]
    for version in _versions(benchmark) if about else ():
        derived = version is not None and version.is_derived
        key = version.key if version else None
        if not RetrievalRun.objects.filter(benchmark=benchmark, corpus_version=key).exists():
            continue
        counts = counts_of(benchmark, version)
        wanted = {
            (table.metric, table.profile)
            for table in about
            if table.metric and recognised(table, counts, known, is_derived=derived)
        }
        for metric, profile in sorted(wanted):
            score(version, metric, profile)


def _of_scores(
    known: Tables,
    table: PublishedTable,
    benchmark: Benchmark,
    version: CorpusVersion | None,
    here: set[str],
) -> Iterator[tuple[Place, Evidence]]:
    if table.metric is None:
        return
    sheet = sheets.latest(benchmark, version, profile=table.profile)
    if sheet is None or sheets.lacks(sheet, sheets.metric_name(table.metric)):
        return
    runs = _runs_of(table, benchmark, version)
    pairs = [(row, run.name) for row, run in runs.items()]
    tolerance = table.tolerance
    for number, row in enumerate(compared(table, sheet, pairs, only=here)):
        run = runs.get(row.name)
        if run is None or row.run != run.name:
            continue
        kind = Kind.FILES if "import" in run.provenance else Kind.OWN
        source = f"run {run.name} in {benchmark.name}, {table.profile}"
        yield from _cells(known, table, number, row, kind, source, tolerance)


def _runs_of(
    table: PublishedTable, benchmark: Benchmark, version: CorpusVersion | None
) -> dict[str, RetrievalRun]:
    """The run of each row, by the row's name: no run of the practice model, and none for a name
    that is printed twice.

    Where rows share a condition, the run's name tells it too. A run that was computed for queries
    in other words is another system, unless the row names these words.
    """
    key = version.key if version else None
    runs = RetrievalRun.objects.filter(benchmark=benchmark, corpus_version=key)
    by_name = {plain(run.name): run for run in runs if not run.provenance.get("practice")}
    times = Counter(name for name, _ in table.rows)
    found: dict[str, RetrievalRun] = {}
    for name in (name for name, n in times.items() if n == 1):
        own, condition = plain(name), plain(table.condition)
        run = by_name.get(own + condition) or by_name.get(condition + own)
        wording = plain(str(run.provenance.get("queries") or "")) if run else ""
        if run is not None and (condition or wording in own):
            found[name] = run
    return found


def _of_release(
    known: Tables, table: PublishedTable, benchmark: Benchmark, here: set[str], counts: Counts
) -> Iterator[tuple[Place, Evidence]]:
    release = ours.last_release(benchmark)
    names = {plain(name) for name in here}
    if names == {plain(name) for name, _ in table.rows} - {ours.TOTAL} and here == counts.keys():
        names.add(ours.TOTAL)
    for number, row in enumerate(ours.compare_release(table, release)):
        if row.run and plain(row.name) in names:
            source = f"{row.run} of {benchmark.name}"
            yield from _cells(known, table, number, row, Kind.FILES, source)


def _of_cleaning(known: Tables, benchmark: Benchmark) -> Iterator[tuple[Place, Evidence]]:
    run = ours.last_cleaning(benchmark)
    if run is None or run.practice:
        return
    for table in known.values():
        if table.compared_with == "cleaning":
            for number, row in enumerate(ours.compare_cleaning(table, run)):
                source = f"cleaning {run.name} in {benchmark.name}"
                yield from _cells(known, table, number, row, Kind.OWN, source, table.tolerance)


def _has_all_sets(known: Tables, benchmark: Benchmark, names: Sequence[str]) -> bool:
    """Whether a benchmark is BRIDGE: all its sets in their sizes and no other."""
    sets = known["dream-sets"]
    wanted = {plain(name) for name, _ in sets.rows} - {ours.TOTAL}
    if {plain(name) for name in names} != wanted:
        return False
    version = CorpusVersion.objects.loaded(benchmark)
    counts = counts_of(benchmark, version)
    return recognised(sets, counts, known, is_derived=False) == set(names)


def _of_experiment(
    known: Tables, about: Sequence[PublishedTable], benchmark: Benchmark
) -> Iterator[tuple[Place, Evidence]]:
    experiment = benchmark.experiments.order_by("-pk").first()
    runs = [each for each in measure(experiment) if not each.run.practice] if experiment else []
    for table in about if runs else ():
        for number, row in enumerate(ours.compare_debates(table, runs)):
            source = f"debate run {row.run} in {benchmark.name}"
            yield from _cells(known, table, number, row, Kind.OWN, source, table.tolerance)


def _cells(
    known: Tables,
    table: PublishedTable,
    number: int,
    row: ComparedRow,
    kind: Kind,
    source: str,
    tolerance: float = 0.0,
) -> Iterator[tuple[Place, Evidence]]:
    """What a row gives: files must give what is printed to half a unit of its last digit, runs of
    our own within the table's tolerance."""
    if row.run is None:
        return
    for cell in row.cells:
        if cell.printed is not None and cell.ours is not None:
            place = (table.id, number, cell.column)
            half = half_unit(known, place)
            allowed = max(half, tolerance) if kind is Kind.OWN else half
            yield place, Evidence(kind, cell.ours, allowed, source)


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
        f"Of {len(own):,} printed figures {states[State.REPRODUCED]:,} are reproduced"
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
        "reproduction", "Printed figures and ours", (*header, "why or what it takes"), rows
    )
