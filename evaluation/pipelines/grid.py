"""Methods by retrievers: what each way of asking and of reranking made of a retriever's lists, and
what an oracle would make of them.

Read from score sheets, nothing is scored here.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from django.urls import reverse

from corpus.models import Benchmark, Query, RerankRun, RetrievalRun, RunComputation
from evaluation.leaderboard.services import DEFAULT, Line, leaderboard_of, query_values
from evaluation.pipelines import plan
from evaluation.pipelines.models import PipelineRun
from evaluation.published.services import tables
from evaluation.scores.models import ScoreSheet
from evaluation.scores.reading import ORACLE_DEPTH
from evaluation.scores.services import GoldView
from kit.lists.report_tables import Cell, ReportTable, text

Values = Mapping[tuple[str, str], float | None]
AS_IT_IS: Final = "the queries as they are"
VIEW: Final = str(GoldView.BASE)
_MEASURED: Final = f"{DEFAULT}, {VIEW} gold"
_ORACLE: Final = (
    "Oracle: the first passages of the retriever, sorted by that gold; no order of them has more. "
    "A dash: not scored yet."
)


class Way(NamedTuple):
    """How a run came to be: the retriever that it begins with, and what was done beyond it."""

    retriever: str
    method: str


class Helped(NamedTuple):
    """A run in other words, or reranked, beside its retriever's own: over the queries that both
    have a value for."""

    run: RetrievalRun
    base: RetrievalRun
    mean: float
    base_mean: float
    better: int
    same: int
    worse: int


def ways_of(runs: Sequence[RetrievalRun]) -> dict[int, Way]:
    """The way of each run by its key."""
    by_name, by_key = {run.name: run for run in runs}, {run.pk: run for run in runs}
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
            found = before._replace(method=f"{before.method}, {told['method']}")
        elif told.get("queries"):
            base = source or as_it_is.get(_recipe(configs.get(run.pk, {})))
            found = Way(base.name if base else told.get("method", run.name), told["queries"])
        elif (parts := configs.get(run.pk, {}).get("runs")) and (first := by_key.get(parts[0])):
            others = [by_key[pk] for pk in parts[1:] if pk in by_key]
            before = way(first, depth + 1)
            names = ", ".join(way(each, depth + 1).retriever for each in others)
            found = before._replace(method=f"{before.method}, hybrid with {names}")
        return known.setdefault(run.pk, found)

    found: dict[int, Way] = {}
    for run in runs:
        made = way(run)
        # Two that differ in more than a name says, such as in the model, stand apart.
        is_taken = made in found.values()
        found[run.pk] = made._replace(method=f"{made.method}: {run.name}") if is_taken else made
    return found


def oracle_of(sheet: ScoreSheet, line: Line, depth: int) -> tuple[float | None, list[float | None]]:
    """The mean of a run whose first `depth` passages are sorted by truth, and that of each domain
    (docs/protocol.md 5.5, V16); None where the sheet has none."""
    asked = (line.run.pk, depth)
    rows = (e for e in sheet.boards.get("oracles", ()) if (e["run"], e["depth"]) == asked)
    held = next(rows, {"domains": ()})["domains"]
    domains = [*held, *[None] * (len(line.domains) - len(held))]
    known = [value for value in domains if value is not None]
    return (sum(known) / len(known) if known and line.mean is not None else None), domains


def our_grid(sheet: ScoreSheet) -> ReportTable:
    """Means over the domains, the best of each retriever marked; below what was reranked, and
    below each retriever's own lists, the oracle of the same passages."""
    board = leaderboard_of(sheet, metric=DEFAULT, view=VIEW)
    lines = {line.run.pk: line for line in board.lines}
    ways = ways_of([line.run for line in board.lines])
    means = {ways[pk]: line.mean for pk, line in lines.items()}
    known = {way: mean for way, mean in means.items() if mean is not None}
    best = {way.retriever: way for way in sorted(known, key=lambda way: known[way])}
    own = {pk: ORACLE_DEPTH for pk, way in ways.items() if way.method == AS_IT_IS}
    stages = {*own.items(), *((s.pk, depth) for _, s, depth in _reranked(lines))}
    for pk, depth in sorted(stages):
        way = ways[pk]._replace(method=f"{ways[pk].method}, oracle of the first {depth}")
        means[way], _ = oracle_of(sheet, lines[pk], depth)
    retrievers = sorted({way.retriever for way in ways.values()})
    methods = sorted({way.method for way in means}, key=lambda name: (name != AS_IT_IS, name))
    is_choice = len({way.method for way in ways.values()}) > 1
    rows = []
    for method in methods:
        asked = [Way(name, method) for name in retrievers]
        cells = (
            Cell(means.get(way), "points", best=is_choice and best.get(way.retriever) == way)
            for way in asked
        )
        rows.append((text(method), *cells))
    notes = (f"{_MEASURED}, mean over {len(board.domains)} domains.", _ORACLE)
    title = "Methods by retrievers"
    return ReportTable("grid", title, ("method", *retrievers), tuple(rows), notes, "No run yet.")


def reranked_table(sheet: ScoreSheet) -> ReportTable:
    """Every reranking between its retriever alone and the oracle."""
    lines = {e.run.pk: e for e in leaderboard_of(sheet, metric=DEFAULT, view=VIEW).lines}
    firsts = {run.pk: (source, depth) for run, source, depth in _reranked(lines)}
    rows = []
    for pk, (source, depth) in firsts.items():
        first = source
        while first.pk in firsts:
            first, _ = firsts[first.pk]
        alone, mean = lines[first.pk].mean, lines[pk].mean
        best, _ = oracle_of(sheet, lines[source.pk], depth)
        means = (Cell(each, "points") for each in (alone, mean, best))
        rows.append((text(lines[pk].run.name), text(first.name), Cell(depth), *means))
    header = ("reranking", "retriever", "first", "retriever alone", DEFAULT, "oracle")
    notes = (f"{_MEASURED}.", _ORACLE)
    title = "Rerankings between the retriever alone and the oracle"
    return ReportTable("reranked", title, header, tuple(rows), notes, "Nothing was reranked yet.")


def _reranked(lines: Mapping[int, Line]) -> Iterator[tuple[RetrievalRun, RetrievalRun, int]]:
    """(run, what was reranked, how many passages of it) of every reranking on a board."""
    found = RerankRun.objects.filter(run__in=lines, source__in=lines).order_by("run__name")
    for run, source, config in found.values_list("run", "source", "config"):
        if run is not None:
            yield lines[run].run, lines[source].run, config["depth"]


def rerank_means(run: RerankRun, sheet: ScoreSheet | None) -> ReportTable:
    """A reranking between the retriever alone and the oracle, by domain."""
    rows = [(run.name, run.run, 0), (_oracle_name(run.config), run.source, run.config["depth"])]
    if run.second:
        rows.insert(0, (run.second.name, run.second, 0))
    before: RerankRun | None = run
    while before:
        rows.insert(0, (before.source.name, before.source, 0))
        before = RerankRun.objects.select_related("source").filter(run=before.source).first()
    rows[0] = ("retriever alone", *rows[0][1:])
    return _means("Retriever alone, reranked, oracle", rows, sheet, run.benchmark.slug)


def pipeline_means(run: PipelineRun, sheet: ScoreSheet | None) -> ReportTable:
    """The means of a pipeline's steps beside the printed ones, and the oracle of what it reranks,
    as far as they were scored."""
    known = RetrievalRun.objects.in_bulk([each["run"] or 0 for each in run.steps])
    rows: list[tuple[str, RetrievalRun | None, int]] = [(plan.RETRIEVER, run.retriever, 0)]
    rows += [(e["name"], known[e["run"]], 0) for e in run.steps if e["run"] in known]
    printed = [_printed(run.preset, name, is_last=name == run.steps[-1]["name"])
               for name, *_ in rows]  # fmt: skip
    stage = next((e["of"][0] for e in run.steps if e["kind"] in plan.RERANKS), "")
    first = next((made for name, made, _ in rows if name == stage), None)
    if first:
        rows.append((_oracle_name(run.config), first, run.config["depth"]))
        printed.append(None)
    note = "Printed: DIVER, the mean over its twelve sets."
    return _means("Means by step", rows, sheet, run.benchmark.slug, printed, note)


def _means(
    title: str,
    places: Sequence[tuple[str, RetrievalRun | None, int]],
    sheet: ScoreSheet | None,
    slug: str,
    printed: Sequence[float | None] | None = None,
    note: str = "",
) -> ReportTable:
    """Runs with their mean and that of each domain; of one with a depth those of its oracle."""
    board = leaderboard_of(sheet, metric=DEFAULT, view=VIEW) if sheet else None
    lines = {line.run.pk: line for line in board.lines} if board else {}
    names = board.domains if board else ()
    rows = []
    for place, (name, made, depth) in enumerate(places):
        if made is None:
            continue
        line = lines.get(made.pk)
        mean, domains = (line.mean, line.domains) if line else (None, [None] * len(names))
        if line and sheet and depth:
            mean, domains = oracle_of(sheet, line, depth)
        url = reverse("retrieval-run", args=[slug, made.pk])
        beside = [printed[place]] if printed else []
        cells = (Cell(value, "points") for value in (mean, *beside, *domains))
        rows.append((text(name), text(made.name, url), *cells))
    header = ("step", "run", "mean", *(["printed"] if printed else []), *names)
    notes = (f"{_MEASURED}. {note}".strip(), _ORACLE)
    return ReportTable("steps", title, header, tuple(rows), notes)


def _oracle_name(config: Mapping[str, Any]) -> str:
    return f"oracle of the first {config['depth']}"


def _printed(preset: str, step: str, *, is_last: bool) -> float | None:
    place = plan.printed_of(preset, step, is_last=is_last)
    if place is None:
        return None
    name, row, number = place
    value = [values[0] for printed, values in tables()[name].rows if printed == row][number]
    return None if value is None else value / 100


def helped_of(sheet: ScoreSheet) -> list[Helped]:
    """What each other way gained over the retriever's own lists, the most first."""
    found = []
    for run, base, values, own in _pairs(sheet):
        pairs = [
            (one, other)
            for key, one in values.items()
            if one is not None and (other := own.get(key)) is not None
        ]
        if pairs:
            better, worse = (sum(a > b for a, b in pairs), sum(a < b for a, b in pairs))
            mean, base_mean = (sum(each) / len(pairs) for each in zip(*pairs, strict=True))
            same = len(pairs) - better - worse
            found.append(Helped(run, base, mean, base_mean, better, same, worse))
    return sorted(found, key=lambda each: (each.base_mean - each.mean, each.run.name))


def helped_query(
    sheet: ScoreSheet, query: Query
) -> dict[str, list[tuple[RetrievalRun, float, float]]]:
    """What other words did for one query, by query source: runs with their value, and the gain."""
    key = (query.domain.name, query.qid)
    found: dict[str, list[tuple[RetrievalRun, float, float]]] = {}
    for run, _, values, own in _pairs(sheet):
        one, other, source = values.get(key), own.get(key), run.provenance.get("queries")
        if source and one is not None and other is not None:
            found.setdefault(source, []).append((run, one, one - other))
    return found


def _pairs(sheet: ScoreSheet) -> Iterator[tuple[RetrievalRun, RetrievalRun, Values, Values]]:
    """Each run that went another way, and its retriever's own, with their values by query."""
    runs = [line.run for line in leaderboard_of(sheet, metric=DEFAULT, view=VIEW).lines]
    ways = ways_of(runs)
    bases = {way.retriever: run for run in runs if (way := ways[run.pk]).method == AS_IT_IS}
    own = {name: query_values(sheet, run, DEFAULT, VIEW) for name, run in bases.items()}
    for run in runs:
        way = ways[run.pk]
        if way.retriever in bases and way.method != AS_IT_IS:
            values = query_values(sheet, run, DEFAULT, VIEW)
            yield run, bases[way.retriever], values, own[way.retriever]


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


def _recipe(config: Mapping[str, Any]) -> str:
    """What a computation does, whatever it searches for."""
    return json.dumps({**config, "queries": None}, sort_keys=True)
