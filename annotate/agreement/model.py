"""Dawid and Skene's likely labels compared with the plain majority, and where they disagree."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from annotate.agreement.opinions import Opinion, Scale, items_at, ratings_of
from kit.stats.dawid_skene import dawid_skene


@dataclass(frozen=True)
class Disagreement:
    """One item on which the model and the majority differ; `certainty` is the model's posterior.

    `majority` is None where the labels tie.
    """

    item: int
    labels: tuple[int, ...]
    majority: Hashable | None
    modelled: Hashable
    certainty: float


@dataclass(frozen=True)
class ModelReport:
    """`prevalence` per category in the scale's order; None where the fit did not converge."""

    n_items: int
    converged: bool
    prevalence: tuple[float, ...] | None
    apart: tuple[Disagreement, ...]


def model_report(opinions: Sequence[Opinion], scale: Scale) -> ModelReport:
    """The model over all opinions; empty without any."""
    if not opinions:
        return ModelReport(0, False, None, ())
    ratings = ratings_of(opinions, scale)
    fit = dawid_skene(ratings)
    if not fit.converged:
        return ModelReport(len(ratings.items), False, None, ())
    counts = ratings.counts
    ties = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) > 1
    majority, likely = counts.argmax(axis=1), fit.posterior.argmax(axis=1)
    rows = np.flatnonzero(ties | (majority != likely))
    apart = [
        Disagreement(
            item=item,
            labels=tuple(
                label
                for label, n in zip(scale.categories, counts[row], strict=True)
                for _ in range(int(n))
            ),
            majority=None if ties[row] else ratings.categories[majority[row]],
            modelled=ratings.categories[likely[row]],
            certainty=float(fit.posterior[row].max()),
        )
        for row, item in zip(rows, items_at(ratings, rows), strict=True)
    ]
    return ModelReport(
        n_items=len(ratings.items),
        converged=True,
        prevalence=tuple(float(share) for share in fit.prevalence),
        apart=tuple(apart),
    )
