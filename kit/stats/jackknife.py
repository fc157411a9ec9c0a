"""The default interval, for one set of items or for thousands at once.

The jackknife's standard error on a scale on which the coefficient is nearly symmetric (Fisher's
z for coefficients from -1 to 1, the logit for shares), with Student's t. Of the ways tried it
holds its level best at 100 items and on skewed scales; docs/agreement.md shows the figures.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from kit.stats.ratings import Floats
from kit.stats.statistic import Statistic

_EDGE = 1 - 1e-12  # closer to a bound than this is on it


@dataclass(frozen=True, eq=False)
class Ends:
    """Arrays (sets,) of values and interval ends, NaN where there is none."""

    value: Floats
    low: Floats
    high: Floats
    is_perfect: NDArray[np.bool_]


def jackknife(statistic: Statistic, counts: Floats, confidence: float = 0.95) -> Ends:
    """Value and interval of each of many sets at once; counts (sets, units)."""
    totals = statistic.totals(counts)
    value = statistic.value(totals)
    n = counts.sum(-1)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        left = np.where(counts > 0, statistic.left_out(totals), value[..., None])
        error = _error(left, value, counts, n, statistic.lowest)
        reach = special.stdtrit(np.maximum(n - 1, 1), (1 + confidence) / 2) * error
        place = _to_line(value, statistic.lowest)
        low = _from_line(place - reach, statistic.lowest)
        high = _from_line(place + reach, statistic.lowest)
    perfect = (value > _EDGE) & (n > 0)
    low, high = _at_bounds(statistic, totals, value, n, low, high, confidence)
    spread = (error > 0) | perfect | (value < statistic.lowest + 1 - _EDGE)
    usable = spread & np.isfinite(left).all(-1)
    usable = usable | (perfect & (statistic.lowest == 0.0))
    return Ends(
        value, np.where(usable, low, np.nan), np.where(usable, high, np.nan), perfect & usable
    )


def _error(left: Floats, value: Floats, counts: Floats, n: Floats, lowest: float) -> Floats:
    # Two errors: the jackknife's on the line, and the one on the coefficient's own scale carried
    # over by the slope. The first is wide where few items disagree, the second narrow where few
    # items disagree by much; their mean holds the level in both. Where leaving out one item
    # reaches a bound, which lies at infinity on the line, there is only the second.
    slope = 1 / (value * (1 - value)) if lowest == 0.0 else 1 / (1 - value**2)
    own = _spread(left, counts, n) * slope
    on_line = _spread(_to_line(left, lowest), counts, n)
    on_edge = ((left > _EDGE) | (left < lowest + 1 - _EDGE)).any(-1)
    return np.where(on_edge, own, (own + on_line) / 2)


def _spread(left: Floats, counts: Floats, n: Floats) -> Floats:
    """The jackknife's standard error of leave-one-out values (sets, units)."""
    mean = (counts * left).sum(-1) / n
    squares = (counts * (left - mean[..., None]) ** 2).sum(-1)
    error = np.sqrt(squares * (n - 1) / n)
    # Rounding: alike leave-one-out values are no spread.
    return np.where(error > 1e-9, error, 0.0)


def _at_bounds(
    statistic: Statistic,
    totals: Floats,
    value: Floats,
    n: Floats,
    low: Floats,
    high: Floats,
    confidence: float,
) -> tuple[Floats, Floats]:
    # No disagreement in n items: at most so many disagree (Clopper and Pearson), each of them as
    # much as two labels that differ by chance do.
    most = 1 - ((1 - confidence) / 2) ** (1 / np.maximum(n, 1))
    room = np.maximum(statistic.differ(totals), 1e-300)
    perfect = value > _EDGE
    low = np.where(perfect, np.maximum(1 - most / room, statistic.lowest), low)
    high = np.where(perfect, 1.0, high)
    if statistic.lowest == 0.0:
        none = value < 1 - _EDGE
        low, high = np.where(none, 0.0, low), np.where(none, most, high)
    return low, high


def _to_line(value: Floats, lowest: float) -> Floats:
    inside = np.clip(value, lowest + (1 - _EDGE), _EDGE)
    return special.logit(inside) if lowest == 0.0 else np.arctanh(inside)


def _from_line(place: Floats, lowest: float) -> Floats:
    return special.expit(place) if lowest == 0.0 else np.tanh(place)
