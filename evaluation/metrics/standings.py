"""Systems side by side: means over tasks, ranks, and how sure both are.

All systems are drawn on the same queries (a paired bootstrap), so that what makes a query hard
for all moves no rank.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.metrics.run import Floats, Whole

# Drawn counts in one array, 64 MB.
_AT_ONCE = 8_000_000
# Means that differ by less are equal: sums of the same values in another order.
EQUAL = 1e-12


@dataclass(frozen=True)
class Standing:
    """One system's mean over tasks and rank (1 is best), each with where `level` of draws land.

    `first` is the share of draws in which it is best. None where a task has no value of it.
    """

    mean: float | None = None
    low: float | None = None
    high: float | None = None
    rank: int | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    first: float | None = None


def task_means(values: Floats) -> Floats:
    """Of each system (row) the mean over the queries that have a value; NaN without any."""
    defined = ~np.isnan(values)
    counts = defined.sum(axis=1)
    sums = np.where(defined, values, 0.0).sum(axis=1)
    return np.divide(sums, counts, out=np.full(len(values), np.nan), where=counts > 0)


def standings(
    tasks: Sequence[Floats], *, seed: int, resamples: int = 2000, level: float = 0.95
) -> list[Standing]:
    """From `tasks[t][system, query]`, NaN where undefined: the unweighted mean over tasks.

    Queries are drawn within each task. Systems that miss a task stand outside the ranks.
    """
    systems = len(tasks[0]) if tasks else 0
    means = np.mean([task_means(task) for task in tasks], axis=0) if tasks else np.zeros(0)
    inside = np.flatnonzero(~np.isnan(means))
    found = [Standing()] * systems
    if not len(inside):
        return found
    drawn = drawn_means([task[inside] for task in tasks], np.random.default_rng(seed), resamples)
    tail = (1.0 - level) / 2.0
    low, high = np.nanquantile(drawn, [tail, 1.0 - tail], axis=0)
    ranks = ranks_of(drawn)
    rank_low = np.quantile(ranks, tail, axis=0, method="lower")
    rank_high = np.quantile(ranks, 1.0 - tail, axis=0, method="higher")
    first = (ranks == 1).mean(axis=0)
    for place, (system, rank) in enumerate(
        zip(inside.tolist(), ranks_of(means[inside]).tolist(), strict=True)
    ):
        found[system] = Standing(
            mean=float(means[system]),
            low=float(low[place]),
            high=float(high[place]),
            rank=rank,
            rank_low=int(rank_low[place]),
            rank_high=int(rank_high[place]),
            first=float(first[place]),
        )
    return found


def ranks_of(means: Floats) -> Whole:
    """One more than the systems (last axis) with a higher mean; equal means share the better."""
    ranks = np.ones(means.shape, dtype=np.int64)
    for system in range(means.shape[-1]):
        ranks += means[..., system, None] > means + EQUAL
    return ranks


def drawn_means(tasks: Sequence[Floats], rng: np.random.Generator, resamples: int) -> Floats:
    """The mean over tasks of each system in each draw.

    Drawn are the queries of a task that have a value for any system. A draw in which a system
    has none all the same is left out: it would rank that system above those that have one.
    """
    total = np.zeros((resamples, len(tasks[0])))
    for whole in tasks:
        task = whole[:, ~np.isnan(whole).all(axis=0)]
        defined = ~np.isnan(task)
        values, size = np.where(defined, task, 0.0), task.shape[1]
        part = max(1, _AT_ONCE // size)
        for start in range(0, resamples, part):
            count = min(part, resamples - start)
            times = rng.multinomial(size, np.full(size, 1 / size), count).astype(np.float64)
            below = times @ defined.T
            share = np.divide(
                times @ values.T, below, out=np.full_like(below, np.nan), where=below > 0
            )
            total[start : start + count] += share
    found = np.asarray(total[~np.isnan(total).any(axis=1)] / len(tasks))
    return found if len(found) else total / len(tasks)
