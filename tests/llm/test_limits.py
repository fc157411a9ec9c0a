"""One limit for all workers: permits from the database, on a clock that the test moves."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection, connections

from llm.bucket import Rule
from llm.gateway import Gateway
from llm.limits import Limiter
from llm.models import RateLimit
from tests.llm.stub import Stub, ask

pytestmark = pytest.mark.django_db(transaction=True)


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


def with_limiters(rule: Rule, clock: Clock, count: int, use: Any) -> Any:
    async def run() -> Any:
        with ThreadPoolExecutor(1) as executor:
            limiters = [Limiter("stub", rule, executor=executor, clock=clock) for _ in range(count)]
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

    with_limiters(Rule(120, 0), clock, workers, use)
    assert all(sum(start <= at < start + 60 for at in sent) <= 120 for start in sent)
    assert len(sent) >= 0.9 * 120 * 3


def test_without_a_limit_nothing_is_asked_of_the_database(clock: Clock) -> None:
    async def use(limiter: Limiter) -> None:
        for _ in range(100):
            await limiter.permit(10_000)

    with_limiters(Rule(0, 0), clock, 1, use)
    assert RateLimit.objects.count() == 0


def test_permits_are_taken_in_chunks_and_the_rest_is_given_back(clock: Clock) -> None:
    async def use(limiter: Limiter) -> int:
        await asyncio.gather(*(limiter.permit(0) for _ in range(64)))
        moves = await asyncio.to_thread(version)
        await limiter.permit(0)
        await limiter.close()
        return moves

    moves = with_limiters(Rule(6000, 0), clock, 1, use)  # a bucket of 100
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

    with_limiters(Rule(0, 6000), clock, 1, use)  # a bucket of 100
    assert RateLimit.objects.get().tokens == pytest.approx(100 - 10 - 50)


def test_many_at_the_same_moment_take_no_more_than_there_is() -> None:
    """Threads on the real database: compare-and-set loses nothing and grants nothing twice."""
    rule, now, granted = Rule(6000, 0), 500.0, []

    def take(count: int) -> None:
        async def use() -> None:
            with ThreadPoolExecutor(1) as executor:
                limiter = Limiter("stub", rule, executor=executor, clock=lambda: now)
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
            async with Gateway(endpoint, concurrency=32, owner="w") as gateway:
                calls = [asyncio.create_task(gateway.complete(ask(str(n)), "")) for n in range(32)]
                await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
                early = len(stub.asked)
                await asyncio.gather(*calls)
            return early, len(stub.asked)

    early, asked = asyncio.run(run())
    assert asked == 32
    assert early < 32  # a bucket of ten, then ten a second
    assert RateLimit.objects.get().requests < 10
