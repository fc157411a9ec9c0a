"""Krippendorff's alpha as a statistic over items (Krippendorff 2011, "Computing Krippendorff's
Alpha-Reliability"; docs/protocol.md 6.11 names it for items with unequal numbers of labels)."""

import numpy as np
from numpy.typing import NDArray

from kit.stats.ratings import Floats, Level
from kit.stats.statistic import Statistic, ratio_to_chance


def alpha_statistic(units: NDArray, scores: Floats, level: Level) -> Statistic:
    """Alpha over label counts (units, categories), every unit with at least two labels.

    An item with m labels adds each of its ordered pairs with weight 1 / (m - 1).
    """
    if level == "ordinal":
        return _ordinal(units)
    spread = np.ptp(scores) or 1.0
    places = (scores - scores.mean()) / spread
    apart = (places[:, None] - places[None, :]) ** 2
    if level == "nominal":
        apart = 1.0 - np.eye(len(scores))

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
