"""From a run and a gold to values of any metrics under one profile.

Per-query values first, means derived from them with what was left out.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp
from typing import Any

import numpy as np

from evaluation.metrics.case import REASONS, Case, Undefined, Values
from evaluation.metrics.faults import MetricFault
from evaluation.metrics.gold import Gold
from evaluation.metrics.names import Metric, read_metrics
from evaluation.metrics.profiles import STRICT, Family, Profile
from evaluation.metrics.ranking import Matched
from evaluation.metrics.run import Flags, Floats, Run, Whole


@dataclass(frozen=True)
class PerQuery:
    """One metric of one run: a value for each query, and why there is none where there is none.

    `values` is 0 where `why` is not 0. `present` says which queries the run holds; an absent one
    may count 0 (profile strict), which `mean_of_present` leaves out. The mean of a `geometric`
    metric is e to the mean of its values, which are logarithms.
    """

    name: str
    qids: Sequence[str]
    values: Floats
    why: Whole
    present: Flags
    geometric: bool = False

    @property
    def is_scored(self) -> Flags:
        """Which queries have a value."""
        return np.asarray(self.why == Undefined.DEFINED)

    @property
    def scored(self) -> int:
        """How many."""
        return int(self.is_scored.sum())

    @cached_property
    def mean(self) -> float | None:
        """Over the queries that have a value; None without any."""
        return self._mean(self.values[self.is_scored])

    @cached_property
    def mean_of_present(self) -> float | None:
        """The same over queries that the run holds."""
        return self._mean(self.values[self.is_scored & self.present])

    def _mean(self, values: Floats) -> float | None:
        if not len(values):
            return None
        return exp(values.mean()) if self.geometric else float(values.mean())

    @property
    def skipped(self) -> dict[str, int]:
        """Queries without a value, by reason."""
        counts = Counter(self.why[self.why != Undefined.DEFINED].tolist())
        return {REASONS[Undefined(code)]: count for code, count in sorted(counts.items())}

    def rows(self) -> Iterator[tuple[str, float | None, str]]:
        """(query id, value or None, why there is none or "")."""
        for qid, value, why in zip(self.qids, self.values.tolist(), self.why.tolist(), strict=True):
            yield qid, None if why else value, REASONS[Undefined(why)] if why else ""

    def as_dict(self) -> dict[str, float]:
        """The values of the queries that have one."""
        return {qid: value for qid, value, _ in self.rows() if value is not None}


@dataclass(frozen=True)
class Scores:
    """All metrics of one run under one profile; `counts` says what was met on the way."""

    profile: str
    metrics: Mapping[str, PerQuery]
    counts: Mapping[str, int]

    def __getitem__(self, name: str) -> PerQuery:
        return self.metrics[name]

    @property
    def means(self) -> dict[str, float | None]:
        """The mean of each metric."""
        return {name: each.mean for name, each in self.metrics.items()}

    def as_json(self, *, per_query: bool = False) -> dict[str, Any]:
        """Means with counts; with `per_query` a row for each query."""
        found: dict[str, Any] = {
            "profile": self.profile,
            "counts": dict(self.counts),
            "metrics": {
                name: {
                    "mean": each.mean,
                    "mean_of_present": each.mean_of_present,
                    "scored": each.scored,
                    "skipped": each.skipped,
                }
                for name, each in self.metrics.items()
            },
        }
        if per_query:
            found["queries"] = list(self.rows())
        return found

    def rows(self) -> Iterator[dict[str, Any]]:
        """{"query": id, "values": {metric: value or None}, "undefined": {metric: why}}."""
        for cells in zip(*(each.rows() for each in self.metrics.values()), strict=True):
            named = list(zip(self.metrics, cells, strict=True))
            yield {
                "query": cells[0][0],
                "values": {name: value for name, (_, value, _) in named},
                "undefined": {name: why for name, (_, _, why) in named if why},
            }


def score(
    run: Run, gold: Gold, metrics: str | Sequence[Metric], profile: Profile = STRICT
) -> Scores:
    """Every metric of the run; the list is put in order once for each rule of the profile.

    Raises MetricFault for an unknown metric and for one that needs aspects or an original gold
    which the gold does not hold.
    """
    chosen = read_metrics(metrics) if isinstance(metrics, str) else list(metrics)
    check_needs(gold, chosen)
    matched = Matched.of(run, gold)
    cases = {family: case_of(matched, family, profile) for family in Family}
    found = {each.name: value_of(each, cases[each.measure.family], profile) for each in chosen}
    return Scores(profile.name, found, counts(matched, cases[Family.TREC]))


def case_of(matched: Matched, family: Family, profile: Profile) -> Case:
    """The run in the order that this family reads it in."""
    repeats = profile.credits_repeats and family is Family.ASPECT
    ranked = matched.ranked(profile.ties[family], repeats=repeats).up_to(profile.depth)
    return Case(
        matched.gold,
        ranked,
        profile.relevant_from,
        profile.exponential,
        profile.counts_unanswerable,
    )


def value_of(metric: Metric, case: Case, profile: Profile) -> PerQuery:
    """One metric; what absent queries and empty lists give is the profile's to say."""
    values = metric.measure.compute(case, metric.k, **metric.options)
    if not profile.counts_absent:
        values = _undefined(values, ~case.ranked.present, Undefined.ABSENT)
    if profile.stops and metric.measure.family is Family.BRIDGE:
        is_empty = case.ranked.present & (case.ranked.returned == 0)
        values = _undefined(values, is_empty, Undefined.EMPTY_LIST)
    return PerQuery(
        metric.name,
        case.gold.qids,
        values.values,
        values.why,
        case.ranked.present,
        metric.measure.geometric,
    )


def _undefined(values: Values, where: np.ndarray, why: Undefined) -> Values:
    """No gold is said first: it holds whatever the run does."""
    where = where & (values.why == Undefined.DEFINED)
    return replace(
        values,
        values=np.where(where, 0.0, values.values),
        why=np.where(where, int(why), values.why),
    )


def check_needs(gold: Gold, metrics: Sequence[Metric]) -> None:
    """Raise MetricFault for metrics that this gold is not enough for."""
    faults = [
        f"{each.name} needs aspects, and none are given."
        for each in metrics
        if each.measure.aspects and gold.aspects is None
    ]
    faults += [
        f"{each.name} needs the original gold to tell holes, and none is given."
        for each in metrics
        if each.measure.holes and gold.hole is None
    ]
    if faults:
        raise MetricFault.of(faults)


def counts(matched: Matched, case: Case) -> dict[str, int]:
    """What was met: queries of the gold and of the run, repetitions, ties, excluded ids."""
    run, gold, ranked = matched.run, matched.gold, case.ranked
    used = matched.known[ranked.present]
    tied = run.tied[used]
    return {
        "queries": len(gold),
        "without_gold": int((case.relevant_count == 0).sum()),
        "present": int(ranked.present.sum()),
        "absent": int((~ranked.present).sum()),
        "empty_lists": int((ranked.present & (ranked.returned == 0)).sum()),
        "not_in_gold": len(run.qids) - len(used),
        "passages": int(ranked.returned.sum()),
        "repeated": run.repeated,
        "excluded": ranked.excluded,
        "excluded_not_returned": sum(map(len, gold.excluded.values())) - ranked.excluded,
        "beyond_depth": ranked.cut,
        "tied": int(tied.sum()),
        "queries_with_ties": int((tied > 0).sum()),
        **gold.skipped,
    }
