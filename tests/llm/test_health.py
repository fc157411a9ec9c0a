"""Calls while an endpoint is in trouble: held back, tried one at a time, and given up."""

import asyncio
from typing import Any

import pytest

from llm.errors import ErrorClass, Outage, Permanent, Transient
from llm.limits import Health

pytestmark = pytest.mark.usefixtures("quick")
DOWN = Transient("HTTP 503: down", status=503)


class Place:
    """An endpoint that fails so many times; it remembers how many were in it at once."""

    def __init__(self, fails: int, error: Transient = DOWN) -> None:
        self.health = Health()
        self.fails, self.error = fails, error
        self.tries = self.inside = 0
        self.crowds: list[int] = []

    async def call(self) -> str:
        """Ask until there is an answer."""
        while True:
            async with self.health.place():
                self.tries += 1
                is_up = self.tries > self.fails
                self.inside += 1
                self.crowds.append(self.inside)
                await asyncio.sleep(0)
                self.inside -= 1
                self.health.note(None if is_up else self.error)
            if is_up:
                return "yes"

    async def crowd(self, size: int) -> list[Any]:
        calls = (self.call() for _ in range(size))
        return await asyncio.gather(*calls, return_exceptions=True)


def test_in_an_outage_one_call_tries_while_the_others_wait_and_then_all_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("llm.limits.PATIENCE", 50)
    place = Place(fails=40)
    assert asyncio.run(place.crowd(16)) == ["yes"] * 16
    assert set(place.crowds[32:41]) == {1}
    assert max(place.crowds[41:]) > 1
    assert place.tries == 40 + 16


def test_after_enough_tries_everybody_is_sent_home_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("llm.limits.PATIENCE", 5)
    place = Place(fails=10**9)
    results = asyncio.run(place.crowd(16))
    assert {type(result) for result in results} == {Outage}
    assert {(str(each), each.status) for each in results} == {("HTTP 503: down", 503)}
    assert 13 <= place.tries <= 13 + 16  # those under way when it was given up had been sent


def test_few_failures_hold_nobody_back() -> None:
    place = Place(fails=7)
    asyncio.run(place.crowd(4))
    assert max(place.crowds) == 4


@pytest.mark.parametrize("result", [None, Permanent("HTTP 400: no", status=400)])
def test_any_answer_shows_that_the_endpoint_lives(result: Permanent | None) -> None:
    health = Health()
    for _ in range(8):
        health.note(DOWN)
    assert health.is_open
    health.note(result)
    assert not health.is_open


def test_call_that_we_ended_ourselves_says_nothing_of_the_endpoint() -> None:
    health = Health()
    for _ in range(8):
        health.note(Transient("called off", error_class=ErrorClass.CALLED_OFF))
    assert not health.is_open


def test_what_one_call_is_told_to_wait_all_wait() -> None:
    async def run() -> float:
        health, loop = Health(), asyncio.get_running_loop()

        async def go() -> None:
            async with health.place():
                pass

        begun = loop.time()
        health.note(Transient("HTTP 429: x", status=429, retry_after=0.2))
        await asyncio.gather(*(go() for _ in range(5)))
        return loop.time() - begun

    assert asyncio.run(run()) >= 0.2


def test_waiter_that_is_called_off_does_not_block_the_next() -> None:
    async def run() -> str:
        place = Place(fails=0)
        for _ in range(8):
            place.health.note(DOWN)
        async with place.health.place():
            waiter = asyncio.create_task(place.call())
            await asyncio.sleep(0)
            waiter.cancel()
        return await place.call()

    assert asyncio.run(run()) == "yes"
