"""Driving a run of calls: many items at once in one worker process, results stored in groups.

Rooms say what an item is, what is done with it and how results are stored; money, pace, outages
and the end of a drive are the same for all. A pump that dies loses nothing: whoever claims the run
next works on the waiting items again, and answers that were paid for come from the ledger.
"""

import asyncio
import contextlib
import gc
import logging
import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeVar

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connection

from kit.runs import LostLease, RunStatus, Stopping, stopping, worker_id
from llm.endpoints import Endpoint, EndpointError, UnknownEndpoint
from llm.errors import HALTS, Blame, CannotGoOn, Failure
from llm.gateway import Gateways
from llm.ledger.accounts import AskingRun, budget_words, open_account
from llm.ledger.writing import list_lost_calls
from llm.prices import PriceError, UnknownPrice
from llm.trying import demand_answers

logger = logging.getLogger(__name__)
T = TypeVar("T")
GROUP: Final = 50
GROUP_SECONDS: Final = 0.3
_HEARTBEATS_PER_LEASE = 4
# How often a drive looks for calls that a dead worker left: their money cannot be spent meanwhile.
_LOOK_EVERY_S: Final = 30.0
# Told to end, a drive sends nothing more and gives calls in flight so long for their answers,
# which are paid for; then what the items made of them is stored.
_GRACE_S: Final = 4.0
_LAST_WORDS_S: Final = 0.3
# How long a thread keeps the interpreter to itself. A call needs it many times for moments, and
# the database's thread for long: with Python's 5 ms every call waits for that, several times.
_SWITCH_S: Final = 0.0005
# When Python looks for garbage that refers to itself. By its own measure a fifth of a call's
# processor time goes into looking at all that a worker has loaded.
_GARBAGE: Final = (50_000, 20, 50)
_OUTAGES: Final = (OperationalError, InterfaceError)
_SETUP_FAULTS: Final = (UnknownEndpoint, EndpointError, UnknownPrice, PriceError)


class Keyed(Protocol):
    """An item of a run: a row that waits for its outcome."""

    @property
    def pk(self) -> Any: ...


class Held(Protocol):
    """What a drive holds of its run: the run itself, or a part that workers share."""

    def beat(self, **fields: Any) -> None: ...
    def release(self) -> None: ...
    def pause(self, **fields: Any) -> None: ...


class Driven(Protocol):
    """A tracked run with a column for why a worker paused it."""

    pk: Any

    def hold(self, **fields: Any) -> None: ...
    def release(self) -> None: ...
    def pause(self, **fields: Any) -> None: ...
    def finish(self, status: str = RunStatus.DONE, **fields: Any) -> None: ...


class Result(Protocol):
    """What came of an item: why a call of it brought no answer, if one did not."""

    @property
    def failure(self) -> Failure | None: ...


ItemT = TypeVar("ItemT", bound=Keyed)
ResultT = TypeVar("ResultT", bound=Result)


_NEXT: Final = {
    False: "Resume the run when the endpoint answers again.",
    True: "Choose another model or mend the endpoint, then resume the run.",
}


class Pump(ABC, Generic[ItemT, ResultT]):
    """One worker's drive of one run. All database work happens in a thread of its own."""

    # What people call the items, one and many.
    words: tuple[str, str] = ("item", "items")
    # Whether its models are asked for vectors.
    embeds = False

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
        self._ends_at = math.inf if seconds is None else time.monotonic() + seconds
        self._is_cut = self._is_fed = False
        self._begun = 0
        self._was_begun = run.done > 0
        # Results of items that keep waiting, because of what ended the drive.
        self._halted: list[ResultT] = []
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
        gc.set_threshold(*_GARBAGE)
        try:
            account = await self._db(partial(open_account, self._run))
            gateways = Gateways(
                concurrency=self._run.calls_in_flight,
                owner=worker_id(),
                known=[self._endpoint] if self._endpoint else [],
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
            if self._is_their_own_fault():
                await self._db(partial(self.store, self._halted))
                self._halted = []
        except BaseException:
            await self._wind_down(gateways, feed, writer)
            raise
        finally:
            for task in (feed, writer, beat):
                task.cancel()
            await asyncio.gather(feed, writer, beat, return_exceptions=True)

    def _is_their_own_fault(self) -> bool:
        """Whether items that the endpoint took and never answered failed by themselves.

        So it is taken where nothing else is left that could tell: a single one, or the last ones
        of a run that was answered before. Otherwise nobody could ever finish it.
        """
        if not self._is_fed or any(_halt(each).blame is not Blame.AWAY for each in self._halted):
            return False
        taken = any(_halt(each).was_taken for each in self._halted)
        return taken and (self._begun == 1 or self._was_begun)

    def _leave(self) -> None:
        """Finish the run, or give it back, or pause it with words for people."""
        if not self._halted:
            self._held.release() if self._is_cut else self.close()
            return
        failure = max(map(_halt, self._halted), key=lambda each: each.blame.value)
        if failure.blame is Blame.SETUP:
            raise CannotGoOn(failure.words)
        if failure.blame is Blame.BUDGET:
            words = budget_words(self._run, waiting=self.waiting())
        else:
            words = f"{failure.words} The other {self.words[1]} wait. {_NEXT[failure.is_refusal]}"
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
        await demand_answers(
            self._run.asked,
            find=gateways.endpoint,
            embeds=self.embeds,
            executor=self._database if connection.vendor == "sqlite" else None,
        )
        # Twice as many items as calls, so that a slow one never leaves a call's place empty.
        places = asyncio.Semaphore(2 * self._run.calls_in_flight)
        async with asyncio.TaskGroup() as group:
            async for item in self._waiting():
                await places.acquire()
                if self._halted:
                    break
                if time.monotonic() >= self._ends_at:
                    self._is_cut = True
                    break
                self._begun += 1
                task = group.create_task(self._work(item, gateways))
                self._under_way.add(task)
                task.add_done_callback(self._under_way.discard)
                task.add_done_callback(lambda _: places.release())
            else:
                self._is_fed = True

    async def _waiting(self) -> AsyncIterator[ItemT]:
        last = 0
        while page := await self._db(partial(self.read_page, last)):
            for item in page:
                yield item
            last = page[-1].pk

    async def _work(self, item: ItemT, gateways: Gateways) -> None:
        result = await self.work(item, gateways)
        if result.failure and result.failure.blame in HALTS:
            self._halted.append(result)  # the item goes on waiting
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
            if ready := [result for result in group if result]:
                await self._db(partial(self.store, ready))

    async def _beat(self) -> None:
        pause = min(0.5, settings.ASSAY_LEASE_SECONDS / _HEARTBEATS_PER_LEASE)
        look_at = time.monotonic() + _LOOK_EVERY_S
        while True:
            await asyncio.sleep(pause)
            if stopping.is_set():
                raise Stopping
            await self._db(self._held.beat)
            if time.monotonic() >= look_at:
                await self._db(list_lost_calls)
                look_at = time.monotonic() + _LOOK_EVERY_S

    async def _db(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._database, function)


def _halt(result: Result) -> Failure:
    assert result.failure is not None
    return result.failure


async def _first_of(*tasks: "asyncio.Task[Any]") -> None:
    """Wait until one of them ends, and raise what it raised."""
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()


def carry_out(run: Driven, drive: Callable[[], None], *, name: str) -> None:
    """Drive a run this process has claimed; whatever goes wrong ends up in the row, in words.

    A database that goes away in the middle is no fault of the run: its lease runs out, and
    whoever looks next goes on. `name` is for the log.
    """
    try:
        run.hold(pause_reason="")
        list_lost_calls()
        _drive(run, drive, name)
        list_lost_calls()
    except LostLease:
        logger.info("%s %s was paused, cancelled or taken over", name, run.pk)
    except _OUTAGES as error:
        _note_outage(run, error, name)


def _drive(run: Driven, drive: Callable[[], None], name: str) -> None:
    try:
        drive()
    except Stopping:
        run.release()
    except CannotGoOn as error:
        _stop(run, str(error), pauses=error.pauses)
    except _SETUP_FAULTS as error:
        _stop(run, str(error))
    except LostLease:
        raise
    except Exception as error:  # the job's outermost frame: logged, and told in the row
        if words := _setup_fault(error):
            _stop(run, words)
            return
        if _is_outage(error):
            _note_outage(run, error, name)
            return
        logger.exception("%s %s", name, run.pk)
        run.finish(RunStatus.FAILED, error="The run stopped on an error of ours; see the log.")


def _stop(run: Driven, words: str, *, pauses: bool = False) -> None:
    """End the drive with words for people; what is unfinished keeps waiting."""
    if pauses:
        run.pause(error=words, pause_reason=words)
    else:
        run.finish(RunStatus.FAILED, error=words)


def _setup_fault(error: BaseException) -> str:
    """The words of a setting that turned out wrong in the middle; items report in a group."""
    if isinstance(error, BaseExceptionGroup):
        return next(filter(None, map(_setup_fault, error.exceptions)), "")
    return str(error) if isinstance(error, _SETUP_FAULTS) else ""


def _is_outage(error: BaseException) -> bool:
    """Whether the database went away; items at once report their errors in a group.

    One such error in a group is enough, and so is one behind another error of the database: the
    rest follows from it, and what does not comes again when the run goes on.
    """
    if isinstance(error, BaseExceptionGroup):
        return any(map(_is_outage, error.exceptions))
    if isinstance(error, _OUTAGES):
        return True
    cause = error.__cause__ or error.__context__
    return isinstance(error, DatabaseError) and cause is not None and _is_outage(cause)


def _note_outage(run: Driven, error: BaseException, name: str) -> None:
    logger.warning("%s %s waits for the database until its lease is over", name, run.pk)
    logger.debug("%s %s", name, run.pk, exc_info=error)
