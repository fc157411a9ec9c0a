"""Forecasts from past days: their intervals hold what they promise."""

import numpy as np
import pytest

from kit.stats.forecast import forecast


def test_many_steady_days_leave_little_doubt() -> None:
    found = forecast([4] * 1_000, 2_000)
    assert (found.days, found.per_day) == (500, 4.0)
    assert found.low is not None
    assert found.high is not None
    assert 470 < found.low < 500 < found.high < 540


def test_few_days_leave_much_doubt() -> None:
    found = forecast([1, 1, 1], 5)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 3
    assert found.high >= 10


def test_nothing_left_is_done_today() -> None:
    assert forecast([], 0).days == 0


@pytest.mark.parametrize(
    ("done", "remaining"), [([3, 4], 10), ([0] * 20, 10), ([], 5), ([1, 0, 0, 0], 10**6)]
)
def test_too_little_to_go_by_gives_no_date(done: list[int], remaining: int) -> None:
    found = forecast(done, remaining)
    assert (found.days, found.low, found.high) == (None, None, None)


@pytest.mark.parametrize("days", [7, 28])
@pytest.mark.parametrize("is_uneven", [False, True])
def test_interval_holds_the_truth_as_often_as_it_says(days: int, is_uneven: bool) -> None:
    """Past and future days of one process; uneven ones are negative binomial, variance 3 x mean."""
    rng = np.random.default_rng(11)

    def draw(count: int) -> list[int]:
        rates = rng.gamma(2.5, 2.0, count) if is_uneven else np.full(count, 5.0)
        return rng.poisson(rates).tolist()

    inside = 0
    for _ in range(600):
        found = forecast(draw(days), 150, confidence=0.9)
        assert found.low is not None
        assert found.high is not None
        truth = int(np.searchsorted(np.cumsum(draw(600)), 150)) + 1
        inside += found.low <= truth <= found.high
    # With a week of uneven days the spread itself is hardly known.
    lowest = 0.8 if is_uneven and days == 7 else 0.86
    assert lowest <= inside / 600 <= 0.96


def test_idle_days_count() -> None:
    found = forecast([7, 0] * 14, 70)
    assert found.days in range(18, 23)


def test_negative_numbers_are_an_error() -> None:
    with pytest.raises(ValueError, match="negative"):
        forecast([1, -1, 2], 3)
