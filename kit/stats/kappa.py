"""Coefficients as functions of sums over items, which makes resampling cheap.

Items that look alike form one unit with a count, so that 5,000 items of three binary votes are
four units. A resample is a row of counts; the coefficient takes any number of rows at once.
scikit-learn's kappa gives one value of one sample: the intervals need thousands.

Cohen 1960 and 1968 (docs/protocol.md 6.12); Fleiss 1971 (docs/protocol.md 6.11); Conger 1980,
"Integration and generalization of kappas for multiple raters"; Krippendorff 2011, "Computing
Krippendorff's Alpha-Reliability" (docs/protocol.md 6.11 names it for items with unequal numbers of
labels).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kit.stats.ratings import MISSING, Floats, Level, Ratings

Weights = Literal["unweighted", "linear", "quadratic"]
WEIGHTS: tuple[Weights, ...] = ("unweighted", "linear", "quadratic")
_CHUNK = 4_000_000  # floats in one intermediate array, about 32 MB


@dataclass(frozen=True, eq=False)
class Statistic:
    """What items can look like, and how sums over them become a coefficient.

    `units` (units, ...) are distinct items; `features` maps a slice of them to (slice, d);
    `value` maps sums (..., d) to the coefficient (...), NaN where it is undefined;
    `differ` maps sums to the chance that two labels differ, from the margins alone.
    `lowest` is the coefficient's lower bound, -1 or 0; the upper one is 1.
    """

    units: NDArray
    features: Callable[[NDArray], Floats]
    value: Callable[[Floats], Floats]
    differ: Callable[[Floats], Floats]
    lowest: float = -1.0

    def totals(self, counts: Floats) -> Floats:
        """Sums (..., d) over items, for counts (..., units)."""
        total: Floats = np.zeros(())
        for part in self._slices(counts[..., 0].size):
            total = total + counts[..., part] @ self.features(self.units[part])
        return total

    def left_out(self, totals: Floats) -> Floats:
        """The coefficient without one item of each unit: (..., units), for sums (..., d)."""
        values = np.empty((*totals.shape[:-1], len(self.units)))
        for part in self._slices(totals[..., 0].size):
            features = self.features(self.units[part])
            values[..., part] = self.value(totals[..., None, :] - features)
        return values

    def _slices(self, rows: int) -> Iterator[slice]:
        width = self.features(self.units[:1]).shape[1]
        step = max(1, _CHUNK // (max(rows, 1) * width))
        for start in range(0, len(self.units), step):
            yield slice(start, start + step)


def ratio_to_chance(observed: Floats, expected: Floats) -> Floats:
    """1 - observed / expected disagreement; NaN where chance leaves no room to disagree."""
    room = expected > 1e-12
    return np.where(room, 1 - observed / np.where(room, expected, 1), np.nan)


def distinct(rows: NDArray) -> tuple[NDArray, Floats]:
    """Distinct rows and how often each occurs."""
    units, counts = np.unique(rows, axis=0, return_counts=True)
    return units, counts.astype(np.float64)


def disagreement(scores: Floats, weights: Weights) -> Floats:
    """The weight of each confusion of two labels (categories, categories): 0 on the diagonal.

    Linear and quadratic weights are distances of the labels' scores, so that a category which
    nobody used still counts in the distance between its neighbours.
    """
    apart = np.abs(scores[:, None] - scores[None, :])
    if weights == "unweighted":
        return 1.0 - np.eye(len(scores))
    return apart if weights == "linear" else apart**2


def complete_codes(ratings: Ratings) -> NDArray:
    """Codes (items, raters) of the items that every rater labelled."""
    return ratings.codes[(ratings.codes != MISSING).all(axis=1)]


def cohen_statistic(units: NDArray, scores: Floats, weights: Weights) -> Statistic:
    """Cohen's kappa over pairs of codes (units, 2)."""
    size = len(scores)
    cost = disagreement(scores, weights)
    cost = cost / (cost.max() or 1.0)
    eye = np.eye(size)

    def features(part: NDArray) -> Floats:
        return np.hstack([cost[part[:, 0], part[:, 1]][:, None], eye[part[:, 0]], eye[part[:, 1]]])

    def margins(totals: Floats) -> tuple[Floats, Floats, Floats]:
        rows, columns = totals[..., 1 : size + 1], totals[..., size + 1 :]
        n = np.maximum(rows.sum(-1), 1e-300)
        return rows / n[..., None], columns / n[..., None], n

    def value(totals: Floats) -> Floats:
        rows, columns, n = margins(totals)
        return ratio_to_chance(totals[..., 0] / n, ((rows @ cost) * columns).sum(-1))

    def differ(totals: Floats) -> Floats:
        rows, columns, _ = margins(totals)
        return 1 - (rows * columns).sum(-1)

    return Statistic(units, features, value, differ)


def fleiss_statistic(units: NDArray) -> Statistic:
    """Fleiss' kappa over label counts (units, categories), every unit with as many labels."""

    def features(part: NDArray) -> Floats:
        votes = part.sum(1)
        apart = 1 - (part * (part - 1)).sum(1) / (votes * (votes - 1))
        return np.hstack([apart[:, None], part / votes[:, None]])

    def differ(totals: Floats) -> Floats:
        shares = totals[..., 1:] / np.maximum(totals[..., 1:].sum(-1, keepdims=True), 1e-300)
        return 1 - (shares**2).sum(-1)

    def value(totals: Floats) -> Floats:
        n = np.maximum(totals[..., 1:].sum(-1), 1e-300)
        return ratio_to_chance(totals[..., 0] / n, differ(totals))

    return Statistic(units, features, value, differ)


def conger_statistic(units: NDArray, size: int) -> Statistic:
    """Conger's kappa over codes (units, raters) below `size`, none missing.

    Chance is that of two different raters, each with their own margin; for two raters it is
    Cohen's.
    """
    raters = units.shape[1]
    pairs = raters * (raters - 1)
    eye = np.eye(size)

    def features(part: NDArray) -> Floats:
        given = eye[part]
        votes = given.sum(1)
        apart = 1 - (votes * (votes - 1)).sum(1) / pairs
        return np.hstack([apart[:, None], given.reshape(len(part), raters * size)])

    def differ(totals: Floats) -> Floats:
        margins = totals[..., 1:].reshape(*totals.shape[:-1], raters, size)
        shares = margins / np.maximum(margins.sum(-1, keepdims=True), 1e-300)
        return 1 - ((shares.sum(-2) ** 2).sum(-1) - (shares**2).sum((-1, -2))) / pairs

    def value(totals: Floats) -> Floats:
        n = np.maximum(totals[..., 1:].sum(-1) / raters, 1e-300)
        return ratio_to_chance(totals[..., 0] / n, differ(totals))

    return Statistic(units, features, value, differ)


def percent_statistic(units: NDArray) -> Statistic:
    """Share of agreeing pairs of labels per item, averaged over items: counts (units, labels)."""

    def features(part: NDArray) -> Floats:
        votes = part.sum(1)
        same = (part * (part - 1)).sum(1) / (votes * (votes - 1))
        return np.stack([same, np.ones(len(part))], axis=1)

    def value(totals: Floats) -> Floats:
        return totals[..., 0] / np.maximum(totals[..., 1], 1e-300)

    def differ(totals: Floats) -> Floats:
        return np.ones(totals.shape[:-1])

    return Statistic(units, features, value, differ, lowest=0.0)


def alpha_statistic(units: NDArray, scores: Floats, level: Level) -> Statistic:
    """Alpha over label counts (units, categories), every unit with at least two labels.

    An item with m labels adds each of its ordered pairs with weight 1 / (m - 1). On ratio level
    no score is negative.
    """
    if level == "ordinal":
        return _ordinal(units)
    spread = np.ptp(scores) or 1.0
    places = (scores - scores.mean()) / spread
    apart = (places[:, None] - places[None, :]) ** 2
    if level == "nominal":
        apart = 1.0 - np.eye(len(scores))
    if level == "ratio":
        # ((c - k) / (c + k))^2; two zeros do not differ.
        both = scores[:, None] + scores[None, :]
        apart = ((scores[:, None] - scores[None, :]) / np.where(both > 0, both, 1.0)) ** 2

    def features(part: NDArray) -> Floats:
        pairs = ((part @ apart) * part).sum(1) / (part.sum(1) - 1)
        return np.hstack([pairs[:, None], part])

    def value(totals: Floats) -> Floats:
        margin = totals[..., 1:]
        n = margin.sum(-1)
        expected = ((margin @ apart) * margin).sum(-1)
        return _alpha(totals[..., 0], expected, n)

    return Statistic(units, features, value, lambda totals: _differ(totals[..., 1:]))


def _ordinal(units: NDArray) -> Statistic:
    # The distance of two labels is how many labels lie between them, half of each end counted;
    # it moves with the margin, so the whole coincidence table is summed.
    size = units.shape[1]

    def features(part: NDArray) -> Floats:
        pairs = part[:, :, None] * part[:, None, :] - np.eye(size) * part[:, :, None]
        return (pairs / (part.sum(1) - 1)[:, None, None]).reshape(len(part), size * size)

    def table(totals: Floats) -> Floats:
        return totals.reshape(*totals.shape[:-1], size, size)

    def value(totals: Floats) -> Floats:
        together = table(totals)
        margin = together.sum(-1)
        n = np.maximum(margin.sum(-1), 1e-300)
        rank = (np.cumsum(margin, axis=-1) - margin / 2) / n[..., None]
        mean = (margin * rank).sum(-1) / n
        rank = rank - mean[..., None]
        square = (margin * rank**2).sum(-1)
        crossed = np.einsum("...i,...ij,...j->...", rank, together, rank, optimize=True)
        return _alpha(2 * (square - crossed), 2 * n * square, n)

    return Statistic(units, features, value, lambda totals: _differ(table(totals).sum(-1)))


def _alpha(observed: Floats, expected: Floats, n: Floats) -> Floats:
    # Sums over ordered pairs of labels: observed over n of them, expected over n (n - 1).
    n = np.maximum(n, 2.0)
    return ratio_to_chance(observed / n, expected / (n * (n - 1)))


def _differ(margin: Floats) -> Floats:
    shares = margin / np.maximum(margin.sum(-1, keepdims=True), 1e-300)
    return 1 - (shares**2).sum(-1)
