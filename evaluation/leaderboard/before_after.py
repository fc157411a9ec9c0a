"""The leaderboard before and after: two corpus versions, or two views of one, system by system.

Read from score sheets, nothing is scored here. Systems are the same where their runs have one
name (corpus/models/runs.py).

A comparison before and after as tables, for CSV and the API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.contrib.auth.models import User

from corpus.models import Benchmark, CorpusVersion, RetrievalRun
from evaluation.leaderboard.services import metric_name
from evaluation.metrics.run import Floats
from evaluation.metrics.shifts import Between, shifts
from evaluation.metrics.standings import Standing
from evaluation.models import DomainScore, ScoreSheet
from evaluation.scores.reading import SEED
from evaluation.scores.services import GoldView
from evaluation.scores.sheets import latest, request_sheet
from kit.errors import Refused
from kit.sheets import Cell, Sheet, text
from kit.stats.paired import PairedTest, randomisations

Key = tuple[str, str]


@dataclass(frozen=True)
class Side:
    """One board of a comparison; `sheet` is None while its runs were not scored.

    With `matched_with` it is scored over what its version shares with that one.
    """

    version: CorpusVersion
    view: str
    sheet: ScoreSheet | None
    matched_with: CorpusVersion | None = None


@dataclass(frozen=True)
class Moved:
    """One system on both sides, over the queries that have a value on both."""

    name: str
    before: RetrievalRun
    after: RetrievalRun
    first: Standing
    second: Standing
    gain: Between
    won: Between
    test: PairedTest
    queries: int
    left_out: int

    @property
    def places(self) -> int | None:
        """Places won, below 0 lost."""
        return None if self.won.value is None else int(self.won.value)


@dataclass(frozen=True)
class Comparison:
    """Both boards; `only` names the systems of one side alone."""

    metric: str
    domains: Sequence[str]
    lines: Sequence[Moved]
    tau: Between
    only_before: Sequence[str]
    only_after: Sequence[str]


def side_of(benchmark: Benchmark, version: CorpusVersion, view: str) -> Side:
    """A side with the newest scores of its version; raises Refused for a view that is none."""
    if view not in list(GoldView):
        raise Refused(f"There is no view {view!r}: {', '.join(GoldView)}.", field="view")
    return Side(version, view, latest(benchmark, version))


def matched(before: Side, after: Side) -> list[Side]:
    """Both sides over the passages that both versions hold (matched.py); none where these are
    one."""
    if before.version == after.version:
        return []
    return [_matched(before, after), _matched(after, before)]


def _matched(side: Side, other: Side) -> Side:
    sheet = latest(side.version.benchmark, side.version, other.version)
    return Side(side.version, side.view, sheet, other.version)


def request_matched(*, before: Side, after: Side, actor: User | None) -> list[ScoreSheet]:
    """Have both versions scored over what they share; raises Refused where they are one, and
    without runs of either."""
    return [
        request_sheet(
            benchmark=one.version.benchmark,
            version=one.version,
            matched_with=other.version,
            actor=actor,
        )
        for one, other in ((before, after), (after, before))
    ]


def compare_sides(before: Side, after: Side, *, metric: str) -> Comparison:
    """The systems of both sides. Raises Refused for a metric that sheets do not hold, and where a
    side was not scored or no domain is on both."""
    name = metric_name(metric)
    one, other = (_scores(side, name) for side in (before, after))
    names = sorted(one.keys() & other.keys())
    domains = _shared(one, names, other)
    if not domains:
        raise Refused("No system of one name ranks queries of one domain on both sides.")
    first, second = [], []
    for domain in domains:
        qids = _queries(one, domain, _queries(other, domain))
        first.append(_table(one, names, domain, list(qids)))
        second.append(_table(other, names, domain, list(qids)))
    kept = [n for n, pair in enumerate(zip(first, second, strict=True)) if _has_values(*pair)]
    domains = [domains[n] for n in kept]
    first, second = [first[n] for n in kept], [second[n] for n in kept]
    found = shifts(first, second, seed=SEED)
    runs = [{run.name: run for run in _runs(side)} for side in (before, after)]
    gaps = [_gaps(first, second, place) for place in range(len(names))]
    tests = randomisations(gaps, seed=SEED)
    lines = []
    for place, system in enumerate(names):
        lines.append(
            Moved(
                name=system,
                before=runs[0][system],
                after=runs[1][system],
                first=found.before[place] if kept else Standing(),
                second=found.after[place] if kept else Standing(),
                gain=found.gain[place] if kept else Between(),
                won=found.won[place] if kept else Between(),
                test=tests[place],
                queries=len(gaps[place]),
                left_out=_one_sided(one[system], other[system]),
            )
        )
    lines.sort(key=lambda line: (line.second.rank is None, line.second.rank or 0, line.name))
    return Comparison(
        metric=name,
        domains=domains,
        lines=lines,
        tau=found.tau,
        only_before=sorted(one.keys() - other.keys()),
        only_after=sorted(other.keys() - one.keys()),
    )


def _gaps(first: Sequence[Floats], second: Sequence[Floats], system: int) -> Floats:
    """What a system gained on each query that has a value on both sides, domain by domain."""
    rows = [b[system] - a[system] for a, b in zip(first, second, strict=True)]
    found = np.concatenate(rows) if rows else np.zeros(0)
    return np.asarray(found[~np.isnan(found)])


def query_gaps(
    before: Side, after: Side, *, metric: str, system: str
) -> list[tuple[str, str, float, float]]:
    """(domain, query id, before, after) of one system, the greatest differences first."""
    name = metric_name(metric)
    one, other = (_scores(side, name).get(system, {}) for side in (before, after))
    rows = [
        (*key, value, theirs)
        for key, value in one.items()
        if value is not None and (theirs := other.get(key)) is not None
    ]
    return sorted(rows, key=lambda row: (-abs(row[3] - row[2]), row[0], row[1]))


def _scores(side: Side, metric: str) -> dict[str, dict[Key, float | None]]:
    """By system and (domain, query id)."""
    if side.sheet is None:
        raise Refused(f"The runs of “{side.version.name}” were not scored yet.")
    rows = DomainScore.objects.filter(sheet=side.sheet, view=side.view)
    found: dict[str, dict[Key, float | None]] = {}
    for row in rows.select_related("domain", "run").order_by("domain__name", "run"):
        values = zip(row.qids, row.values.get(metric, ()), strict=True)
        found.setdefault(row.run.name, {}).update(
            {(row.domain.name, qid): value for qid, value in values}
        )
    return found


def _runs(side: Side) -> Sequence[RetrievalRun]:
    assert side.sheet is not None
    return list(RetrievalRun.objects.filter(pk__in=side.sheet.run_ids))


def _shared(
    one: Mapping[str, Mapping[Key, float | None]],
    names: Sequence[str],
    other: Mapping[str, Mapping[Key, float | None]],
) -> list[str]:
    here = {domain for name in names for domain, _ in one[name]}
    return sorted(here & {domain for name in names for domain, _ in other[name]})


def _queries(
    found: Mapping[str, Mapping[Key, float | None]],
    domain: str,
    among: Mapping[str, None] | None = None,
) -> dict[str, None]:
    """The query ids of a domain in their order; with `among` those that are there, too."""
    qids = {qid: None for values in found.values() for name, qid in values if name == domain}
    return qids if among is None else {qid: None for qid in qids if qid in among}


def _table(
    found: Mapping[str, Mapping[Key, float | None]],
    names: Sequence[str],
    domain: str,
    qids: Sequence[str],
) -> Floats:
    """Systems in rows, queries in columns, NaN where there is no value."""
    return np.array(
        [[found[name].get((domain, qid)) for qid in qids] for name in names], np.float64
    ).reshape(len(names), len(qids))


def _has_values(first: Floats, second: Floats) -> bool:
    return bool((~np.isnan(first) & ~np.isnan(second)).any())


def _one_sided(one: Mapping[Key, float | None], other: Mapping[Key, float | None]) -> int:
    keys = one.keys() | other.keys()
    return sum((one.get(key) is None) != (other.get(key) is None) for key in keys)


def systems_sheet(found: Comparison) -> Sheet:
    """One row a system, ranks and gains with their intervals."""
    rows = tuple(
        (
            text(line.name),
            _mean(line.first),
            _rank(line.first),
            _mean(line.second),
            _rank(line.second),
            _cell(line.gain),
            _cell(line.won),
            Cell(line.test.p),
            Cell(line.queries),
            Cell(line.left_out),
        )
        for line in found.lines
    )
    header = (
        *("system", f"{found.metric} before", "rank before", f"{found.metric} after"),
        *("rank after", "gain", "places won", "p", "queries", "queries on one side only"),
    )
    tau = found.tau
    words = (
        "undefined" if tau.value is None else f"{tau.value:.3f} ({tau.low:.3f} to {tau.high:.3f})"
    )
    notes = (
        f"Kendall's tau-b of both orders: {words}.",
        "Intervals: 2,000 draws of queries within each domain, the same on both sides, 95 %. p: "
        "two-sided randomisation test of the queries' differences.",
        f"Domains: {', '.join(found.domains)}.",
    )
    return Sheet("systems", f"{found.metric}, before and after", header, rows, notes)


def queries_sheet(system: str, rows: Sequence[tuple[str, str, float, float]]) -> Sheet:
    """One row a query of one system."""
    cells = tuple(
        (text(domain), text(qid), Cell(one), Cell(other), Cell(other - one))
        for domain, qid, one, other in rows
    )
    header = ("domain", "query", "before", "after", "gain")
    return Sheet("queries", f"Queries of {system}", header, cells)


def _mean(standing: Standing) -> Cell:
    return Cell(standing.mean, low=standing.low, high=standing.high)


def _rank(standing: Standing) -> Cell:
    return Cell(standing.rank, low=standing.rank_low, high=standing.rank_high)


def _cell(found: Between) -> Cell:
    return Cell(found.value, low=found.low, high=found.high)
