"""Agreement coefficients of a set of ratings, each with its interval or the reason for none."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from numpy.typing import NDArray

from kit.stats import checks
from kit.stats.alpha import alpha_statistic
from kit.stats.intervals import Method, interval
from kit.stats.kappa import (
    Weights,
    cohen_statistic,
    cohen_units,
    fleiss_statistic,
    percent_statistic,
)
from kit.stats.proportions import wilson
from kit.stats.ratings import LEVELS, Floats, Level, Ratings
from kit.stats.results import Estimate, Interval, undefined
from kit.stats.statistic import Statistic, distinct


@dataclass(frozen=True)
class Options:
    """How intervals are found; `resamples` and `seed` matter to the bootstraps only."""

    confidence: float = 0.95
    method: Method = "jackknife"
    resamples: int = 2000
    seed: int = 0


DEFAULT = Options()


def percent_agreement(ratings: Ratings, options: Options = DEFAULT) -> Estimate:
    """Share of agreeing pairs of labels, averaged over the items with at least two labels.

    With two labels on every item it is a plain proportion, with Wilson's interval.
    """
    name, counts = "percent_agreement", checks.shared(ratings)
    if not len(counts):
        return checks.no_overlap(name, ratings)
    n, raters = len(counts), checks.active(ratings)
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
        reason = checks.MANY_RATERS.format(count=count)
        return undefined(name, reason, n_items=len(checks.shared(ratings)), n_raters=count)
    if count < 2:
        return undefined(name, checks.ONE_RATER, n_items=0, n_raters=count)
    pairs = cohen_units(ratings)
    problem = checks.too_few(len(pairs)) or checks.constant_rater(ratings, pairs)
    if problem:
        return undefined(name, problem, n_items=len(pairs), n_raters=2)
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
    name, shared = "fleiss_kappa", checks.shared(ratings)
    if not len(shared):
        return checks.no_overlap(name, ratings)
    sizes = Counter(shared.sum(1).astype(int).tolist())
    chosen = votes or max(sizes, key=lambda size: (sizes[size], size))
    counts = shared[shared.sum(1) == chosen]
    notes = checks.left_out(chosen, len(shared), len(counts))
    raters = checks.active(ratings)
    problem = checks.too_few(len(counts)) or checks.one_category(ratings, counts)
    if problem:
        return undefined(name, problem, n_items=len(counts), n_raters=raters, notes=notes)
    notes += checks.notes_on(ratings)
    return _measured(name, fleiss_statistic, counts, raters, options, notes)


def krippendorff_alpha(
    ratings: Ratings, level: Level = "nominal", options: Options = DEFAULT
) -> Estimate:
    """Krippendorff's alpha over the items with at least two labels; missing ones are allowed."""
    name, counts = f"krippendorff_alpha_{level}", checks.shared(ratings)
    if not len(counts):
        return checks.no_overlap(name, ratings)
    raters = checks.active(ratings)
    problem = checks.too_few(len(counts)) or checks.one_category(ratings, counts)
    if problem:
        return undefined(name, problem, n_items=len(counts), n_raters=raters)

    def statistic(units: NDArray) -> Statistic:
        return alpha_statistic(units, ratings.scores, level)

    notes = checks.notes_on(ratings)
    return _measured(name, statistic, counts, raters, options, notes)


# Which coefficients a level of measurement allows; a finer level allows the coarser ones too.
_NEEDS: dict[str, Level] = {
    "cohen_kappa_linear": "ordinal",
    "cohen_kappa_quadratic": "ordinal",
    "krippendorff_alpha_ordinal": "ordinal",
    "krippendorff_alpha_interval": "interval",
}


def every_coefficient(
    ratings: Ratings, level: Level, *, votes: int | None = None, options: Options = DEFAULT
) -> list[Estimate]:
    """Every coefficient in a fixed order; those that need a finer level say so instead."""
    estimates = [
        percent_agreement(ratings, options),
        cohen_kappa(ratings, "unweighted", options),
        *(_at(level, f"cohen_kappa_{each}", ratings, options) for each in ("linear", "quadratic")),
        fleiss_kappa(ratings, votes, options),
        krippendorff_alpha(ratings, "nominal", options),
    ]
    names = ("krippendorff_alpha_ordinal", "krippendorff_alpha_interval")
    return estimates + [_at(level, name, ratings, options) for name in names]


def _at(level: Level, name: str, ratings: Ratings, options: Options) -> Estimate:
    needed = _NEEDS[name]
    if LEVELS.index(level) < LEVELS.index(needed):
        reason = f"Needs labels on {needed} level; these are declared {level}."
        return undefined(
            name, reason, n_items=len(checks.shared(ratings)), n_raters=len(ratings.raters)
        )
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
    found = interval(
        statistic,
        numbers,
        confidence=options.confidence,
        method=options.method,
        resamples=options.resamples,
        seed=options.seed,
    )
    ends, reason = (found, "") if isinstance(found, Interval) else (None, found)
    n = int(numbers.sum())
    return Estimate(name, value, n, n_raters, ends, interval_reason=reason, notes=notes)
