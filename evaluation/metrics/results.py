"""Per-query values first, means derived from them with what was left out."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evaluation.metrics.case import REASONS, Why
from evaluation.metrics.run import Flags, Floats, Whole


@dataclass(frozen=True)
class PerQuery:
    """One metric of one run: a value for each query, and why there is none where there is none.

    `values` is 0 where `why` is not 0. `present` says which queries the run holds; an absent one
    may count 0 (profile strict), which `mean_of_present` leaves out.
    """

    name: str
    qids: Sequence[str]
    values: Floats
    why: Whole
    present: Flags

    @property
    def is_scored(self) -> Flags:
        """Which queries have a value."""
        return np.asarray(self.why == Why.DEFINED)

    @property
    def scored(self) -> int:
        """How many."""
        return int(self.is_scored.sum())

    @cached_property
    def mean(self) -> float | None:
        """Over the queries that have a value; None without any."""
        return _mean(self.values[self.is_scored])

    @cached_property
    def mean_of_present(self) -> float | None:
        """The same over queries that the run holds."""
        return _mean(self.values[self.is_scored & self.present])

    @property
    def skipped(self) -> dict[str, int]:
        """Queries without a value, by reason."""
        counts = Counter(self.why[self.why != Why.DEFINED].tolist())
        return {REASONS[Why(code)]: count for code, count in sorted(counts.items())}

    def rows(self) -> Iterator[tuple[str, float | None, str]]:
        """(query id, value or None, why there is none or "")."""
        for qid, value, why in zip(self.qids, self.values.tolist(), self.why.tolist(), strict=True):
            yield qid, None if why else value, REASONS[Why(why)] if why else ""

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
            "metrics": {name: _summary(each) for name, each in self.metrics.items()},
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


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None


def _summary(each: PerQuery) -> dict[str, Any]:
    return {
        "mean": each.mean,
        "mean_of_present": each.mean_of_present,
        "scored": each.scored,
        "skipped": each.skipped,
    }
