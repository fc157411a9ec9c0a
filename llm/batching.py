"""Work that is cheaper in groups: rows to be written, permits to be taken."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Generic, TypeVar

T = TypeVar("T")
Item = TypeVar("Item")


class Batcher(Generic[Item, T]):
    """Turns many small writes into few: what arrives within `linger_s` is worked on together.

    `work` takes the items of a group and returns one result for each, in order; what it raises
    is raised for every item of the group. While a group is at work the next one grows, so that
    groups are large exactly when there is much to do.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Item]], Sequence[T]],
        *,
        executor: Executor,
        limit: int = 256,
        linger_s: float = 0.002,
    ) -> None:
        self._work, self._executor = work, executor
        self._limit, self._linger_s = limit, linger_s
        self._waiting: list[tuple[Item, asyncio.Future[T]]] = []
        self._at_work: asyncio.Task[None] | None = None
        # Set when the group that grows need not wait for more.
        self._is_due = asyncio.Event()

    def put(self, item: Item) -> "asyncio.Future[T]":
        """Hand in an item; its result comes when its group is done."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._waiting.append((item, future))
        if self._at_work is None:
            self._is_due.clear()
            loop.call_later(self._linger_s, self._is_due.set)
            self._at_work = loop.create_task(self._work_all())
        return future

    async def drain(self) -> None:
        """Wait until everything handed in is done; nothing waits for company any more."""
        if self._at_work:
            self._is_due.set()
            await asyncio.wait([self._at_work])

    async def _work_all(self) -> None:
        await self._is_due.wait()
        loop = asyncio.get_running_loop()
        while group := self._waiting[: self._limit]:
            del self._waiting[: self._limit]
            items = [item for item, _ in group]
            try:
                results = await loop.run_in_executor(self._executor, self._work, items)
                for (_, future), result in zip(group, results, strict=True):
                    if not future.done():
                        future.set_result(result)
            except Exception as error:  # every waiting caller raises it
                for _, future in group:
                    if not future.done():
                        future.set_exception(error)
        self._at_work = None
