"""The per-query values of two systems side by side; kit.stats.paired tests their differences."""

from dataclasses import dataclass

import numpy as np

from evaluation.metrics.results import PerQuery
from evaluation.metrics.run import Floats


@dataclass(frozen=True)
class Paired:
    """The queries that have a value in both, and how many have it in one only."""

    qids: list[str]
    first: Floats
    second: Floats
    left_out: int

    @property
    def differences(self) -> Floats:
        """First minus second."""
        return self.first - self.second


def paired(first: PerQuery, second: PerQuery) -> Paired:
    """By query id."""
    one, other = first.as_dict(), second.as_dict()
    both = [qid for qid in one if qid in other]
    return Paired(
        both,
        np.array([one[qid] for qid in both], np.float64),
        np.array([other[qid] for qid in both], np.float64),
        len(one.keys() ^ other.keys()),
    )
