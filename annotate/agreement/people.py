"""Pairs of raters, each rater and the others, and Dawid and Skene's model of their errors."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotate.agreement.ratings import Rating, Scale, items_at, ratings_of
from kit.stats.agreement import cohen_kappa, percent_agreement
from kit.stats.classes import ClassReport, class_report
from kit.stats.dawid_skene import dawid_skene
from kit.stats.intervals import DEFAULT, Options
from kit.stats.kappa import WEIGHTS
from kit.stats.proportions import Proportion, proportion
from kit.stats.ratings import MISSING, Ratings
from kit.stats.results import Estimate


@dataclass(frozen=True)
class PairReport:
    """Two raters on the items that both labelled; `split` names those on which they differ."""

    first: Hashable
    second: Hashable
    n_items: int
    coefficients: tuple[Estimate, ...]
    split: tuple[int, ...]


def pair_reports(
    given: Sequence[Rating],
    scale: Scale,
    *,
    at_least: int = 1,
    most: int | None = None,
    options: Options = DEFAULT,
) -> tuple[PairReport, ...]:
    """Every pair with `at_least` shared items (the `most` largest), most shared items first."""
    ratings = ratings_of(given, scale)
    labelled = (ratings.codes != MISSING).astype(np.int64)
    shared = np.triu(labelled.T @ labelled, k=1)
    places = zip(*np.nonzero(shared >= max(at_least, 1)), strict=True)
    pairs = sorted(places, key=lambda place: -int(shared[place]))[:most]
    return tuple(_pair(ratings, scale, int(first), int(second), options) for first, second in pairs)


def _pair(ratings: Ratings, scale: Scale, first: int, second: int, options: Options) -> PairReport:
    pair = ratings.pair(first, second)
    both = (pair.codes != MISSING).all(axis=1)
    differ = np.flatnonzero(both & (pair.codes[:, 0] != pair.codes[:, 1]))
    weights = WEIGHTS[:1] if scale.level == "nominal" else WEIGHTS
    kappas = [cohen_kappa(pair, each, options) for each in weights]
    return PairReport(
        first=ratings.raters[first],
        second=ratings.raters[second],
        n_items=int(both.sum()),
        coefficients=(percent_agreement(pair, options), *kappas),
        split=items_at(ratings, differ),
    )


@dataclass(frozen=True)
class PersonReport:
    """One rater compared with the others.

    `with_majority` takes the majority of the other raters as truth (without items on which they
    tie), and `agreement` is the share over all its items. `modelled` is how often the rater is
    right by Dawid and Skene's model, None where it did not converge. `against` names the items on
    which the rater was alone.
    """

    rater: Hashable
    n_labels: int
    with_majority: ClassReport
    agreement: Proportion
    modelled: float | None
    against: tuple[int, ...]


def person_reports(given: Sequence[Rating], scale: Scale) -> tuple[PersonReport, ...]:
    """Every rater, most labels first; empty without ratings."""
    if not given:
        return ()
    ratings = ratings_of(given, scale)
    fit = dawid_skene(ratings)
    rates = [float(rate) if fit.converged else None for rate in fit.accuracy]
    found = [_person(ratings, at, rate) for at, rate in enumerate(rates)]
    return tuple(sorted(found, key=lambda person: -person.n_labels))


def _person(ratings: Ratings, at: int, modelled: float | None) -> PersonReport:
    own = ratings.codes[:, at]
    rows = np.flatnonzero(own != MISSING)
    others = ratings.counts[rows].copy()
    others[np.arange(len(rows)), own[rows]] -= 1
    labelled = others.sum(axis=1) > 0
    top = others == others.max(axis=1, keepdims=True)
    clear = labelled & (top.sum(axis=1) == 1)
    truth, given = top.argmax(axis=1)[clear], own[rows][clear]
    report = class_report(
        list(_labels(ratings, truth)), list(_labels(ratings, given)), classes=ratings.categories
    )
    return PersonReport(
        rater=ratings.raters[at],
        n_labels=len(rows),
        with_majority=report,
        agreement=proportion(int((truth == given).sum()), len(truth)),
        modelled=modelled,
        against=items_at(ratings, rows[clear][truth != given]),
    )


def _labels(ratings: Ratings, codes: NDArray) -> Iterator[Hashable]:
    return (ratings.categories[code] for code in codes)


def model_report(given: Sequence[Rating], scale: Scale) -> dict[str, Any]:
    """The model over all ratings: `n_items`, `prevalence` by category in the scale's order (None
    where it did not converge), and in `apart` the items on which it and the majority differ; where
    the labels tie the majority is None. `certainty` is the model's posterior."""
    if not given:
        return {"n_items": 0, "prevalence": None, "apart": []}
    ratings = ratings_of(given, scale)
    fit = dawid_skene(ratings)
    if not fit.converged:
        return {"n_items": len(ratings.items), "prevalence": None, "apart": []}
    counts = ratings.counts
    ties = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) > 1
    majority, likely = counts.argmax(axis=1), fit.posterior.argmax(axis=1)
    rows = np.flatnonzero(ties | (majority != likely))
    apart = [
        {
            "item": item,
            "labels": [
                label
                for label, n in zip(scale.categories, counts[row], strict=True)
                for _ in range(int(n))
            ],
            "majority": None if ties[row] else ratings.categories[majority[row]],
            "modelled": ratings.categories[likely[row]],
            "certainty": float(fit.posterior[row].max()),
        }
        for row, item in zip(rows, items_at(ratings, rows), strict=True)
    ]
    prevalence = [float(share) for share in fit.prevalence]
    return {"n_items": len(ratings.items), "prevalence": prevalence, "apart": apart}
