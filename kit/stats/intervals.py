"""Confidence intervals of a statistic over items: the items are the sample, the raters fixed.

The jackknife is the default; the other ways are here to compare.
"""

from typing import Literal

import numpy as np
from scipy import special

from kit.stats.jackknife import jackknife
from kit.stats.ratings import Floats
from kit.stats.results import Interval
from kit.stats.statistic import Statistic

Method = Literal["jackknife", "delta", "bootstrap", "bca"]

JACKKNIFE_Z = "jackknife on Fisher's z, Student's t"
JACKKNIFE_LOGIT = "jackknife on the logit, Student's t"
PERFECT = "exact bound where no disagreement was seen"
ONE_ITEM = "All items but one carry one and the same label; everything rests on that item."
TOO_FEW = "One item is too few for an interval."
NO_SPREAD = "Every item looks the same; nothing shows how far the value may vary."


def interval(
    statistic: Statistic,
    counts: Floats,
    *,
    confidence: float = 0.95,
    method: Method = "jackknife",
    resamples: int = 2000,
    seed: int = 0,
) -> Interval | str:
    """The interval of one set, counts (units,); where there is none, a sentence that says why.

    `resamples` and `seed` matter to the two bootstraps only.
    """
    if counts.sum() < 2:
        return TOO_FEW
    if method == "jackknife":
        return _by_jackknife(statistic, counts, confidence)
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


def _by_jackknife(statistic: Statistic, counts: Floats, confidence: float) -> Interval | str:
    ends = jackknife(statistic, counts[None], confidence)
    name = JACKKNIFE_LOGIT if statistic.lowest == 0.0 else JACKKNIFE_Z
    return _finite(
        float(ends.low[0]),
        float(ends.high[0]),
        confidence,
        PERFECT if ends.is_perfect[0] else name,
        ONE_ITEM if (counts >= counts.sum() - 1).any() else NO_SPREAD,
    )


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
