"""Does retrieval say what generation says? RAGAlign and its kin (docs/protocol.md 6.8)."""

from collections.abc import Sequence
from math import atanh, sqrt, tanh
from typing import NamedTuple

import numpy as np
from scipy import special

from evaluation.metrics.run import Flags, Floats
from kit.stats.results import Interval


class Alignment(NamedTuple):
    """Queries by retrieval (hit, miss) and generation (correct, wrong)."""

    hit_correct: int
    hit_wrong: int
    miss_correct: int
    miss_wrong: int

    @property
    def share(self) -> float | None:
        """RAGAlign: share of queries in which both come out alike; None without a query."""
        return (self.hit_correct + self.miss_wrong) / sum(self) if sum(self) else None


def rag_align(retrieved: Sequence[int | bool], generated: Sequence[int | bool]) -> Alignment:
    """The four cells; both sequences are by query. Raises ValueError for unequal lengths."""
    hit, correct = _outcomes(retrieved), _outcomes(generated)
    _check_lengths(hit, correct)
    cells = (hit & correct, hit & ~correct, ~hit & correct, ~hit & ~correct)
    return Alignment(*(int(cell.sum()) for cell in cells))


def point_biserial(values: Sequence[float], outcomes: Sequence[int | bool]) -> float | None:
    """(M1 - M0) / s * sqrt(n1 n0 / (n (n - 1))), s the sample standard deviation (n - 1).

    This is Pearson's correlation of the two; DREAM calls s a standard error, which would give
    values beyond 1. None where one outcome never occurs or all values are equal.
    """
    return system_pearson(values, _outcomes(outcomes).tolist())


def system_pearson(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Pearson's correlation of two means over systems; None below two or where one is constant."""
    one, other = np.asarray(first, np.float64), np.asarray(second, np.float64)
    _check_lengths(one, other)
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(np.clip(np.corrcoef(one, other)[0, 1], -1.0, 1.0))


def partial_correlation(
    first: Sequence[float], second: Sequence[float], given: Sequence[float]
) -> float | None:
    """Pearson's correlation of two with what both owe to a third taken out.

    (r12 - r13 r23) / sqrt((1 - r13^2) (1 - r23^2)); None where one of the three is undefined, and
    where the third explains one of them wholly.
    """
    both, one, other = (
        system_pearson(*pair) for pair in ((first, second), (first, given), (second, given))
    )
    if both is None or one is None or other is None:
        return None
    left = (1 - one**2) * (1 - other**2)
    if left < 1e-12:
        return None
    return float(np.clip((both - one * other) / np.sqrt(left), -1.0, 1.0))


def fisher_interval(
    value: float | None, n: int, *, given: int = 0, confidence: float = 0.95
) -> Interval | None:
    """Of a correlation over `n` items with `given` others taken out: Fisher's z, tanh(atanh r +-
    q / sqrt(n - given - 3)), q the normal quantile. It takes items as drawn one by one; where one
    side is right or wrong it is an approximation. None below n = given + 4, and at -1 and 1."""
    free = n - given - 3
    if value is None or free < 1 or abs(value) >= 1:
        return None
    reach = float(special.ndtri((1 + confidence) / 2)) / sqrt(free)
    ends = (tanh(atanh(value) - reach), tanh(atanh(value) + reach))
    return Interval(*ends, confidence, "Fisher's z")


def majority(verdicts: Floats) -> Floats:
    """Of verdicts (graders, ...) of 0 or 1, NaN where there is none, what more than half say; NaN
    for a tie and where nobody says anything."""
    margin = np.where(np.isnan(verdicts), 0.0, np.where(verdicts > 0, 1.0, -1.0)).sum(axis=0)
    return np.where(margin == 0, np.nan, (margin > 0).astype(np.float64))


def min_max(values: Sequence[float]) -> list[float]:
    """The values from 0 to 1; all 0 where they are equal."""
    low, width = min(values, default=0.0), max(values, default=0.0) - min(values, default=0.0)
    return [(value - low) / width if width else 0.0 for value in values]


def _outcomes(given: Sequence[int | bool]) -> Flags:
    found = np.asarray(given)
    if not np.isin(found, (0, 1)).all():
        raise ValueError("An outcome is 0 or 1.")
    return found.astype(np.bool_)


def _check_lengths(first: np.ndarray, second: np.ndarray) -> None:
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values stand beside {len(second)}.")
