"""Tests of differences, intervals of means, intervals of ranks."""

from itertools import product

import numpy as np
import pytest

from evaluation.metrics.gold import Gold
from evaluation.metrics.names import read_metric
from evaluation.metrics.profiles import STRICT, Family
from evaluation.metrics.ranking import Matched
from evaluation.metrics.run import Run
from evaluation.metrics.scoring import case_of, value_of
from evaluation.metrics.standings import rank_intervals, truth_of
from kit.stats.means import bootstrap_macro
from kit.stats.paired import paired_t, randomisation, randomisations, weighted

DIFFERENCES = np.array([0.3, 0.1, -0.1, 0.2, 0.0, 0.4])
MANY = np.random.default_rng(3).normal(0.02, 0.1, 200)


def test_paired_t_is_scipys() -> None:
    from scipy import stats

    for given in (DIFFERENCES, MANY):
        theirs = stats.ttest_rel(given, np.zeros(len(given)))
        ours = paired_t(given)
        assert (ours.statistic, ours.p) == pytest.approx((theirs.statistic, theirs.pvalue))


@pytest.mark.parametrize("given", [[], [0.1], [0.2, 0.2, 0.2]])
def test_paired_t_says_why_it_is_undefined(given) -> None:
    found = paired_t(np.array(given, float))
    assert found.p is None
    assert found.why in ("fewer than two queries", "all differences are equal")


def test_randomisation_over_all_signs() -> None:
    # 64 signs; as far from 0 as the observed sum of .9: reckoned one by one.
    sums = [abs(np.dot(signs, DIFFERENCES)) for signs in product((1, -1), repeat=6)]
    expected = sum(each >= 0.9 - 1e-9 for each in sums) / 64
    found = randomisation(DIFFERENCES, seed=1)
    assert (found.p, found.draws) == (expected, 64)


def test_randomisation_by_seeded_draws() -> None:
    found = randomisation(MANY, seed=1)
    assert found == randomisation(MANY, seed=1)
    assert found.p == pytest.approx(paired_t(MANY).p, abs=0.02)
    # No draw is as far: the observed signs alone.
    assert randomisation(np.ones(50), seed=1, draws=999).p == 1 / 1000


def test_randomisation_is_symmetric_and_sure_of_no_difference() -> None:
    assert randomisation(-DIFFERENCES, seed=1).p == randomisation(DIFFERENCES, seed=1).p
    assert randomisation(np.zeros(5), seed=1).p == 1.0
    assert randomisation(np.array([]), seed=1).why == "no query"


def test_many_columns_are_tested_as_each_alone() -> None:
    rng = np.random.default_rng(4)
    sizes = (40, 5, 0, 40, 25, 5)
    columns = [rng.normal(0.1, 1, size) for size in sizes]
    # Equal but for rounding: as far as the observed sum, and counted with it.
    columns[3] = np.full(40, 0.1)
    found = randomisations(columns, seed=9)
    assert found == [randomisation(column, seed=9) for column in columns]
    assert [each.queries for each in found] == list(sizes)
    assert found[3].p == 1 / 10_001


# docs/metrics.md reckons with these: by domains .2, by queries 1/6.
DOMAINS = [np.array([0.4, 0.2]), np.array([-0.2, 0.1, 0.3, 0.2])]


def test_domains_count_alike_in_both_tests() -> None:
    found = randomisation(weighted(DOMAINS), seed=1)
    assert (found.queries, found.p, found.draws) == (6, 8 / 64, 64)
    assert randomisation(np.concatenate(DOMAINS), seed=1).p == 10 / 64
    t = paired_t(*DOMAINS)
    assert (t.statistic, t.p) == pytest.approx((2.7175, 0.0671), abs=1e-4)
    assert found.difference == t.difference == pytest.approx(0.2)
    assert found.difference == pytest.approx(bootstrap_macro(DOMAINS, seed=1).value)
    assert weighted(DOMAINS[:1]).tolist() == DOMAINS[0].tolist()


def test_tests_of_domains_are_those_of_every_sign_and_welchs() -> None:
    from scipy import stats

    rng = np.random.default_rng(11)
    for sizes in ((2, 7), (3, 3, 4), (5, 2), (8,)):
        domains = [rng.normal(0.2, 1, size) for size in sizes]
        starts = np.cumsum(sizes)[:-1]
        signs = [np.split(np.array(each), starts) for each in product((1, -1), repeat=sum(sizes))]
        drawn = [np.mean([(a * b).mean() for a, b in zip(s, domains, strict=True)]) for s in signs]
        far = np.mean(np.abs(drawn) >= abs(np.mean([each.mean() for each in domains])) - 1e-9)
        assert randomisation(weighted(domains), seed=1).p == pytest.approx(far)
        if len(sizes) == 2:
            first, second = domains
            theirs = stats.ttest_ind(first, -second, equal_var=False)
            ours = paired_t(first, second)
            assert (ours.statistic, ours.p) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_domain_without_queries_has_no_test_and_one_query_no_t() -> None:
    bare = np.zeros(0)
    assert randomisation(weighted([DOMAINS[0], bare]), seed=1).p is None
    assert paired_t(DOMAINS[0], bare).p is None
    assert paired_t(DOMAINS[0], np.ones(1)).why == "fewer than two queries in a domain"


def test_bootstrap_covers_the_mean_and_repeats() -> None:
    found = bootstrap_macro([MANY], seed=5)
    assert found == bootstrap_macro([MANY], seed=5)
    half = 1.96 * MANY.std(ddof=1) / np.sqrt(len(MANY))
    assert (found.low, found.high) == pytest.approx(
        (MANY.mean() - half, MANY.mean() + half), abs=0.002
    )
    narrower = bootstrap_macro([MANY], seed=5, confidence=0.5)
    assert found.low < narrower.low < narrower.high < found.high


def test_bootstrap_draws_within_each_task() -> None:
    # A constant task adds its mean and no spread.
    one = bootstrap_macro([MANY], seed=5)
    both = bootstrap_macro([np.full(10, 1.0), MANY], seed=5)
    assert both.high - both.low == pytest.approx((one.high - one.low) / 2, rel=0.05)
    assert bootstrap_macro([np.array([])], seed=5).low is None


def systems(gold):
    lists = {"good": ["a", "b"], "middle": ["x", "a"], "bad": ["x", "y"]}
    qids = gold.qids
    return [
        case_of(Matched.of(Run.of(dict.fromkeys(qids, each)), gold), Family.TREC, STRICT)
        for each in lists.values()
    ]


GOLD = Gold.of({f"q{n}": {"a": 1, "b": 1, "x": 0, "y": 0} for n in range(40)})


def ranked(**chances):
    metric = read_metric("nDCG@2")
    found = rank_intervals(
        [systems(GOLD)],
        lambda case: value_of(metric, case, STRICT).mean,
        truth=lambda rng: [truth_of(GOLD.label, **chances)],
        seed=2,
        draws=60,
    )
    return [(each["rank"], each["low"], each["high"]) for each in found]


def test_perfect_labels_leave_no_doubt_about_ranks() -> None:
    assert ranked(if_relevant=1.0, if_not=0.0) == [(1, 1, 1), (2, 2, 2), (3, 3, 3)]


def test_labels_that_say_nothing_make_every_rank_possible() -> None:
    found = ranked(if_relevant=0.5, if_not=0.5)
    assert [rank for rank, _, _ in found] == [1, 2, 3]
    assert all(low == 1 and high == 3 for _, low, high in found)


def test_inverted_labels_turn_the_order_round() -> None:
    found = ranked(if_relevant=0.0, if_not=1.0)
    assert [(low, high) for _, low, high in found] == [(3, 3), (2, 2), (1, 1)]


def test_a_chance_lies_between_0_and_1() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        truth_of(GOLD.label, if_relevant=1.2, if_not=0.0)
