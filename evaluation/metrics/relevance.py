"""Measures of relevant or not: recall, hit, precision, F1, reciprocal rank, average precision.

As trec_eval computes them (docs/protocol.md 6.3); F1 and the divisor `returned` as BRIDGE's
evaluator does (6.4). k is the cut-off, None for the whole list.
"""

import numpy as np

from evaluation.metrics.case import Case, Values, ordinals, ratio
from evaluation.metrics.run import Floats, Whole


def recall(case: Case, k: int | None) -> Values:
    """Relevant passages among the first k over all relevant ones."""
    found = ratio(case.count(case.is_hit, k), case.relevant_count)
    return case.defined(found, case.relevant_count > 0)


def hit(case: Case, k: int | None) -> Values:
    """1 if any of the first k is relevant (trec_eval: success)."""
    found = (case.count(case.is_hit, k) > 0).astype(np.float64)
    return case.defined(found, case.relevant_count > 0)


def precision(case: Case, k: int | None, divisor: str = "k") -> Values:
    """Relevant passages among the first k over k, or over those returned up to k."""
    found = ratio(case.count(case.is_hit, k), length(case, k, divisor))
    return case.defined(found, case.relevant_count > 0)


def f1(case: Case, k: int | None) -> Values:
    """Harmonic mean of recall and of precision over the passages returned up to k."""
    hits = case.count(case.is_hit, k)
    found = ratio(2 * hits, length(case, k, "returned") + case.relevant_count)
    return case.defined(found, case.relevant_count > 0)


def reciprocal_rank(case: Case, k: int | None) -> Values:
    """1 / rank of the first relevant passage, 0 if none is among the first k."""
    rows = np.flatnonzero(case.is_hit & case.within(k))
    queries, first = np.unique(case.ranked.query[rows], return_index=True)
    found = np.zeros(case.size)
    found[queries] = 1.0 / case.ranked.rank[rows[first]]
    return case.defined(found, case.relevant_count > 0)


def average_precision(case: Case, k: int | None) -> Values:
    """Sum over relevant passages among the first k of precision at their rank, over all."""
    before = np.zeros(len(case.is_hit))
    before[case.is_hit] = 1.0 + ordinals(case.ranked.query[case.is_hit])
    sums = case.total(case.is_hit & case.within(k), before / case.ranked.rank)
    return case.defined(ratio(sums, case.relevant_count), case.relevant_count > 0)


def length(case: Case, k: int | None, divisor: str) -> Floats | Whole:
    """What a count among the first k is divided by."""
    if k is None:
        return case.ranked.returned
    if divisor == "returned":
        return np.minimum(case.ranked.returned, k)
    return np.full(case.size, k)
