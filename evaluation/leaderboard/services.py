"""What the leaderboard shows, read from a score sheet: nothing is scored here;
and one query of one run: its passages with labels and the aspects they support.

The tests and draws of two systems compared are made once a score sheet, kept, and then read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from corpus.models import Benchmark, CorpusVersion, Passage, Query, RankedList, RetrievalRun
from corpus.pooling import Ranking, top
from corpus.versions.excluded import excluded_in
from corpus.versions.services import stored
from evaluation.content.reading import read_queries
from evaluation.content.view import view_of
from evaluation.metrics.profiles import STRICT
from evaluation.metrics.standings import ranks_of
from evaluation.scores import sheets
from evaluation.scores.models import DomainScore, KeptComparison, ScoreSheet
from evaluation.scores.reading import SEED
from evaluation.scores.services import GoldView, held_view, labels_in
from kit.errors import Refused
from kit.lists.report_tables import Cell, ReportTable, measured, text
from kit.numbers import number
from kit.stats.means import Mean, bootstrap_macro
from kit.stats.paired import PairedTest, paired_t, randomisation, weighted
from kit.stats.results import Interval, p_words
from kit.templatetags.figures import signed_points

# Raised whenever differences are tested otherwise: what older programs kept is made anew.
_FORM = 2
NAMES = sheets.NAMES
DEFAULT = NAMES[0]
WORDS: Mapping[str, str] = {
    GoldView.BASE: "base: the imported gold",
    GoldView.REFINED: "refined: with the holes that were filled",
    GoldView.EXPERT: "expert: without what experts refused",
    GoldView.MACHINE: "machine: expert, with machine gold of aspects",
}


@dataclass(frozen=True)
class Line:
    """One system: its mean with interval, rank with interval, and how many places it moved."""

    run: RetrievalRun
    domains: Sequence[float | None]
    mean: float | None
    low: float | None
    high: float | None
    rank: int | None
    rank_low: int | None
    rank_high: int | None
    first: float | None
    # Mean and rank under the base gold; `shift` is places won (above 0) since.
    base_mean: float | None
    base_rank: int | None
    is_practice: bool
    # For each domain its value, its name, and "best" or "second" where it is.
    marked: Sequence[tuple[float | None, str, str]] = ()

    @property
    def shift(self) -> int | None:
        """Places won against the base gold; below 0 lost."""
        if self.rank is None or self.base_rank is None:
            return None
        return self.base_rank - self.rank

    @property
    def change(self) -> float | None:
        """What the mean gained against the base gold."""
        if self.mean is None or self.base_mean is None:
            return None
        return self.mean - self.base_mean


@dataclass(frozen=True)
class Leaderboard:
    """One metric under one view and profile: systems by rank, those without a rank last."""

    metric: str
    view: str
    profile: str
    domains: Sequence[str]
    lines: Sequence[Line]

    @property
    def lead(self) -> Sequence[Line]:
        """The first two; none of fewer than two ranked systems."""
        ranked = [each for each in self.lines if each.rank]
        return ranked[:2] if len(ranked) > 1 else ()


def leaderboard_of(
    sheet: ScoreSheet, *, metric: str = DEFAULT, view: str = GoldView.REFINED
) -> Leaderboard:
    """A board of a sheet; raises Refused for a metric or view that it does not hold."""
    name = held_metric(sheet, metric)
    views, held = sheet.boards["views"], held_view(sheet, view)
    if held not in views:
        raise Refused(f"There is no view {view!r}: {', '.join(GoldView)}.", field="view")
    runs = RetrievalRun.objects.filter(benchmark=sheet.benchmark_id).in_bulk()
    base = {row["run"]: row for row in views[GoldView.BASE].get(name, ())}
    rows = [row for row in views[held].get(name, ()) if row["run"] in runs]
    rows.sort(key=lambda row: (row["rank"] is None, row["rank"] or 0, runs[row["run"]].name))
    domains = sheet.boards["domains"]
    marks = [_marks(values) for values in zip(*(row["domains"] for row in rows), strict=True)]
    kept = ("domains", "mean", "low", "high", "rank", "rank_low", "rank_high", "first")
    lines = [
        Line(
            run=(run := runs[row["run"]]),
            **{key: row[key] for key in kept},
            base_mean=base[run.pk]["mean"],
            base_rank=base[run.pk]["rank"],
            is_practice=bool(run.provenance.get("practice")),
            marked=list(zip(row["domains"], domains, marked, strict=True)),
        )
        for row, marked in zip(rows, zip(*marks, strict=True), strict=True)
    ]
    return Leaderboard(name, view, sheet.profile, domains, lines)


def _marks(values: Sequence[float | None]) -> list[str]:
    """For each of a domain's values whether it is the highest or the second highest, where
    there are others."""
    ranks = ranks_of(np.array([-np.inf if value is None else value for value in values])).tolist()
    known = sorted({rank for rank, value in zip(ranks, values, strict=True) if value is not None})
    words = dict(zip(known, ("best", "second"), strict=False)) if len(known) > 1 else {}
    return [
        "" if value is None else words.get(rank, "")
        for rank, value in zip(ranks, values, strict=True)
    ]


def held_metric(sheet: ScoreSheet, metric: str) -> str:
    """The metric as the sheet names it; raises Refused for one that was not scored on it."""
    name = sheets.metric_name(metric)
    if sheets.lacks(sheet, name):
        what = f"{name} under the profile {sheet.profile} was not computed yet"
        raise Refused(f"{what}; have it scored first (a POST in the API).", field="metric")
    return name


def as_table(board: Leaderboard, noise: Mapping[int, tuple[int, int]] | None = None) -> ReportTable:
    """The board as a table for CSV and the API; with the places that label noise could give a run
    where `noise` has any."""
    header = ("rank", "run", board.metric, *board.domains, "base mean", "base rank", "shift")
    header += ("rank under label noise",) if noise else ()
    rows = tuple(
        (
            Cell(each.rank, low=each.rank_low, high=each.rank_high),
            text(each.run.name),
            Cell(each.mean, low=each.low, high=each.high),
            *(Cell(value) for value in each.domains),
            Cell(each.base_mean),
            Cell(each.base_rank),
            Cell(each.shift),
            *_noisy(each, noise),
        )
        for each in board.lines
    )
    notes = ("Intervals: 2,000 paired bootstrap draws of queries within each domain, 95 %.",)
    title = f"{board.metric}, {board.view}"
    if board.profile != STRICT.name:
        title += f", profile {board.profile}"
    return ReportTable("leaderboard", title, header, rows, notes)


def compare(
    sheet: ScoreSheet, first: RetrievalRun, second: RetrievalRun, *, metric: str, view: str
) -> dict[str, Any]:
    """Do two systems differ, on the queries that both have a value for?

    Means are unweighted over domains, as on the board; `difference` is the first minus the second
    of them, and it is what the interval (bootstrap within domains) and both tests are of. `rows`
    are (domain, query id, first, second), the greatest differences first. Raises Refused for a
    metric or view that the sheet does not hold.
    """
    import pandas as pd  # takes longer to load than most pages: only what compares waits for it

    name = held_metric(sheet, metric)
    mine, theirs = (
        pd.Series(query_values(sheet, run, name, view), dtype=float) for run in (first, second)
    )
    both = pd.DataFrame({"mine": mine, "theirs": theirs.reindex(mine.index)}).dropna()
    differences = both["mine"] - both["theirs"]
    asked = {"sheet": sheet, "first": first, "second": second, "metric": name, "view": view}
    figures = KeptComparison.objects.filter(**asked).values_list("figures", flat=True).first() or {}
    if figures.get("form") != _FORM:
        parts = [part.to_numpy() for _, part in differences.groupby(level=0, sort=False)]
        found = bootstrap_macro(parts, seed=SEED, resamples=2000)
        tests = paired_t(*parts), randomisation(weighted(parts), seed=SEED)
        figures = {"difference": asdict(found), "tests": [asdict(test) for test in tests]}
        figures["form"] = _FORM
        # Two who look at once drew the same. A sheet never changes: what was drawn stays true.
        KeptComparison.objects.bulk_create(
            [KeptComparison(**asked, figures=figures)],
            update_conflicts=True,
            unique_fields=list(asked),
            update_fields=["figures"],
        )
    mean = figures["difference"]
    interval = Interval(**mean["interval"]) if mean["interval"] else None
    means = both.groupby(level=0).mean().mean()
    ordered = both.loc[differences.abs().sort_values(ascending=False, kind="stable").index]
    return {
        "first": first,
        "second": second,
        "metric": name,
        "view": view,
        "queries": len(both),
        "left_out": int(mine.count() + theirs.count()) - 2 * len(both),
        "first_mean": None if both.empty else float(means["mine"]),
        "second_mean": None if both.empty else float(means["theirs"]),
        "difference": Mean(mean["n"], mean["value"], interval),
        "tests": [PairedTest(**test) for test in figures["tests"]],
        "wins": int((differences > 0).sum()),
        "ties": int((differences == 0).sum()),
        "losses": int((differences < 0).sum()),
        "rows": [(*key, one, other) for key, one, other in ordered.itertuples(name=None)],
    }


def summary_table(found: Mapping[str, Any]) -> ReportTable:
    """Both means with their difference, its tests and how many queries go which way."""
    difference, tests = found["difference"], found["tests"]
    names = [found["first"].name, found["second"].name]
    row = (
        text(found["metric"]),
        Cell(found["first_mean"], "points"),
        Cell(found["second_mean"], "points"),
        measured(difference, "gain"),
        *(Cell(test.p, "p") for test in tests),
        *(Cell(found[each]) for each in ("queries", "wins", "ties", "losses", "left_out")),
    )
    header = (
        *("measure", *names, "difference", *(f"p, {test.name}" for test in tests)),
        *("queries", "higher", "equal", "lower", "in one only"),
    )
    notes = (
        "In points of 100. Means and their difference are unweighted over domains, over the "
        "queries that have a value in both. Interval: 95 % of 2,000 draws of queries within each "
        "domain.",
        "Both tests are of this difference, two-sided and paired by query, each domain with the "
        "same weight"
        + "".join(f"; {test.name}: {test.draws:,} draws" for test in tests if test.draws)
        + "".join(f"; {test.name} is undefined: {test.why}" for test in tests if test.p is None)
        + ". With many systems and measures some p will be small by chance: decide which to look "
        "at before you look.",
    )
    title = " against ".join(names)
    return ReportTable("summary", title, header, (row,), notes, summary=_summary(found, *names))


def _summary(found: Mapping[str, Any], first: str, second: str) -> str:
    difference = found["difference"]
    if difference.value is None:
        return "No query has a value in both."
    direction = "below" if difference.value < 0 else "above"
    apart = f"{first} is {abs(100 * difference.value):.2f} points {direction} {second}"
    said = f"{apart if difference.value else 'Both means are equal'} over {found['queries']:,} "
    said += "query" if found["queries"] == 1 else "queries"
    sure = [f"{test.name}, {p_words(test.p)}" for test in found["tests"] if test.p is not None]
    if difference.low is not None:
        ends = " to ".join(signed_points(end, 2) for end in (difference.low, difference.high))
        sure.insert(0, f"95 % interval of the difference {ends}")
    return f"{said} ({'; '.join(sure)})." if sure else f"{said}."


def compared_table(found: Mapping[str, Any]) -> ReportTable:
    """One row a query, the greatest differences first."""
    rows = tuple(
        (text(domain), text(qid), Cell(one), Cell(other), Cell(one - other))
        for domain, qid, one, other in found["rows"]
    )
    header = ("domain", "query", found["first"].name, found["second"].name, "difference")
    return ReportTable("compared", "{metric}, {view}, by query".format(**found), header, rows)


def query_values(
    sheet: ScoreSheet, run: RetrievalRun, metric: str, view: str
) -> dict[tuple[str, str], float | None]:
    """A run's value of one metric for every (domain, query id); None where it has none."""
    rows = DomainScore.objects.filter(sheet=sheet, run=run, view=held_view(sheet, view))
    return {
        (row.domain.name, qid): value
        for row in rows.select_related("domain").order_by("domain__name")
        for qid, value in zip(row.qids, row.values.get(metric, ()), strict=True)
    }


def _noisy(line: Line, noise: Mapping[int, tuple[int, int]] | None) -> tuple[Cell, ...]:
    if not noise:
        return ()
    low, high = noise.get(line.run.pk, (line.rank, line.rank))
    return (Cell(line.rank, low=low, high=high),)


def find_run(benchmark: Benchmark, pk: object, field: str) -> RetrievalRun:
    """A run by its number; raises Refused."""
    found = RetrievalRun.objects.filter(benchmark=benchmark, pk=number(str(pk)) or 0).first()
    if found is None:
        raise Refused("Choose two of the runs.", field=field)
    return found


MAX_DEPTH = 100


def drill(run: RetrievalRun, query: Query, view: GoldView, *, depth: int) -> dict[str, Any]:
    """A run's list for a query with the labels of one view; excluded ids are dropped first.

    `places` are the first rows of the list, `missing` the gold that is not among them, `aspects`
    (number, content, weight, whether the list covers it); `covered` counts these. A row without a
    label is unjudged, one without a rank was not returned; of machine gold `machine` is its source.
    """
    version = stored(query.domain.benchmark, run.corpus_version_id)
    shown = view_of(query.domain.benchmark, version, shown_only=True)
    record = read_queries(shown, query.domain, only=query.pk, with_answers=False)[0]
    row = RankedList.objects.filter(run=run, query=query).first()
    ranking = Ranking(row.pids, row.scores) if row else Ranking(())
    excluded = excluded_in(version, [query]).get(query.pk, set()) if version else set()
    listed = top(ranking, min(depth, MAX_DEPTH), excluded=excluded)
    labels, base = labels_in(record, view), labels_in(record, GoldView.BASE)
    machine = record.machine_gold if view == GoldView.MACHINE else {}
    supported: dict[str, list[int]] = {}
    for aspect in record.aspects:
        own = [each.passage for each in aspect.machine if each.passage in machine]
        for pid in (*aspect.supporting, *own):
            supported.setdefault(pid, []).append(aspect.k)
    gold = [pid for pid, label in labels.items() if label > 0]
    passages = _passages(query, version, [*(pid for pid, _ in listed), *gold])

    def row_of(rank: int | None, pid: str, score: float | None) -> dict[str, Any]:
        value = labels.get(pid)
        is_hole = (value or 0) > 0 and not base.get(pid, 0) > 0
        aspects = tuple(sorted(supported.get(pid, ()))) if (value or 0) > 0 else ()
        return {
            "rank": rank,
            "pid": pid,
            "score": score,
            "label": value,
            "is_hole": is_hole,
            "aspects": aspects,
            "machine": machine[pid].source if pid in machine else "",
            "passage": passages.get(pid),
        }

    places = [row_of(rank, pid, score) for rank, (pid, score) in enumerate(listed, start=1)]
    seen = {pid for pid, _ in listed}
    reached = {k for place in places for k in place["aspects"]}
    return {
        "places": places,
        "missing": [row_of(None, pid, None) for pid in gold if pid not in seen],
        "aspects": [(a.k, a.content, a.weight, a.k in reached) for a in record.aspects],
        "covered": len(reached),
    }


def _passages(query: Query, version: CorpusVersion | None, pids: list[str]) -> dict[str, Passage]:
    versions = [version, CorpusVersion.objects.growing(query.domain.benchmark)]
    layers = [pk for each in versions if each for pk in (each.layers or [each.pk])]
    rows = Passage.objects.filter(version_id__in=layers, domain=query.domain, pid__in=set(pids))
    return {each.pid: each for each in rows}
