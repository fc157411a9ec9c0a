"""Driving a run of calls: many items at once in one worker process, results stored in groups.

Rooms say what an item is, what is done with it and how results are stored; money, pace, outages
and the end of a drive are the same for all. A pump that dies loses nothing: whoever claims the run
next works on the waiting items again, and answers that were paid for come from the ledger.

One worker process drives a run at a time: the run's lease covers all of its items, and the fence
of that one claim goes into every write.
"""

import asyncio
import contextlib
import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeVar

from django.conf import settings
from django.db import connection

from kit.runs import Stopping, stopping, worker_id
from llm.endpoints import Endpoint
from llm.failures import HALTS, Blame, Failure
from llm.gateways import Gateways
from llm.lost_calls import CALL_DEADLINE_S, Lookout
from llm.paying import AskingRun, budget_words, open_account
from llm.streak import Heard, Streak, outage

T = TypeVar("T")
GROUP: Final = 50
GROUP_SECONDS: Final = 0.3
_HEARTBEATS_PER_LEASE = 4
# Items that fail in a row, at least, before it is the endpoint and not they.
_OUTAGE = 20
# Told to end, a drive sends nothing more and gives calls in flight so long for their answers,
# which are paid for; then what the items made of them is stored.
_GRACE_S: Final = 4.0
_LAST_WORDS_S: Final = 0.3
# How long a thread keeps the interpreter to itself. A call needs it many times for moments, and
# the database's thread for long: with Python's 5 ms every call waits for that, several times.
_SWITCH_S: Final = 0.0005


class Keyed(Protocol):
    """An item of a run: a row that waits for its outcome."""

    @property
    def pk(self) -> Any: ...


class Held(Protocol):
    """What a drive holds of its run: the run itself, or a part that workers share."""

    def beat(self, **fields: Any) -> None: ...
    def release(self) -> None: ...
    def pause(self, **fields: Any) -> None: ...


ItemT = TypeVar("ItemT", bound=Keyed)
ResultT = TypeVar("ResultT", bound=Heard)


class Pump(ABC, Generic[ItemT, ResultT]):
    """One worker's drive of one run. All database work happens in a thread of its own."""

    # What people call the items, one and many.
    words: tuple[str, str] = ("item", "items")

    def __init__(
        self,
        run: AskingRun,
        endpoint: Endpoint | None,
        *,
        seconds: float | None,
        group_seconds: float = GROUP_SECONDS,
        held: Held | None = None,
    ) -> None:
        self._run, self._endpoint, self._held = run, endpoint, held or run
        self._is_fresh = run.done == 0
        self._ends_at = math.inf if seconds is None else time.monotonic() + seconds
        self._is_cut = False
        self._halted_by: Failure | None = None
        most = max(_OUTAGE, 2 * run.calls_in_flight)
        self._streak: Streak[ResultT] = Streak(most, words=self.words)
        self._group_seconds = group_seconds
        self._results: asyncio.Queue[ResultT | None] = asyncio.Queue(maxsize=4 * GROUP)
        self._under_way: set[asyncio.Task[None]] = set()
        self._database = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pump-db")

    @abstractmethod
    def read_page(self, after: int) -> Sequence[ItemT]:
        """The next waiting items behind that key, in the order of their keys."""

    @abstractmethod
    async def work(self, item: ItemT, gateways: Gateways) -> ResultT:
        """Carry one item to its result."""

    @abstractmethod
    def store(self, results: Sequence[ResultT]) -> None:
        """Write results in one transaction. Raises LostLease."""

    @abstractmethod
    def close(self) -> None:
        """Finish the run: nothing waits any more."""

    @abstractmethod
    def waiting(self) -> str:
        """What waits for its outcome, such as "3 pairs"."""

    async def run_to_end(self) -> None:
        """Feed, work, write and beat until nothing waits or the time is up."""
        sys.setswitchinterval(min(_SWITCH_S, sys.getswitchinterval()))
        try:
            account = await self._db(partial(open_account, self._run))
            gateways = Gateways(
                concurrency=self._run.calls_in_flight,
                owner=worker_id(),
                known=[self._endpoint] if self._endpoint else [],
                deadline_s=CALL_DEADLINE_S,
                account_id=account.pk,
                must_be_priced=account.limit_units is not None,
                # A database with a single writer: two threads would only wait for its lock.
                executor=self._database if connection.vendor == "sqlite" else None,
            )
            async with gateways:
                await self._until_done(gateways)
            await self._db(self._leave)
        finally:
            await self._db(lambda: connection.close())  # the thread's own connection
            self._database.shutdown(wait=False)

    async def _until_done(self, gateways: Gateways) -> None:
        writer = asyncio.create_task(self._write())
        beat = asyncio.create_task(self._beat())
        feed = asyncio.create_task(self._work_all(gateways))
        try:
            await _first_of(feed, writer, beat)  # a lost lease or a fault in any ends all
            await self._results.put(None)
            await _first_of(writer, beat)
            is_last = not (self._is_cut or self._halted_by)
            rest = self._streak.end(is_last=is_last, is_fresh=self._is_fresh)
            await self._db(partial(self.store, rest))
        except BaseException:
            await self._wind_down(gateways, feed, writer)
            raise
        finally:
            for task in (feed, writer, beat):
                task.cancel()
            await asyncio.gather(feed, writer, beat, return_exceptions=True)

    def _leave(self) -> None:
        """Finish the run, or give it back, or pause it with words for people."""
        if self._halted_by is None:
            self._held.release() if self._is_cut else self.close()
            return
        if self._halted_by.blame is Blame.BUDGET:
            words = budget_words(self._run, waiting=self.waiting())
        else:
            words = outage(self._halted_by.words, many=self.words[1])
        self._held.pause(pause_reason=words, error=words)

    async def _wind_down(
        self, gateways: Gateways, feed: "asyncio.Task[None]", writer: "asyncio.Task[None]"
    ) -> None:
        """Take what is on its way, and store what there is of it."""
        await gateways.wind_down(grace_s=_GRACE_S)
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=_LAST_WORDS_S)
        feed.cancel()
        await asyncio.gather(feed, return_exceptions=True)
        if not writer.done():
            ended = asyncio.create_task(self._results.put(None))
            # It ends by itself, or by losing the lease: then the answers are in the ledger.
            await asyncio.wait([writer])
            ended.cancel()

    async def _work_all(self, gateways: Gateways) -> None:
        # Twice as many items as calls, so that a slow one never leaves a call's place empty.
        places = asyncio.Semaphore(2 * self._run.calls_in_flight)
        async with asyncio.TaskGroup() as group:
            async for item in self._waiting():
                await places.acquire()
                if self._halted_by:
                    break
                if time.monotonic() >= self._ends_at:
                    self._is_cut = True
                    break
                task = group.create_task(self._work(item, gateways))
                self._under_way.add(task)
                task.add_done_callback(self._under_way.discard)
                task.add_done_callback(lambda _: places.release())

    async def _waiting(self) -> AsyncIterator[ItemT]:
        last = 0
        while page := await self._db(partial(self.read_page, last)):
            for item in page:
                yield item
            last = page[-1].pk

    async def _work(self, item: ItemT, gateways: Gateways) -> None:
        result = await self.work(item, gateways)
        if result.failure and result.failure.blame in HALTS:
            self._halted_by = result.failure  # the item goes on waiting
        else:
            await self._results.put(result)

    async def _write(self) -> None:
        """Store results, in groups, until None says that no more will come."""
        is_over = False
        while not is_over:
            group = [await self._results.get()]
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._group_seconds):
                    while len(group) < GROUP and group[-1] is not None:
                        group.append(await self._results.get())
            is_over = group[-1] is None
            ready, stop = self._streak.sift([result for result in group if result])
            if ready:
                await self._db(partial(self.store, ready))
            if stop:
                raise stop

    async def _beat(self) -> None:
        pause = min(0.5, settings.ASSAY_LEASE_SECONDS / _HEARTBEATS_PER_LEASE)
        lookout = Lookout()
        while True:
            await asyncio.sleep(pause)
            if stopping.is_set():
                raise Stopping
            await self._db(self._held.beat)
            await self._db(lookout.look)

    async def _db(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._database, function)


async def _first_of(*tasks: "asyncio.Task[Any]") -> None:
    """Wait until one of them ends, and raise what it raised."""
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()
