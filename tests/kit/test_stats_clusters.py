"""Shares of votes that hang together: wider than if they did not, and at their level."""

import numpy as np
import pytest

from kit.stats.clusters import EXACT, ONE_CLUSTER, clustered_mean, clustered_share
from kit.stats.proportions import wilson


def test_nothing_and_one_cluster() -> None:
    assert clustered_share([], [], []).value is None
    found = clustered_share([True, False], ["a", "b"], ["x", "x"])
    assert (found.value, found.interval, found.reason) == (0.5, None, ONE_CLUSTER)


def test_the_same_votes_three_times_say_no_more_than_once() -> None:
    hits = [True] * 30 + [False] * 20
    once = clustered_share(hits, range(50))
    thrice = clustered_share(hits * 3, list(range(50)) * 3)
    assert thrice.value == once.value == 0.6
    assert thrice.interval is not None
    assert once.interval is not None
    assert thrice.interval.width == pytest.approx(once.interval.width, rel=0.05)
    # Where every vote is an item of its own, it is Wilson's within the drawing's error.
    assert once.interval.low == pytest.approx(wilson(30, 50).low, abs=0.02)
    assert once.interval.high == pytest.approx(wilson(30, 50).high, abs=0.02)
    assert thrice.interval.width > 1.5 * wilson(90, 150).width


def test_one_person_who_errs_widens_the_interval() -> None:
    people = [person for person in range(6) for _ in range(40)]
    hits = [person != 0 for person in people]
    items = [place % 80 for place in range(240)]
    found = clustered_share(hits, items, people)
    assert found.interval is not None
    assert found.clusters == 6
    assert found.interval.width > 3 * wilson(200, 240).width
    assert 0 < found.interval.low < found.interval.high < 1


def test_without_a_miss_the_bound_is_that_of_the_clusters() -> None:
    found = clustered_share(
        [True] * 300, list(range(100)) * 3, [p for p in range(3) for _ in range(100)]
    )
    assert found.interval is not None
    assert found.interval.method == EXACT
    assert found.interval.low == pytest.approx(0.2924, abs=1e-4)  # 0.025 ** (1 / 3)


def test_means_of_seconds() -> None:
    found = clustered_mean([10.0, 12.0, 30.0, 33.0], [1, 1, 2, 2], [1, 2, 1, 2])
    assert found.value == 21.25
    assert found.interval is not None
    assert found.interval.low < 10 < 33 < found.interval.high


def test_coverage_on_votes_of_hard_items_and_weak_people() -> None:
    """Items are hard or easy, people good or weak; 60 items, 12 people, 3 votes an item."""
    rng = np.random.default_rng(7)
    held = naive = 0
    for _ in range(40):
        items = np.repeat(np.arange(60), 3)
        people = np.concatenate([rng.choice(12, 3, replace=False) for _ in range(60)])
        logits = 1 + 1.2 * rng.normal(size=60)[items] + 0.8 * rng.normal(size=12)[people]
        hits = rng.random(180) < 1 / (1 + np.exp(-logits))
        found = clustered_share(hits.tolist(), items.tolist(), people.tolist())
        assert found.interval is not None
        held += found.interval.low <= TRUTH <= found.interval.high
        plain = wilson(int(hits.sum()), 180)
        naive += plain.low <= TRUTH <= plain.high
    # Of 400 such sets it holds in 94.8 %, Wilson's interval of 180 votes in 80.5 %.
    assert held >= 36
    assert naive < held


# The share over all items and people of that kind: the mean of 1 / (1 + exp(-x)) for a normal x
# of mean 1 and variance 1.2 ** 2 + 0.8 ** 2.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
TRUTH = float(
    (_WEIGHTS / (1 + np.exp(-(1 + np.sqrt(1.2**2 + 0.8**2) * _NODES)))).sum() / _WEIGHTS.sum()
)
