"""Measures of a finished run against worked examples and other people's code."""

import pytest

from debate.measures import Judged, compare, flips, persistence, timing
from kit.stats.means import mean, mean_proportion
from kit.stats.paired import mcnemar
from kit.stats.proportions import Proportion, proportion, upper_bound
from kit.stats.sampling import allot, draw

COUNTS = [(0, 1), (1, 1), (0, 30), (3, 30), (29, 30), (35, 1000), (4056, 116622)]


@pytest.mark.parametrize(("count", "whole"), COUNTS)
def test_intervals_are_those_of_statsmodels(count, whole) -> None:
    from statsmodels.stats.proportion import proportion_confint

    for exact, method in ((False, "wilson"), (True, "beta")):
        found = proportion(count, whole, exact=exact)
        low, high = proportion_confint(count, whole, method=method)
        assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)
        assert found.low <= found.value <= found.high


@pytest.mark.parametrize(("count", "whole"), [(0, 150), (2, 150), (5, 5), (149, 150)])
def test_upper_bound_is_the_one_sided_exact_one(count, whole) -> None:
    from scipy.stats import binomtest

    theirs = binomtest(count, whole, alternative="less").proportion_ci(0.95, "exact").high
    assert upper_bound(count, whole) == pytest.approx(theirs, abs=1e-9)


def test_nothing_looked_at_bounds_nothing() -> None:
    # 0 of 150: (1 - p)^150 = .05 gives p = 1 - .05^(1/150) = .019773.
    assert upper_bound(0, 150) == pytest.approx(1 - 0.05 ** (1 / 150))
    assert upper_bound(0, 0) == 1.0
    assert proportion(0, 0) == proportion(0, 0, exact=True) == Proportion(0, 0)
    with pytest.raises(ValueError, match="5 of 4"):
        proportion(5, 4)
    with pytest.raises(ValueError, match="1 of 0"):
        proportion(1, 0)
    with pytest.raises(ValueError, match="1 of 0"):
        upper_bound(1, 0)


def test_mean_has_students_interval() -> None:
    # 2, 4, 6: mean 4, s 2, t(.975, 2) 4.302653; 4.302653 * 2 / sqrt 3 = 4.968276.
    found = mean([2.0, 4.0, 6.0])
    assert (found.low, found.high) == pytest.approx((4 - 4.968276, 4 + 4.968276), abs=1e-6)
    assert (mean([]).value, mean([3.0]).value, mean([3.0]).low) == (None, 3.0, None)


def test_balanced_accuracy_and_escalation_of_the_worked_example() -> None:
    """docs/protocol.md 6.9: relevant 3/3, irrelevant 4/5, mean .9; 2 of 10 escalated."""
    truth = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    given = [1, 1, 1, None, 0, 0, 0, 0, 1, None]
    items = [
        Judged(t, label, escalated=label is None) for t, label in zip(truth, given, strict=True)
    ]
    found = compare(items)
    assert (found.labelled.relevant.value, found.labelled.irrelevant.value) == (1.0, 0.8)
    balanced = found.labelled.balanced
    assert balanced.value == pytest.approx(0.9, abs=1e-6)
    # Wilson 3/3: .438503 to 1; 4/5: .375531 to .963789.
    assert balanced.low == pytest.approx(
        0.9 - ((1 - 0.438503) ** 2 + (0.8 - 0.375531) ** 2) ** 0.5 / 2, abs=1e-5
    )
    assert balanced.high == pytest.approx(0.9 + (0.963789 - 0.8) / 2, abs=1e-5)
    assert (found.escalation.value, found.invalid, found.items) == (0.2, 0, 10)


def test_settled_labels_count_in_the_overall_variant_alone() -> None:
    items = [Judged(1, None, True, 1), Judged(0, None, True, 1), Judged(0, 0), Judged(1, None)]
    found = compare(items)
    assert (found.labelled.relevant.n, found.labelled.irrelevant.value) == (0, 1.0)
    assert found.labelled.balanced.value is None
    assert (found.overall.relevant.value, found.overall.irrelevant.value) == (1.0, 0.5)
    assert (found.invalid, found.escalation.value) == (1, 0.5)


def test_mean_of_shares_is_undefined_where_one_is() -> None:
    assert mean_proportion([proportion(1, 2), proportion(0, 0)]).value is None
    assert mean_proportion([]).value is None


def test_persistence_of_the_worked_example() -> None:
    """docs/protocol.md 6.10: labels of both agents r1 -> r2, in brackets the truth."""
    courses = [
        ({1: 1, 2: 1}, 1),
        ({1: 0, 2: 0}, 0),
        ({1: 1, 2: None}, 1),
        ({1: 0, 2: 1}, 1),
        ({1: 1, 2: 1}, 0),
        ({1: None, 2: 1}, 1),  # did not agree in round one: not of the cohort
    ]
    found = persistence(courses)
    assert [found[1][0].value, found[1][2].value] == [1.0, 0.4]
    assert [each.value for each in found[2]] == [0.8, 0.6, 0.25, 0.2]


def test_pairs_that_stopped_at_their_agreement_are_not_followed() -> None:
    rows = persistence([({1: 1}, None), ({1: 1, 2: 1}, None)])
    assert [(kept.hits, kept.n) for kept, *_ in rows.values()] == [(2, 2), (1, 1)]
    assert rows[1][2] == Proportion(0, 0)
    assert persistence([({1: None}, None)]) == {}


def test_flip_matrix_of_the_published_stance_orders() -> None:
    """DREAM's Table 10: of 676 labels 654 stay, 8 turn irrelevant and 14 relevant."""
    from statsmodels.stats.contingency_tables import mcnemar as their_mcnemar

    pairs = [(1, 1)] * 300 + [(0, 0)] * 354 + [(1, 0)] * 8 + [(0, 1)] * 14 + [(1, None)] * 3
    found = flips(pairs)
    assert (found.both, found.to_irrelevant, found.to_relevant) == (676, 8, 14)
    assert found.flipped.value == pytest.approx(1 - 0.967, abs=0.0005)
    theirs = their_mcnemar([[300, 8], [14, 354]], exact=True).pvalue
    assert found.p_value == pytest.approx(theirs)


def test_mcnemar_without_a_flip_says_nothing() -> None:
    assert mcnemar(0, 0) is None
    # 0 against 5: 2 * (1/2)^5.
    assert mcnemar(0, 5) == pytest.approx(0.0625)


def test_latency_is_the_sum_or_each_rounds_slowest() -> None:
    # One round of 4 and 3 s; two rounds of 4, 4 and 5, 1 s.
    found = timing([([[4, 3]], 0.002), ([[4, 4], [5, 1]], None)])
    assert found.sequential_s.value == (7 + 14) / 2
    assert found.parallel_s.value == (4 + 9) / 2
    assert (found.usd.value, found.usd.n) == (0.002, 1)


def test_sample_is_allotted_in_proportion() -> None:
    # 10 of 60 + 30 + 10: 6, 3, 1. 10 of 50 + 49 + 1: 5, 4.9, .1 -> 5, 5, 0.
    assert allot({"a": 60, "b": 30, "c": 10}, 10) == {"a": 6, "b": 3, "c": 1}
    assert allot({"a": 50, "b": 49, "c": 1}, 10) == {"a": 5, "b": 5, "c": 0}
    assert allot({"a": 2}, 10) == {"a": 2}
    assert allot({}, 10) == {}


def test_same_seed_draws_the_same_and_another_one_others() -> None:
    strata = {"a": range(60), "b": range(100, 140)}
    first, again, other = draw(strata, 20, 7), draw(strata, 20, 7), draw(strata, 20, 8)
    assert first == again
    assert set(first) != set(other)
    assert len(set(first)) == 20
    assert sum(item < 100 for item in first) == 12
    # Mixed: not one stratum after the other.
    assert [item < 100 for item in first] != sorted((item < 100 for item in first), reverse=True)


def test_every_item_is_drawn_equally_often() -> None:
    counts = [0] * 20
    for seed in range(400):
        for item in draw({"all": range(20)}, 5, seed):
            counts[item] += 1
    # Each 100 times on average, with a deviation of sqrt(400 * .25 * .75) = 8.7.
    assert min(counts) > 60
    assert max(counts) < 140
