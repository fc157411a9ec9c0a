"""One limit for all workers: its arithmetic, permits from the database on a clock that the test
moves; and how long to wait before another try."""

import asyncio
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection, connections

from llm.endpoints import Endpoint
from llm.errors import ErrorClass, Transient
from llm.gateway import Gateways
from llm.limits import LEASE_S, Bucket, Grant, Health, Limiter, exchange, rate, wait_before
from llm.models import RateLimit
from tests.llm.stub import Stub, ask

pytestmark = pytest.mark.django_db(transaction=True)
Limits = tuple[int, int]


def stub(requests: int, tokens: int) -> Endpoint:
    limits = {"requests_per_minute": requests, "tokens_per_minute": tokens}
    return Endpoint("stub", "", "", False, "stub-1", **limits)


def full(limits: Limits, now: float = 0.0) -> Bucket:
    """A bucket that nobody has used yet."""
    return exchange(Bucket(0, 0, now - 1e6), limits, now=now)[0]


def grants(limits: Limits, *, count: int, seconds: float) -> list[tuple[float, Grant]]:
    """When what was granted by somebody who asks again as soon as it is worth it."""
    rng, now, bucket, found = random.Random(limits[0]), 0.0, full(limits), []
    while now < seconds:
        bucket, granted = exchange(bucket, limits, now=now, count=count)
        if granted.requests:
            found.append((now, granted))
        now += granted.wait_s + rng.expovariate(20)
    return found


@pytest.mark.parametrize("limit", [1, 2, 30, 60, 600])
@pytest.mark.parametrize("count", [1, 16])
def test_no_minute_sees_more_requests_than_allowed(limit: int, count: int) -> None:
    found = grants((limit, 0), count=count, seconds=150)
    # A worker uses what it took up to LEASE_S later: the worst minute is that much longer.
    for start, _ in found:
        within = [t.requests for at, t in found if start <= at < start + 60 + LEASE_S]
        assert sum(within) <= limit
    used = sum(granted.requests for _, granted in found) / (150 / 60)
    assert used >= 0.8 * limit or limit < 10  # of a single request half is the wait for it


def test_no_minute_sees_more_tokens_than_allowed() -> None:
    rng, limits, now, found = random.Random(5), (0, 60_000), 0.0, []
    bucket = full(limits)
    while now < 300:
        size = rng.uniform(50, 900)
        bucket, granted = exchange(bucket, limits, now=now, count=1, each=size)
        if granted.requests:
            found.append((now, size))
        now += granted.wait_s + 0.001
    for start, _ in found:
        assert sum(size for at, size in found if start <= at < start + 61) <= 60_000
    assert sum(size for _, size in found) >= 0.9 * 60_000 * 5


def test_wait_is_told_exactly() -> None:
    limits = (61, 0)  # a bucket of 61/60, filled by (61 - 61/60) / 61 = 59/60 a second
    bucket, first = exchange(full(limits), limits, now=0, count=1)
    bucket, second = exchange(bucket, limits, now=0, count=1)
    assert (first.requests, second.requests) == (1, 0)
    assert second.wait_s == pytest.approx((1 - 1 / 60) / (59 / 60))
    assert exchange(bucket, limits, now=second.wait_s, count=1)[1].requests == 1


def test_request_larger_than_the_bucket_goes_through_a_full_one_and_leaves_a_debt() -> None:
    limits = (0, 6_000)  # a bucket of 100
    bucket, granted = exchange(full(limits), limits, now=0, count=1, each=1_000)
    assert (granted.requests, bucket.tokens) == (1, -900)
    wait_s = exchange(bucket, limits, now=0, count=1, each=1)[1].wait_s
    assert wait_s == pytest.approx(901 / rate(6_000))


@pytest.mark.parametrize(
    ("requests", "tokens", "got"), [(1, 0, 0), (0, 100, 0), (1, 50, 1)], ids=str
)
def test_both_limits_are_kept(requests: int, tokens: int, got: int) -> None:
    bucket = Bucket(requests, tokens, 0)
    assert exchange(bucket, (60, 6_000), now=0, count=1, each=50)[1].requests == got


def test_clock_that_is_behind_fills_nothing_and_moves_nothing_back() -> None:
    assert exchange(Bucket(3, 1, 100.0), (600, 0), now=40.0)[0] == Bucket(3, 1, 100.0)


def test_what_is_given_back_never_overfills() -> None:
    bucket, limits = Bucket(9, 90, 0), (600, 6_000)
    assert exchange(bucket, limits, now=0, back=(5, 50))[0] == Bucket(10, 100, 0)
    assert exchange(bucket, limits, now=0, back=(0, -200))[0] == Bucket(9, -110, 0)


def test_waits_are_anything_up_to_a_bound_that_doubles_up_to_the_cap() -> None:
    for attempt, longest in [(1, 0.5), (2, 1), (3, 2), (7, 30), (5000, 30)]:
        waits = [wait_before(attempt, retry_after=None) for _ in range(400)]
        assert 0 <= min(waits) < longest * 0.05
        assert longest * 0.95 < max(waits) <= longest
        assert longest * 0.4 < sum(waits) / 400 < longest * 0.6


def test_what_the_endpoint_asks_for_goes_first_up_to_a_cap() -> None:
    assert 7 <= wait_before(1, retry_after=7) <= 7.7
    assert 120 <= wait_before(1, retry_after=900) <= 132


@pytest.mark.parametrize(
    ("error_class", "attempts"), [("rate_limit", 8), ("server", 5), ("timeout", 3)]
)
def test_attempts_are_counted_by_class(error_class: str, attempts: int) -> None:
    error, health = Transient("later", error_class=ErrorClass(error_class)), Health()
    health.note(None)  # it is at work, so the request itself is to blame
    assert not health.is_spent(error, attempts - 1, signs=0)
    assert health.is_spent(error, attempts, signs=0)


class Clock:
    """Seconds that pass as fast as somebody sleeps; two who sleep at once share them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        real = asyncio.sleep

        async def sleep(seconds: float) -> None:
            until = self.now + seconds
            await real(0)
            self.now = max(self.now, until)

        monkeypatch.setattr("llm.limits.asyncio.sleep", sleep)

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def with_limiters(limits: Limits, clock: Clock, count: int, use: Any) -> Any:
    async def run() -> Any:
        with ThreadPoolExecutor(1) as executor:
            limiters = [
                Limiter(stub(*limits), executor=executor, clock=clock) for _ in range(count)
            ]
            found = await use(*limiters)
            executor.submit(connections.close_all).result()
            return found

    return asyncio.run(run())


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_together_stay_below_the_limit_and_near_it(clock: Clock, workers: int) -> None:
    sent: list[float] = []

    async def send(limiter: Limiter) -> None:
        while clock.now < 1180:
            await limiter.permit(0)
            sent.append(clock.now)

    async def use(*limiters: Limiter) -> None:
        await asyncio.gather(*(send(limiter) for limiter in limiters))

    with_limiters((120, 0), clock, workers, use)
    assert all(sum(start <= at < start + 60 for at in sent) <= 120 for start in sent)
    assert len(sent) >= 0.9 * 120 * 3


def test_without_a_limit_nothing_is_asked_of_the_database(clock: Clock) -> None:
    async def use(limiter: Limiter) -> None:
        for _ in range(100):
            await limiter.permit(10_000)

    with_limiters((0, 0), clock, 1, use)
    assert RateLimit.objects.count() == 0


def test_permits_are_taken_in_chunks_and_the_rest_is_given_back(clock: Clock) -> None:
    async def use(limiter: Limiter) -> int:
        await asyncio.gather(*(limiter.permit(0) for _ in range(64)))
        moves = await asyncio.to_thread(version)
        await limiter.permit(0)
        await limiter.close()
        return moves

    moves = with_limiters((6000, 0), clock, 1, use)  # a bucket of 100
    assert moves <= 3
    assert RateLimit.objects.get().requests == 35


def version() -> int:
    try:
        return RateLimit.objects.get().version
    finally:
        connection.close()


def test_tokens_that_were_not_used_come_back_and_more_are_owed(clock: Clock) -> None:
    async def use(limiter: Limiter) -> None:
        await limiter.permit(60)
        limiter.correct(estimated=60, used=10)
        await limiter.permit(20)
        limiter.correct(estimated=20, used=50)
        await limiter.close()

    with_limiters((0, 6000), clock, 1, use)  # a bucket of 100
    assert RateLimit.objects.get().tokens == pytest.approx(100 - 10 - 50)


def test_many_at_the_same_moment_take_no_more_than_there_is() -> None:
    """Threads on the real database: nothing is lost and nothing granted twice."""
    now, granted = 500.0, []

    def take(count: int) -> None:
        async def use() -> None:
            with ThreadPoolExecutor(1) as executor:
                limiter = Limiter(stub(6000, 0), executor=executor, clock=lambda: now)
                for _ in range(count):
                    async with asyncio.timeout(30):
                        await limiter.permit(0)
                    granted.append(1)
                executor.submit(connections.close_all).result()

        asyncio.run(use())

    threads = [threading.Thread(target=take, args=(10,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 80
    assert RateLimit.objects.get().requests == 100 - 80


def test_gateway_keeps_to_its_endpoints_limit() -> None:
    async def run() -> tuple[int, int]:
        async with Stub("yes") as stub:
            endpoint = replace(stub.endpoint, requests_per_minute=600)
            async with Gateways(known=[endpoint], concurrency=32, owner="w") as gateway:
                calls = [asyncio.create_task(gateway.complete(ask(str(n)), "")) for n in range(32)]
                await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
                early = len(stub.asked)
                await asyncio.gather(*calls)
            return early, len(stub.asked)

    early, asked = asyncio.run(run())
    assert asked == 32
    assert early < 32  # a bucket of ten, then ten a second
    assert RateLimit.objects.get().requests < 10
