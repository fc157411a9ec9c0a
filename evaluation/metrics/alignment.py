"""Does retrieval say what generation says? RAGAlign and its kin (docs/protocol.md 6.8)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluation.metrics.run import Floats


@dataclass(frozen=True)
class Alignment:
    """Queries by retrieval (hit, miss) and generation (correct, wrong)."""

    hit_correct: int
    hit_wrong: int
    miss_correct: int
    miss_wrong: int

    @property
    def share(self) -> float | None:
        """RAGAlign: share of queries in which both come out alike; None without a query."""
        total = self.hit_correct + self.hit_wrong + self.miss_correct + self.miss_wrong
        return (self.hit_correct + self.miss_wrong) / total if total else None


def rag_align(retrieved: Sequence[int | bool], generated: Sequence[int | bool]) -> Alignment:
    """The four cells; both sequences are by query. Raises ValueError for unequal lengths."""
    hit, correct = (_outcomes(each) for each in (retrieved, generated))
    _check_lengths(hit, correct)
    return Alignment(
        hit_correct=int((hit & correct).sum()),
        hit_wrong=int((hit & ~correct).sum()),
        miss_correct=int((~hit & correct).sum()),
        miss_wrong=int((~hit & ~correct).sum()),
    )


def point_biserial(values: Sequence[float], outcomes: Sequence[int | bool]) -> float | None:
    """(M1 - M0) / s * sqrt(n1 n0 / (n (n - 1))), s the sample standard deviation (n - 1).

    This is Pearson's correlation of the two; DREAM calls s a standard error, which would give
    values beyond 1. None where one outcome never occurs or all values are equal.
    """
    found, is_one = np.asarray(values, np.float64), _outcomes(outcomes)
    _check_lengths(found, is_one)
    ones, zeros = found[is_one], found[~is_one]
    if not len(ones) or not len(zeros) or np.ptp(found) == 0:
        return None
    spread = float(found.std(ddof=1))
    size = len(found)
    share = len(ones) * len(zeros) / (size * (size - 1))
    return float((ones.mean() - zeros.mean()) / spread * np.sqrt(share))


def system_pearson(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Pearson's correlation of two means over systems; None below two or where one is constant."""
    one, other = np.asarray(first, np.float64), np.asarray(second, np.float64)
    _check_lengths(one, other)
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(np.clip(np.corrcoef(one, other)[0, 1], -1.0, 1.0))


def min_max(values: Sequence[float]) -> Floats:
    """To [0, 1], as figures of several measures show them; all 0 where all are equal."""
    found = np.asarray(values, np.float64)
    low, spread = found.min(initial=np.inf), np.ptp(found) if len(found) else 0.0
    return np.zeros(len(found)) if spread == 0 else (found - low) / spread


def _outcomes(given: Sequence[int | bool]) -> npt.NDArray[np.bool_]:
    found = np.asarray(given)
    if len(found) and not np.isin(found, (0, 1)).all():
        raise ValueError("An outcome is 0 or 1.")
    return found.astype(np.bool_)


def _check_lengths(first: npt.NDArray, second: npt.NDArray) -> None:
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values stand beside {len(second)}.")
