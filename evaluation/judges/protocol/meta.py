"""Meta-evaluation: how far two judges rank the same systems alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.metrics.alignment import system_pearson
from evaluation.metrics.run import Floats
from evaluation.metrics.standings import kendall_tau, ranks_of


@dataclass(frozen=True)
class Agreement:
    """Of two rankings of `systems` common systems; None where one ranks nothing apart."""

    systems: int
    kendall: float | None
    spearman: float | None
    tau_ap: float | None


def agreement(truth: Mapping[str, float], found: Mapping[str, float]) -> Agreement:
    """Kendall's tau-b, Spearman's rho and tau-AP of the means both give to the same systems."""
    shared = sorted(truth.keys() & found.keys())
    one, other = ([side[name] for name in shared] for side in (truth, found))
    if len(shared) < 2:
        return Agreement(len(shared), None, None, None)
    tau = float(kendall_tau(np.array([one]), np.array([other]))[0])
    return Agreement(
        len(shared), None if np.isnan(tau) else tau, spearman(one, other), tau_ap(one, other)
    )


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rho: Pearson's correlation of ranks, equal values on their mean rank."""
    return system_pearson(_mean_ranks(first), _mean_ranks(second))


def tau_ap(first: Sequence[float], second: Sequence[float]) -> float | None:
    """AP correlation: the top counts most (Yilmaz, Aslam, Robertson, SIGIR 2008), with ties and in
    both directions as tau_AP,b (Urbano, Marrero, ICTIR 2017), as TREC AutoJudge takes it.

    One direction is 2 / m * sum of C(i) / p(i) - 1 over the m systems below the first place: p(i)
    stand above system i in one ranking, C(i) of these above it in the other, too. None where one
    ranks nothing apart.
    """
    one, other = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return (_along(one, other) + _along(other, one)) / 2


def _along(truth: Floats, ranking: Floats) -> float:
    shares = []
    for place, value in enumerate(ranking):
        above = ranking > value
        if above.any():
            shares.append(float((truth[above] > truth[place]).mean()))
    return 2 * sum(shares) / len(shares) - 1


def _mean_ranks(values: Sequence[float]) -> list[float]:
    best = ranks_of(np.asarray(values, np.float64))
    ties = np.array([(best == rank).sum() for rank in best])
    return list((best + (ties - 1) / 2).tolist())
