"""When a coefficient is undefined, said in a sentence; checked before anything is computed."""

import numpy as np
from numpy.typing import NDArray

from kit.stats.ratings import MISSING, Floats, Ratings
from kit.stats.results import Estimate, undefined

ONE_RATER = "There are labels of one rater only."
NO_OVERLAP = "No item was labelled by two raters."
ONE_ITEM = "Only one item was labelled by two raters; a coefficient needs two or more."
ONE_CATEGORY = (
    "Every label is {label!r}. With a single category, agreement beyond chance is undefined (0/0)."
)
CONSTANT = (
    "Rater {rater!r} gave {label!r} to every shared item, so chance explains all agreement and"
    " kappa says nothing."
)
MANY_RATERS = "Cohen's kappa compares two raters; here are {count}. See the pairs."


def shared(ratings: Ratings) -> Floats:
    """Label counts (items, categories) of the items with at least two labels."""
    counts = ratings.counts
    return counts[counts.sum(axis=1) >= 2]


def active(ratings: Ratings) -> int:
    """Raters with a label on at least one item that somebody else labelled too."""
    given = ratings.codes != MISSING
    return int(given[given.sum(axis=1) >= 2].any(axis=0).sum())


def no_overlap(name: str, ratings: Ratings) -> Estimate:
    """The estimate of ratings without a shared item."""
    count = int((ratings.codes != MISSING).any(axis=0).sum())
    reason = NO_OVERLAP if count > 1 else ONE_RATER
    return undefined(name, reason, n_items=0, n_raters=count)


def too_few(n_items: int) -> str:
    """Why this many shared items are too few, or nothing."""
    if n_items == 0:
        return NO_OVERLAP
    return ONE_ITEM if n_items == 1 else ""


def one_category(ratings: Ratings, counts: Floats) -> str:
    """Why label counts (items, categories) leave no room beyond chance, or nothing."""
    used = np.flatnonzero(counts.sum(axis=0))
    return ONE_CATEGORY.format(label=ratings.categories[used[0]]) if len(used) == 1 else ""


def constant_rater(ratings: Ratings, pairs: NDArray) -> str:
    """Why codes (items, 2) of a pair allow no kappa, or nothing."""
    if (pairs == pairs[0, 0]).all():
        return ONE_CATEGORY.format(label=ratings.categories[pairs[0, 0]])
    for rater, column in zip(ratings.raters, pairs.T, strict=True):
        if (column == column[0]).all():
            return CONSTANT.format(rater=rater, label=ratings.categories[column[0]])
    return ""


def notes_on(ratings: Ratings) -> tuple[str, ...]:
    """Raters whom a reader should know to have given one label only."""
    return tuple(
        f"Rater {rater!r} gave one and the same label throughout."
        for rater in ratings.constant_raters
    )


def left_out(votes: int, total: int, used: int) -> tuple[str, ...]:
    """What Fleiss' kappa does not look at."""
    if used == total:
        return ()
    return (f"Over the {used} items with exactly {votes} labels; {total - used} left out.",)
