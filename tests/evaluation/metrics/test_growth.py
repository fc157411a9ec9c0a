"""docs/protocol.md 6.6 and 6.7 on the toy of 6.5, and holes by the weight of aspects."""

import numpy as np
import pytest

from evaluation.metrics.gold import Aspect, Gold
from evaluation.metrics.growth import (
    aspect_weights,
    found_holes,
    growth_rates,
    marginal_contribution,
    mean_growth,
    mean_marginal,
    random_orders,
    undiscovered,
)
from evaluation.metrics.names import read_metric
from evaluation.metrics.profiles import STRICT, Family
from evaluation.metrics.ranking import Matched
from evaluation.metrics.run import Run
from evaluation.metrics.scoring import case_of, value_of
from tests.evaluation.metrics.test_holes_and_ties import FILLED, SYSTEMS

A, B, C = range(3)
CASES = [
    case_of(Matched.of(Run.of(run), FILLED), Family.BRIDGE, STRICT) for run in SYSTEMS.values()
]
FOUND = found_holes(CASES, 3)


def performance(name):
    metric = read_metric(name)
    return lambda case: value_of(metric, case, STRICT).mean


def test_which_holes_each_system_found() -> None:
    rows = [[FILLED.pids[row] for row in np.flatnonzero(each)] for each in FOUND]
    assert rows == [["h1"], ["h1", "h2", "h3"], ["h2", "h3"]]


@pytest.mark.parametrize(
    ("order", "rates"),
    [
        # |H| 1, 3, 3: (3 - 1) / 1, then nothing new.
        ([A, B, C], [None, 2.0, 0.0]),
        ([B, A, C], [None, 0.0, 0.0]),
        # |H| 2, 3, 3.
        ([C, A, B], [None, 0.5, 0.0]),
    ],
)
def test_growth_rates(order, rates) -> None:
    assert growth_rates(FOUND, order) == rates


def test_growth_is_undefined_while_nothing_is_found() -> None:
    found = np.array([[False, False], [False, False], [True, True]])
    assert growth_rates(found, [0, 1, 2]) == [None, None, None]
    assert growth_rates(found, [2, 1, 0]) == [None, 0.0, 0.0]


def test_mean_growth_leaves_out_the_undefined_and_repeats_with_its_seed() -> None:
    means, orders = mean_growth(FOUND, seed=7), random_orders(3, 10, 7)
    assert (means[0], len(orders)) == (None, 10)
    second = [growth_rates(FOUND, order)[1] for order in orders]
    assert means[1] == pytest.approx(sum(second) / 10)
    assert mean_growth(FOUND, seed=7) == means
    assert random_orders(3, 10, 8) != orders == random_orders(3, 10, 7)


@pytest.mark.parametrize(
    ("known", "recall", "hit"),
    [
        # Recall of B: q1 2 of 3, q2 1 of 2; without its holes 0.
        ([], (2 / 3 + 1 / 2) / 2, 1.0),
        # With A's h1: q1 1 of 2, q2 0: .25.
        ([A], (2 / 3 + 1 / 2) / 2 - 0.25, 0.5),
        ([A, C], 0.0, 0.0),
    ],
)
def test_marginal_contribution(known, recall, hit) -> None:
    found = [
        marginal_contribution(CASES[B], FOUND, B, known, performance(name))
        for name in ("recall@3", "hit@3")
    ]
    assert found == [pytest.approx(recall, abs=1e-6), pytest.approx(hit)]


def test_printed_marginal_contributions() -> None:
    values = [
        marginal_contribution(CASES[B], FOUND, B, known, performance("recall@3"))
        for known in ([], [A], [A, C])
    ]
    assert values == pytest.approx([0.583333, 0.333333, 0.0], abs=1e-6)


def test_mean_marginal_is_over_orders_and_targets() -> None:
    recall = performance("recall@3")
    means = mean_marginal(CASES, FOUND, recall, seed=1, orders=4)
    nobody = [marginal_contribution(CASES[each], FOUND, each, [], recall) for each in (A, B, C)]
    assert means[0] == pytest.approx(sum(nobody) / 3)
    last = [
        marginal_contribution(CASES[order[2]], FOUND, order[2], order[:2], recall)
        for order in random_orders(3, 4, 1)
    ]
    assert means[2] == pytest.approx(sum(last) / 4)


def test_undiscovered_is_chaos_estimator() -> None:
    # h1, h2, h3 are each found twice: q1 = 0.
    assert undiscovered(FOUND) == 0.0
    found = np.array([[1, 1, 1, 0, 0], [1, 0, 0, 1, 0], [0, 0, 0, 0, 1]], bool)
    # q1 = 4, q2 = 1: 2/3 * 16 / 2.
    assert undiscovered(found) == pytest.approx(2 / 3 * 8)
    # q1 = 2, q2 = 0: 1/2 * 2 * 1 / 2.
    assert undiscovered(np.array([[1, 0], [0, 1]], bool)) == pytest.approx(0.5)
    assert undiscovered(found[:1]) is None


# Aspects of weight 3 (o and h1), 2 (h2) and 1 (h3): shares 1/2, 1/3, 1/6.
WEIGHTED = Gold.of(
    {"q": {"o": 1, "h1": 1, "h2": 1, "h3": 1}},
    base={"q": {"o": 1}},
    aspects={"q": {"a1": Aspect(3, ["o", "h1"]), "a2": Aspect(2, ["h2"]), "a3": Aspect(1, ["h3"])}},
)


def weighted_case(*ranking):
    return case_of(Matched.of(Run.of({"q": list(ranking)}), WEIGHTED), Family.BRIDGE, STRICT)


@pytest.mark.parametrize(
    ("ranking", "aspect_hole", "new_aspect"),
    [
        # h1 1/2 and h2 1/3 of 3 places; a1 had an original, so only a2 is new.
        (["h1", "x", "h2", "h3"], (1 / 2 + 1 / 3) / 3, 1 / 3),
        (["o", "h3", "h2"], (1 / 6 + 1 / 3) / 3, 1 / 6 + 1 / 3),
        (["o", "x"], 0.0, 0.0),
    ],
)
def test_holes_by_the_weight_of_their_aspects(ranking, aspect_hole, new_aspect) -> None:
    case = weighted_case(*ranking)
    found = [performance(name)(case) for name in ("aspect_hole@3", "new_aspect@3")]
    assert found == pytest.approx([aspect_hole, new_aspect])


def test_growth_by_the_weight_of_aspects() -> None:
    cases = [weighted_case("h3"), weighted_case("h1", "h3")]
    weights = aspect_weights(cases[0])
    # 1/6, then 1/6 + 1/2: grown by three times itself; by count it doubles.
    assert growth_rates(found_holes(cases, 3), [0, 1], weights) == [None, pytest.approx(3.0)]
    assert growth_rates(found_holes(cases, 3), [0, 1]) == [None, 1.0]
