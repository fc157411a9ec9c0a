"""Worked values with their arithmetic, and every case in which there is no value."""

import numpy as np
import pytest

from kit.stats.agreement import (
    Options,
    cohen_kappa,
    conger_kappa,
    every_coefficient,
    fleiss_kappa,
    krippendorff_alpha,
    percent_agreement,
)
from kit.stats.kappa import WEIGHTS
from kit.stats.ratings import LEVELS, MAX_CATEGORIES, Ratings, from_columns, from_triples

# docs/protocol.md 6.12
FIVE_A, FIVE_B = (5, 4, 3, 2, 1, 5, 3, 4, 2, 1), (5, 3, 3, 2, 2, 4, 3, 5, 2, 3)
THREE_A, THREE_B = (3, 2, 1, 3, 2, 1, 2, 3), (3, 2, 2, 3, 1, 1, 2, 2)


def two(first, second, categories) -> Ratings:
    return from_columns([first, second], categories=categories)


def from_counts(rows, categories) -> Ratings:
    """Items whose labels are given as counts; who gave which label does not matter."""
    labels = [
        [label for label, count in zip(categories, row, strict=True) for _ in range(count)]
        for row in rows
    ]
    longest = max(len(row) for row in labels)
    padded = [row + [None] * (longest - len(row)) for row in labels]
    return from_columns(list(zip(*padded, strict=True)), categories=categories)


@pytest.mark.parametrize(
    ("first", "second", "scale", "expected"),
    [
        # Five points: 5 of 10 agree; chance .2; (.5 - .2) / (1 - .2) = .375.
        (FIVE_A, FIVE_B, range(1, 6), (0.375, 0.583333, 0.75)),
        (THREE_A, THREE_B, range(1, 4), (0.428571, 0.538462, 0.666667)),
        # The whole scale counts: with 1, 4, 5 as neighbours the same labels give less.
        ((1, 1, 5, 5), (1, 1, 5, 4), range(1, 6), (0.6, 0.875, 0.965517)),
        ((1, 1, 5, 5), (1, 1, 5, 4), (1, 4, 5), (0.6, 0.75, 0.857143)),
    ],
)
def test_cohen_worked_examples(first, second, scale, expected):
    ratings = two(first, second, scale)
    values = [cohen_kappa(ratings, weights).value for weights in WEIGHTS]
    assert values == pytest.approx(expected, abs=5e-7)


def test_scores_put_the_gap_back_that_categories_leave_out():
    ratings = from_columns([(1, 1, 5, 5), (1, 1, 5, 4)], categories=(1, 4, 5), scores=(1, 4, 5))
    assert cohen_kappa(ratings, "linear").value == pytest.approx(0.875)
    assert cohen_kappa(ratings, "quadratic").value == pytest.approx(0.965517, abs=5e-7)


def test_fleiss_worked_example():
    # docs/protocol.md 6.11: P = (1 + 1/3 + 1 + 1/3 + 1 + 1) / 6 = .7778, chance .5.
    ratings = from_counts([(0, 3), (1, 2), (3, 0), (2, 1), (0, 3), (3, 0)], ("no", "yes"))
    assert fleiss_kappa(ratings).value == pytest.approx(0.555556, abs=5e-7)
    assert percent_agreement(ratings).value == pytest.approx(0.777778, abs=5e-7)


def test_fleiss_leaves_out_items_with_another_number_of_votes():
    rows = [(0, 3), (1, 2), (3, 0), (2, 1), (0, 3), (3, 0), (5, 0), (1, 1), (0, 1)]
    estimate = fleiss_kappa(from_counts(rows, ("no", "yes")))
    assert estimate.value == pytest.approx(0.555556, abs=5e-7)
    assert estimate.n_items == 6
    assert estimate.notes == ("Over the 6 items with exactly 3 labels; 2 left out.",)
    pairs_only = fleiss_kappa(from_counts(rows, ("no", "yes")), votes=5)
    assert pairs_only.value is None
    assert pairs_only.reason.startswith("Only one item")


def test_fleiss_example_of_wikipedia():
    rows = [
        (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
        (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
    ]  # fmt: skip
    assert round(fleiss_kappa(from_counts(rows, range(1, 6))).value, 3) == 0.210


def test_alpha_example_with_missing_labels():
    # Three coders, fifteen units, printed .691 nominal and .811 interval.
    columns = ("*****34121133*3", "1*213343*******", "**21344*21133*4")
    labels = [[None if mark == "*" else int(mark) for mark in column] for column in columns]
    ratings = from_columns(labels, categories=range(1, 5))
    assert round(krippendorff_alpha(ratings, "nominal").value, 3) == 0.691
    assert round(krippendorff_alpha(ratings, "interval").value, 3) == 0.811


def test_two_raters_with_the_same_margins_make_cohen_and_fleiss_equal():
    # Both say yes 6 of 10 times and agree on 8: (.8 - .52) / .48.
    ratings = two((1, 1, 1, 1, 1, 1, 0, 0, 0, 0), (1, 1, 1, 1, 1, 0, 1, 0, 0, 0), (0, 1))
    assert cohen_kappa(ratings).value == pytest.approx(0.28 / 0.48)
    assert fleiss_kappa(ratings).value == pytest.approx(0.28 / 0.48)
    # Alpha is 1 - (N - 1) / N * (1 - pi) with N = 20 labels.
    assert krippendorff_alpha(ratings).value == pytest.approx(1 - 19 / 20 * (1 - 0.28 / 0.48))


def test_prevalence_paradox_shows_in_the_numbers():
    # The same 90 % of agreement: kappa .8 where labels are even, .44 where one is rare.
    even = two([0] * 50 + [1] * 50, [0] * 45 + [1] * 50 + [0] * 5, (0, 1))
    rare = two([0] * 90 + [1] * 10, [0] * 85 + [1] * 10 + [0] * 5, (0, 1))
    assert percent_agreement(even).value == percent_agreement(rare).value == 0.9
    assert cohen_kappa(even).value == pytest.approx((0.9 - 0.5) / 0.5)
    assert cohen_kappa(rare).value == pytest.approx((0.9 - 0.82) / 0.18)


@pytest.mark.parametrize(
    ("columns", "name", "reason"),
    [
        ([(1, 1, 1), (1, 1, 1)], "cohen_kappa", "Every label is 1."),
        ([(1, 1, 1), (1, 1, 1)], "fleiss_kappa", "Every label is 1."),
        ([(1, 1, 1), (1, 1, 1)], "krippendorff_alpha_nominal", "Every label is 1."),
        ([(1, 0, 1), (1, 1, 1)], "cohen_kappa", "Rater 1 gave 1 to every shared item"),
        ([(0, 0, 0), (1, 1, 1)], "cohen_kappa", "Rater 0 gave 0 to every shared item"),
        ([(1, None), (None, 0)], "cohen_kappa", "No item was labelled by two raters"),
        ([(1, None), (None, 0)], "fleiss_kappa", "No item was labelled by two raters"),
        ([(1, None), (None, 0)], "percent_agreement", "No item was labelled by two raters"),
        ([(1, None), (1, 0)], "krippendorff_alpha_nominal", "Only one item"),
        ([(1, 0, 1)], "cohen_kappa", "There are labels of one rater only"),
        ([(1, 0, 1)], "krippendorff_alpha_ordinal", "There are labels of one rater only"),
        ([(1, 0), (1, 0), (0, 0)], "cohen_kappa_linear", "Cohen's kappa compares two raters"),
    ],
)
def test_undefined_says_why_instead_of_a_number(columns, name, reason):
    ratings = from_columns(columns, categories=(0, 1))
    found = {each.name: each for each in every_coefficient(ratings, "ordinal")}[name]
    assert found.value is None
    assert found.interval is None
    assert found.reason.startswith(reason)


def test_level_decides_which_coefficients_mean_something():
    ratings = two(FIVE_A, FIVE_B, range(1, 6))
    defined = {
        level: {each.name for each in every_coefficient(ratings, level) if each.value is not None}
        for level in LEVELS
    }
    everywhere = {
        "percent_agreement", "cohen_kappa", "fleiss_kappa", "conger_kappa",
        "krippendorff_alpha_nominal",
    }  # fmt: skip
    ordered = {"cohen_kappa_linear", "cohen_kappa_quadratic", "krippendorff_alpha_ordinal"}
    assert defined["nominal"] == everywhere
    assert defined["ordinal"] == everywhere | ordered
    assert defined["interval"] == everywhere | ordered | {"krippendorff_alpha_interval"}
    assert defined["ratio"] == defined["interval"] | {"krippendorff_alpha_ratio"}


def test_conger_keeps_each_rater_s_own_margin():
    # Three raters, four items: pairs that agree 3, 1, 3, 1 of 3, so 8/12 observed. Shares of 1 are
    # 3/4, 2/4, 1/4; chance of two of them: (3/8 + 1/8) + (3/16 + 3/16) + (1/8 + 3/8) over 3.
    ratings = from_columns([(1, 1, 0, 1), (1, 1, 0, 0), (1, 0, 0, 0)], categories=(0, 1))
    observed, expected = 8 / 12, (1 / 2 + 3 / 8 + 1 / 2) / 3
    found = conger_kappa(ratings)
    assert found.value == pytest.approx((observed - expected) / (1 - expected))
    assert found.interval.low < found.value < found.interval.high
    # Fleiss puts all margins into one: 6 of 12 labels are 1, so 1/2.
    assert fleiss_kappa(ratings).value == pytest.approx((observed - 1 / 2) / (1 - 1 / 2))


def test_conger_of_two_is_cohen_and_of_gaps_says_what_it_leaves_out():
    pair = two(FIVE_A, FIVE_B, range(1, 6))
    conger, cohen = conger_kappa(pair), cohen_kappa(pair)
    found = [(each.value, each.low, each.high) for each in (conger, cohen)]
    assert found[0] == pytest.approx(found[1])
    gaps = from_columns([(1, 0, 1, 0), (1, 0, 0, None), (1, 0, 1, 1)], categories=(0, 1))
    assert conger_kappa(gaps).n_items == 3
    assert conger_kappa(gaps).notes[0].startswith("Over the 3 items with exactly 3 labels; 1 left")
    never = from_columns([(1, 0, None), (1, None, 1), (None, 0, 1)], categories=(0, 1))
    assert conger_kappa(never).reason.startswith("No item was labelled by every rater")
    assert conger_kappa(two((1, 1), (1, 0), (0, 1))).reason.startswith("Rater 0 gave 1 to every")
    assert conger_kappa(two((1, 1), (1, 1), (0, 1))).reason.startswith("Every label is 1")


def test_ratio_alpha_is_of_distances_over_sums():
    # Items (1, 2), (2, 2), (0, 0). Observed: 2 (1/3)^2 of 6 labels. Expected over the 30 ordered
    # pairs of 0, 0, 1, 2, 2, 2: 2 * 2 of (0, 1) at 1, 2 * 6 of (0, 2) at 1, 2 * 3 of (1, 2) at 1/9.
    ratings = from_columns([(1, 2, 0), (2, 2, 0)], categories=(0, 1, 2))
    observed, expected = (2 / 9) / 6, (4 + 12 + 6 / 9) / 30
    assert krippendorff_alpha(ratings, "ratio").value == pytest.approx(1 - observed / expected)
    below = from_columns([(-1, 2), (2, 2)], categories=(-1, 2), scores=(-1, 2))
    assert krippendorff_alpha(below, "ratio").reason.startswith("Ratio labels have a zero")


def test_constant_rater_among_three_is_named():
    estimate = fleiss_kappa(from_columns([(1, 0, 1), (1, 1, 1), (0, 0, 1)], categories=(0, 1)))
    assert estimate.value is not None
    assert estimate.notes == ("Rater 1 gave one and the same label throughout.",)


def test_rating_twice_and_unknown_labels_are_refused():
    with pytest.raises(ValueError, match="labels item 'q1' twice"):
        from_triples([("q1", "a", 1), ("q1", "a", 1)], categories=(0, 1))
    with pytest.raises(ValueError, match="2 is not on the scale"):
        from_triples([("q1", "a", 2)], categories=(0, 1))
    with pytest.raises(ValueError, match="not on the scale"):
        from_columns([(0, 2)], categories=(0, 1))
    with pytest.raises(ValueError, match="names a label twice"):
        from_columns([(0, 1)], categories=(0, 1, 1))
    with pytest.raises(ValueError, match="one entry per item"):
        from_columns([(0, 1), (0,)], categories=(0, 1))
    with pytest.raises(ValueError, match=f"takes {MAX_CATEGORIES} at most"):
        from_columns([range(300)], categories=range(300))


def test_order_of_items_and_raters_does_not_matter():
    rng = np.random.default_rng(3)
    table = rng.integers(0, 4, size=(3, 40))
    mixed = table[rng.permutation(3)][:, rng.permutation(40)]
    options = Options(confidence=0.9)
    for each, other in zip(
        every_coefficient(from_columns(table.tolist(), categories=range(4)), "interval"),
        every_coefficient(from_columns(mixed.tolist(), categories=range(4)), "interval"),
        strict=True,
    ):
        assert each.value == pytest.approx(other.value, abs=1e-12)
    narrow = krippendorff_alpha(
        from_columns(table.tolist(), categories=range(4)), "ordinal", options
    )
    wide = krippendorff_alpha(from_columns(table.tolist(), categories=range(4)), "ordinal")
    assert narrow.interval.width < wide.interval.width
    assert narrow.interval.confidence == 0.9


@pytest.mark.few(8)
@pytest.mark.parametrize("seed", range(20))
def test_what_must_not_change_a_coefficient(seed):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 4, size=50)
    second = np.where(rng.random(50) < 0.5, first, rng.integers(0, 4, size=50))

    def values(a, b, scale=range(4), scores=None):
        ratings = from_columns([a.tolist(), b.tolist()], categories=scale, scores=scores)
        return {each.name: each.value for each in every_coefficient(ratings, "interval")}

    plain = values(first, second)
    assert values(second, first) == pytest.approx(plain, abs=1e-12)
    assert values(3 - first, 3 - second) == pytest.approx(plain, abs=1e-12)
    assert values(first, second, range(9)) == pytest.approx(plain, abs=1e-12)
    assert values(first, second, scores=(-7, -2, 3, 8)) == pytest.approx(plain, abs=1e-12)
    renamed = np.array([2, 0, 3, 1])
    for name in ("percent_agreement", "cohen_kappa", "fleiss_kappa", "krippendorff_alpha_nominal"):
        mixed = values(renamed[first], renamed[second])
        assert mixed[name] == pytest.approx(plain[name], abs=1e-12)
    twice = values(np.tile(first, 2), np.tile(second, 2))
    for name in ("cohen_kappa", "cohen_kappa_linear", "cohen_kappa_quadratic", "fleiss_kappa"):
        assert twice[name] == pytest.approx(plain[name], abs=1e-12)
