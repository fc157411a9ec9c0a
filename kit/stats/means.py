"""Means with their intervals: Student's, of recalls, and by bootstrap over queries.

The bootstrap stays ours: scipy.stats.bootstrap draws many tasks in another order, so that intervals
that are printed would change, and scipy.stats is slow to load (proportions.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from kit.stats.proportions import Proportion
from kit.stats.ratings import Floats
from kit.stats.results import HasEnds, Interval

STUDENT = "Student's t"
MOVER = "Wilson intervals of the recalls, combined (Newcombe's MOVER)"
AT_ONCE = 1_000_000  # drawn values in one array, 8 MB


@dataclass(frozen=True)
class Mean(HasEnds):
    """A mean of `n` values; None without a value, no interval where nothing shows the spread."""

    n: int
    value: float | None = None
    interval: Interval | None = None


def mean(values: Sequence[float], *, confidence: float = 0.95) -> Mean:
    """The mean with Student's interval; for seconds and dollars of hundreds of pairs."""
    n = len(values)
    if n < 2:
        return Mean(n, float(values[0]) if n else None)
    given = np.asarray(values, dtype=float)
    value = float(given.mean())
    error = float(given.std(ddof=1)) / float(np.sqrt(n))
    reach = float(special.stdtrit(n - 1, (1 + confidence) / 2)) * error
    return Mean(n, value, Interval(value - reach, value + reach, confidence, STUDENT))


def mean_proportion(parts: Sequence[Proportion], *, confidence: float = 0.95) -> Mean:
    """The unweighted mean of independent shares, such as the recalls of the classes.

    No value without shares and where one of them is undefined. `confidence` names the level of
    the parts' intervals. Each end is moved by the root of the squared distances of the parts'
    ends, which keeps it inside 0 and 1 and asymmetric where they are (Newcombe 1998, Statistics
    in Medicine 17; Zou and Donner 2008).
    """
    ends = [part.interval for part in parts if part.interval]
    if not parts or len(ends) < len(parts):
        return Mean(len(parts))
    values = np.array([part.value for part in parts])
    below = values - np.array([end.low for end in ends])
    above = np.array([end.high for end in ends]) - values
    k, value = len(values), float(values.mean())
    low = value - float(np.sqrt((below**2).sum())) / k
    high = value + float(np.sqrt((above**2).sum())) / k
    return Mean(k, value, Interval(max(0.0, low), min(1.0, high), confidence, MOVER))


def bootstrap_macro(
    tasks: Sequence[Floats], *, seed: int, resamples: int = 10_000, confidence: float = 0.95
) -> Mean:
    """The unweighted mean over tasks with a percentile interval, queries drawn within each task.

    No value without a task and where a task has no query; `n` counts the queries.
    """
    n = sum(map(len, tasks))
    if not tasks or any(len(values) == 0 for values in tasks):
        return Mean(n)
    rng = np.random.default_rng(seed)
    means = np.mean([_drawn_means(values, rng, resamples) for values in tasks], axis=0)
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(means, [tail, 1.0 - tail]).tolist()
    value = float(np.mean([values.mean() for values in tasks]))
    name = f"percentile bootstrap, {resamples} resamples, seed {seed}"
    return Mean(n, value, Interval(low, high, confidence, name))


def _drawn_means(values: Floats, rng: np.random.Generator, resamples: int) -> Floats:
    """Drawn in parts, so that memory stays bounded."""
    part, n = max(1, AT_ONCE // len(values)), len(values)
    found = [
        values[rng.integers(n, size=(min(part, resamples - start), n))].mean(axis=1)
        for start in range(0, resamples, part)
    ]
    return np.concatenate(found)
