"""Turning many small writes into few: what arrives together is handled together."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Batcher(Generic[Item, Result]):
    """Collects items for `linger_s` or until `limit` and runs `work` on them in the executor.

    `work` takes the items of a group and returns one result for each, in order; what it raises
    is raised for every item of the group. While a group is at work the next one grows, so that
    groups are large exactly when there is much to do.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Item]], Sequence[Result]],
        *,
        executor: Executor,
        limit: int = 64,
        linger_s: float = 0.002,
    ) -> None:
        self._work = work
        self._executor = executor
        self._limit = limit
        self._linger_s = linger_s
        self._waiting: list[tuple[Item, asyncio.Future[Result]]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._group: asyncio.Task[None] | None = None

    def put(self, item: Item) -> "asyncio.Future[Result]":
        """Hand in an item; its result comes when its group is done."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()
        self._waiting.append((item, future))
        if len(self._waiting) >= self._limit:
            self._start()
        elif self._timer is None and self._group is None:
            self._timer = loop.call_later(self._linger_s, self._start)
        return future

    async def drain(self) -> None:
        """Wait until everything handed in is done."""
        while self._waiting or self._group:
            self._start()
            if self._group:
                await asyncio.wait([self._group])

    def _start(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._waiting and self._group is None:
            group, self._waiting = self._waiting[: self._limit], self._waiting[self._limit :]
            self._group = asyncio.create_task(self._run(group))

    async def _run(self, group: list[tuple[Item, "asyncio.Future[Result]"]]) -> None:
        items = [item for item, _ in group]
        try:
            loop = asyncio.get_running_loop()
            results = await loop.run_in_executor(self._executor, self._work, items)
            if len(results) != len(group):
                raise ValueError(f"{len(group)} items came back as {len(results)} results.")
            for (_, future), result in zip(group, results, strict=True):
                if not future.done():
                    future.set_result(result)
        except Exception as error:  # every waiting caller is told, and raises it
            _fail([future for _, future in group], error)
        finally:
            self._group = None
            self._start()


def _fail(futures: Sequence["asyncio.Future[Result]"], error: Exception) -> None:
    for future in futures:
        if not future.done():
            future.set_exception(error)
