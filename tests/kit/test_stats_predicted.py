"""Means of machines' labels, corrected by people's."""

from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from kit.stats.predicted import Stratum, corrected_mean, strata_by_grade
from kit.stats.proportions import wilson
from kit.stats.sampling import allot, allot_by_spread


def test_one_stratum_is_ppi_with_power_tuning() -> None:
    """100 items whose machine's mean is 3; 4 of them labelled."""
    f, y = [1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0]
    found = corrected_mean([Stratum(100, 3.0, list(zip(f, y, strict=True)))])
    # cov = 4/3, var = 5/3: t = .8, and 2.5 + .8 (3 - 2.5) = 2.9.
    assert found.value == pytest.approx(2.9)
    # var(y - t f) = 5/3 - 1.6 * 4/3 + .64 * 5/3 = .6; / 4 * (1 - 4/100).
    reach = stats.t.ppf(0.975, 2) * sqrt(0.6 / 4 * 0.96)
    assert (found.low, found.high) == pytest.approx((2.9 - reach, 2.9 + reach))
    assert found.n == 4


def test_grades_as_strata_weigh_what_people_found_in_each() -> None:
    """60 items called relevant, 40 not; people find 2 of 10 and 1 of 5 wrong."""
    relevant = Stratum(60, 1.0, [(1.0, 1.0)] * 8 + [(1.0, 0.0)] * 2)
    others = Stratum(40, 0.0, [(0.0, 0.0)] * 4 + [(0.0, 1.0)])
    found = corrected_mean([relevant, others])
    assert found.value == pytest.approx(0.6 * 0.8 + 0.4 * 0.2)
    # Effective sizes 10 / (1 - 10/60) = 12 and 5 / (1 - 5/40) = 40/7.
    one, two = wilson(9.6, 12), wilson(8 / 7, 40 / 7)
    below = sqrt((0.6 * (0.8 - one.low)) ** 2 + (0.4 * (0.2 - two.low)) ** 2)
    above = sqrt((0.6 * (one.high - 0.8)) ** 2 + (0.4 * (two.high - 0.2)) ** 2)
    assert (found.low, found.high) == pytest.approx((0.56 - below, 0.56 + above))


def test_no_error_found_is_no_certainty_and_all_labelled_is() -> None:
    right = [(1.0, 1.0)] * 9
    found = corrected_mean([Stratum(100, 1.0, right)])
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(wilson(9 / 0.91, 9 / 0.91).low)
    whole = corrected_mean([Stratum(9, 1.0, right)])
    assert (whole.low, whole.value, whole.high) == (1.0, 1.0, 1.0)
    # Scores that agree throughout show no spread either: no interval rather than one of no width.
    alike = corrected_mean([Stratum(50, 3.0, [(2.0, 2.0), (3.0, 3.0), (4.0, 4.0), (4.0, 4.0)])])
    assert alike.value == pytest.approx(3.0)
    assert alike.interval is None


def test_a_scale_is_cut_where_people_said_enough_of_it() -> None:
    graded = [1.0] * 10 + [2.0] * 20 + [3.0] * 40 + [4.0] * 25 + [5.0] * 5
    low, mid, high = [(1.0, 2.0)] * 4 + [(2.0, 2.0)] * 6, [(3.0, 3.0)] * 10, [(4.0, 3.0)] * 9
    found = strata_by_grade(graded, [*high, *mid, *low])
    # Ten of 1 and 2 together, ten of 3; nine of 4 are too few, and nobody said anything of 5.
    assert [(each.size, each.graded, len(each.pairs)) for each in found] == [
        (30, pytest.approx(5 / 3), 10),
        (70, pytest.approx((3 * 40 + 4 * 25 + 5 * 5) / 70), 19),
    ]
    assert strata_by_grade(graded, low) == [Stratum(100, pytest.approx(2.95), low)]
    assert strata_by_grade([], []) == []


@pytest.mark.slow
def test_strata_of_a_scale_hold_the_truth_as_often_and_are_narrower() -> None:
    """300 items of five grades, of which people see 40; what they find does not rise with them."""
    rng = np.random.default_rng(3)
    grade = rng.choice(np.arange(1.0, 6.0), size=300, p=[0.1, 0.15, 0.25, 0.3, 0.2])
    people = np.array([2.0, 1.5, 3.0, 4.5, 3.2])[grade.astype(int) - 1]
    people = np.clip(np.round(people + rng.normal(0, 0.5, 300)), 1, 5)
    inside, width = [0, 0], [0.0, 0.0]
    for _ in range(1_000):
        drawn = rng.choice(300, 40, replace=False)
        pairs = list(zip(grade[drawn].tolist(), people[drawn].tolist(), strict=True))
        one = [Stratum(300, float(grade.mean()), pairs)]
        for side, strata in enumerate((one, strata_by_grade(grade.tolist(), pairs))):
            found = corrected_mean(strata)
            inside[side] += found.low <= people.mean() <= found.high
            width[side] += found.high - found.low
    assert all(930 <= each <= 970 for each in inside)
    assert width[1] < 0.9 * width[0]


@pytest.mark.parametrize("strata", [[], [Stratum(0, 0.0, [])], [Stratum(9, 1.0, [])]])
def test_nothing_is_corrected_without_people(strata: list[Stratum]) -> None:
    assert corrected_mean(strata).value is None


def test_a_stratum_with_one_label_is_joined_to_the_next() -> None:
    pairs = [(0.0, 0.0), (0.0, 1.0)]
    found = corrected_mean(
        [Stratum(10, 0.0, [(0.0, 1.0)]), Stratum(30, 0.0, pairs), Stratum(5, 0.0, [])]
    )
    assert (found.n, found.value) == (3, pytest.approx(2 / 3))


def test_further_labels_go_where_they_take_most_from_the_variance() -> None:
    # p = 1/2 and 1/12: 400 * 1/4 / (10 * 11) = .909, 10,000 * 11/144 / 110 = 6.94: all to b at
    # first; it gets below .909 when n (n + 1) > 840, which is n = 29.
    sizes, found = {"a": 20, "b": 100}, {"a": (5, 10), "b": (0, 10)}
    assert allot_by_spread(sizes, found, 19) == {"a": 0, "b": 19}
    assert allot_by_spread(sizes, found, 20) == {"a": 1, "b": 19}
    assert allot_by_spread(sizes, {"b": (0, 10)}, 1) == {"a": 1, "b": 0}
    assert allot_by_spread({"a": 11}, {"a": (5, 10)}, 9) == {"a": 1}


DRAWS, PILOT, LABELS = 2_000, 200, 300


def read_labels(path: Path) -> dict[tuple[str, str], int]:
    rows = (line.split() for line in path.read_text().splitlines())
    return {(query, passage): int(label) for query, _, passage, label in rows}


def simulated(grade: Any, truth: Any, seed: int, draws: int = DRAWS) -> tuple[float, float]:
    """Coverage, and mean width: 200 labels in proportion to the grades, 100 where these show most
    spread."""
    rng = np.random.default_rng(seed)
    sizes = {int(g): int((grade == g).sum()) for g in np.unique(grade)}
    hits = {g: int(truth[grade == g].sum()) for g in sizes}
    pilot = allot(sizes, min(PILOT, LABELS))
    known: dict[Any, Any] = {}

    def once(key: Any, act: Callable[[], Any]) -> Any:
        if key not in known:
            known[key] = act()
        return known[key]

    inside, width = 0, 0.0
    for _ in range(draws):
        first = {g: int(rng.hypergeometric(hits[g], sizes[g] - hits[g], n)) if n else 0
                 for g, n in pilot.items()}  # fmt: skip
        found = {g: (first[g], pilot[g]) for g in sizes}
        more = once(
            tuple(first.values()), lambda f=found: allot_by_spread(sizes, f, LABELS - PILOT)
        )
        strata = []
        for g, n in more.items():
            left = hits[g] - first[g]
            right = first[g]
            right += int(rng.hypergeometric(left, sizes[g] - pilot[g] - left, n)) if n else 0
            strata.append((sizes[g], g, right, pilot[g] + n))
        mean = once(
            tuple(strata),
            lambda s=strata: corrected_mean(
                [Stratum(a, g, [(g, 1.0)] * r + [(g, 0.0)] * (n - r)) for a, g, r, n in s]
            ),
        )
        inside += mean.low <= truth.mean() <= mean.high
        width += mean.high - mean.low
    return inside / draws, width / draws


@pytest.mark.slow
def test_the_truth_is_inside_as_often_as_said_for_eleven_judges(shared) -> None:
    """TREC DL 2023 labels by people and by 11 LLM judges; what is estimated is the share of pairs
    that people grade 2 or more (docs/measurements.md)."""
    folder = shared / "llmjudge"
    if not folder.is_dir():
        pytest.skip("../shared/data/llmjudge, the labels of eleven judges, is not here.")
    people = read_labels(folder / "human_test_qrels.txt")
    truth = np.array([label >= 2 for label in people.values()], dtype=float)
    # As many labels without a judge: one stratum, drawn at once.
    n, hits = len(truth), int(truth.sum())
    drawn = np.random.default_rng(1).hypergeometric(hits, n - hits, LABELS, size=DRAWS)
    left = 1 - LABELS / n
    alone = np.mean([wilson(k / left, LABELS / left).width for k in drawn.tolist()])
    files = sorted(folder.glob("submissions/*.txt"))
    assert len(files) == 11
    for file in files:
        judge = read_labels(file)
        grade = np.array([judge[pair] for pair in people])
        coverage, width = simulated(grade, truth, seed=7)
        assert 0.94 <= coverage <= 0.96, file.name
        assert width <= 0.92 * alone, file.name


def test_people_who_saw_one_grade_alone_say_nothing_of_the_others() -> None:
    """1,000 pairs that machines call irrelevant, of which nobody saw one, and 10 relevant ones,
    all confirmed: not 100 % of 1,010."""
    confirmed = Stratum(10, 1.0, [(1.0, 1.0)] * 10)
    assert corrected_mean([Stratum(1_000, 0.0, []), confirmed]).value is None
    # A remainder of a twentieth at most is joined to its neighbour.
    assert corrected_mean([Stratum(1, 0.0, []), Stratum(20, 1.0, [(1.0, 1.0)] * 5)]).value == 1.0
