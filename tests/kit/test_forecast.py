"""Forecasts from past days: what is certain is exact, what is not has an interval."""

import numpy as np
import pytest

from kit.stats.forecast import forecast


def draw(done, remaining, **more):
    return forecast(done, remaining, np.random.default_rng(7), **more)


def test_the_same_number_every_day_leaves_no_doubt() -> None:
    found = draw([4] * 10, 21)
    assert (found.low, found.days, found.high, found.per_day) == (6, 6, 6, 4.0)


def test_nothing_left_is_done_today() -> None:
    assert draw([], 0).days == 0


@pytest.mark.parametrize(
    ("done", "remaining"), [([3, 4], 10), ([0] * 20, 10), ([], 5), ([1, 0, 0, 0], 10**6)]
)
def test_too_little_to_go_by_gives_no_date(done: list[int], remaining: int) -> None:
    found = draw(done, remaining)
    assert (found.days, found.low, found.high) == (None, None, None)


def test_interval_holds_the_share_of_futures_that_it_promises() -> None:
    """Days are Poisson; the true waiting time falls inside about as often as it says."""
    rng = np.random.default_rng(11)
    inside = 0
    for _ in range(200):
        past = rng.poisson(5, 28)
        found = draw(past.tolist(), 150, draws=300, confidence=0.9)
        assert found.low is not None
        assert found.high is not None
        truth = int(np.searchsorted(np.cumsum(rng.poisson(5, 200)), 150)) + 1
        inside += found.low <= truth <= found.high
    # The rate itself is not known, only its 28 days: some less than promised.
    assert 0.6 <= inside / 200 <= 0.97


def test_idle_days_count() -> None:
    assert draw([7, 0] * 14, 70).days in range(17, 24)


def test_negative_numbers_are_an_error() -> None:
    with pytest.raises(ValueError, match="negative"):
        draw([1, -1, 2], 3)
