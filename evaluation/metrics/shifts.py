"""The same systems before and after: gains, ranks and how alike the two orders are.

Before and after are drawn on the same queries, so that what makes a query hard for all moves
nothing. Kendall's tau-b: M. G. Kendall, The treatment of ties in ranking problems (1945).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.metrics.run import Floats
from evaluation.metrics.standings import (
    EQUAL,
    Standing,
    drawn_means,
    ranks_of,
    standings,
    task_means,
)

# Pairs of systems times draws in one array.
_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Between:
    """A value with where `level` of the draws land; None where it is undefined."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Shifts:
    """For each system where it stood before and after, its gain, and the places it won."""

    before: list[Standing]
    after: list[Standing]
    gain: list[Between]
    won: list[Between]
    tau: Between


def shifts(
    before: Sequence[Floats],
    after: Sequence[Floats],
    *,
    seed: int,
    resamples: int = 2000,
    level: float = 0.95,
) -> Shifts:
    """From `tasks[t][system, query]` of both sides, systems and queries in the same places.

    A query counts for a system where it has a value on both sides. Systems without a value in a
    task stand outside, as they do on a board.
    """
    both = [np.isnan(one) | np.isnan(other) for one, other in zip(before, after, strict=True)]
    first = [np.where(out, np.nan, task) for out, task in zip(both, before, strict=True)]
    second = [np.where(out, np.nan, task) for out, task in zip(both, after, strict=True)]
    size = len(first[0]) if first else 0
    means = [
        np.mean([task_means(task) for task in tasks], axis=0) if tasks else np.zeros(0)
        for tasks in (first, second)
    ]
    inside = np.flatnonzero(~np.isnan(means[0])) if size else np.zeros(0, np.int64)
    gain, won, tau = [Between()] * size, [Between()] * size, Between()
    if len(inside):
        joined = [np.vstack([a[inside], b[inside]]) for a, b in zip(first, second, strict=True)]
        drawn = drawn_means(joined, np.random.default_rng(seed), resamples)
        one, other = drawn[:, : len(inside)], drawn[:, len(inside) :]
        moved = (ranks_of(one) - ranks_of(other)).astype(np.float64)
        here = ranks_of(means[0][inside]) - ranks_of(means[1][inside])
        for place, system in enumerate(inside.tolist()):
            value = float(means[1][system] - means[0][system])
            gain[system] = _between(value, other[:, place] - one[:, place], level)
            won[system] = _between(float(here[place]), moved[:, place], level, whole=True)
        value = kendall_tau(means[0][None, inside], means[1][None, inside])[0]
        tau = _between(float(value), kendall_tau(one, other), level)
    sides = [
        standings(tasks, seed=seed, resamples=resamples, level=level) for tasks in (first, second)
    ]
    return Shifts(sides[0], sides[1], gain, won, tau)


def kendall_tau(first: Floats, second: Floats) -> Floats:
    """tau-b of each row of two tables; NaN where one of them ranks nothing apart."""
    above, below = np.triu_indices(first.shape[1], 1)
    found = np.full(len(first), np.nan)
    part = max(1, _AT_ONCE // max(1, len(above)))
    for start in range(0, len(first), part):
        rows = slice(start, start + part)
        one = _sign(first[rows][:, above] - first[rows][:, below])
        other = _sign(second[rows][:, above] - second[rows][:, below])
        size = np.sqrt((one != 0).sum(axis=1) * (other != 0).sum(axis=1))
        np.divide((one * other).sum(axis=1), size, out=found[rows], where=size > 0)
    return found


def _sign(differences: Floats) -> Floats:
    """-1, 0 or 1, where equal means differ by rounding alone."""
    return np.where(np.abs(differences) <= EQUAL, 0.0, np.sign(differences))


def _between(value: float, drawn: Floats, level: float, *, whole: bool = False) -> Between:
    """Ranks keep to whole places: the interval ends at drawn ones."""
    kept = drawn[~np.isnan(drawn)]
    if np.isnan(value) or not len(kept):
        return Between()
    tail = (1.0 - level) / 2.0
    low = np.quantile(kept, tail, method="lower" if whole else "linear")
    high = np.quantile(kept, 1.0 - tail, method="higher" if whole else "linear")
    return Between(value, float(low), float(high))
