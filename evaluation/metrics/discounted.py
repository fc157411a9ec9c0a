"""Discounted cumulated gain over that of an ideal order: three nDCGs.

docs/protocol.md 6.3, 6.4; 7, row 24.

DCG@k = sum over ranks r <= k of gain / log2(r + 1).
"""

import numpy as np

from evaluation.metrics.case import Case, Values, ratio, sums
from evaluation.metrics.faults import MetricFault
from evaluation.metrics.run import Floats


def ndcg(case: Case, k: int | None) -> Values:
    """trec_eval's: gain is the label, the ideal order is cut at k. Profile paper: `ndcg_exp`."""
    if case.exponential:
        return ndcg_exp(case, k)
    return _normalised(case, _positive(case), k, k)


def ndcg_exp(case: Case, k: int | None) -> Values:
    """The gain is 2^label - 1, the ideal order is cut at k (printed in DREAM, appendix)."""
    gains = np.exp2(_positive(case)) - 1.0
    if not np.isfinite(gains).all() or gains.max(initial=0.0) > 2.0**60:
        raise MetricFault(["The gain 2^label - 1 needs labels of 60 at most."])
    return _normalised(case, gains, k, k)


def ndcg_bridge(case: Case, k: int | None) -> Values:
    """BRIDGE's: gain 1 for every relevant passage, the ideal order holds all gold whatever k."""
    return _normalised(case, case.relevant.astype(np.float64), k, None)


def _positive(case: Case) -> Floats:
    """Labels below 0 gain nothing, as in trec_eval."""
    return np.maximum(case.gold.label, 0).astype(np.float64)


def _normalised(case: Case, gains: Floats, k: int | None, ideal_k: int | None) -> Values:
    """`gains` are of the gold rows and go up with their labels."""
    order, place = case.best_first
    query = case.gold.query[order]
    counted = place < ideal_k if ideal_k is not None else np.ones(len(place), np.bool_)
    best = gains[order][counted] * discounts(place[counted] + 1)
    ideal = sums(query[counted], best, case.size)
    rows = case.within(k)
    found = case.total(rows, gains[case.ranked.row] * discounts(case.ranked.rank))
    return case.defined(ratio(found, ideal), ideal > 0)


def discounts(rank: np.ndarray) -> Floats:
    """1 / log2(rank + 1), for ranks from 1."""
    return np.asarray(1.0 / np.log2(rank + 1.0))
