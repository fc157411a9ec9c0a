"""Shares and means of values that are not independent: several votes of one item, many of one
person.

Whole items are drawn again with replacement, then whole persons; the two variances are added, less
that of votes drawn one by one, which both hold (Cameron, Gelbach and Miller 2011, Journal of
Business & Economic Statistics 29(2)). Few clusters say little of their spread, so the interval
takes Student's t with one degree of freedom less than the smaller number of clusters; shares on
the logit, so that it stays within 0 and 1.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from kit.stats.means import AT_ONCE
from kit.stats.proportions import clopper_pearson
from kit.stats.ratings import Floats
from kit.stats.results import HasEnds, Interval

RESAMPLES = 1000
EXACT = "exact bound as if every cluster were one value"
ONE_CLUSTER = "All come from one item or one person; nothing shows how far others would differ."


@dataclass(frozen=True)
class Clustered(HasEnds):
    """A share or mean of `n` values in so many `clusters` (of the dimension that has fewest).

    None without a value; without an interval, `reason` says why.
    """

    n: int
    clusters: int = 0
    value: float | None = None
    interval: Interval | None = None
    reason: str = ""


def clustered_share(
    hits: Sequence[bool], *clusters: Sequence[Hashable], seed: int = 0, confidence: float = 0.95
) -> Clustered:
    """The share of hits; `clusters` name of each value its item, its person, and so on.

    Where every value is the same the bootstrap shows no spread: then the exact interval of as
    many independent values as there are clusters.
    """
    found = _measured(np.asarray(hits, dtype=float), clusters, seed)
    if isinstance(found, Clustered):
        return found
    value, error, n, fewest = found
    if value in (0.0, 1.0):
        ends = clopper_pearson(int(value) * fewest, fewest, confidence)
        return Clustered(n, fewest, value, Interval(ends.low, ends.high, confidence, EXACT))
    middle = special.logit(value)
    reach = _t(fewest, confidence) * error / (value * (1 - value))
    low, high = special.expit([middle - reach, middle + reach]).tolist()
    return Clustered(n, fewest, value, Interval(low, high, confidence, _name(seed)))


def clustered_mean(
    values: Sequence[float],
    *clusters: Sequence[Hashable],
    seed: int = 0,
    confidence: float = 0.95,
) -> Clustered:
    """The mean, as `clustered_share`."""
    found = _measured(np.asarray(values, dtype=float), clusters, seed)
    if isinstance(found, Clustered):
        return found
    value, error, n, fewest = found
    reach = _t(fewest, confidence) * error
    return Clustered(
        n, fewest, value, Interval(value - reach, value + reach, confidence, _name(seed))
    )


def share_difference(
    first: HasEnds, second: HasEnds, values: tuple[float, float]
) -> Interval | None:
    """The interval of first minus second, of two independent shares: each end is moved by the root
    of the squared distances of their ends (Newcombe 1998, Statistics in Medicine 17). None where
    one of them has no interval."""
    a, b = first.interval, second.interval
    if a is None or b is None:
        return None
    one, other = values
    low = one - other - float(np.hypot(one - a.low, b.high - other))
    high = one - other + float(np.hypot(a.high - one, other - b.low))
    return Interval(low, high, a.confidence, f"{a.method}, combined (Newcombe's MOVER)")


def _measured(
    values: Floats, clusters: Sequence[Sequence[Hashable]], seed: int
) -> Clustered | tuple[float, float, int, int]:
    """Value, standard error, number of values and of clusters; or why there is no error."""
    n = len(values)
    if not n:
        return Clustered(0)
    coded = [_codes(each) for each in clusters]
    fewest = min(size for _, size in coded)
    value = float(values.mean())
    if fewest < 2:
        return Clustered(n, fewest, value, reason=ONE_CLUSTER)
    rng = np.random.default_rng(seed)
    parts = [float(_drawn(values, *each, rng).var(ddof=1)) for each in coded]
    alone = float(values.var(ddof=1)) / n
    # Never below the larger of them: chance alone may make the difference smaller.
    variance = max(*parts, sum(parts) - (len(parts) - 1) * alone, 0.0)
    return value, float(np.sqrt(variance)), n, fewest


def _codes(names: Sequence[Hashable]) -> tuple[NDArray, int]:
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    return np.array([places[name] for name in names]), len(places)


def _drawn(values: Floats, codes: NDArray, size: int, rng: np.random.Generator) -> Floats:
    """Means of sets in which each cluster counts as often as it was drawn."""
    sums = np.bincount(codes, weights=values, minlength=size)
    counts = np.bincount(codes, minlength=size)
    part = max(1, AT_ONCE // size)
    means = []
    for start in range(0, RESAMPLES, part):
        sets = min(part, RESAMPLES - start)
        weights = rng.multinomial(size, np.full(size, 1 / size), size=sets)
        means.append((weights @ sums) / (weights @ counts))
    return np.concatenate(means)


def _t(clusters: int, confidence: float) -> float:
    return float(special.stdtrit(clusters - 1, (1 + confidence) / 2))


def _name(seed: int) -> str:
    return f"cluster bootstrap, {RESAMPLES} resamples, seed {seed}, Student's t"
