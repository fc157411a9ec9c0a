"""Shares of counts with their intervals.

As scipy.stats.binomtest gives them, from scipy.special: scipy.stats takes three times as long to
load, and the first report page would wait for it.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from kit.stats.results import HasEnds, Interval

WILSON = "Wilson score"
EXACT = "Clopper-Pearson (exact)"


@dataclass(frozen=True)
class Proportion(HasEnds):
    """`hits` of `n` with the interval; value and ends are None where n is 0."""

    hits: int
    n: int
    value: float | None = None
    interval: Interval | None = None


def wilson(hits: float, n: float, confidence: float = 0.95) -> Interval:
    """Wilson's score interval (JASA 22, 1927) without continuity correction.

    Counts may be effective ones, such as of a sample without replacement. ValueError unless
    0 <= hits <= n and n > 0.
    """
    _check(hits, n)
    z = float(special.ndtri((1 + confidence) / 2))
    share, room = hits / n, 1 + z**2 / n
    centre = (share + z**2 / (2 * n)) / room
    reach = z * float(np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))) / room
    low = 0.0 if hits == 0 else max(0.0, centre - reach)
    return Interval(low, 1.0 if hits == n else min(1.0, centre + reach), confidence, WILSON)


def clopper_pearson(hits: int, n: int, confidence: float = 0.95) -> Interval:
    """The exact interval (Biometrika 26, 1934), never below its level; ValueError as for wilson."""
    _check(hits, n)
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(special.betaincinv(hits, n - hits + 1, tail))
    return Interval(low, upper_bound(hits, n, confidence=1 - tail), confidence, EXACT)


def upper_bound(hits: int, n: int, *, confidence: float = 0.95) -> float:
    """The exact one-sided bound: a share above it gives so few with at most 1 - confidence.

    1.0 where nothing was looked at; ValueError unless 0 <= hits <= n.
    """
    if hits == n == 0:
        return 1.0
    _check(hits, n)
    return 1.0 if hits == n else float(special.betaincinv(hits + 1, n - hits, confidence))


def proportion(hits: int, n: int, *, confidence: float = 0.95, exact: bool = False) -> Proportion:
    """A share with Wilson's interval, or with the exact one; ValueError unless 0 <= hits <= n."""
    if hits == n == 0:
        return Proportion(0, 0)
    find = clopper_pearson if exact else wilson
    ends = find(hits, n, confidence)
    return Proportion(hits, n, hits / n, ends)


def _check(hits: float, n: float) -> None:
    if n <= 0 or not 0 <= hits <= n:
        raise ValueError(f"{hits} of {n} is no share.")
