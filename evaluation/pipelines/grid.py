"""Methods by retrievers: what each way of asking and of reranking made of a retriever's lists.

Read from score sheets, nothing is scored here. Printed grids are those of DIVER and MARCUS; means
over the twelve sets are computed anew from what is printed of each.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.urls import reverse

from corpus.models import Benchmark, Query, RetrievalRun, RunComputation
from evaluation.leaderboard.services import DEFAULT, Leaderboard, leaderboard_of, query_values
from evaluation.published.services import (
    MEAN,
    PublishedTable,
    compared,
    plain,
    tables,
)
from evaluation.scores.models import ScoreSheet
from evaluation.scores.services import GoldView
from kit.lists.report_tables import Cell, ReportTable, text

Values = Mapping[tuple[str, str], float | None]
AS_IT_IS: Final = "the queries as they are"
VIEW: Final = str(GoldView.BASE)
# Printed figures have one decimal, and so have the sets that a mean is of.
_ROUNDING: Final = 0.1
# Of each printed table either all its rows have one method, or one retriever.
_OF_METHOD: Final[Mapping[str, str]] = {
    "diver-retrievers-evaluate-retriever-with-original-query": AS_IT_IS,
    "diver-retrievers-evaluate-retriever-with-gpt-4-reason-query": "GPT-4 Reason-query",
    "diver-retrievers-evaluate-retriever-with-diver-qexpand-query": "DIVER-QExpand",
}
_OF_RETRIEVER: Final[Mapping[str, str]] = {
    "diver-query-expansion-using-bm25-retriever": "BM25",
    "diver-query-expansion-using-reasonir-retriever": "ReasonIR-8B",
}
_HYBRID: Final = "+BM25 (Hybrid)"


@dataclass(frozen=True)
class Way:
    """How a run came to be: the retriever that it begins with, and what was done beyond it."""

    retriever: str
    method: str


@dataclass(frozen=True)
class Helped:
    """A run in other words, or reranked, beside its retriever's own: over the queries that both
    have a value for."""

    run: RetrievalRun
    base: RetrievalRun
    way: Way
    mean: float
    base_mean: float
    better: int
    same: int
    worse: int


def ways_of(runs: Sequence[RetrievalRun]) -> dict[int, Way]:
    """The way of each run by its key."""
    by_name = {run.name: run for run in runs}
    by_key = {run.pk: run for run in runs}
    rows = RunComputation.objects.filter(run__in=by_key).order_by("pk")
    configs: dict[int | None, dict[str, Any]] = dict(rows.values_list("run", "config"))
    as_it_is = {_recipe(config): by_key[pk] for pk, config in configs.items() if pk in by_key
                and not config.get("queries")}  # fmt: skip
    known: dict[int, Way] = {}

    def way(run: RetrievalRun, depth: int = 0) -> Way:
        if run.pk in known or depth > 10:
            return known.get(run.pk, Way(run.name, AS_IT_IS))
        told, found = run.provenance, Way(run.name, AS_IT_IS)
        source = by_name.get(told.get("source", ""))
        if told.get("reranking") and source:
            before = way(source, depth + 1)
            found = Way(before.retriever, f"{before.method}, {told['method']}")
        elif told.get("queries"):
            base = source or as_it_is.get(_recipe(configs.get(run.pk, {})))
            found = Way(base.name if base else told.get("method", run.name), told["queries"])
        elif (parts := configs.get(run.pk, {}).get("runs")) and (first := by_key.get(parts[0])):
            others = [by_key[pk] for pk in parts[1:] if pk in by_key]
            before = way(first, depth + 1)
            names = ", ".join(way(each, depth + 1).retriever for each in others)
            found = Way(before.retriever, f"{before.method}, hybrid with {names}")
        return known.setdefault(run.pk, found)

    found: dict[int, Way] = {}
    for run in runs:
        made = way(run)
        # Two that differ in more than a name says, such as in the model, stand apart.
        is_taken = made in found.values()
        found[run.pk] = Way(made.retriever, f"{made.method}: {run.name}") if is_taken else made
    return found


def our_grid(sheet: ScoreSheet) -> ReportTable:
    """Means over the domains; the best of each retriever is marked."""
    board = leaderboard_of(sheet, metric=DEFAULT, view=VIEW)
    ways = ways_of([line.run for line in board.lines])
    cells = {ways[line.run.pk]: line for line in board.lines}
    retrievers = sorted({each.retriever for each in cells})
    methods = sorted({each.method for each in cells}, key=lambda name: (name != AS_IT_IS, name))
    means = {way: line.mean for way, line in cells.items() if line.mean is not None}
    best = {way.retriever: way for way in sorted(means, key=lambda way: means[way])}
    rows = []
    for method in methods:
        found: list[Cell] = [text(method)]
        for name in retrievers:
            way = Way(name, method)
            is_best = best.get(name) == way and len(methods) > 1
            found.append(Cell(means.get(way), "points", best=is_best))
        rows.append(tuple(found))
    notes = (f"{DEFAULT}, {VIEW} gold, mean over {len(board.domains)} domains.",)
    title = "Methods by retrievers"
    return ReportTable("grid", title, ("method", *retrievers), tuple(rows), notes, "No run yet.")


def helped_of(sheet: ScoreSheet) -> list[Helped]:
    """What each other way gained over the retriever's own lists, the most first."""
    found = []
    for run, base, way, values, own in _pairs(sheet):
        pairs = [
            (one, other)
            for key, one in values.items()
            if one is not None and (other := own.get(key)) is not None
        ]
        if pairs:
            better, worse = (sum(a > b for a, b in pairs), sum(a < b for a, b in pairs))
            mean, base_mean = (sum(each) / len(pairs) for each in zip(*pairs, strict=True))
            same = len(pairs) - better - worse
            found.append(Helped(run, base, way, mean, base_mean, better, same, worse))
    return sorted(found, key=lambda each: (each.base_mean - each.mean, each.run.name))


def helped_query(
    sheet: ScoreSheet, query: Query
) -> dict[str, list[tuple[RetrievalRun, float, float]]]:
    """What other words did for one query, by query source: runs with their value, and the gain."""
    key = (query.domain.name, query.qid)
    found: dict[str, list[tuple[RetrievalRun, float, float]]] = {}
    for run, _, _, values, own in _pairs(sheet):
        one, other, source = values.get(key), own.get(key), run.provenance.get("queries")
        if source and one is not None and other is not None:
            found.setdefault(source, []).append((run, one, one - other))
    return found


def _pairs(sheet: ScoreSheet) -> Iterator[tuple[RetrievalRun, RetrievalRun, Way, Values, Values]]:
    """Each run that went another way, and its retriever's own, with their values by query."""
    runs = [line.run for line in leaderboard_of(sheet, metric=DEFAULT, view=VIEW).lines]
    ways = ways_of(runs)
    bases = {way.retriever: run for run in runs if (way := ways[run.pk]).method == AS_IT_IS}
    own = {name: query_values(sheet, run, DEFAULT, VIEW) for name, run in bases.items()}
    for run in runs:
        way = ways[run.pk]
        if way.retriever in bases and way.method != AS_IT_IS:
            values = query_values(sheet, run, DEFAULT, VIEW)
            yield run, bases[way.retriever], way, values, own[way.retriever]


def helped_table(benchmark: Benchmark, found: Sequence[Helped]) -> ReportTable:
    """The same as a table; each gain leads to the two runs query by query."""
    compare = reverse("leaderboard-compare", args=[benchmark.slug])
    rows = tuple(
        (
            text(each.run.name),
            text(each.base.name),
            Cell(each.mean, "points"),
            Cell(
                each.mean - each.base_mean,
                "gain",
                url=f"{compare}?a={each.run.pk}&b={each.base.pk}&metric={DEFAULT}&view={VIEW}",
            ),
            *(Cell(count) for count in (each.better, each.same, each.worse)),
        )
        for each in found
    )
    header = ("run", "beside", DEFAULT, "gain", "helped", "same", "hurt")
    notes = ("Queries that both have a value for; helped, same and hurt count queries.",)
    title = "What it helped"
    return ReportTable("helped", title, header, rows, notes, "No run beside its retriever's own.")


@dataclass(frozen=True)
class Printed:
    """A printed mean, the same computed anew from its sets, and ours where there is one."""

    way: Way
    table: PublishedTable
    mean: float
    anew: float
    ours: float | None = None

    @property
    def is_off(self) -> bool:
        """Whether the printed mean is another than that of the printed sets."""
        return abs(self.mean - self.anew) > _ROUNDING


def printed_of(sheet: ScoreSheet | None = None) -> list[Printed]:
    """Every printed cell; ours is the run that went the same way."""
    ours: dict[Way, str] = {}
    if sheet is not None:
        board: Leaderboard = leaderboard_of(sheet, metric=DEFAULT, view=VIEW)
        ways = ways_of([line.run for line in board.lines])
        ours = {_plain(ways[line.run.pk]): line.run.name for line in board.lines}
    found = []
    for table, ways_printed in _printed_ways():
        names = [
            (row, ours[_plain(way)])
            for (row, _), way in zip(table.rows, ways_printed, strict=True)
            if _plain(way) in ours
        ]
        place = table.columns.index(MEAN)
        for row, (_, values), way in zip(
            compared(table, sheet, names), table.rows, ways_printed, strict=True
        ):
            mean = values[place]
            sets = [value for n, value in enumerate(values) if n != place and value is not None]
            if mean is not None and sets:
                mine = row.cells[place].ours if _plain(way) in ours else None
                found.append(Printed(way, table, mean, sum(sets) / len(sets), mine))
    return found


def printed_grid(found: Sequence[Printed]) -> ReportTable:
    """Printed means, methods by retrievers; two where two tables print one."""
    retrievers = list(dict.fromkeys(each.way.retriever for each in found))
    means: dict[Way, list[str]] = {}
    for each in found:
        means.setdefault(each.way, []).append(f"{each.mean:.1f}")
    rows = tuple(
        (
            text(method),
            *(
                text(", ".join(dict.fromkeys(means.get(Way(name, method), ["–"]))))
                for name in retrievers
            ),
        )
        for method in dict.fromkeys(each.way.method for each in found)
    )
    notes = ("nDCG@10, mean over twelve sets; DIVER, Tables 2 to 5.",)
    title = "Methods by retrievers, as printed"
    return ReportTable("printed", title, ("method", *retrievers), rows, notes)


def printed_table(benchmark: Benchmark, found: Sequence[Printed]) -> ReportTable:
    """Printed means with the same computed anew, and ours."""
    rows = tuple(
        (
            text(each.way.method),
            text(each.way.retriever),
            Cell(each.mean / 100, "points"),
            Cell(each.anew / 100, "points", best=each.is_off),
            Cell(
                each.ours / 100 if each.ours is not None else None,
                "points",
                url=reverse("published-table", args=[benchmark.slug, each.table.id]),
            ),
        )
        for each in found
    )
    notes = (
        f"Computed anew: the mean of the sets as they are printed; bold where it is more than "
        f"{_ROUNDING} off. Ours stands where a run went the same way over the same sets.",
    )
    header = ("method", "retriever", "printed mean", "computed anew", "ours")
    return ReportTable("anew", "Printed means computed anew, and ours", header, rows, notes)


def _printed_ways() -> Iterator[tuple[PublishedTable, list[Way]]]:
    for name, method in _OF_METHOD.items():
        table, last, ways = tables()[name], "", []
        for row, _ in table.rows:
            is_hybrid = row == _HYBRID  # of the retriever in the row above
            last = last if is_hybrid else row
            ways.append(Way(last, f"{method}, hybrid with BM25" if is_hybrid else method))
        yield table, ways
    for name, retriever in _OF_RETRIEVER.items():
        yield tables()[name], [Way(retriever, row) for row, _ in tables()[name].rows]


def _recipe(config: Mapping[str, Any]) -> str:
    """What a computation does, whatever it searches for."""
    return json.dumps({**config, "queries": None}, sort_keys=True)


def _plain(way: Way) -> Way:
    return Way(plain(way.retriever), plain(way.method))
