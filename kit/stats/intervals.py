"""Confidence intervals of a statistic over items: the items are the sample, the raters fixed.

The default, for one set of items or for thousands at once, is the jackknife's standard error on a
scale on which the coefficient is nearly symmetric (Fisher's z for coefficients from -1 to 1, the
logit for shares), with Student's t. Of the ways tried it holds its level best at 100 items and on
skewed scales; docs/agreement.md shows the figures. The other ways are here to compare.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from kit.stats.kappa import Statistic
from kit.stats.ratings import Floats
from kit.stats.results import Interval

Method = Literal["jackknife", "delta", "bootstrap", "bca"]

JACKKNIFE_Z = "jackknife on Fisher's z, Student's t"
JACKKNIFE_LOGIT = "jackknife on the logit, Student's t"
PERFECT = "exact bound where no disagreement was seen"
ONE_ITEM = "All items but one carry one and the same label; everything rests on that item."
TOO_FEW = "One item is too few for an interval."
NO_SPREAD = "Every item looks the same; nothing shows how far the value may vary."


@dataclass(frozen=True)
class Options:
    """How intervals are found; `resamples` and `seed` matter to the two bootstraps only."""

    confidence: float = 0.95
    method: Method = "jackknife"
    resamples: int = 2000
    seed: int = 0


DEFAULT = Options()


def interval(statistic: Statistic, counts: Floats, options: Options = DEFAULT) -> Interval | str:
    """The interval of one set, counts (units,); where there is none, a sentence that says why."""
    confidence, method = options.confidence, options.method
    resamples, seed = options.resamples, options.seed
    if counts.sum() < 2:
        return TOO_FEW
    if method == "jackknife":
        found = jackknife(statistic, counts[None], confidence)
        name = JACKKNIFE_LOGIT if statistic.lowest == 0.0 else JACKKNIFE_Z
        return _finite(
            float(found.low[0]),
            float(found.high[0]),
            confidence,
            PERFECT if found.is_perfect[0] else name,
            ONE_ITEM if (counts >= counts.sum() - 1).any() else NO_SPREAD,
        )
    if method == "delta":
        value, error = delta(statistic, counts)
        reach = float(special.ndtri((1 + confidence) / 2)) * error
        return _finite(value - reach, min(value + reach, 1.0), confidence, "delta method")
    values = resampled(statistic, counts, resamples=resamples, seed=seed)
    quantiles = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    name = f"percentile bootstrap, {resamples} resamples, seed {seed}"
    if method == "bca":
        quantiles = _bca_quantiles(statistic, counts, values, quantiles)
        name = f"BCa bootstrap, {resamples} resamples, seed {seed}"
    if not len(values) or not np.isfinite(quantiles).all():
        return NO_SPREAD
    low, high = np.quantile(values, quantiles)
    return _finite(float(low), float(high), confidence, name)


def delta(statistic: Statistic, counts: Floats) -> tuple[float, float]:
    """Value and large-sample standard error from the coefficient's derivative in each unit.

    For Cohen's kappa this is the formula of Fleiss, Cohen and Everitt 1969.
    """
    totals = statistic.totals(counts)
    n = counts.sum()
    features = statistic.features(statistic.units)
    step = 1e-4 * n / max(1.0, float(np.abs(features).max()))
    ahead = statistic.value(totals + step * features / n)
    behind = statistic.value(totals - step * features / n)
    influence = (ahead - behind) / (2 * step / n)
    centred = influence - (counts @ influence) / n
    return float(statistic.value(totals)), float(np.sqrt(counts @ centred**2))


def resampled(statistic: Statistic, counts: Floats, *, resamples: int, seed: int) -> Floats:
    """The coefficient of `resamples` samples of as many items, undefined ones left out."""
    n = int(counts.sum())
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(n, counts / n, size=resamples).astype(np.float64)
    values = statistic.value(statistic.totals(drawn))
    return values[np.isfinite(values)]


def _bca_quantiles(
    statistic: Statistic, counts: Floats, values: Floats, quantiles: Floats
) -> Floats:
    # Efron 1987: shifted by the bootstrap's median bias, bent by the jackknife's skewness.
    totals = statistic.totals(counts)
    left = statistic.left_out(totals)
    pull = (counts @ left) / counts.sum() - left
    squares = counts @ pull**2
    value = statistic.value(totals)
    below = ((values < value).sum() + (values == value).sum() / 2) / max(len(values), 1)
    if not 0 < below < 1 or squares <= 0:
        return np.full(2, np.nan)
    bend = (counts @ pull**3) / (6 * squares**1.5)
    shift = special.ndtri(below) + special.ndtri(quantiles)
    return special.ndtr(special.ndtri(below) + shift / (1 - bend * shift))


def _finite(
    low: float, high: float, confidence: float, method: str, reason: str = NO_SPREAD
) -> Interval | str:
    if np.isfinite(low) and np.isfinite(high):
        return Interval(low, high, confidence, method)
    return reason


_EDGE = 1 - 1e-12  # closer to a bound than this is on it


@dataclass(frozen=True, eq=False)
class Intervals:
    """Arrays (sets,) of values and their intervals, NaN where there is none."""

    value: Floats
    low: Floats
    high: Floats
    is_perfect: NDArray[np.bool_]


def jackknife(statistic: Statistic, counts: Floats, confidence: float = 0.95) -> Intervals:
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
    return Intervals(
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
