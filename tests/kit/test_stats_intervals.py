"""Intervals: beside other libraries, at the edges, and whether they hold their level."""

import numpy as np
import pytest

from kit.stats.agreement import cohen_kappa, fleiss_kappa, percent_agreement
from kit.stats.intervals import ONE_ITEM, PERFECT, Options, delta, jackknife, resampled
from kit.stats.kappa import WEIGHTS, cohen_statistic, complete_codes, distinct, fleiss_statistic
from kit.stats.paired import mcnemar
from kit.stats.proportions import clopper_pearson, proportion, wilson
from kit.stats.ratings import Ratings, from_columns
from tests.bench.coverage import DESIGNS, cases, measure


def two(first, second, categories=(0, 1)) -> Ratings:
    return from_columns([first, second], categories=categories)


def table_of(ratings: Ratings, size: int) -> np.ndarray:
    cells = np.zeros((size, size))
    np.add.at(cells, tuple(complete_codes(ratings).T), 1)
    return cells


@pytest.mark.parametrize("weights", WEIGHTS)
def test_delta_method_equals_the_errors_of_statsmodels(weights):
    from statsmodels.stats.inter_rater import cohens_kappa

    rng = np.random.default_rng(8)
    kind = None if weights == "unweighted" else weights
    for _ in range(50):
        true = rng.integers(5, size=120)
        given = [np.where(rng.random(120) < 0.6, true, rng.integers(5, size=120)) for _ in "ab"]
        ratings = two(given[0].tolist(), given[1].tolist(), range(5))
        units, counts = distinct(complete_codes(ratings))
        value, error = delta(cohen_statistic(units, ratings.scores, weights), counts)
        theirs = cohens_kappa(table_of(ratings, 5), wt=kind)
        assert value == pytest.approx(theirs.kappa, abs=1e-12)
        assert error == pytest.approx(theirs.std_kappa, rel=1e-5)


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (1, 10), (9, 10), (10, 10), (31, 100), (0, 1)])
def test_proportions_equal_statsmodels(hits, n):
    from statsmodels.stats.proportion import proportion_confint

    for find, name in ((wilson, "wilson"), (clopper_pearson, "beta")):
        mine = find(hits, n)
        low, high = proportion_confint(hits, n, method=name)
        assert (mine.low, mine.high) == pytest.approx((low, high), abs=1e-12)


def test_proportions_refuse_what_is_none():
    for hits, n in ((3, 2), (-1, 2), (0, 0)):
        with pytest.raises(ValueError, match="is no share"):
            wilson(hits, n)
    assert proportion(0, 0).value is None


def test_mcnemar_counts_only_what_differs():
    # 1 against 9: 2 * (1 + 10) / 2^10.
    assert mcnemar(1, 9) == pytest.approx(22 / 1024)
    assert mcnemar(9, 1) == pytest.approx(22 / 1024)
    assert mcnemar(5, 5) == 1.0
    assert mcnemar(0, 0) is None


def test_jackknife_of_patterns_equals_leaving_out_every_item():
    rng = np.random.default_rng(4)
    columns = rng.integers(0, 2, size=(3, 25))
    columns[1] = np.where(rng.random(25) < 0.7, columns[0], columns[1])
    whole = fleiss_kappa(from_columns(columns.tolist(), categories=(0, 1)))
    left = np.array(
        [
            fleiss_kappa(
                from_columns(np.delete(columns, at, axis=1).tolist(), categories=(0, 1))
            ).value
            for at in range(25)
        ]
    )
    n, value = 25, whole.value

    def error(values):
        return np.sqrt((n - 1) / n * ((values - values.mean()) ** 2).sum())

    spread = (error(np.arctanh(left)) + error(left) / (1 - value**2)) / 2
    reach = 2.0638985616 * spread  # t at .975 with 24 degrees of freedom
    ends = (np.tanh(np.arctanh(value) - reach), np.tanh(np.arctanh(value) + reach))
    assert (whole.interval.low, whole.interval.high) == pytest.approx(ends, abs=1e-9)


def test_many_sets_at_once_equal_one_by_one():
    case = next(cases(DESIGNS[7]))
    drawn = np.random.default_rng(1).multinomial(60, case.chance, size=20).astype(float)
    together = jackknife(case.statistic, drawn)
    alone = [jackknife(case.statistic, row[None]) for row in drawn]
    assert together.low == pytest.approx(np.concatenate([each.low for each in alone]))
    assert together.high == pytest.approx(np.concatenate([each.high for each in alone]))


def test_bootstrap_of_patterns_is_the_bootstrap_of_items():
    rng = np.random.default_rng(12)
    codes = rng.integers(0, 3, size=(400, 3))
    codes[:, 1] = np.where(rng.random(400) < 0.6, codes[:, 0], codes[:, 1])
    counts = (codes[:, :, None] == np.arange(3)).sum(axis=1).astype(float)
    units, numbers = distinct(counts)
    statistic = fleiss_statistic(units)
    fast = resampled(statistic, numbers, resamples=3000, seed=5)
    slow = []
    for _ in range(600):
        picked, times = distinct(counts[rng.integers(400, size=400)])
        drawn = fleiss_statistic(picked)
        slow.append(float(drawn.value(drawn.totals(times))))
    assert np.mean(fast) == pytest.approx(np.mean(slow), abs=0.006)
    assert np.std(fast) == pytest.approx(np.std(slow), rel=0.15)


@pytest.mark.parametrize("method", ["delta", "bootstrap", "bca"])
def test_other_methods_say_so_repeat_and_agree_on_many_items(method):
    rng = np.random.default_rng(2)
    first = rng.integers(0, 4, size=800)
    second = np.where(rng.random(800) < 0.7, first, rng.integers(0, 4, size=800))
    ratings = two(first.tolist(), second.tolist(), range(4))
    options = Options(method=method, resamples=1000, seed=9)
    mine = cohen_kappa(ratings, "quadratic", options).interval
    assert mine == cohen_kappa(ratings, "quadratic", options).interval
    usual = cohen_kappa(ratings, "quadratic").interval
    assert (mine.low, mine.high) == pytest.approx((usual.low, usual.high), abs=0.01)
    assert mine.method != usual.method
    if method != "delta":
        assert "1000 resamples, seed 9" in mine.method


def test_perfect_agreement_leaves_room_for_what_was_not_seen():
    # 50 of 50: at most 1 - .025^(1/50) = .0711 disagree; chance differs on half: 1 - .0711 / .5.
    estimate = cohen_kappa(two([0, 1] * 25, [0, 1] * 25))
    assert (estimate.value, estimate.interval.high) == (1.0, 1.0)
    assert estimate.interval.low == pytest.approx(1 - (1 - 0.025 ** (1 / 50)) / 0.5)
    assert estimate.interval.method == PERFECT
    three = percent_agreement(from_columns([[0, 1] * 25] * 3, categories=(0, 1)))
    assert three.interval.low == pytest.approx(0.025 ** (1 / 50))


def test_one_disagreement_gives_an_interval_that_says_something():
    estimate = cohen_kappa(two([0, 1] * 50, [0, 1] * 49 + [0, 0]))
    assert estimate.value == pytest.approx(0.98)
    assert 0.80 < estimate.interval.low < 0.96
    assert 0.99 < estimate.interval.high < 1


def test_everything_resting_on_one_item_gives_no_interval():
    estimate = cohen_kappa(two([0] * 40 + [1], [0] * 40 + [1]))
    assert estimate.value == 1.0
    assert estimate.interval is None
    assert estimate.interval_reason == ONE_ITEM


def test_few_items_are_flagged():
    assert cohen_kappa(two([0, 1] * 49, [0, 1] * 48 + [0, 0])).few_items
    assert not cohen_kappa(two([0, 1] * 50, [0, 1] * 49 + [0, 0])).few_items


QUICK = {  # design: coefficients; the bench runs every design with 5,000 sets
    "2 raters, binary, 1 in 10": ("cohen unweighted", "fleiss"),
    "3 votes, binary, 1 in 10": ("fleiss", "percent"),
    "2 raters, five-point, skewed": ("cohen linear", "cohen quadratic", "alpha ordinal"),
    "3 raters, five-point, 30 % missing": ("alpha nominal", "alpha interval"),
}


@pytest.mark.parametrize(
    ("size", "low", "high"),
    # 600 sets: the error of a share of .95 is .9 points; three and a half of them on either side.
    [(100, 91.0, 99.0), (300, 91.9, 98.1)],
)
def test_intervals_hold_their_level(size, low, high):
    for design in DESIGNS:
        for case in cases(design) if design.name in QUICK else ():
            if case.name in QUICK[design.name]:
                found = measure(case, size, sets=600, seed=7)
                assert low <= found.covered <= high, (design.name, case.name, found)
                assert found.without < 0.5
