"""Measures of weighted aspects: alpha-nDCG and aspect recall (docs/protocol.md 6.1, 6.2).

A passage gains w_j (1 - alpha)^c for each aspect j it supports, where c counts the earlier
passages that support j. The ideal order is built greedily: at each rank the passage that gains
most. That is optimal where a passage supports one aspect, and a heuristic where it supports more.
"""

from collections.abc import Iterator
from itertools import islice

import numpy as np

from evaluation.metrics.case import Case, Values, Why, distinct, ordinals, ratio, sums
from evaluation.metrics.faults import MetricFault
from evaluation.metrics.relevance import discounts
from evaluation.metrics.run import Floats, Whole

# Gains that differ by less are equal: sums of the same weights in another order.
_EQUAL = 1e-12


def alpha_ndcg(case: Case, k: int | None, alpha: float = 0.5) -> Values:
    """DCG over the greedy ideal's (Clarke et al. 2008, with weights); any scale of weights."""
    rank, query, gains = _gains(case, alpha)
    counted = rank <= k if k is not None else np.ones(len(rank), np.bool_)
    found = sums(query[counted], gains[counted], case.size)
    ideal = _ideal(case, k, alpha)
    return _explained(case, ratio(found, ideal), ideal > 0)


def aspect_recall(
    case: Case, k: int | None, denominator: str = "all", weights: Floats | None = None
) -> Values:
    """Weight of the aspects that any of the first k supports.

    `weights` (of each aspect, by default the normalised ones) must add up to 1 over each query;
    raises MetricFault. `denominator` supported divides by the weight of the aspects that have gold.
    """
    query = case.aspects.query
    shares = case.aspects.share if weights is None else weights
    whole = sums(query, shares, case.size)
    has_aspects = np.bincount(query, minlength=case.size) > 0
    _check_shares(case, whole, has_aspects)
    which, aspect = case.pairs
    rank = case.ranked.rank[which]
    covered = distinct(aspect[rank <= k] if k is not None else aspect, len(query))
    found = sums(query[covered], shares[covered], case.size)
    if denominator == "supported":
        supported = distinct(case.aspects.aspect, len(query))
        whole = sums(query[supported], shares[supported], case.size)
    # Where every weight counts, the sum is 1 up to rounding and divides nothing.
    return _explained(case, ratio(found, whole), whole > 0)


def _gains(case: Case, alpha: float) -> tuple[Whole, Whole, Floats]:
    """Rank, query and discounted gain of each support in the run."""
    if ("gains", alpha) not in case.memo:
        which, aspect = case.pairs
        rank = case.ranked.rank[which]
        gains = case.aspects.weight[aspect] * _kept(alpha, ordinals(aspect)) * discounts(rank)
        case.memo["gains", alpha] = rank, case.ranked.query[which], gains
    found: tuple[Whole, Whole, Floats] = case.memo["gains", alpha]
    return found


def _kept(alpha: float, earlier: Whole) -> Floats:
    """(1 - alpha)^earlier; 0^0 is 1, so alpha 1 counts each aspect once."""
    return np.asarray(np.power(1.0 - alpha, earlier.astype(np.float64)))


def _ideal(case: Case, k: int | None, alpha: float) -> Floats:
    """Greedy ideal DCG of each query."""
    supports = np.bincount(case.aspects.row, minlength=len(case.gold.query))
    is_shared = np.zeros(case.size, np.bool_)
    is_shared[case.gold.query[supports > 1]] = True
    ideal = _ideal_of_single(case, k, alpha)
    for number in np.flatnonzero(is_shared).tolist():
        ideal[number] = _greedy(case, number, k, alpha)
    return ideal


def _ideal_of_single(case: Case, k: int | None, alpha: float) -> Floats:
    """Where a passage supports one aspect, greedy takes all gains from the highest down."""
    if ("ideal", alpha) not in case.memo:
        aspect = case.aspects.aspect
        gains = case.aspects.weight[aspect] * _kept(alpha, ordinals(aspect))
        query = case.aspects.query[aspect]
        order = np.lexsort((-gains, query))
        place = ordinals(query[order])
        case.memo["ideal", alpha] = gains[order] * discounts(place + 1), query[order], place
    gains, query, place = case.memo["ideal", alpha]
    counted = place < k if k is not None else np.ones(len(place), np.bool_)
    return sums(query[counted], gains[counted], case.size)


def _greedy(case: Case, number: int, k: int | None, alpha: float) -> float:
    """The ideal DCG of one query whose passages support several aspects.

    Taken only as far as any cut-off yet asked for: a deeper one goes on from there.
    """
    key = ("greedy", alpha, number)
    if key not in case.memo:
        case.memo[key] = [0.0], _greedy_totals(case, number, alpha)
    totals: list[float] = case.memo[key][0]
    more: Iterator[float] = case.memo[key][1]
    totals += more if k is None else islice(more, max(0, k + 1 - len(totals)))
    return totals[-1] if k is None else totals[: k + 1][-1]


def _greedy_totals(case: Case, number: int, alpha: float) -> Iterator[float]:
    """The ideal DCG after one passage, after two, and so on.

    Of equal gains the passage with the highest id goes first, as in ndeval: what is left to gain
    after it may differ, and the order of a file must not decide.
    """
    pairs = np.flatnonzero(case.aspects.query[case.aspects.aspect] == number)
    rows, row = _by_id(case, case.aspects.row[pairs])
    named, aspect = np.unique(case.aspects.aspect[pairs], return_inverse=True)
    support = np.zeros((len(rows), len(named)))
    support[row, aspect] = 1.0
    left = case.aspects.weight[named].copy()
    total = 0.0
    for place in range(len(rows)):
        gains = support @ left
        best = int(np.argmax(gains > gains.max() - _EQUAL))
        total += float(gains[best]) / float(np.log2(place + 2.0))
        yield total
        left *= np.where(support[best] > 0, 1.0 - alpha, 1.0)
        support[best] = 0.0


def _by_id(case: Case, row: Whole) -> tuple[list[int], Whole]:
    """The distinct rows, highest passage id first, and the place of each given row among them."""
    rows = sorted(set(row.tolist()), key=lambda each: case.gold.pids[each], reverse=True)
    place = {each: n for n, each in enumerate(rows)}
    return rows, np.array([place[each] for each in row.tolist()], np.int64)


def _check_shares(case: Case, whole: Floats, has_aspects: np.ndarray) -> None:
    wrong = np.flatnonzero(has_aspects & (np.abs(whole - 1.0) > 1e-6)).tolist()
    if wrong:
        raise MetricFault.of(
            f"query {case.gold.qids[each]}: its weights add up to {whole[each]:.6g}, not to 1; "
            "aspect recall needs normalised weights."
            for each in wrong
        )


def _explained(case: Case, values: Floats, is_defined: np.ndarray) -> Values:
    """Undefined for want of gold, of aspects, or of gold that supports one."""
    has_aspects = np.bincount(case.aspects.query, minlength=case.size) > 0
    why = np.where(has_aspects, int(Why.NO_SUPPORT), int(Why.NO_ASPECTS))
    why = np.where(case.relevant_count > 0, why, int(Why.NO_GOLD))
    is_defined = is_defined & (case.relevant_count > 0)
    return Values(np.where(is_defined, values, 0.0), np.where(is_defined, 0, why))
