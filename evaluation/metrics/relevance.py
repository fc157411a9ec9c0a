"""Measures of relevant or not, of discounted gain, and of holes.

As trec_eval computes them (docs/protocol.md 6.3): recall, hit, precision, reciprocal rank, average
precision and its geometric mean, interpolated precision, rank-biased precision; F1 and the divisor
`returned` as BRIDGE's evaluator does (6.4). DCG@k = sum over ranks r <= k of gain / log2(r + 1),
over that of an ideal order: three nDCGs (6.3, 6.4; 7, row 24). Holes are relevant passages outside
the original gold (6.5; aspect-aware: X07). k is the cut-off, None for the whole list.
"""

from dataclasses import replace

import numpy as np

from evaluation.metrics.case import Case, Undefined, Values, distinct, ordinals, ratio, sums
from evaluation.metrics.faults import MetricFault
from evaluation.metrics.run import Flags, Floats, Whole

# The least value in a geometric mean.
_LEAST = 0.00001
# The highest label that gdeval knows.
_MOST_GRADE = 4


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
    found = case.total(case.is_hit & case.within(k), before / case.ranked.rank)
    return case.defined(ratio(found, case.relevant_count), case.relevant_count > 0)


def set_average_precision(case: Case, k: int | None) -> Values:
    """Precision times recall of the whole list, whatever its order."""
    recalled = recall(case, None)
    return replace(recalled, values=recalled.values * precision(case, None).values)


def log_average_precision(case: Case, k: int | None) -> Values:
    """ln of average precision, at least ln .00001: e to its mean is trec_eval's gm_map."""
    return logarithm(average_precision(case, k))


def logarithm(found: Values) -> Values:
    """The logarithms of values, of each of at least .00001."""
    return replace(
        found, values=np.where(found.why == 0, np.log(np.maximum(found.values, _LEAST)), 0.0)
    )


def relative_precision(case: Case, k: int | None) -> Values:
    """Relevant passages among the first k over the most that there could be: k, or all relevant
    ones where these are fewer."""
    most = np.minimum(length(case, k, "k"), case.relevant_count)
    return case.defined(ratio(case.count(case.is_hit, k), most), case.relevant_count > 0)


def expected_reciprocal_rank(case: Case, k: int | None) -> Values:
    """Sum over ranks r <= k of 1 / r times the chance to stop there and not before (Chapelle et al.
    2009): at label g (2^g - 1) / 16, as in TREC's gdeval. Raises MetricFault beyond label 4."""
    gains = _positive(case)
    if gains.max(initial=0) > _MOST_GRADE:
        raise MetricFault([f"ERR is of labels up to {_MOST_GRADE}, as gdeval has them."])
    stops = ((np.exp2(gains) - 1) / 2**_MOST_GRADE)[case.ranked.row]
    goes_on = np.log1p(-stops)
    before = np.cumsum(goes_on) - goes_on
    _, first, place = np.unique(case.ranked.query, return_index=True, return_inverse=True)
    before = np.exp(before - before[first][place]) if len(before) else before
    found = case.total(case.within(k), stops * before / case.ranked.rank)
    return case.defined(found, case.relevant_count > 0)


def interpolated_precision(case: Case, k: int | None, recall: float) -> Values:
    """The highest precision at any rank from which on this share of the relevant is found.

    The share is of whole passages, rounded half up as trec_eval 10 does (9 added .9 and cut off).
    """
    needed = np.floor(recall * case.relevant_count + 0.5)
    query = case.ranked.query[case.is_hit]
    found = 1.0 + ordinals(query)
    counted = found >= needed[query]
    best = np.zeros(case.size)
    np.maximum.at(best, query[counted], (found / case.ranked.rank[case.is_hit])[counted])
    return case.defined(best, case.relevant_count > 0)


def eleven_points(case: Case, k: int | None) -> Values:
    """Mean of interpolated precision at recall 0, .1, ..., 1."""
    levels = [interpolated_precision(case, k, level / 10) for level in range(11)]
    return replace(levels[0], values=np.mean([each.values for each in levels], axis=0))


def rank_biased_precision(case: Case, k: int | None, p: float = 0.9) -> Values:
    """(1 - p) times the sum of gain p^(r - 1) over ranks (Moffat and Zobel 2008).

    The gain is the label, over the query's highest where that is above 1, as in trec_eval 10.
    """
    gains = _positive(case)
    highest = np.zeros(case.size)
    np.maximum.at(highest, case.gold.query, gains)
    shares = (gains / np.maximum(highest, 1.0)[case.gold.query])[case.ranked.row]
    found = case.total(case.within(k), shares * np.power(p, case.ranked.rank - 1.0))
    return case.defined((1.0 - p) * found, highest > 0)


def length(case: Case, k: int | None, divisor: str) -> Floats | Whole:
    """What a count among the first k is divided by."""
    if k is None:
        return case.ranked.returned
    if divisor == "returned":
        return np.minimum(case.ranked.returned, k)
    return np.full(case.size, k)


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


def hole(case: Case, k: int | None, divisor: str = "k") -> Values:
    """Share of the first k that are holes; divided by k also where fewer are returned."""
    found = case.count(_holes(case)[case.ranked.row], k)
    return case.defined(ratio(found, length(case, k, divisor)), case.relevant_count > 0)


def unjudged(case: Case, k: int | None, divisor: str = "k") -> Values:
    """Share of the first k without a label; one below 0 is none, as in trec_eval's qrels."""
    judged = case.count(case.gold.label[case.ranked.row] >= 0, k)
    found = np.maximum(length(case, k, "returned") - judged, 0)
    return case.defined(ratio(found, length(case, k, divisor)), case.relevant_count > 0)


def aspect_hole(case: Case, k: int | None, divisor: str = "k") -> Values:
    """hole@k in which a hole counts as much as the normalised weight of its aspects."""
    which, aspect = case.pairs
    is_hole = _holes(case)[case.ranked.row[which]] & case.within(k)[which]
    query = case.ranked.query[which[is_hole]]
    found = sums(query, case.aspects.share[aspect[is_hole]], case.size)
    return _of_aspects(case, ratio(found, length(case, k, divisor)))


def new_aspect(case: Case, k: int | None) -> Values:
    """Normalised weight of the aspects that a hole in the first k supports and no original does."""
    holes = _holes(case)
    had = np.zeros(len(case.aspects.weight), np.bool_)
    had[case.aspects.aspect[~holes[case.aspects.row]]] = True
    which, aspect = case.pairs
    is_new = holes[case.ranked.row[which]] & case.within(k)[which] & ~had[aspect]
    opened = distinct(aspect[is_new], len(had))
    found = sums(case.aspects.query[opened], case.aspects.share[opened], case.size)
    return _of_aspects(case, found)


def _holes(case: Case) -> Flags:
    """For each gold row; raises ValueError where no original gold is known."""
    if case.gold.hole is None:
        raise ValueError("The gold does not say which labels are original.")
    return case.gold.hole & case.relevant


def _of_aspects(case: Case, values: Floats) -> Values:
    has_aspects = np.bincount(case.aspects.query, minlength=case.size) > 0
    why = np.where(case.relevant_count > 0, int(Undefined.NO_ASPECTS), int(Undefined.NO_GOLD))
    is_defined = has_aspects & (case.relevant_count > 0)
    return Values(np.where(is_defined, values, 0.0), np.where(is_defined, 0, why))
