"""Do the 95 % intervals hold their level? Designs, sizes and seeds are fixed here.

Each design says how common each true label is and how raters err. The true coefficient is its
value over the whole population; a set of n items is drawn 5,000 times, and the share of sets
whose interval holds the true value is printed, with the share of misses on either side.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np

from kit.stats.classes import class_report
from kit.stats.intervals import Method, Options, interval, jackknife
from kit.stats.kappa import (
    WEIGHTS,
    Statistic,
    alpha_statistic,
    cohen_statistic,
    fleiss_statistic,
    percent_statistic,
)
from kit.stats.proportions import clopper_pearson, wilson
from kit.stats.ratings import LEVELS, Floats
from kit.stats.results import Interval

SETS = 5000
SIZES = (30, 100, 300, 1000)
SEED = 20261120
# What must hold, in percent: at this many items or more, between these.
BOUNDS = {100: (92.0, 100.0), 300: (94.0, 96.0), 1000: (94.0, 96.0)}


@dataclass(frozen=True)
class Design:
    """`prevalence` of the true labels, each rater's `accuracy`, and the share of missing labels.

    A wrong label is `fade` times as likely with every step away from the true one; 1 makes all
    wrong labels equally likely, as on a scale without order.
    """

    name: str
    prevalence: tuple[float, ...]
    accuracy: tuple[float, ...]
    fade: float = 1.0
    missing: float = 0.0

    def patterns(self) -> tuple[np.ndarray, Floats]:
        """Every row of labels (patterns, raters), -1 for a missing one, and its probability."""
        first = -1 if self.missing else 0
        codes = range(first, len(self.prevalence))
        rows = np.array(list(itertools.product(codes, repeat=len(self.accuracy))))
        chance = np.zeros(len(rows))
        for true, share in enumerate(self.prevalence):
            product = np.full(len(rows), share)
            for rater, accuracy in enumerate(self.accuracy):
                given = (1 - self.missing) * self._errors(true, accuracy)
                product *= np.append(given, self.missing)[rows[:, rater]]
            chance += product
        return rows, chance

    def _errors(self, true: int, accuracy: float) -> Floats:
        away = np.abs(np.arange(len(self.prevalence)) - true)
        wrong = np.where(away > 0, self.fade ** (away - 1.0), 0.0)
        return np.where(away == 0, accuracy, (1 - accuracy) * wrong / wrong.sum())


SKEWED = (0.60, 0.20, 0.10, 0.06, 0.04)
DESIGNS = (
    Design("2 raters, binary, half relevant", (0.5, 0.5), (0.85, 0.85)),
    Design("2 raters, binary, 1 in 10", (0.9, 0.1), (0.95, 0.95)),
    Design("2 raters, binary, near perfect", (0.5, 0.5), (0.97, 0.97)),
    Design("3 votes, binary, 3 in 10", (0.7, 0.3), (0.90, 0.90, 0.85)),
    Design("3 votes, binary, 1 in 10", (0.9, 0.1), (0.95, 0.95, 0.90)),
    Design("5 raters, binary, 40 % missing", (0.8, 0.2), (0.9,) * 5, missing=0.4),
    Design("3 raters, 3 unordered labels", (0.5, 0.3, 0.2), (0.80, 0.80, 0.70)),
    Design("2 raters, grades 0-3, skewed", (0.6, 0.2, 0.1, 0.1), (0.65, 0.60), fade=0.5),
    Design("2 raters, five-point, even", (0.2,) * 5, (0.70, 0.70), fade=0.4),
    Design("2 raters, five-point, skewed", SKEWED, (0.70, 0.60), fade=0.4),
    Design("2 raters, five-point, skewed, close", SKEWED, (0.90, 0.90), fade=0.4),
    Design("3 raters, five-point, 30 % missing", SKEWED, (0.75,) * 3, fade=0.4, missing=0.3),
)

COMPARED = {
    ("2 raters, five-point, skewed, close", "cohen quadratic"),
    ("3 votes, binary, 1 in 10", "fleiss"),
}
COMPARED_SETS, RESAMPLES = 1000, 1000


@dataclass(frozen=True)
class Case:
    """One coefficient under one design: its units, their probabilities, its true value."""

    design: Design
    name: str
    statistic: Statistic
    chance: Floats

    @property
    def true(self) -> float:
        """The coefficient over the population; its large-sample limit."""
        return float(self.statistic.value(self.statistic.totals(self.chance * 1e9)))


@dataclass(frozen=True)
class Held:
    """Percent of sets: covered, true value below the interval, above it, without an interval."""

    covered: float
    below: float
    above: float
    without: float
    width: float


def cases(design: Design) -> Iterator[Case]:
    """Every coefficient that the design allows."""
    rows, chance = design.patterns()
    scores = np.arange(len(design.prevalence), dtype=float)
    is_ordered = design.fade < 1
    counts = (rows[:, :, None] == np.arange(len(scores))).sum(1).astype(float)
    if rows.shape[1] == 2:
        for weights in WEIGHTS if is_ordered else WEIGHTS[:1]:
            yield Case(design, f"cohen {weights}", cohen_statistic(rows, scores, weights), chance)
    units, where = np.unique(counts, axis=0, return_inverse=True)
    merged = np.bincount(where, weights=chance)
    votes = units.sum(1)
    if not design.missing:
        yield Case(design, "fleiss", fleiss_statistic(units), merged)
    if rows.shape[1] > 2:
        some = votes >= 2
        yield Case(design, "percent", percent_statistic(units[some]), merged[some])
    for level in LEVELS if is_ordered else LEVELS[:1]:
        some = votes >= 2
        statistic = alpha_statistic(units[some], scores, level)
        yield Case(design, f"alpha {level}", statistic, merged[some])


def measure(case: Case, size: int, sets: int = SETS, seed: int = SEED) -> Held:
    """Coverage over `sets` drawn sets of `size` items."""
    rng = np.random.default_rng([seed, size])
    rest = max(0.0, 1 - case.chance.sum())  # items with fewer than two labels
    drawn = rng.multinomial(size, np.append(case.chance, rest), size=sets)[:, :-1]
    ends = jackknife(case.statistic, drawn.astype(float))
    return held(ends.low, ends.high, case.true)


def held(low: Floats, high: Floats, true: float) -> Held:
    """Percentages over sets; a set without an interval covers nothing."""
    below, above, without = (100 * np.mean(each) for each in (low > true, high < true, low != low))
    width = float(np.nanmedian(high - low))
    return Held(100 - below - above - without, below, above, without, width)


def shares(size: int, true: float, *, exact: bool) -> Held:
    """A plain proportion: Wilson's interval, or the exact one."""
    hits = np.random.default_rng([SEED, size]).binomial(size, true, size=SETS)
    find = clopper_pearson if exact else wilson
    ends = {int(hit): find(int(hit), size) for hit in np.unique(hits)}
    low = np.array([ends[int(hit)].low for hit in hits])
    high = np.array([ends[int(hit)].high for hit in hits])
    return held(low, high, true)


def balanced(size: int, recalls: tuple[float, float], relevant: float) -> Held:
    """Balanced accuracy of a binary label with these recalls."""
    rng = np.random.default_rng([SEED, size])
    low, high = np.full(SETS, np.nan), np.full(SETS, np.nan)
    for row in range(SETS):
        truth = rng.random(size) < relevant
        right = rng.random(size) < np.where(truth, *recalls)
        report = class_report(truth.tolist(), (truth == right).tolist(), classes=(True, False))
        if report.interval:
            low[row], high[row] = report.interval.low, report.interval.high
    return held(low, high, sum(recalls) / 2)


def main() -> None:
    """Print every design, and at the end what falls outside the bounds."""
    print(f"{SETS:,} sets per line; coverage of 95 % intervals in percent (misses low/high)")
    print(f"{'design':36} {'coefficient':16} {'true':>6}" + "".join(f"{n:>19}" for n in SIZES))
    outside: list[str] = []
    for label, name, true, row in lines():
        cells = "".join(f"{h.covered:9.1f} ({h.below:3.1f}/{h.above:3.1f})" for h in row.values())
        print(f"{label:36} {name:16} {true:6.3f} {cells}", flush=True)
        for size, each in row.items():
            low, high = BOUNDS.get(size, (0.0, 100.0))
            if not low <= each.covered <= high:
                outside.append(f"{label}, {name}, n = {size}: {each.covered:.2f}")
    print("\n".join(["outside the bounds:", *outside]) if outside else "all within the bounds")
    print(f"\nthe ways to an interval, {COMPARED_SETS:,} sets, {RESAMPLES:,} resamples")
    for label, name, method, found in comparison():
        cells = "".join(f"{h.covered:9.1f} ({h.below:4.1f}/{h.above:4.1f})" for h in found)
        print(f"{label:36} {name:16} {method:9} {cells}", flush=True)


def comparison() -> Iterator[tuple[str, str, str, list[Held]]]:
    """The other methods on the designs that tell them apart."""
    for design in DESIGNS:
        for case in cases(design):
            if (design.name, case.name) in COMPARED:
                for method in get_args(Method):
                    yield design.name, case.name, method, [by(case, method, n) for n in SIZES[:3]]


def by(case: Case, method: Method, size: int) -> Held:
    """Coverage of one method, set by set."""
    rng = np.random.default_rng([SEED, size])
    drawn = rng.multinomial(size, case.chance, size=COMPARED_SETS).astype(float)
    low, high = np.full(COMPARED_SETS, np.nan), np.full(COMPARED_SETS, np.nan)
    for row, counts in enumerate(drawn):
        options = Options(method=method, resamples=RESAMPLES, seed=row)
        ends = interval(case.statistic, counts, options)
        if isinstance(ends, Interval):
            low[row], high[row] = ends.low, ends.high
    return held(low, high, case.true)


def lines() -> Iterator[tuple[str, str, float, dict[int, Held]]]:
    """Label, coefficient, true value and what was held at each size."""
    for design in DESIGNS:
        for case in cases(design):
            row = {size: measure(case, size) for size in SIZES}
            yield design.name, case.name, case.true, row
    for true in (0.7, 0.9):
        row = {size: shares(size, true, exact=False) for size in SIZES}
        yield "2 raters, percent agreement", "Wilson", true, row
    row = {size: balanced(size, (0.9, 0.8), 0.3) for size in SIZES}
    yield "balanced accuracy, 3 in 10 relevant", "MOVER", 0.85, row


if __name__ == "__main__":
    main()
