"""What a trace comes to, with the arithmetic shown (docs/protocol.md 3.4, 3.5, 3.6, 6.13)."""

from math import exp, log2

import pytest

from evaluation.agents.protocol.judging import (
    completeness_of,
    falls_strictly,
    tiers_of,
    weighted_coverage,
)
from evaluation.agents.protocol.measures import (
    aer,
    alpha_by_round,
    calibration_bins,
    calibration_error,
    coverage,
    cumulative,
    noise,
    novelty,
    repetitions,
    round_count,
    spread,
)
from evaluation.metrics.gold import Aspect

ASPECTS = {"a1": Aspect(3, ["d1", "d2"]), "a2": Aspect(2, ["d3"]), "a3": Aspect(1, ["d4"])}
ROUNDS = {
    1: ["d1", "x1", "x2", "x3", "x4"],
    2: ["x1", "d3", "x5", "d1", "x6"],
    3: ["d4", "x7", "x8", "x9", "d2"],
}


def at(rank: int) -> float:
    return 1 / log2(rank + 1)


def test_alpha_ndcg_after_each_round_counts_each_document_once() -> None:
    # Cumulative lists: d1 first; d3 sixth (x1 came before, d1 too); d4 ninth and d2 thirteenth.
    assert [len(cumulative(ROUNDS, each)) for each in (1, 2, 3)] == [5, 8, 13]
    # Ideal with raw weights 3, 2, 1: d1 3, d3 2, d2 3/2, d4 1.
    ideal = 3 * at(1) + 2 * at(2) + 1.5 * at(3) + 1 * at(4)
    gained = [3 * at(1), 2 * at(6), 1 * at(9) + 1.5 * at(13)]
    by_hand = [sum(gained[:each]) / ideal for each in (1, 2, 3)]
    found = alpha_by_round(ROUNDS, ASPECTS, 3)
    assert found == pytest.approx(by_hand)
    assert [round(value, 6) for value in found] == [0.551214, 0.682111, 0.809810]


def test_a_run_that_stopped_early_repeats_its_value_and_one_without_search_has_nothing() -> None:
    assert alpha_by_round({1: ROUNDS[1]}, ASPECTS, 3) == pytest.approx([0.551214] * 3, abs=1e-6)
    assert alpha_by_round({}, ASPECTS, 3) == [0, 0, 0]
    assert alpha_by_round(ROUNDS, {"a1": Aspect(1, [])}, 2) == [None, None]


@pytest.mark.parametrize(
    ("quality", "rounds", "expected"),
    [(5, 1, 5.0), (4, 3, 4 * exp(-0.1)), (4.5, 10, 4.5 * exp(-0.45))],
)
def test_aer_takes_a_price_for_every_further_round(quality, rounds, expected) -> None:
    assert aer(quality, rounds) == pytest.approx(expected)


def test_aer_as_printed() -> None:
    assert round(aer(4, 3), 6) == 3.619350
    assert round(aer(4.5, 10), 6) == 2.869327
    assert aer(4, 3, gamma=0) == 4
    with pytest.raises(ValueError, match="one round"):
        aer(5, 0)


# The six retrievers of the paper's Table 4: quality, rounds, and AER as printed, within .03.
@pytest.mark.parametrize(
    ("quality", "rounds", "printed"),
    [
        (4.47, 4.31, 3.81),
        (4.26, 5.72, 3.39),
        (4.06, 6.04, 3.16),
        (4.19, 7.37, 3.02),
        (4.12, 7.13, 3.01),
        (4.03, 7.15, 2.98),
    ],
)
def test_aer_of_printed_means_comes_near(quality, rounds, printed) -> None:
    assert aer(quality, rounds) == pytest.approx(printed, abs=0.03)


@pytest.mark.parametrize(
    ("weights", "scores", "weighted", "completeness"),
    [
        # (3 * 1 + 2 * .5 + 1 * 0) / 6 = 2/3; 4 * 2/3 + 1 = 3.67.
        ((3, 2, 1), (1, 0.5, 0), 2 / 3, 4),
        # (1 * .5 + 1 * .25 ...) .375 gives 2.5, and half goes to the even 2.
        ((3, 5), (1, 0), 0.375, 2),
        # .875 gives 4.5: 4, not 5.
        ((7, 1), (1, 0), 0.875, 4),
        ((1, 1), (0, 0), 0, 1),
        ((1, 1), (1, 1), 1, 5),
    ],
)
def test_completeness_rounds_halves_to_even(weights, scores, weighted, completeness) -> None:
    by_name = dict(zip("abc", scores, strict=False))
    weight = dict(zip("abc", weights, strict=False))
    assert weighted_coverage(by_name, weight) == pytest.approx(weighted)
    assert completeness_of(by_name, weight) == completeness


def test_repetitions_as_the_paper_prints_them() -> None:
    # Twelve rounds: the tangential gold in each, three off-topic ones 7, 5 and 5 times.
    rounds = {
        number: [
            "Baroreceptor_0",
            *(["heart_33"] if number <= 7 else []),
            *(["Ghrelin_6", "Baroreceptor_3"] if number > 7 else []),
            f"once_{number}",
        ]
        for number in range(1, 13)
    }
    other, gold = repetitions(rounds, {"Baroreceptor_0"})
    assert other == [("heart_33", 7), ("Baroreceptor_3", 5), ("Ghrelin_6", 5)]
    assert gold == [("Baroreceptor_0", 12)]


def test_aspects_with_the_gold_found_and_the_round_that_found_it() -> None:
    columns = ("name", "found", "there", "first_round")
    assert [tuple(each[name] for name in columns) for each in coverage(ROUNDS, ASPECTS)] == [
        ("a1", ["d1", "d2"], 2, 1),
        ("a2", ["d3"], 1, 2),
        ("a3", ["d4"], 1, 3),
    ]
    assert coverage({1: ["x"]}, ASPECTS)[0]["first_round"] is None


def test_rounds_and_novelty() -> None:
    assert round_count({1: ["a"], 2: [], 3: ["b"]}) == 2
    # Round 2 returned x1 and d1 again: 3 of 5 are new.
    assert novelty(ROUNDS) == {1: 1.0, 2: 3 / 5, 3: 1.0}
    assert novelty({1: []}) == {1: None}


def test_spread_is_the_population_sigma_of_each_item() -> None:
    # 4, 5, 3: mean 4, sigma sqrt(2/3). 2, 2: 0. One judgment alone shows no spread.
    items, mean, most = spread([(4, 5, 3), (2, 2), (5,)])
    assert (items, most) == (2, pytest.approx((2 / 3) ** 0.5))
    assert mean == pytest.approx((2 / 3) ** 0.5 / 2)
    assert spread([(1,)]) == (0, None, None)


def test_noise_within_and_between_queries() -> None:
    # Within: (1, 3) has sample variance 2, (5, 5) has 0: mean 1. Means 2 and 5: variance 4.5.
    found = noise([(1, 3), (5, 5)])
    assert found is not None
    assert (found.queries, found.within, found.between) == (2, 1.0, 4.5)
    assert found.least == pytest.approx(1.96 * (2 * 1 / 2) ** 0.5)
    assert noise([(1,)]) is None


@pytest.mark.parametrize("bins", [1, 2, 3, 7, 10])
def test_certain_and_always_wrong_is_an_error_of_one_for_every_number_of_bins(bins) -> None:
    assert calibration_error([(1.0, 0.0)] * 5, bins) == pytest.approx(1.0)


def test_calibration_counts_every_item() -> None:
    # Two bins of 1 and 2: |.2 - 0| / 3 + |.8 + .9 - 1| / 3.
    stated = [(0.9, 1.0), (0.2, 0.0), (0.8, 0.0)]
    assert calibration_error(stated, 2) == pytest.approx(0.2 / 3 + 0.7 / 3)
    assert calibration_error([], 5) is None


def test_bins_have_equal_counts_and_ties_are_not_sorted_by_who_is_right() -> None:
    stated = [(0.5, 1.0), (0.5, 0.0), (0.5, 1.0), (0.5, 0.0), (0.9, 1.0)]
    found = calibration_bins(stated, 2)
    # 5 in two bins: places 0 to 2 and 2 to 5.
    assert [(each.n, each.least, each.most, each.right) for each in found] == [
        (2, 0.5, 0.5, 1.0),
        (3, 0.5, 0.9, 2.0),
    ]
    assert found[1].confidence == pytest.approx(1.9 / 3)
    # |1 - 1| / 5 + |1.9 - 2| / 5.
    assert calibration_error(stated, 2) == pytest.approx(0.02)
    assert [each.n for each in calibration_bins(stated, 9)] == [1] * 5
    assert sum(each.n for each in calibration_bins(stated * 7, 4)) == 35


def test_tiers_are_the_reference_its_opening_and_a_platitude() -> None:
    words = [f"w{number}" for number in range(60)]
    tiers = tiers_of(" ".join(words))
    assert list(tiers) == ["reference", "opening", "platitude"]
    assert tiers["opening"].split() == words[:24]  # 40 % of 60
    assert len(tiers_of(" ".join(words[:40]))["opening"].split()) == 20  # 16 would be too few
    assert tiers_of(" ".join(words[:39])) == {}
    assert falls_strictly([5, 3, 1])
    assert not falls_strictly([5, 5, 1])
