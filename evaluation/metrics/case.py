"""One run against one gold under one profile: what every measure is computed from."""

from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np

from evaluation.metrics.gold import Aspects, Gold
from evaluation.metrics.ranking import Ranked
from evaluation.metrics.run import Flags, Floats, Whole


class Undefined(IntEnum):
    """Why a query has no value; 0 is none of these."""

    DEFINED = 0
    NO_GOLD = 1
    NO_ASPECTS = 2
    NO_SUPPORT = 3
    ABSENT = 4
    EMPTY_LIST = 5


REASONS = {
    Undefined.NO_GOLD: "no relevant passage in the gold",
    Undefined.NO_ASPECTS: "no aspects",
    Undefined.NO_SUPPORT: "no gold passage supports an aspect",
    Undefined.ABSENT: "absent from the run",
    Undefined.EMPTY_LIST: "empty list, where the source's code divides by zero",
}


@dataclass(frozen=True)
class Values:
    """One number per query; 0 where `why` is not 0. Never NaN."""

    values: Floats
    why: Whole

    @property
    def mean(self) -> float | None:
        """Over the queries that have a value; None without any."""
        values = self.values[self.why == Undefined.DEFINED]
        return float(values.mean()) if len(values) else None


@dataclass(frozen=True)
class Case:
    """A gold and the ranks of its passages in one run; a label is relevant from `relevant_from`.

    With `counts_unanswerable` a query counts that was judged without finding a relevant passage.
    """

    gold: Gold
    ranked: Ranked
    relevant_from: int = 1
    exponential: bool = False
    counts_unanswerable: bool = False
    # What one measure computes for all its cut-offs.
    memo: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def size(self) -> int:
        """Queries of the gold."""
        return len(self.gold)

    def with_labels(self, label: Whole) -> "Case":
        """The same ranks under other labels of the same pairs."""
        return replace(self, gold=self.gold.with_labels(label), memo={})

    def sorted_by_truth(self, depth: int) -> "Case":
        """The first `depth` of each list by their labels, the oracle of reranking: no order of
        them gains more (docs/protocol.md 5.5)."""
        first = self.ranked.up_to(depth)
        order = np.lexsort((-self.gold.label[first.row], first.query))
        row, query = first.row[order], first.query[order]
        ranked = replace(first, row=row, query=query, rank=ordinals(query) + 1)
        return replace(self, ranked=ranked, memo={})

    @cached_property
    def relevant(self) -> Flags:
        """For each gold row."""
        return np.asarray(self.gold.label >= self.relevant_from)

    @cached_property
    def relevant_count(self) -> Whole:
        """Relevant passages of each query."""
        return np.bincount(self.gold.query[self.relevant], minlength=self.size)

    @cached_property
    def best_first(self) -> tuple[Whole, Whole]:
        """Gold rows by query and label, highest first, and the place of each in its query."""
        order = np.lexsort((-self.gold.label, self.gold.query))
        return order, ordinals(self.gold.query[order])

    @cached_property
    def is_hit(self) -> Flags:
        """For each ranked row, whether it is relevant."""
        return np.asarray(self.relevant[self.ranked.row])

    @cached_property
    def aspects(self) -> Aspects:
        """The aspects, with the pairs of relevant passages only; raises ValueError without any."""
        aspects = self.gold.aspects
        if aspects is None:
            raise ValueError("The gold holds no aspects.")
        keep = self.relevant[aspects.row]
        return replace(aspects, row=aspects.row[keep], aspect=aspects.aspect[keep])

    @cached_property
    def pairs(self) -> tuple[Whole, Whole]:
        """Ranked row and aspect of each support in the run, by query and rank."""
        starts = np.searchsorted(self.aspects.row, self.ranked.row, side="left")
        counts = np.searchsorted(self.aspects.row, self.ranked.row, side="right") - starts
        which = np.repeat(np.arange(len(counts)), counts)
        within = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        return which, self.aspects.aspect[starts[which] + within]

    def count(self, rows: Flags, k: int | None) -> Whole:
        """Of each query the ranked rows with this flag among the first k."""
        return np.bincount(self.ranked.query[rows & self.within(k)], minlength=self.size)

    def total(self, rows: Flags, what: Floats) -> Floats:
        """Of each query the sum of `what` over the ranked rows with this flag."""
        return sums(self.ranked.query[rows], what[rows], self.size)

    def within(self, k: int | None) -> Flags:
        """For each ranked row, whether its rank is at most k; None is no bound."""
        if k is None:
            return np.ones(len(self.ranked.rank), np.bool_)
        return np.asarray(self.ranked.rank <= k)

    def defined(
        self, values: Floats, is_defined: Flags, why: Undefined = Undefined.NO_GOLD
    ) -> Values:
        """The values, 0 and `why` where they are not defined."""
        if self.counts_unanswerable and why is Undefined.NO_GOLD:
            is_defined = is_defined | (np.bincount(self.gold.query, minlength=self.size) > 0)
        return Values(np.where(is_defined, values, 0.0), np.where(is_defined, 0, int(why)))


def ordinals(groups: Whole) -> Whole:
    """For each element how many of the same group stand before it."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    found = np.empty(len(groups), np.int64)
    found[order] = np.arange(len(groups)) - np.searchsorted(ordered, ordered, side="left")
    return found


def distinct(numbers: Whole, size: int) -> Whole:
    """The numbers from 0 to `size` that occur, in order."""
    occurs = np.zeros(size, np.bool_)
    occurs[numbers] = True
    return np.flatnonzero(occurs)


def sums(groups: Whole, what: Floats, size: int) -> Floats:
    """The sum of `what` in each of `size` groups."""
    return np.bincount(groups, what, minlength=size).astype(np.float64)


def ratio(above: Floats | Whole, below: Floats | Whole) -> Floats:
    """above / below, 0 where below is 0."""
    return np.divide(above, below, out=np.zeros(len(above)), where=np.asarray(below) != 0)
