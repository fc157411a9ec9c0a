"""Single flight: who asks the same at the same time shares one answer."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")


@dataclass(slots=True, eq=False)
class Flight(Generic[Result]):
    """One piece of work under way, and how many wait for it."""

    key: str
    task: "asyncio.Task[Result]"
    waiting: int = 0


class Flights(Generic[Result]):
    """The work under way, by key. It is cancelled when nobody waits for it any more."""

    def __init__(self) -> None:
        self._by_key: dict[str, Flight[Result]] = {}
        self._tasks: set[asyncio.Task[Result]] = set()

    def find(self, key: str) -> Flight[Result] | None:
        """The flight that may still be joined, if there is one."""
        return self._by_key.get(key)

    def start(self, key: str, work: Coroutine[Any, Any, Result]) -> Flight[Result]:
        """Set the work going under a key that has no flight; join it at once."""
        flight = Flight(key, asyncio.create_task(work))
        self._by_key[key] = flight
        self._tasks.add(flight.task)
        flight.task.add_done_callback(self._tasks.discard)
        return flight

    async def join(self, flight: Flight[Result]) -> Result:
        """The result of the flight. One waiter that is cancelled leaves it to the others."""
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting or flight.task.done():
                self._land(flight)

    async def cancel(self) -> None:
        """Cancel everything under way and wait for its end."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _land(self, flight: Flight[Result]) -> None:
        """Nobody may join any more: it is done, or about to be cancelled."""
        flight.task.cancel()
        if self._by_key.get(flight.key) is flight:
            del self._by_key[flight.key]
