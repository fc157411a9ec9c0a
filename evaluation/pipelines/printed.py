"""Methods by retrievers as DIVER and MARCUS print them, with ours beside them; means over the
twelve sets are computed anew from what is printed of each."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from django.urls import reverse

from corpus.models import Benchmark
from corpus.wordings.asking import QEXPAND
from evaluation.leaderboard.services import DEFAULT, leaderboard_of
from evaluation.pipelines.grid import AS_IT_IS, VIEW, Way, ways_of
from evaluation.published.services import MEAN, PublishedTable, called, compared, plain, tables
from evaluation.scores.models import ScoreSheet
from kit.lists.report_tables import Cell, ReportTable, text

# Printed figures have one decimal, and so have the sets that a mean is of.
_ROUNDING: Final = 0.1
_EXPANDED: Final = "DIVER-QExpand"
# Of each printed table either all its rows have one method, or one retriever.
_EVALUATED: Final = "diver-retrievers-evaluate-retriever-with-"
_OF_METHOD: Final[Mapping[str, str]] = {
    f"{_EVALUATED}original-query": AS_IT_IS,
    f"{_EVALUATED}gpt-4-reason-query": "GPT-4 Reason-query",
    f"{_EVALUATED}diver-qexpand-query": _EXPANDED,
}
_OF_RETRIEVER: Final[Mapping[str, str]] = {
    "diver-query-expansion-using-bm25-retriever": "BM25",
    "diver-query-expansion-using-reasonir-retriever": "ReasonIR-8B",
}
_HYBRID: Final = "+BM25 (Hybrid)"


class Printed(NamedTuple):
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
    ours = _ours(sheet) if sheet is not None else {}
    found = []
    for table, ways_printed in _printed_ways():
        place = table.columns.index(MEAN)
        for number, ((name, values), way) in enumerate(zip(table.rows, ways_printed, strict=True)):
            mean = values[place]
            sets = [value for n, value in enumerate(values) if n != place and value is not None]
            if mean is not None and sets:
                # Rows of a table may share a name: each is asked for by itself.
                run, mine = ours.get(_plain(way)), None
                if run is not None:
                    mine = compared(table, sheet, [(name, run)])[number].cells[place].ours
                found.append(Printed(way, table, mean, sum(sets) / len(sets), mine))
    return found


def _ours(sheet: ScoreSheet) -> dict[Way, str]:
    """The run that went each way, also by what papers call its query source: a name of its own
    before another's."""
    board = leaderboard_of(sheet, metric=DEFAULT, view=VIEW)
    ways = ways_of([line.run for line in board.lines])
    own = {_plain(ways[line.run.pk]): line.run.name for line in board.lines}
    sources = sheet.benchmark.query_sources.values_list("name", "expansion__method")
    found: dict[Way, str] = {}
    for line in board.lines:
        way = ways[line.run.pk]
        for source, method in sources:
            if not f"{way.method}, ".startswith(f"{source}, "):
                continue
            for name in [_EXPANDED] if method == QEXPAND else called(source):
                printed = way._replace(method=name + way.method.removeprefix(source))
                found.setdefault(_plain(printed), line.run.name)
    return found | own


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


def _plain(way: Way) -> Way:
    return Way(plain(way.retriever), plain(way.method))
