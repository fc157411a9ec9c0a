"""The arithmetic of a shared limit: no minute sees more than is allowed, and little is left."""

import random

import pytest

from llm.bucket import LEASE_S, Bucket, Rule, Taken, Wanted, full, refilled, returned, take


def one(tokens: float = 0.0) -> Wanted:
    return Wanted(requests=1, tokens=tokens, first_tokens=tokens)


def grants(rule: Rule, wanted: Wanted, *, seconds: float, seed: int) -> list[tuple[float, Taken]]:
    """When what was taken by somebody who asks again as soon as it is worth it."""
    rng, now, bucket, found = random.Random(seed), 0.0, full(rule, now=0.0), []
    while now < seconds:
        bucket, taken = take(bucket, rule, wanted, now=now)
        if taken.requests:
            found.append((now, taken))
        now += taken.wait_s + rng.expovariate(20)
    return found


@pytest.mark.parametrize("limit", [1, 2, 30, 60, 600])
@pytest.mark.parametrize("chunk", [1, 16])
def test_no_minute_sees_more_requests_than_allowed(limit: int, chunk: int) -> None:
    wanted = Wanted(requests=chunk, tokens=0, first_tokens=0)
    found = grants(Rule(limit, 0), wanted, seconds=150, seed=limit)
    # A worker uses what it took up to LEASE_S later: the worst minute is that much longer.
    for start, _ in found:
        within = [t.requests for at, t in found if start <= at < start + 60 + LEASE_S]
        assert sum(within) <= limit
    used = sum(taken.requests for _, taken in found) / (150 / 60)
    assert used >= 0.8 * limit or limit < 10  # of a single request half is the wait for it


def test_no_minute_sees_more_tokens_than_allowed() -> None:
    rng = random.Random(5)
    rule, now, bucket, found = Rule(0, 60_000), 0.0, full(Rule(0, 60_000), now=0.0), []
    while now < 300:
        size = rng.uniform(50, 900)
        bucket, taken = take(bucket, rule, one(size), now=now)
        if taken.requests:
            found.append((now, size))
        now += taken.wait_s + 0.001
    for start, _ in found:
        assert sum(size for at, size in found if start <= at < start + 61) <= 60_000
    assert sum(size for _, size in found) >= 0.9 * 60_000 * 5


def test_wait_is_told_exactly() -> None:
    rule = Rule(61, 0)  # a bucket of 61/60, filled by (61 - 61/60) / 61 = 59/60 a second
    bucket, first = take(full(rule, now=0), rule, one(), now=0)
    bucket, second = take(bucket, rule, one(), now=0)
    assert (first.requests, second.requests) == (1, 0)
    assert second.wait_s == pytest.approx((1 - 1 / 60) / (59 / 60))
    assert take(bucket, rule, one(), now=second.wait_s)[1].requests == 1


def test_request_larger_than_the_bucket_goes_through_a_full_one_and_leaves_a_debt() -> None:
    rule = Rule(0, 6_000)  # a bucket of 100
    bucket, taken = take(full(rule, now=0), rule, one(1_000), now=0)
    assert (taken.requests, bucket.tokens) == (1, -900)
    assert take(bucket, rule, one(1), now=0)[1].wait_s == pytest.approx(901 / rule.rate[1])


def test_both_limits_are_kept() -> None:
    rule = Rule(60, 6_000)
    _, no_tokens = take(Bucket(1, 0, 0), rule, one(50), now=0)
    _, no_request = take(Bucket(0, 100, 0), rule, one(50), now=0)
    _, enough = take(Bucket(1, 50, 0), rule, one(50), now=0)
    assert [no_tokens.requests, no_request.requests, enough.requests] == [0, 0, 1]


def test_clock_that_is_behind_fills_nothing_and_moves_nothing_back() -> None:
    rule = Rule(600, 0)
    assert refilled(Bucket(3, 1, 100.0), rule, now=40.0) == Bucket(3, 1, 100.0)


def test_what_is_given_back_never_overfills() -> None:
    rule = Rule(600, 6_000)
    assert returned(Bucket(9, 90, 0), rule, requests=5, tokens=50) == Bucket(10, 100, 0)
    assert returned(Bucket(9, 90, 0), rule, requests=0, tokens=-200) == Bucket(9, -110, 0)
