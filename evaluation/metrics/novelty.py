"""Measures of weighted aspects: alpha-nDCG and aspect recall (docs/protocol.md 6.1, 6.2).

A passage gains w_j (1 - alpha)^c for each aspect j it supports, where c counts the earlier
passages that support j. The ideal order is built greedily: at each rank the passage that gains
most. That is optimal where a passage supports one aspect, and a heuristic where it supports more.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, islice

import numpy as np

from evaluation.metrics.case import Case, Undefined, Values, distinct, ordinals, ratio, sums
from evaluation.metrics.faults import MetricFault
from evaluation.metrics.relevance import discounts
from evaluation.metrics.run import Floats, Whole

# Gains that differ by less are equal: sums of the same weights in another order.
_EQUAL = 1e-12
# Passages times aspects of queries that are taken together: what a processor keeps at hand.
_CELLS = 250_000


def alpha_ndcg(case: Case, k: int | None, alpha: float = 0.5) -> Values:
    """DCG over the greedy ideal's (Clarke et al. 2008, with weights); any scale of weights."""
    rank, query, gains = _gains(case, alpha)
    counted = rank <= k if k is not None else np.ones(len(rank), np.bool_)
    found = sums(query[counted], gains[counted], case.size)
    ideal = _ideal(case, k, alpha)
    return explained(case, ratio(found, ideal), ideal > 0)


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
    wrong = np.flatnonzero(has_aspects & (np.abs(whole - 1.0) > 1e-6)).tolist()
    if wrong:
        raise MetricFault.of(
            f"query {case.gold.qids[each]}: its weights add up to {whole[each]:.6g}, not to 1; "
            "aspect recall needs normalised weights."
            for each in wrong
        )
    which, aspect = case.pairs
    rank = case.ranked.rank[which]
    covered = distinct(aspect[rank <= k] if k is not None else aspect, len(query))
    found = sums(query[covered], shares[covered], case.size)
    if denominator == "supported":
        supported = distinct(case.aspects.aspect, len(query))
        whole = sums(query[supported], shares[supported], case.size)
    # Where every weight counts, the sum is 1 up to rounding and divides nothing.
    return explained(case, ratio(found, whole), whole > 0)


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
    """Greedy ideal DCG of each query; kept with the gold, as no run changes it."""
    memo, key = case.gold.memo, ("ideal", alpha, case.relevant_from)
    if key not in memo:
        greedy = [_Greedy(case, each, alpha) for each in _parts(case)]
        memo[key] = _single_gains(case, alpha, [each.queries for each in greedy]), greedy
    (gains, query, place), parts = memo[key]
    counted = place < k if k is not None else np.ones(len(place), np.bool_)
    ideal = sums(query[counted], gains[counted], case.size)
    for part in parts:
        ideal[part.queries] = part.total(k)
    return ideal


def _single_gains(case: Case, alpha: float, others: Sequence[Whole]) -> tuple[Floats, Whole, Whole]:
    """Where a passage supports one aspect, greedy takes all gains from the highest down.

    The discounted gain of each support, its query, and its place in the ideal order; but for the
    `others`, the queries with a passage of several.
    """
    is_single = np.ones(case.size, np.bool_)
    for each in others:
        is_single[each] = False
    aspect = case.aspects.aspect
    aspect = aspect[is_single[case.aspects.query[aspect]]]
    gains = case.aspects.weight[aspect] * _kept(alpha, ordinals(aspect))
    query = case.aspects.query[aspect]
    order = np.lexsort((-gains, query))
    place = ordinals(query[order])
    return gains[order] * discounts(place + 1), query[order], place


def _parts(case: Case) -> Iterator[Whole]:
    """The queries with a passage of several aspects, those of about one size together."""
    rows = case.gold.query[distinct(case.aspects.row, len(case.gold.query))]
    passages = np.bincount(rows, minlength=case.size)
    aspects = np.bincount(case.aspects.query, minlength=case.size)
    supports = np.bincount(case.aspects.row, minlength=len(case.gold.query))
    shared = distinct(case.gold.query[supports > 1], case.size)
    shared = shared[np.lexsort((shared, passages[shared]))]
    start = most = 0
    sizes = zip(passages[shared].tolist(), aspects[shared].tolist(), strict=True)
    for end, (longest, named) in enumerate(sizes):
        most = max(most, named)
        if end > start and (end + 1 - start) * longest * most > _CELLS:
            yield shared[start:end]
            start, most = end, named
    if len(shared):
        yield shared[start:]


class _Greedy:
    """The greedy ideal of several queries at once, place by place as far as anybody asked."""

    def __init__(self, case: Case, queries: Whole, alpha: float) -> None:
        self.queries = queries
        self._totals = [np.zeros(len(queries))]
        self._more = _greedy_totals(*_tables(case, queries), alpha)

    def total(self, k: int | None) -> Floats:
        """The ideal DCG of the first k places."""
        have = len(self._totals)
        self._totals += self._more if k is None else islice(self._more, max(0, k + 1 - have))
        return self._totals[-1] if k is None else self._totals[: k + 1][-1]


def _tables(case: Case, queries: Whole) -> tuple[Floats, Floats]:
    """Which passage of a query supports which aspect [query, aspect, passage], and the weights.

    Passages stand with the highest id first; what a query lacks of the longest is 0.
    """
    number = np.full(case.size, -1)
    number[queries] = np.arange(len(queries))
    pairs = np.flatnonzero(number[case.aspects.query[case.aspects.aspect]] >= 0)
    row, aspect = case.aspects.row[pairs], case.aspects.aspect[pairs]
    place = np.zeros(len(case.gold.pids), np.int64)
    rows = distinct(row, len(case.gold.query))
    ordered: list[int] = []
    for _, each in groupby(rows.tolist(), case.gold.query.tolist().__getitem__):
        ordered += sorted(each, key=case.gold.pids.__getitem__, reverse=True)
    place[ordered] = ordinals(case.gold.query[ordered])
    column = ordinals(case.aspects.query)
    owner = number[case.gold.query[row]]
    support = np.zeros((len(queries), int(column[aspect].max()) + 1, int(place[row].max()) + 1))
    support[owner, column[aspect], place[row]] = 1.0
    weights = np.zeros(support.shape[:2])
    weights[owner, column[aspect]] = case.aspects.weight[aspect]
    return support, weights


def _greedy_totals(support: Floats, left: Floats, alpha: float) -> Iterator[Floats]:
    """The ideal DCG of each query after one passage, after two, and so on.

    Of equal gains the passage with the highest id goes first, as in ndeval: what is left to gain
    after it may differ, and the order of a file must not decide.
    """
    each = np.arange(len(support))
    total = np.zeros(len(support))
    for place in range(support.shape[2]):
        gains = (left[:, None, :] @ support)[:, 0, :]
        most = gains[each, np.argmax(gains, axis=1)]  # sooner than max(axis=1)
        best = np.argmax(gains > most[:, None] - _EQUAL, axis=1)
        total = total + gains[each, best] / float(np.log2(place + 2.0))
        yield total
        left *= np.where(support[each, :, best] > 0, 1.0 - alpha, 1.0)
        support[each, :, best] = 0.0


def explained(case: Case, values: Floats, is_defined: np.ndarray) -> Values:
    """Undefined for want of gold, of aspects, or of gold that supports one."""
    has_aspects = np.bincount(case.aspects.query, minlength=case.size) > 0
    why = np.where(has_aspects, int(Undefined.NO_SUPPORT), int(Undefined.NO_ASPECTS))
    why = np.where(case.relevant_count > 0, why, int(Undefined.NO_GOLD))
    is_defined = is_defined & (case.relevant_count > 0)
    return Values(np.where(is_defined, values, 0.0), np.where(is_defined, 0, why))
