"""Means of what machines labelled, corrected by a random sample that people labelled."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from kit.stats.means import Mean
from kit.stats.proportions import wilson
from kit.stats.results import Interval

SHARES = "prediction-powered, Wilson by stratum, combined (MOVER)"
MEANS = "prediction-powered (PPI++), Student's t"
# A stratum with fewer of people's labels is joined to the next one: one label shows no spread.
_LEAST = 2
# A grade of the machine of which people said nothing: where it holds more than this share of the
# items, what they said of the others says nothing of the whole.
_UNSEEN = 0.05
# Fewer of people's labels than this make no stratum of a scale: with ten, intervals hold the truth
# as often as those of a single stratum do, and are narrower where both do not go along a line.
_ENOUGH = 10


@dataclass(frozen=True)
class Stratum:
    """`size` items that a machine graded alike, `graded` its mean over all of them; `pairs` are
    (the machine's value, people's) of those drawn at random among them."""

    size: int
    graded: float
    pairs: Sequence[tuple[float, float]]


def strata_by_grade(graded: Sequence[float], pairs: Sequence[tuple[float, float]]) -> list[Stratum]:
    """Strata of items that a machine graded so on a scale, `pairs` as in a stratum: from the lowest
    grade up, one ends where people said enough of it, and what is left over joins the last."""
    if not graded:
        return []
    said, ends, enough = Counter(grade for grade, _ in pairs), list[float](), 0
    for grade in sorted(set(graded)):
        enough += said[grade]
        if enough >= _ENOUGH:
            ends.append(grade)
            enough = 0
    ends[-1:] = [float("inf")]
    values, places = np.array(graded), np.searchsorted(ends, graded)
    of_pairs = np.searchsorted(ends, [grade for grade, _ in pairs])
    return [
        Stratum(
            int((places == n).sum()),
            float(values[places == n].mean()),
            [pair for pair, at in zip(pairs, of_pairs, strict=True) if at == n],
        )
        for n in range(len(ends))
    ]


def corrected_mean(strata: Sequence[Stratum], *, confidence: float = 0.95) -> Mean:
    """The mean of people's values over all items, also those that no person saw.

    sum over strata of W (y + t (F - f)): W = N_h / N; y and f are means of people's and the
    machine's values over the n_h drawn, F the machine's over all N_h; t = sum(c cov(y, f)) /
    sum(c var(f)) with c = W^2 (1 - n_h / N_h) / n_h, which makes the variance sum(c var(y - t f))
    least. One stratum is PPI++ with power tuning (Angelopoulos, Duchi, Zrnic, arXiv 2311.01453),
    more are stratified PPI (Fisch and others, arXiv 2406.04291); where a stratum is one grade of
    the machine, t plays no part and y is post-stratified by grade.

    The items are all there are, so the interval has the finite population's correction. Shares
    of 0 and 1 with t = 0 have Wilson's interval by stratum on n_h / (1 - n_h / N_h), combined as
    by Newcombe (1998): it keeps a width where nobody found an error. Else Student's t. `n` counts
    people's labels. No value where the strata hold no item, where grades of the machine that nobody
    looked at hold more than a twentieth of the items, no interval where nothing shows the spread.
    """
    n = sum(len(each.pairs) for each in strata)
    whole = sum(each.size for each in strata)
    seen = {each.graded for each in strata if each.pairs}
    unseen = sum(each.size for each in strata if each.graded not in seen)
    if not n or unseen > _UNSEEN * whole:
        return Mean(n)
    strata = _joined([each for each in strata if each.size])
    weight = np.array([each.size / whole for each in strata])
    drawn = np.array([len(each.pairs) for each in strata], dtype=float)
    open_share = 1 - drawn / np.array([each.size for each in strata])
    columns = [np.array(each.pairs, dtype=float).T for each in strata]
    f, y = (np.array([each[side].mean() for each in columns]) for side in (0, 1))
    spreads = [np.cov(each) if each.shape[1] > 1 else np.zeros((2, 2)) for each in columns]
    c = weight**2 * open_share / drawn
    below = float(sum(c * [each[0, 0] for each in spreads]))
    tuned = float(sum(c * [each[0, 1] for each in spreads])) / below if below > 0 else 0.0
    graded = np.array([each.graded for each in strata])
    value = float((weight * (y + tuned * (graded - f))).sum())
    if tuned == 0 and all(np.isin(each[1], (0, 1)).all() for each in columns):
        reach = _wilson_reach(y, drawn, open_share, weight, confidence)
        ends = Interval(max(0.0, value - reach[0]), min(1.0, value + reach[1]), confidence, SHARES)
        return Mean(n, value, ends)
    free = n - len(strata) - (tuned != 0)
    left = [each[1, 1] - 2 * tuned * each[0, 1] + tuned**2 * each[0, 0] for each in spreads]
    error = float(np.sqrt(max(0.0, float((c * left).sum()))))
    if free < 1 or (error == 0 and open_share.any()):
        return Mean(n, value)
    far = float(special.stdtrit(free, (1 + confidence) / 2)) * error
    return Mean(n, value, Interval(value - far, value + far, confidence, MEANS))


def _joined(strata: Sequence[Stratum]) -> list[Stratum]:
    """Strata with too few labels joined to the next, the last ones to the one before."""
    found: list[Stratum] = []
    for each in strata:
        if found and (len(found[-1].pairs) < _LEAST):
            each = _both(found.pop(), each)
        found.append(each)
    if len(found) > 1 and len(found[-1].pairs) < _LEAST:
        last = found.pop()
        found.append(_both(found.pop(), last))
    return found


def _both(one: Stratum, other: Stratum) -> Stratum:
    size = one.size + other.size
    graded = (one.size * one.graded + other.size * other.graded) / size
    return Stratum(size, graded, [*one.pairs, *other.pairs])


def _wilson_reach(
    y: np.ndarray, drawn: np.ndarray, open_share: np.ndarray, weight: np.ndarray, confidence: float
) -> tuple[float, float]:
    """How far the ends are from the value; a stratum that people labelled wholly adds nothing."""
    below, above = 0.0, 0.0
    for share, n, left, w in zip(y, drawn, open_share, weight, strict=True):
        if left > 0:
            ends = wilson(share * n / left, n / left, confidence)
            below += float(w * (share - ends.low)) ** 2
            above += float(w * (ends.high - share)) ** 2
    return below**0.5, above**0.5
