"""Cohen's kappa with its weights, and Fleiss' kappa, as statistics over items.

Cohen 1960 and 1968 (docs/protocol.md 6.12); Fleiss 1971 (docs/protocol.md 6.11).
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kit.stats.ratings import MISSING, Floats, Ratings
from kit.stats.statistic import Statistic, ratio_to_chance

Weights = Literal["unweighted", "linear", "quadratic"]
WEIGHTS: tuple[Weights, ...] = ("unweighted", "linear", "quadratic")


def disagreement(scores: Floats, weights: Weights) -> Floats:
    """The weight of each confusion of two labels (categories, categories): 0 on the diagonal.

    Linear and quadratic weights are distances of the labels' scores, so that a category which
    nobody used still counts in the distance between its neighbours.
    """
    apart = np.abs(scores[:, None] - scores[None, :])
    if weights == "unweighted":
        return 1.0 - np.eye(len(scores))
    return apart if weights == "linear" else apart**2


def cohen_units(ratings: Ratings) -> NDArray:
    """Codes (items, 2) of the items that both raters of a pair labelled."""
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
