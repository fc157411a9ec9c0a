"""What printed figures are held against: other printed figures, and what benchmarks hold.

Whether a benchmark is what a printed table was measured on is told by sizes, never by name alone.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from math import fsum
from typing import Final

from annotate.models import Aspect, GoldPassage
from corpus.cleaning.report import passages_by_domain
from corpus.models import Benchmark, CorpusVersion, Judgment, Passage, RetrievalRun
from evaluation.agents.board import PRINTED, as_printed
from evaluation.agents.models import AgentRun
from evaluation.agents.reading import figures_of
from evaluation.experiments.services import measure
from evaluation.published import ours
from evaluation.published.ours import TOTAL
from evaluation.published.services import (
    ComparedRow,
    Comparison,
    PublishedTable,
    by_name,
    called,
    compared,
    is_alike,
    plain,
    queries_of,
    tables,
)
from evaluation.reproduction.formulas import (
    Place,
    Tables,
    formulas,
    half_unit,
    printed,
    recompute,
)
from evaluation.scores import sheets
from evaluation.scores.services import GoldView
from kit.runs.models import RunStatus

# Of each printed corpus what its sets are told by: what we count, and where that is printed.
Printed = tuple[str, str, str]
BRIGHT, PLUS, PRO, BRIDGE = "BRIGHT", "BRIGHT+", "Bright-Pro", "BRIDGE"
CORPORA: Final[Mapping[str, tuple[Printed, ...]]] = {
    BRIGHT: (("passages", "marcus-chunks", "before"),),
    PLUS: (("passages", "marcus-chunks", "after"),),
    PRO: (
        ("passages", "brightpro-card", "passages"),
        ("aspects", "brightpro-card", "aspects"),
        ("gold", "brightpro-card", "gold"),
    ),
    BRIDGE: (
        ("passages", "dream-sets", "passages"),
        ("relevant a query", "dream-sets", "refined gold a query"),
    ),
}
# By a table of refined gold the one that prints what each of its sets gained since the original.
OF_SETS: Final = {"dream-hit10": "dream-hit10-gain", "dream-ndcg10": "dream-ndcg10-change"}
# The table of gains with those that they lie between.
GAINS, BEFORE, AFTER = "marcus-gains", "marcus-bright", "marcus-plus"
Counts = Mapping[str, Mapping[str, float]]


def counts_of(benchmark: Benchmark, version: CorpusVersion | None) -> Counts:
    """What a corpus version has in each domain, by its name: queries, passages whose text is here,
    aspects, the gold that supports them, relevant passages a query."""
    queries = queries_of(benchmark)
    passages = passages_by_domain(version) if version else {}
    pairs = Judgment.objects.in_benchmark(benchmark).filter(label__gt=0)
    counting = pairs.original() | pairs.standing()
    columns = ("query__domain__name", "query_id", "passage_id")
    relevant = Counter(name for name, *_ in counting.order_by().values_list(*columns).distinct())
    of_ours = {"query__domain__benchmark": benchmark}
    aspects = Aspect.objects.present().filter(**of_ours).order_by()
    gold = GoldPassage.objects.standing().filter(**of_ours).order_by()
    others = [
        Counter(each.values_list("query__domain__name", flat=True)) for each in (aspects, gold)
    ]
    return {
        name: {
            "queries": size,
            "passages": passages.get(name, 0) if _has_text(version, name) else 0,
            "aspects": others[0][name],
            "gold": others[1][name],
            "relevant a query": relevant[name] / size if size else 0.0,
        }
        for name, size in queries.items()
    }


def _has_text(version: CorpusVersion | None, name: str) -> bool:
    rows = Passage.objects.in_version(version).filter(domain__name=name)
    return rows.exclude(text=None).exists()


def recognised(
    table: PublishedTable, counts: Counts, known: Mapping[str, PublishedTable], *, is_derived: bool
) -> set[str]:
    """The domains that are sets of the table's corpus, by name and sizes, give or take a tenth.

    Where no text is loaded the corpus of a loaded version is taken to be the one that its name and
    its queries say. Data of Bright-Pro are not taken for BRIGHT, whose queries they have.
    """
    sets = {plain(each) for each in (*table.columns, *table.sets, *(n for n, _ in table.rows))}
    return {
        name
        for name, found in counts.items()
        if plain(name) in sets - {TOTAL}
        and table.allows(name, found["queries"])
        and _is_of(table.corpus, name, found, known, is_derived)
        and not (table.corpus == BRIGHT and _is_of(PRO, name, found, known, is_derived))
    }


def _is_of(
    corpus: str,
    name: str,
    found: Mapping[str, float],
    known: Mapping[str, PublishedTable],
    is_derived: bool,
) -> bool:
    if is_derived and corpus != PLUS:
        return False  # what was cleaned or cut anew is another corpus, of whatever size
    for what, table, column in CORPORA.get(corpus, ()):
        printed = _printed(known[table], column).get(plain(name))
        if printed is None:
            # The sizes of seven of BRIGHT's twelve sets are printed.
            return corpus == BRIGHT
        is_without = what == "passages" and not found[what]
        if is_without and corpus != PLUS:
            continue
        if not is_alike(found[what], printed):
            return False
    return corpus in CORPORA


def _printed(table: PublishedTable, column: str) -> Mapping[str, tuple[float, ...]]:
    """What a column prints of each set, by its plain name."""
    place = table.columns.index(column)
    return {
        plain(name): (value,) for name, values in table.rows if (value := values[place]) is not None
    }


class Kind(StrEnum):
    """What a figure is reproduced from, the most telling first."""

    OWN = "own runs"
    FILES = "imported files"
    FORMULA = "printed figures"


@dataclass(frozen=True)
class Evidence:
    """What one way gives for a figure; `slack` is how far rounded inputs may have moved it."""

    kind: Kind
    ours: float
    tolerance: float
    source: str
    slack: float = 0.0


@cache
def recomputed() -> Mapping[Place, Evidence]:
    """What the printed figures give of each other, once a process."""
    return dict(by_formula(tables()))


def by_formula(known: Tables) -> Iterator[tuple[Place, Evidence]]:
    """What the figures of these tables give of each other."""
    for place, formula in formulas(known).items():
        value, slack = recompute(known, formula)
        if value is not None and printed(known, place) is not None:
            tolerance = half_unit(known, place)
            yield place, Evidence(Kind.FORMULA, value, tolerance, formula.words, slack)


def of_benchmark(
    known: Tables, benchmark: Benchmark, with_machines: bool
) -> Iterator[tuple[Place, Evidence]]:
    """What a benchmark's scores, releases and cleanings tell, and `with_machines` its experiments
    and agents; nothing where no domain has the name of a printed set."""
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
    if with_machines and _has_all_sets(known, known["dream-sets"], benchmark, names):
        yield from _of_experiment(known, debates, benchmark)
    for kind, name in PRINTED.items() if with_machines else ():
        if known[name] in about and _has_all_sets(known, known[name], benchmark, names):
            yield from _of_agents(known, known[name], kind, benchmark)
    yield from _of_cleaning(known, benchmark)


def _versions(benchmark: Benchmark) -> Sequence[CorpusVersion | None]:
    """All but what the practice model has cleaned."""
    found = [*CorpusVersion.objects.choices(benchmark)]
    return [each for each in found if not each.recipe.get("practice")] if found else [None]


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
    rows = compared(table, sheet, pairs, only=here)
    told = [(table, rows)]
    if table.id in OF_SETS:
        base = compared(replace(table, view=GoldView.BASE), sheet, pairs, only=here)
        changes = known[OF_SETS[table.id]]
        told.append((changes, [_changed(changes, *each) for each in zip(base, rows, strict=True)]))
    for of, found in told:
        for number, row in enumerate(found):
            run = runs.get(row.name)
            if run is None or row.run != run.name:
                continue
            kind = Kind.FILES if "import" in run.provenance else Kind.OWN
            source = f"run {run.name} in {benchmark.name}, {table.profile}"
            yield from _cells(known, of, number, row, kind, source, of.tolerance)


def _changed(table: PublishedTable, base: ComparedRow, refined: ComparedRow) -> ComparedRow:
    """What each set of a run gained, beside what a table of the same rows prints of it."""
    ours = [
        None if now.ours is None or was.ours is None else now.ours - was.ours
        for was, now in zip(base.cells, refined.cells, strict=True)
    ]
    of = dict(zip((cell.column for cell in refined.cells), ours, strict=True))
    printed = dict(table.rows)[refined.name]
    cells = (
        Comparison(each, value, of[each], table.tolerance)
        for each, value in zip(table.columns, printed, strict=True)
    )
    return ComparedRow(refined.name, refined.run, tuple(cells))


def of_gains(known: Tables, best: Mapping[Place, Evidence]) -> Iterator[tuple[Place, Evidence]]:
    """What runs gained from one corpus to another, of what runs over both give; the less telling of
    both ways counts. Two printed figures are rounded before they are subtracted."""
    for number, (name, _) in enumerate(known[GAINS].rows):
        for column in known[GAINS].columns:
            places = [(of, number, column) for of in (AFTER, BEFORE)]
            found = [best[each] for each in places if each in best]
            if len(found) < 2 or any(each.kind is Kind.FORMULA for each in found):
                continue
            assert known[BEFORE].rows[number][0] == known[AFTER].rows[number][0] == name
            kind = max((each.kind for each in found), key=list(Kind).index)
            half = half_unit(known, (GAINS, number, column))
            allowed = max(half, known[GAINS].tolerance) if kind is Kind.OWN else half
            slack = fsum(half_unit(known, each) for each in places)
            source = " and ".join(each.source for each in reversed(found))
            gain = found[0].ours - found[1].ours
            yield (GAINS, number, column), Evidence(kind, gain, allowed, source, slack)


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
    named = by_name((e for e in runs if not e.provenance.get("practice")), lambda run: run)
    times = Counter(name for name, _ in table.rows)
    found: dict[str, RetrievalRun] = {}
    for name in (name for name, n in times.items() if n == 1):
        own, condition = plain(name), plain(table.condition)
        run = named.get(own + condition) or named.get(condition + own)
        wordings = called(str(run.provenance.get("queries") or "")) if run else []
        if run is not None and (condition or any(plain(each) in own for each in wordings)):
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


def _has_all_sets(
    known: Tables, sets: PublishedTable, benchmark: Benchmark, names: Sequence[str]
) -> bool:
    """Whether a benchmark is the table's corpus: all its sets in their sizes and no other."""
    printed = sets.sets or [name for name, _ in sets.rows]
    wanted = {plain(name) for name in printed} - {ours.TOTAL}
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


def _of_agents(
    known: Tables, table: PublishedTable, kind: str, benchmark: Benchmark
) -> Iterator[tuple[Place, Evidence]]:
    """Of the newest run over all queries that is named as a row, under its newest judge; nothing
    of the practice model, and of another agent's traces as little."""
    queries = sum(queries_of(benchmark).values())
    done = {"status": RunStatus.DONE, "practice": False}
    named: dict[str, AgentRun] = {}
    for run in benchmark.agent_runs.filter(**done).exclude(config__has_key="imported"):
        if (run.rounds is None) == (kind == "adaptive") and not run.is_guest:
            named.setdefault(plain(run.name), run)
    for number, (name, values) in enumerate(table.rows):
        found = named.get(plain(name))
        judge = found.judge_runs.filter(**done).first() if found else None
        if found is None or judge is None:
            continue
        if found.items.values("query").distinct().order_by().count() < queries:
            continue
        cells = zip(
            table.columns, values, as_printed(kind, figures_of(found, judge), len(values)),
            strict=True,
        )  # fmt: skip
        compared_cells = tuple(Comparison(*each, table.tolerance) for each in cells)
        row = ComparedRow(name, found.name, compared_cells)
        source = f"agent run {found.name} in {benchmark.name}, {judge.judge}"
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
