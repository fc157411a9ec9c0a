"""Agreement coefficients of a set of ratings, each with its interval or the reason for none."""

from collections import Counter
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kit.stats.intervals import DEFAULT, Options, interval
from kit.stats.kappa import (
    Statistic,
    Weights,
    alpha_statistic,
    cohen_statistic,
    complete_codes,
    conger_statistic,
    distinct,
    fleiss_statistic,
    percent_statistic,
)
from kit.stats.proportions import wilson
from kit.stats.ratings import LEVELS, MISSING, Floats, Level, Ratings
from kit.stats.results import Estimate

# Why a coefficient is undefined, as a sentence; checked before anything is computed.
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
NOT_ALL = "No item was labelled by every rater; Fleiss' kappa takes changing ones."
NEGATIVE = "Ratio labels have a zero and nothing below it; here is {label!r}."
MANY_RATERS = "Cohen's kappa compares two raters; here are {count}. See the pairs."


def percent_agreement(ratings: Ratings, options: Options = DEFAULT) -> Estimate:
    """Share of agreeing pairs of labels, averaged over the items with at least two labels.

    With two labels on every item it is a plain proportion, with Wilson's interval.
    """
    name, counts = "percent_agreement", _shared(ratings)
    if not len(counts):
        return _no_overlap(name, ratings)
    n, raters = len(counts), _active(ratings)
    if options.method == "jackknife" and (counts.sum(1) == 2).all():
        hits = int((counts.max(1) == 2).sum())
        ends = wilson(hits, n, options.confidence)
        return Estimate(name, hits / n, n, raters, ends)
    return _measured(name, percent_statistic, counts, raters, options)


def cohen_kappa(
    ratings: Ratings, weights: Weights = "unweighted", options: Options = DEFAULT
) -> Estimate:
    """Cohen's kappa of two raters over the items that both labelled.

    1 - sum(v o) / sum(v e) with weights v of 0 or 1, |i - j| or (i - j)^2 over the scores of the
    whole scale (docs/protocol.md 6.12). Undefined where a rater gave one label only.
    """
    name = "cohen_kappa" if weights == "unweighted" else f"cohen_kappa_{weights}"
    count = len(ratings.raters)
    if count > 2:
        reason = MANY_RATERS.format(count=count)
        return Estimate(name, None, len(_shared(ratings)), count, reason=reason)
    if count < 2:
        return Estimate(name, None, 0, count, reason=ONE_RATER)
    pairs = complete_codes(ratings)
    problem = _too_few(len(pairs)) or _constant_rater(ratings, pairs)
    if problem:
        return Estimate(name, None, len(pairs), 2, reason=problem)
    units, numbers = distinct(pairs)
    statistic = cohen_statistic(units, ratings.scores, weights)
    return _estimate(name, statistic, numbers, 2, options)


def fleiss_kappa(
    ratings: Ratings, votes: int | None = None, options: Options = DEFAULT
) -> Estimate:
    """Fleiss' kappa over the items with exactly `votes` labels, whoever gave them.

    Items with another number of labels are left out and counted in the notes (docs/protocol.md
    6.11); `votes` is by default the commonest number, the larger one in a tie.
    """
    name, shared = "fleiss_kappa", _shared(ratings)
    if not len(shared):
        return _no_overlap(name, ratings)
    sizes = Counter(shared.sum(1).astype(int).tolist())
    chosen = votes or max(sizes, key=lambda size: (sizes[size], size))
    counts = shared[shared.sum(1) == chosen]
    notes = _left_out(chosen, len(shared), len(counts))
    raters = _active(ratings)
    problem = _too_few(len(counts)) or _one_category(ratings, counts)
    if problem:
        return Estimate(name, None, len(counts), raters, reason=problem, notes=notes)
    notes += _notes_on(ratings)
    return _measured(name, fleiss_statistic, counts, raters, options, notes)


def conger_kappa(ratings: Ratings, options: Options = DEFAULT) -> Estimate:
    """Conger's kappa (1980) over the items that every rater labelled.

    As Fleiss', but chance keeps each rater's own margin: for raters who are always the same. With
    two raters it is Cohen's. Items that some left out are counted in the notes.
    """
    name, count = "conger_kappa", len(ratings.raters)
    shared = _shared(ratings)
    codes = complete_codes(ratings)
    if count < 2:
        return Estimate(name, None, 0, count, reason=ONE_RATER)
    if not len(codes):
        return Estimate(name, None, 0, count, reason=NOT_ALL if len(shared) else NO_OVERLAP)
    notes = _left_out(count, len(shared), len(codes))
    problem = _too_few(len(codes))
    if not problem and (codes == codes[0, 0]).all():
        problem = ONE_CATEGORY.format(label=ratings.categories[codes[0, 0]])
    elif not problem and count == 2:
        problem = _constant_rater(ratings, codes)
    if problem:
        return Estimate(name, None, len(codes), count, reason=problem, notes=notes)
    units, numbers = distinct(codes)
    statistic = conger_statistic(units, len(ratings.categories))
    return _estimate(name, statistic, numbers, count, options, notes + _notes_on(ratings))


def krippendorff_alpha(
    ratings: Ratings, level: Level = "nominal", options: Options = DEFAULT
) -> Estimate:
    """Krippendorff's alpha over the items with at least two labels; missing ones are allowed."""
    name, counts = f"krippendorff_alpha_{level}", _shared(ratings)
    if not len(counts):
        return _no_overlap(name, ratings)
    raters = _active(ratings)
    problem = _too_few(len(counts)) or _one_category(ratings, counts)
    if not problem and level == "ratio" and ratings.scores.min() < 0:
        problem = NEGATIVE.format(label=ratings.categories[int(ratings.scores.argmin())])
    if problem:
        return Estimate(name, None, len(counts), raters, reason=problem)

    def statistic(units: NDArray) -> Statistic:
        return alpha_statistic(units, ratings.scores, level)

    notes = _notes_on(ratings)
    return _measured(name, statistic, counts, raters, options, notes)


# Which coefficients a level of measurement allows; a finer level allows the coarser ones too.
_NEEDS: dict[str, Level] = {
    "cohen_kappa_linear": "ordinal",
    "cohen_kappa_quadratic": "ordinal",
    "krippendorff_alpha_ordinal": "ordinal",
    "krippendorff_alpha_interval": "interval",
    "krippendorff_alpha_ratio": "ratio",
}


def every_coefficient(
    ratings: Ratings, level: Level, *, votes: int | None = None, options: Options = DEFAULT
) -> list[Estimate]:
    """Every coefficient in a fixed order; those that need a finer level say so instead.

    The ratio alpha is listed on ratio level alone: few labels have a zero that means nothing.
    """
    estimates = [
        percent_agreement(ratings, options),
        cohen_kappa(ratings, "unweighted", options),
        *(_at(level, f"cohen_kappa_{each}", ratings, options) for each in ("linear", "quadratic")),
        fleiss_kappa(ratings, votes, options),
        conger_kappa(ratings, options),
        krippendorff_alpha(ratings, "nominal", options),
    ]
    names = ["krippendorff_alpha_ordinal", "krippendorff_alpha_interval"]
    names += ["krippendorff_alpha_ratio"] if level == "ratio" else []
    return estimates + [_at(level, name, ratings, options) for name in names]


def _at(level: Level, name: str, ratings: Ratings, options: Options) -> Estimate:
    needed = _NEEDS[name]
    if LEVELS.index(level) < LEVELS.index(needed):
        reason = f"Needs labels on {needed} level; these are declared {level}."
        return Estimate(name, None, len(_shared(ratings)), len(ratings.raters), reason=reason)
    if name.startswith("cohen"):
        weights: Literal["linear", "quadratic"] = "linear" if "linear" in name else "quadratic"
        return cohen_kappa(ratings, weights, options)
    return krippendorff_alpha(ratings, needed, options)


def _measured(
    name: str,
    build: Callable[[NDArray], Statistic],
    counts: Floats,
    n_raters: int,
    options: Options,
    notes: tuple[str, ...] = (),
) -> Estimate:
    units, numbers = distinct(counts)
    return _estimate(name, build(units), numbers, n_raters, options, notes)


def _estimate(
    name: str,
    statistic: Statistic,
    numbers: Floats,
    n_raters: int,
    options: Options,
    notes: tuple[str, ...] = (),
) -> Estimate:
    value = float(statistic.value(statistic.totals(numbers)))
    found = interval(statistic, numbers, options)
    n = int(numbers.sum())
    if isinstance(found, str):
        return Estimate(name, value, n, n_raters, interval_reason=found, notes=notes)
    return Estimate(name, value, n, n_raters, found, notes=notes)


def _shared(ratings: Ratings) -> Floats:
    """Label counts (items, categories) of the items with at least two labels."""
    counts = ratings.counts
    return counts[counts.sum(axis=1) >= 2]


def _active(ratings: Ratings) -> int:
    """Raters with a label on at least one item that somebody else labelled too."""
    given = ratings.codes != MISSING
    return int(given[given.sum(axis=1) >= 2].any(axis=0).sum())


def _no_overlap(name: str, ratings: Ratings) -> Estimate:
    """The estimate of ratings without a shared item."""
    count = int((ratings.codes != MISSING).any(axis=0).sum())
    reason = NO_OVERLAP if count > 1 else ONE_RATER
    return Estimate(name, None, 0, count, reason=reason)


def _too_few(n_items: int) -> str:
    """Why this many shared items are too few, or nothing."""
    if n_items == 0:
        return NO_OVERLAP
    return ONE_ITEM if n_items == 1 else ""


def _one_category(ratings: Ratings, counts: Floats) -> str:
    """Why label counts (items, categories) leave no room beyond chance, or nothing."""
    used = np.flatnonzero(counts.sum(axis=0))
    return ONE_CATEGORY.format(label=ratings.categories[used[0]]) if len(used) == 1 else ""


def _constant_rater(ratings: Ratings, pairs: NDArray) -> str:
    """Why codes (items, 2) of a pair allow no kappa, or nothing."""
    if (pairs == pairs[0, 0]).all():
        return ONE_CATEGORY.format(label=ratings.categories[pairs[0, 0]])
    for rater, column in zip(ratings.raters, pairs.T, strict=True):
        if (column == column[0]).all():
            return CONSTANT.format(rater=rater, label=ratings.categories[column[0]])
    return ""


def _notes_on(ratings: Ratings) -> tuple[str, ...]:
    """Raters whom a reader should know to have given one label only."""
    return tuple(
        f"Rater {rater!r} gave one and the same label throughout."
        for rater in ratings.constant_raters
    )


def _left_out(votes: int, total: int, used: int) -> tuple[str, ...]:
    """What Fleiss' kappa does not look at."""
    if used == total:
        return ()
    return (f"Over the {used} items with exactly {votes} labels; {total - used} left out.",)
