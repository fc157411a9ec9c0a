"""How long to wait before the next try."""

import random
from datetime import UTC, datetime

import pytest

from llm.errors import ErrorClass, Transient
from llm.waiting import Backoff, Policy, retry_after

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Fri, 02 Jan 2026 03:04:15 GMT"}, 10.0),
        ({"retry-after": "Fri, 02 Jan 2026 03:00:00 GMT"}, 0.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_retry_after_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=NOW) == seconds


def test_waits_are_anything_up_to_a_bound_that_doubles_up_to_the_cap() -> None:
    backoff = Backoff(first_s=1, cap_s=8)
    rng = random.Random(1)
    for attempt, full in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 8), (5000, 8)]:
        waits = [backoff.delay(attempt, retry_after=None, rng=rng) for _ in range(400)]
        assert 0 <= min(waits) < full * 0.05
        assert full * 0.95 < max(waits) <= full
        assert full * 0.4 < sum(waits) / 400 < full * 0.6


@pytest.mark.parametrize(
    ("error_class", "attempts"), [("rate_limit", 8), ("server", 5), ("timeout", 3)]
)
def test_attempts_are_counted_by_class(error_class: str, attempts: int) -> None:
    error = Transient("later", error_class=ErrorClass(error_class))
    assert not Policy().is_spent(error, attempts - 1)
    assert Policy().is_spent(error, attempts)


def test_what_the_endpoint_asks_for_goes_first_up_to_a_cap() -> None:
    backoff = Backoff(retry_after_cap_s=20)
    rng = random.Random(1)
    assert 7 <= backoff.delay(1, retry_after=7, rng=rng) <= 7.7
    assert 20 <= backoff.delay(1, retry_after=90, rng=rng) <= 22


def test_the_same_seed_waits_alike() -> None:
    waits = [Backoff().delay(2, retry_after=None, rng=random.Random(5)) for _ in range(2)]
    assert waits[0] == waits[1]
