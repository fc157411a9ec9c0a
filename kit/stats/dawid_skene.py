"""Each rater's error rates and each item's likely label, found together (Dawid and Skene 1979).

Deterministic: EM starts from the shares of the votes, and nothing is drawn.
"""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kit.stats.ratings import MISSING, Floats, Ratings


@dataclass(frozen=True, eq=False)
class DawidSkene:
    """`posterior` (items, categories), rows sum to 1; `confusion` (raters, true, given), rows sum
    to 1; `prevalence` (categories,). `log_posterior` is what EM climbs, smoothing included.

    `converged` is False where EM stopped at its limit of iterations: the rates are not to be
    trusted then. `accuracy` (raters,) is the diagonal of the confusion weighted by prevalence.
    """

    ratings: Ratings
    posterior: Floats
    confusion: Floats
    prevalence: Floats
    log_posterior: float
    iterations: int
    converged: bool

    @property
    def accuracy(self) -> Floats:
        """How often each rater is right on items as common as these."""
        return np.einsum("k,rkk->r", self.prevalence, self.confusion)

    @property
    def labels(self) -> list[Hashable]:
        """The likeliest label of each item; a tie goes to the earlier category of the scale."""
        return [self.ratings.categories[code] for code in self.posterior.argmax(axis=1)]


def dawid_skene(
    ratings: Ratings,
    *,
    smoothing: float = 0.01,
    max_iterations: int = 1000,
    tolerance: float = 1e-9,
) -> DawidSkene:
    """Fit by EM until the log posterior rises by less than `tolerance` per label.

    `smoothing` is added to every count, so that a rater with one label never has a certain rate.
    Raises ValueError where there is no label at all.
    """
    if not ratings.n_labels:
        raise ValueError("There is no label to learn from.")
    rows, columns = np.nonzero(ratings.codes != MISSING)
    given = ratings.codes[rows, columns].astype(np.intp)
    votes = _Votes(ratings, rows, columns, given)
    posterior = votes.shares()
    score, gain, done = -np.inf, np.inf, 0
    prevalence, confusion = votes.rates(posterior, smoothing)
    while gain >= tolerance * len(given) and done < max_iterations:
        posterior, likelihood = votes.posterior(prevalence, confusion)
        prior = smoothing * float(np.log(confusion).sum() + np.log(prevalence).sum())
        gain, score = likelihood + prior - score, likelihood + prior
        prevalence, confusion = votes.rates(posterior, smoothing)
        done += 1
    converged = bool(gain < tolerance * len(given))
    return DawidSkene(ratings, posterior, confusion, prevalence, score, done, converged)


@dataclass(frozen=True, eq=False)
class _Votes:
    """One entry per label: its item, its rater and its code."""

    ratings: Ratings
    item: NDArray
    rater: NDArray
    given: NDArray

    def shares(self) -> Floats:
        """Each item's share of votes per category; an item without votes is spread evenly."""
        counts = self.ratings.counts
        total = counts.sum(axis=1, keepdims=True)
        return np.where(total > 0, counts / np.maximum(total, 1), 1 / counts.shape[1])

    def rates(self, posterior: Floats, smoothing: float) -> tuple[Floats, Floats]:
        """The M step: prevalence (categories,) and confusion (raters, true, given)."""
        n_raters, size = self.ratings.codes.shape[1], posterior.shape[1]
        cells = self.rater * size + self.given
        confusion = np.empty((n_raters, size, size))
        for true in range(size):
            weights = posterior[self.item, true]
            counted = np.bincount(cells, weights=weights, minlength=n_raters * size)
            confusion[:, true, :] = counted.reshape(n_raters, size)
        confusion += smoothing
        prevalence = posterior.sum(axis=0) + smoothing
        return prevalence / prevalence.sum(), confusion / confusion.sum(axis=2, keepdims=True)

    def posterior(self, prevalence: Floats, confusion: Floats) -> tuple[Floats, float]:
        """The E step: posterior (items, categories), and the log likelihood of the labels."""
        n_items = len(self.ratings.codes)
        logs = np.log(confusion)[self.rater, :, self.given]
        joint = np.tile(np.log(prevalence), (n_items, 1))
        for true in range(len(prevalence)):
            joint[:, true] += np.bincount(self.item, weights=logs[:, true], minlength=n_items)
        top = joint.max(axis=1, keepdims=True)
        evidence = top + np.log(np.exp(joint - top).sum(axis=1, keepdims=True))
        return np.exp(joint - evidence), float(evidence.sum())
