"""Systems side by side: means over tasks, ranks, how sure both are, and what moved them.

All systems are drawn on the same queries (a paired bootstrap), so that what makes a query hard
for all moves no rank; before and after are drawn on the same ones, too. Kendall's tau-b: M. G.
Kendall, The treatment of ties in ranking problems (1945); scipy's takes one pair of rankings at a
time, here are thousands. Intervals of means alone: kit.stats.means.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from evaluation.metrics.case import Case
from evaluation.metrics.run import Flags, Floats, Whole

# Drawn counts in one array, 64 MB.
_AT_ONCE = 8_000_000
# Means that differ by less are equal: sums of the same values in another order.
EQUAL = 1e-12
# Pairs of systems times draws in one array.
_PAIRS_AT_ONCE = 4_000_000


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


def over_tasks(tasks: Sequence[Floats]) -> Floats:
    """Of each system the unweighted mean over tasks; NaN where one has no value of it."""
    return np.asarray(np.mean([task_means(task) for task in tasks], axis=0) if tasks else [])


def standings(
    tasks: Sequence[Floats], *, seed: int, resamples: int = 2000, level: float = 0.95
) -> list[Standing]:
    """From `tasks[t][system, query]`, NaN where undefined: the unweighted mean over tasks.

    Queries are drawn within each task. Systems that miss a task get no rank.
    """
    systems = len(tasks[0]) if tasks else 0
    means = over_tasks(tasks)
    inside = np.flatnonzero(~np.isnan(means))
    found = [Standing()] * systems
    if not len(inside):
        return found
    drawn = drawn_means([task[inside] for task in tasks], np.random.default_rng(seed), resamples)
    tail = (1.0 - level) / 2.0
    low, high = np.nanquantile(drawn, [tail, 1.0 - tail], axis=0)
    ranks = ranks_of(drawn)
    rank_low, rank_high = _ends(ranks, level, whole=True)
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


def _ends(drawn: Floats | Whole, level: float, *, whole: bool = False) -> tuple[Floats, Floats]:
    """Where `level` of the draws (first axis) land; whole places end at drawn ones."""
    tail = (1.0 - level) / 2.0
    low = np.quantile(drawn, tail, axis=0, method="lower" if whole else "linear")
    high = np.quantile(drawn, 1.0 - tail, axis=0, method="higher" if whole else "linear")
    return np.asarray(low), np.asarray(high)


@dataclass(frozen=True)
class Interval:
    """A value with where `level` of the draws land; None where it is undefined."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


# For each system its standing before and after, its gain, and the ranks it won; tau of both orders.
RankShifts: TypeAlias = tuple[
    list[Standing], list[Standing], list[Interval], list[Interval], Interval
]


def rank_shifts(
    before: Sequence[Floats],
    after: Sequence[Floats],
    *,
    seed: int,
    resamples: int = 2000,
    level: float = 0.95,
) -> RankShifts:
    """From `tasks[t][system, query]` of both sides, systems and queries in the same places.

    A query counts for a system where it has a value on both sides. Systems without a value in a
    task get no rank, as on a leaderboard.
    """
    first, second = _masked(before, after)
    means, inside, old, new = _drawn_pairs(first, second, seed, resamples)
    size = len(first[0]) if first else 0
    gain, won, tau = _gains(means, inside, old, new, level), [Interval()] * size, Interval()
    if len(inside):
        moved = (ranks_of(old) - ranks_of(new)).astype(np.float64)
        here = ranks_of(means[0][inside]) - ranks_of(means[1][inside])
        for place, system in enumerate(inside.tolist()):
            won[system] = _interval(float(here[place]), moved[:, place], level, whole=True)
        value = kendall_tau(means[0][None, inside], means[1][None, inside])[0]
        tau = _interval(float(value), kendall_tau(old, new), level)
    one, other = (
        standings(tasks, seed=seed, resamples=resamples, level=level) for tasks in (first, second)
    )
    return one, other, gain, won, tau


def paired_gains(
    before: Sequence[Floats],
    after: Sequence[Floats],
    *,
    seed: int,
    resamples: int = 2000,
    level: float = 0.95,
) -> list[Interval]:
    """What each system won from `before` to `after`, drawn as `rank_shifts` does."""
    drawn = _drawn_pairs(*_masked(before, after), seed, resamples)
    return _gains(*drawn, level)


def _masked(before: Sequence[Floats], after: Sequence[Floats]) -> tuple[list[Floats], list[Floats]]:
    """Both sides, where both have a value."""
    both = [np.isnan(one) | np.isnan(other) for one, other in zip(before, after, strict=True)]
    first = [np.where(out, np.nan, task) for out, task in zip(both, before, strict=True)]
    return first, [np.where(out, np.nan, task) for out, task in zip(both, after, strict=True)]


def _drawn_pairs(
    first: Sequence[Floats], second: Sequence[Floats], seed: int, resamples: int
) -> tuple[list[Floats], Whole, Floats, Floats]:
    """Means of all systems on both sides, which systems have one, and their means in each draw."""
    means = [over_tasks(tasks) for tasks in (first, second)]
    inside = np.flatnonzero(~np.isnan(means[0]))
    if not len(inside):
        return means, inside, np.zeros((0, 0)), np.zeros((0, 0))
    joined = [np.vstack([a[inside], b[inside]]) for a, b in zip(first, second, strict=True)]
    drawn = drawn_means(joined, np.random.default_rng(seed), resamples)
    return means, inside, drawn[:, : len(inside)], drawn[:, len(inside) :]


def _gains(
    means: Sequence[Floats], inside: Whole, old: Floats, new: Floats, level: float
) -> list[Interval]:
    gain = [Interval()] * len(means[0])
    for place, system in enumerate(inside.tolist()):
        value = float(means[1][system] - means[0][system])
        gain[system] = _interval(value, new[:, place] - old[:, place], level)
    return gain


def kendall_tau(first: Floats, second: Floats) -> Floats:
    """tau-b of each row of two tables; NaN where one of them ranks nothing apart."""
    above, below = np.triu_indices(first.shape[1], 1)
    found = np.full(len(first), np.nan)
    part = max(1, _PAIRS_AT_ONCE // max(1, len(above)))
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


def _interval(value: float, drawn: Floats, level: float, *, whole: bool = False) -> Interval:
    """Ranks keep to whole places: the interval ends at drawn ones."""
    kept = drawn[~np.isnan(drawn)]
    if np.isnan(value) or not len(kept):
        return Interval()
    low, high = _ends(kept, level, whole=whole)
    return Interval(value, float(low), float(high))


def truth_of(labels: Whole, *, if_relevant: float, if_not: float) -> Floats:
    """For each label the chance that the passage is truly relevant.

    `if_relevant` is that chance for labels above 0 (the precision of the labelling), `if_not` for
    the others (its false omission rate), as an agreement report estimates them.
    """
    for chance in (if_relevant, if_not):
        if not 0.0 <= chance <= 1.0:
            raise ValueError("A chance lies between 0 and 1.")
    return np.where(labels > 0, if_relevant, if_not)


def rank_intervals(
    tasks: Sequence[Sequence[Case]],
    measure: Callable[[Case], float | None],
    *,
    truth: Callable[[np.random.Generator], Sequence[Floats]],
    seed: int,
    draws: int = 200,
    level: float = 0.95,
    step: Callable[[int], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Ranks of systems when labels are noisy: every draw decides each label anew by its chance.

    Of each system its mean and rank (1 is best) as scored, the low and high rank between which
    `level` of the draws land, and the share of draws in which it is first.

    Each task has one case a system, all of one gold; `truth` gives each draw the chances of each
    task's labels, as `truth_of` does. Systems are ranked by the mean of `measure` over tasks, equal
    means share the better rank; a system without a mean is last. Only labels vary: queries and
    rankings stay. `step` gets the number of each draw before it is made.
    """
    observed = np.mean([[_or_least(measure(case)) for case in cases] for cases in tasks], axis=0)
    rng = np.random.default_rng(seed)
    totals = np.zeros((draws, len(observed)))
    for draw in range(draws):
        step(draw)
        for cases, chance in zip(tasks, truth(rng), strict=True):
            is_true = rng.random(len(chance)) < chance
            totals[draw] += [_or_least(measure(_under(case, is_true))) for case in cases]
    drawn = ranks_of(totals)
    low, high = _ends(drawn, level, whole=True)
    return [
        {
            "mean": None if np.isneginf(observed[each]) else float(observed[each]),
            "rank": int(rank),
            "low": int(low[each]),
            "high": int(high[each]),
            "first": float((drawn[:, each] == 1).mean()),
        }
        for each, rank in enumerate(ranks_of(observed).tolist())
    ]


def _under(case: Case, is_true: Flags) -> Case:
    """A label that is drawn true keeps its grade, or becomes 1 where it had none."""
    return case.with_labels(np.where(is_true, np.maximum(case.gold.label, 1), 0))


def _or_least(mean: float | None) -> float:
    return -np.inf if mean is None else mean
