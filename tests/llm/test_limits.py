"""One limit for all workers: its arithmetic, permits from the database on a clock that the test
moves; and how long to wait before another try."""

import asyncio
import itertools
import random
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from django.db import connections

from kit.runs.turns import Claimant
from llm.endpoints import Endpoint
from llm.errors import ErrorClass, Transient
from llm.gateway import Gateways
from llm.limits import LATE_S, SOMEBODY, Health, Limiter, Until, give, rate, wait_before
from llm.models import RateLimit
from tests.llm.stub import Stub, ask

pytestmark = pytest.mark.django_db(transaction=True)
Limits = tuple[int, int]


def stub(requests: int, tokens: int) -> Endpoint:
    limits = {"requests_per_minute": requests, "tokens_per_minute": tokens}
    return Endpoint("stub", "", "", False, "stub-1", **limits)


def moments(limits: Limits, sizes: Iterator[float], *, seconds: float) -> list[tuple[float, float]]:
    """When requests of these sizes are sent by somebody who asks for the next at once."""
    until, at, found = Until(0, 0), 0.0, []
    while at < seconds:
        size = next(sizes)
        until, at = give(until, limits, size, now=at)
        found.append((at, size))
    return found


@pytest.mark.parametrize("limit", [1, 2, 30, 60, 600])
def test_no_minute_sees_more_requests_than_allowed(limit: int) -> None:
    found = moments((limit, 0), itertools.repeat(0.0), seconds=150)
    # A call leaves up to LATE_S later: the worst minute is that much longer.
    for start, _ in found:
        assert sum(start <= at < start + 60 + LATE_S for at, _ in found) <= limit
    assert len(found) / (150 / 60) >= 0.9 * limit or limit == 2  # one ahead takes half of it


def test_no_minute_sees_more_tokens_than_allowed() -> None:
    rng = random.Random(5)
    sizes = iter(lambda: rng.uniform(50, 900), None)
    found = moments((0, 60_000), sizes, seconds=300)
    for start, _ in found:
        assert sum(size for at, size in found if start <= at < start + 61) <= 60_000
    assert sum(size for _, size in found) >= 0.9 * 60_000 * 5


def test_request_larger_than_a_second_waits_until_nothing_is_owed_and_owes_it() -> None:
    limits = (0, 6_000)  # 100 ahead
    until, at = give(Until(0, 0), limits, 1_000, now=10)
    assert (at, until.tokens) == (10, pytest.approx(10 + 1_000 / rate(6_000)))
    assert give(until, limits, 1, now=10)[1] == pytest.approx(10 + 901 / rate(6_000))


def test_both_limits_are_kept() -> None:
    limits = (60, 6_000)
    assert give(Until(14, 0), limits, 50, now=10)[1] == 14
    assert give(Until(0, 14), limits, 50, now=10)[1] == pytest.approx(14 - 50 / rate(6_000))
    assert give(Until(9, 9), limits, 50, now=10)[1] == 10


def test_clock_that_is_behind_waits_and_moves_nothing_back() -> None:
    until, at = give(Until(100, 0), (60, 0), 0, now=40)
    assert at == 100
    assert until.requests > 100


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


def with_limiters(
    limits: Limits, clock: Clock, count: int, use: Any, *, who: Sequence[Claimant] = ()
) -> Any:
    async def run() -> Any:
        with ThreadPoolExecutor(1) as executor:
            limiters = [
                Limiter(stub(*limits), executor=executor, clock=clock, who=each)
                for each in who or [SOMEBODY] * count
            ]
            found = await use(*limiters)
            executor.submit(connections.close_all).result()
            return found

    return asyncio.run(run())


@pytest.mark.slow
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


@pytest.mark.few
@pytest.mark.parametrize(
    ("scope", "weight", "part"), [("other", 1, 1.0), ("large", 1, 1.0), ("other", 4, 0.25)]
)
def test_a_run_that_comes_late_has_its_share_of_the_limit_at_once(
    scope: str, weight: int, part: float
) -> None:
    # 600 a minute are 10 a second: 64 calls of the large run wait at a time, the small one has 16
    # of its 80. Every event is a call's visit: when, and whose.
    clock, sent = Clock.__new__(Clock), list[tuple[float, str]]()
    left = {"large": 400 - 64, "small": 80 - 16}
    limiters = {
        name: Limiter(stub(600, 0), executor=ThreadPoolExecutor(1), clock=clock, who=who)
        for name, who in [
            ("large", Claimant(("r", 1), "large", 1)),
            ("small", Claimant(("r", 2), scope, weight)),
        ]
    }
    visits = [(1000.0, "large")] * 64 + [(1010.0, "small")] * 16
    while visits:
        clock.now, name = now = min(visits)
        together = visits.count(now)
        visits = [each for each in visits if each != now]
        for at, is_given in limiters[name]._give([(0.0, 0.0, 0)] * together):
            if is_given:
                sent.append((at, name))
                visits += [(at, name)] * (left[name] > 0)
                left[name] -= 1
            else:
                wait_s = at - clock.now
                visits.append((clock.now + wait_s - 0.25 - wait_s % 0.25, name))
    names = [name for _, name in sorted(sent)]
    assert (names.count("large"), names.count("small")) == (400, 80)
    last = len(names) - names[::-1].index("small")
    before = sum(at < 1010 for at, _ in sent)
    # Its share, two seconds' that were given before it came, and one that a run may be ahead.
    assert names[before:last].count("large") <= 80 * part + 30
    # Nothing of the limit is lost to it.
    assert max(at for at, _ in sent) - 1000 <= 480 / rate(600) + 1


def test_without_a_limit_nothing_is_asked_of_the_database(clock: Clock) -> None:
    async def use(limiter: Limiter) -> None:
        for _ in range(100):
            await limiter.permit(10_000)

    with_limiters((0, 0), clock, 1, use)
    assert RateLimit.objects.count() == 0


def test_calls_that_wait_are_given_their_moments_together(clock: Clock) -> None:
    asked: list[int] = []

    async def use(limiter: Limiter) -> None:
        give_all = limiter._moments._work
        limiter._moments._work = lambda items: asked.append(len(items)) or give_all(items)
        await asyncio.gather(*(limiter.permit(0) for _ in range(200)))

    with_limiters((6000, 0), clock, 1, use)  # a hundred ahead, and a hundred a second
    assert len(asked) <= 8


def test_a_worker_that_dies_wastes_no_more_than_two_seconds(clock: Clock) -> None:
    async def use(dead: Limiter, next_one: Limiter) -> None:
        waiting = [asyncio.create_task(dead.permit(0)) for _ in range(100)]
        await dead._moments.put((0, 0, 0))
        for each in waiting:
            each.cancel()
        await next_one.permit(0)

    with_limiters((60, 0), clock, 2, use)
    assert clock.now <= 1000 + 4


def test_nobody_waits_for_a_run_whose_worker_died(clock: Clock) -> None:
    dead, alive = (Claimant(("r", n), name, 4) for n, name in enumerate(("dead", "alive")))

    async def use(first: Limiter, second: Limiter) -> None:
        # A call each 2 s; those of the dead one stand behind one another for two minutes.
        await asyncio.gather(*(first._moments.put((0, 0, 0)) for _ in range(64)))
        for _ in range(30):
            await second.permit(0)

    with_limiters((30, 0), clock, 2, use, who=[dead, alive])
    assert clock.now <= 1000 + 30 / rate(30) + 10


def test_a_permitted_request_that_is_not_sent_comes_back(clock: Clock) -> None:
    async def use(limiter: Limiter) -> None:
        for _ in range(100):
            await limiter.permit(50)
            limiter.give_back(50)
        await limiter.permit(50)

    with_limiters((60, 6000), clock, 1, use)
    assert clock.now < 1000 + 3
    row = RateLimit.objects.get()
    assert row.requests_until == pytest.approx(clock.now + 1 / rate(60), abs=2)


def test_tokens_that_were_not_used_come_back_and_more_are_owed(clock: Clock) -> None:
    async def use(limiter: Limiter) -> None:
        await limiter.permit(60)
        limiter.correct(estimated=60, used=10)
        await limiter.permit(20)
        limiter.correct(estimated=20, used=50)
        await limiter.permit(0)

    with_limiters((0, 6000), clock, 1, use)
    owed_s = RateLimit.objects.get().tokens_until - 1000
    assert owed_s == pytest.approx((10 + 50) / rate(6000))


def test_many_at_the_same_moment_take_no_more_than_there_is() -> None:
    """Threads on the real database: nothing is lost and nothing given twice."""
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
    assert RateLimit.objects.get().requests_until == pytest.approx(now + 80 / rate(6000))


@pytest.mark.slow
def test_gateway_keeps_to_its_endpoints_limit() -> None:
    async def run() -> tuple[int, int]:
        async with Stub("yes") as stub:
            endpoint = replace(stub.endpoint, requests_per_minute=600)
            async with Gateways(known=[endpoint], concurrency=32) as gateway:
                calls = [asyncio.create_task(gateway.complete(ask(str(n)), "")) for n in range(32)]
                await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
                early = len(stub.asked)
                await asyncio.gather(*calls)
            return early, len(stub.asked)

    early, asked = asyncio.run(run())
    assert asked == 32
    assert early < 32  # ten at once, then ten a second
    assert RateLimit.objects.get().requests_until > time.time()
