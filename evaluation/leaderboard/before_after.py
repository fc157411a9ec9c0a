"""The leaderboard before and after: two corpus versions, or two views of one, system by system.

Read from score sheets, nothing is scored here. Systems are the same where their runs have one
name (corpus/runs/models.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from django.contrib.auth.models import User

from corpus.models import Benchmark, CorpusVersion, RetrievalRun
from evaluation.leaderboard.services import held_metric
from evaluation.metrics.profiles import STRICT
from evaluation.metrics.run import Floats
from evaluation.metrics.standings import Interval, Standing, paired_gains, rank_shifts
from evaluation.scores.models import DomainScore, ScoreSheet
from evaluation.scores.reading import SEED
from evaluation.scores.services import GoldView, held_view
from evaluation.scores.sheets import known_profile, lacks, latest, metric_name, request_sheet
from kit.errors import Refused
from kit.lists.report_tables import Cell, ReportTable, measured, text
from kit.stats.paired import PairedTest, randomisations, weighted

if TYPE_CHECKING:
    import pandas as pd

_KEY = ("domain", "query")


@dataclass(frozen=True)
class Side:
    """One board of a comparison under a profile; `sheet` is None while its runs were not scored.

    With `matched_with` it is scored over what its version shares with that one.
    """

    version: CorpusVersion
    view: str
    sheet: ScoreSheet | None
    matched_with: CorpusVersion | None = None
    profile: str = STRICT.name

    def has(self, metric: str) -> bool:
        """Whether this metric, by its own name, was scored."""
        return self.sheet is not None and not lacks(self.sheet, metric)


@dataclass(frozen=True)
class SystemChange:
    """One system on both sides, over the queries that have a value on both."""

    name: str
    before: RetrievalRun
    after: RetrievalRun
    first: Standing
    second: Standing
    gain: Interval
    won: Interval
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
    lines: Sequence[SystemChange]
    tau: Interval
    only_before: Sequence[str]
    only_after: Sequence[str]

    @property
    def summary(self) -> str:
        """How many systems gain and lose, and for how many of them beyond chance."""
        gains = [line.gain for line in self.lines if line.gain.value is not None]
        parts = []
        for words, side, sign in (("higher", "above", 1), ("lower", "below", -1)):
            moved = [gain for gain in gains if sign * (gain.value or 0) > 0]
            ends = [gain.low if sign > 0 else gain.high for gain in moved]
            sure = sum(end is not None and sign * end > 0 for end in ends)
            parts.append(f"{len(moved)} {words} after (interval {side} 0: {sure})")
        return f"Of {len(gains)} system{'s' * (len(gains) != 1)}, {', '.join(parts)}."


def side_of(
    benchmark: Benchmark, version: CorpusVersion, view: str, profile: str = STRICT.name
) -> Side:
    """A side with the newest scores of its version; raises Refused for a view or profile that is
    none."""
    if view not in list(GoldView):
        raise Refused(f"There is no view {view!r}: {', '.join(GoldView)}.", field="view")
    sheet = latest(benchmark, version, profile=known_profile(profile))
    return Side(version, view, sheet, profile=profile)


def matched(before: Side, after: Side) -> list[Side]:
    """Both sides over the passages that both versions hold (matched.py); none where these are
    one."""
    if before.version == after.version:
        return []
    return [_matched(before, after), _matched(after, before)]


def _matched(side: Side, other: Side) -> Side:
    sheet = latest(side.version.benchmark, side.version, other.version, side.profile)
    return Side(side.version, side.view, sheet, other.version, side.profile)


def request_matched(
    *, before: Side, after: Side, metric: str = "", actor: User | None
) -> list[ScoreSheet]:
    """Have both versions scored over what they share; raises Refused where they are one, and
    without runs of either."""
    return [
        request_sheet(
            benchmark=one.version.benchmark,
            version=one.version,
            matched_with=other.version,
            profile=one.profile,
            metric=metric,
            actor=actor,
        )
        for one, other in ((before, after), (after, before))
    ]


def compare_sides(before: Side, after: Side, *, metric: str) -> Comparison:
    """The systems of both sides. Raises Refused for a metric that sheets do not hold, and where a
    side was not scored or no domain is on both."""
    name = metric_name(metric)
    one, other = _scores(before, name), _scores(after, name)
    names = sorted(one.columns.intersection(other.columns))
    shared = one.index[one.index.isin(other.index)]
    if not names or shared.empty:
        raise Refused("No system of one name ranks queries of one domain on both sides.")
    parts = one.loc[shared, names].groupby(level="domain")
    pairs = [(part, other.loc[part.index, names]) for _, part in parts]
    # A domain in which nothing has a value on both sides (no query has aspects, say) is left out.
    pairs = [(a, b) for a, b in pairs if (a.notna() & b.notna()).any(axis=None)]
    first, second, gain, won, tau = rank_shifts(
        [_array(a) for a, _ in pairs], [_array(b) for _, b in pairs], seed=SEED
    )
    runs = [{run.name: run for run in _runs(side)} for side in (before, after)]
    gains = [[(b[each] - a[each]).dropna().to_numpy() for a, b in pairs] for each in names]
    tests = randomisations([weighted(each) for each in gains], seed=SEED)
    counts = [sum(map(len, each)) for each in gains]
    lines = [
        SystemChange(
            name=system,
            before=runs[0][system],
            after=runs[1][system],
            first=first[place] if pairs else Standing(),
            second=second[place] if pairs else Standing(),
            gain=gain[place] if pairs else Interval(),
            won=won[place] if pairs else Interval(),
            test=tests[place],
            queries=counts[place],
            left_out=int(one[system].count() + other[system].count()) - 2 * counts[place],
        )
        for place, system in enumerate(names)
    ]
    lines.sort(key=lambda line: (line.second.rank is None, line.second.rank or 0, line.name))
    return Comparison(
        metric=name,
        domains=[a.index[0][0] for a, _ in pairs],
        lines=lines,
        tau=tau,
        only_before=sorted(one.columns.difference(other.columns)),
        only_after=sorted(other.columns.difference(one.columns)),
    )


def mean_gain(before: Side, after: Side, *, metric: str) -> tuple[Interval, int, int]:
    """What the mean of all systems of both sides gained, with how many systems and queries there
    are. A query counts where every system has a value on both sides; raises as `compare_sides`.
    """
    name = metric_name(metric)
    one, other = _scores(before, name), _scores(after, name)
    names = sorted(one.columns.intersection(other.columns))
    both = one[names].join(other[names], how="inner", lsuffix=" before").dropna()
    if not names or both.empty:
        raise Refused("No system of one name ranks queries of one domain on both sides.")
    parts = [part.to_numpy(np.float64) for _, part in both.groupby(level="domain")]
    size = len(names)
    tasks = [
        [np.mean(each, axis=1)[None] for each in (part[:, :size], part[:, size:])] for part in parts
    ]
    (gain,) = paired_gains([a for a, _ in tasks], [b for _, b in tasks], seed=SEED)
    return gain, size, len(both)


def query_gaps(
    before: Side, after: Side, *, metric: str, system: str
) -> list[tuple[str, str, float, float]]:
    """(domain, query id, before, after) of one system, the greatest differences first."""
    name = metric_name(metric)
    one, other = _scores(before, name), _scores(after, name)
    if system not in one or system not in other:
        return []
    both = one[[system]].join(other[system], how="inner", lsuffix=" before").dropna()
    rows = [(*key, mine, theirs) for key, mine, theirs in both.itertuples(name=None)]
    return sorted(rows, key=lambda row: (-abs(row[3] - row[2]), row[0], row[1]))


def _scores(side: Side, metric: str) -> "pd.DataFrame":
    """A column a system, a row a (domain, query id), in the order in which they were scored."""
    import pandas as pd  # takes longer to load than most pages: only what compares waits for it

    if side.sheet is None:
        raise Refused(f"The runs of “{side.version.name}” were not scored yet.")
    metric = held_metric(side.sheet, metric)
    view = held_view(side.sheet, side.view)
    rows = DomainScore.objects.filter(sheet=side.sheet, view=view)
    found: dict[str, dict[tuple[str, str], float | None]] = {}
    for row in rows.select_related("domain", "run").order_by("domain__name", "run"):
        keys = [(row.domain.name, qid) for qid in row.qids]
        values = zip(keys, row.values.get(metric, ()), strict=True)
        found.setdefault(row.run.name, {}).update(values)
    known = list(dict.fromkeys(key for values in found.values() for key in values))
    index = pd.MultiIndex.from_arrays([*zip(*known, strict=True)] or [(), ()], names=_KEY)
    return pd.DataFrame(
        {name: [values.get(key) for key in known] for name, values in found.items()},
        index=index,
        dtype=float,
    )


def _array(part: "pd.DataFrame") -> Floats:
    """Systems in rows, queries in columns, NaN where there is no value."""
    return np.ascontiguousarray(part.to_numpy().T)


def _runs(side: Side) -> Sequence[RetrievalRun]:
    assert side.sheet is not None
    return list(RetrievalRun.objects.filter(pk__in=side.sheet.run_ids))


def systems_table(found: Comparison) -> ReportTable:
    """One row a system, ranks and gains with their intervals."""
    rows = tuple(
        (
            text(line.name),
            _mean(line.first),
            _rank(line.first),
            _mean(line.second),
            _rank(line.second),
            measured(line.gain, "number"),
            measured(line.won, "number"),
            Cell(line.test.p, "p"),
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
        "two-sided randomisation test of the gain, the queries' differences weighted so that each "
        "domain counts alike.",
        f"Domains: {', '.join(found.domains)}.",
    )
    return ReportTable("systems", f"{found.metric}, before and after", header, rows, notes)


def queries_table(system: str, rows: Sequence[tuple[str, str, float, float]]) -> ReportTable:
    """One row a query of one system."""
    cells = tuple(
        (text(domain), text(qid), Cell(one), Cell(other), Cell(other - one))
        for domain, qid, one, other in rows
    )
    header = ("domain", "query", "before", "after", "gain")
    return ReportTable("queries", f"Queries of {system}", header, cells)


def _mean(standing: Standing) -> Cell:
    return Cell(standing.mean, low=standing.low, high=standing.high)


def _rank(standing: Standing) -> Cell:
    return Cell(standing.rank, low=standing.rank_low, high=standing.rank_high)
