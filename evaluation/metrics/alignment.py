"""Does retrieval say what generation says? RAGAlign and its kin (docs/protocol.md 6.8)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evaluation.metrics.run import Flags


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


def _outcomes(given: Sequence[int | bool]) -> Flags:
    found = np.asarray(given)
    if not np.isin(found, (0, 1)).all():
        raise ValueError("An outcome is 0 or 1.")
    return found.astype(np.bool_)


def _check_lengths(first: np.ndarray, second: np.ndarray) -> None:
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values stand beside {len(second)}.")
