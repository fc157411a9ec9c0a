"""Driving a run of calls: many items at once in one worker process, results stored in groups.

Rooms say what an item is, what is done with it and how results are stored; money, pace, outages
and the end of a drive are the same for all. A pump that dies loses nothing: whoever claims its
groups next works on their waiting items again, and answers that were paid for come from the ledger.
"""

import asyncio
import gc
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeVar

from django.conf import settings
from django.db import connection, models, transaction

from kit.errors import Refused
from kit.failpoints import reach
from kit.runs.models import RunGroup, Stopping, stopping
from kit.runs.sharing import Share
from llm import endpoints
from llm.batching import Batcher
from llm.endpoints import Endpoint, fence_key
from llm.errors import ErrorClass, LLMError, Outage, OverBudget, WrongSetup, worst
from llm.gateway import Gateways
from llm.ledger.accounts import PayingRun, budget_words, open_account
from llm.ledger.writing import list_lost_calls
from llm.requests import Reply, Request
from llm.trying import demand_answers

T = TypeVar("T")
AskT = TypeVar("AskT")
GROUP: Final = 200
GROUP_SECONDS: Final = 0.3
_HEARTBEATS_PER_LEASE = 4
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


class Result(Protocol):
    """The result of an item: why a call of it had no answer, if one had none."""

    @property
    def failure(self) -> LLMError | None: ...


ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT", bound=Result)


async def carry(
    steps: Generator[Sequence[AskT], list[Any], T], ask: Callable[[AskT], Awaitable[Any]]
) -> T:
    """Put a rule to its end: it yields what it asks at once and is sent the answers.

    Where some are not answered, raises the error that decides.
    """
    try:
        asked = next(steps)
        while True:
            asked = steps.send(await together(ask(each) for each in asked))
    except StopIteration as end:
        found: T = end.value
        return found


async def together(asked: Iterable[Awaitable[T]]) -> list[T]:
    """The answers of all; where some are not answered, raises the error that decides."""
    calls = [asyncio.ensure_future(each) for each in asked]
    await asyncio.gather(*calls, return_exceptions=True)
    # An error that is given back is an answer; one that is raised is a fault.
    if faults := [fault for each in calls if (fault := each.exception())]:
        errors = [each for each in faults if isinstance(each, LLMError)]
        raise worst(errors) or faults[0]
    return [each.result() for each in calls]


async def readable(
    gateways: Gateways, request: Request, subject: str, calls: list[int] | None = None
) -> Reply | None:
    """The reply; None for one that nobody can read, since the model refused or was cut off.
    `calls` takes every call that was made, also of such a one."""
    made = [] if calls is None else calls
    try:
        reply = await gateways.complete(request, subject)
    except LLMError as error:
        if error.error_class not in (ErrorClass.REFUSAL, ErrorClass.CUT_OFF):
            raise
        made += error.call_ids
        return None
    made += reply.call_ids
    return reply


class Pump(ABC, Generic[ItemT, ResultT]):
    """One worker's drive of its share of a run. Database work happens in a thread of its own."""

    # What people call the items, one and many.
    words: tuple[str, str] = ("item", "items")
    # Whether its models are asked for vectors.
    embeds = False

    def __init__(self, share: Share[Any], endpoint: Endpoint) -> None:
        self._share, self.run, self.endpoint, self.key = share, share.run, endpoint, fence_key()
        self._is_cut = self._is_fed = False
        self._was_begun = self.run.done > 0
        # Items of each group that it holds, without those whose results are stored.
        self._left: dict[int, int] = {}
        # Results of items that keep waiting, because of what ended the drive.
        self._halted: list[tuple[RunGroup, ResultT]] = []
        # Twice as many items as calls, so that a slow one never leaves a call's place empty.
        self._places = asyncio.Semaphore(2 * self.run.calls_in_flight)
        self._under_way: set[asyncio.Task[None]] = set()
        self._database = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pump-db")
        # A database with a single writer: two threads would only wait for its lock.
        self._shared = self._database if connection.vendor == "sqlite" else None
        self._results = Batcher(
            self._store, executor=self._database, limit=GROUP, linger_s=GROUP_SECONDS
        )
        self.prepare()

    @classmethod
    def take_groups(cls, share: Share[Any]) -> None:
        """Take groups until none is free or the time is up: then the run is released.

        Where the budget is used up or an endpoint answers nobody, the run is paused with a reason.
        Raises LostLease if the run was paused, cancelled or taken over meanwhile, Stopping if this
        process is to end, Refused if the endpoint or the prompt is at fault.
        """
        list_lost_calls()
        pump = cls(share, endpoints.get(share.run.endpoint))
        asyncio.run(pump._run_to_end())

    def prepare(self) -> None:
        """Read what all items share. Raises Refused where that is gone."""

    @abstractmethod
    def read_group(self, group: RunGroup) -> Sequence[ItemT]:
        """The group's waiting items with all that is read for them."""

    @abstractmethod
    async def work(self, item: ItemT, gateways: Gateways) -> ResultT:
        """Carry one item to its result. An LLMError is a result, too."""

    def failed(self, item: ItemT, error: LLMError) -> ResultT:
        """The result of an item, a dataclass, whose call had no answer."""
        job: Any = item
        found: ResultT = replace(job, failure=error)
        return found

    @abstractmethod
    def store(self, results: Sequence[ResultT]) -> int:
        """Write results, in a transaction of the caller; how many items are through."""

    def payer(self) -> PayingRun:
        """The run whose account the calls are charged to."""
        paying: PayingRun = self.run
        return paying

    def waiting(self) -> str:
        """What waits for its outcome, such as "3 pairs"."""
        return f"{self.run.waiting_items().count():,} {self.words[1]}"

    async def _run_to_end(self) -> None:
        self._unstored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        sys.setswitchinterval(min(_SWITCH_S, sys.getswitchinterval()))
        gc.set_threshold(*_GARBAGE)
        try:
            account = await self._db(partial(open_account, self.payer()))
            gateways = Gateways(
                concurrency=self.run.calls_in_flight,
                known=[self.endpoint],
                account=account,
                turn=self._share.turn,
                executor=self._shared,
            )
            async with gateways:
                await self._until_done(gateways)
            await self._db(self._leave)
        finally:
            await self._db(lambda: connection.close())  # the thread's own connection
            self._database.shutdown(wait=False)

    async def _until_done(self, gateways: Gateways) -> None:
        beat = asyncio.create_task(self._beat())
        feed = asyncio.create_task(self._work_all(gateways))
        ends = (feed, beat, self._unstored)
        try:
            done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()  # a lost lease or a fault in any ends all
            if self._is_fed and self._is_their_own_fault():
                await self._db(partial(self._store, self._halted))
                self._halted = []
        except BaseException:
            await self._wind_down(gateways, feed)
            raise
        finally:
            for each in ends:
                each.cancel()
            await asyncio.gather(*ends, return_exceptions=True)

    def _is_their_own_fault(self) -> bool:
        """Whether items that the endpoint took and never answered failed by themselves.

        So it is taken where nothing else is left that could tell: a single one, or the last ones
        of a run that was answered before. Otherwise nobody could ever finish it.
        """
        failures = self._failures()
        taken = any(each.maybe_paid for each in failures)
        all_out = all(isinstance(each, Outage) for each in failures)
        return taken and all_out and (self.run.total == 1 or self._was_begun)

    def _leave(self) -> None:
        """Give the run back if the time is up, or pause it with words for people."""
        if not self._halted:
            if self._is_cut:
                self._share.release()
            return
        failure = worst(self._failures())
        assert failure is not None  # it is what halted the drive
        if isinstance(failure, WrongSetup):
            raise Refused(failure.words)
        if isinstance(failure, OverBudget):
            words = budget_words(self.payer(), waiting=self.waiting())
        else:
            then = "Resume the run when the endpoint answers again."
            if failure.refusals:
                then = "Choose another model or fix the endpoint, then resume the run."
            words = f"{failure.words} The other {self.words[1]} wait. {then}"
        self._share.pause(pause_reason=words, error=words)

    def _failures(self) -> list[LLMError]:
        return [result.failure for _, result in self._halted if result.failure]

    async def _wind_down(self, gateways: Gateways, feed: "asyncio.Task[None]") -> None:
        """Take what is on its way, and store what there is of it."""
        await gateways.wind_down(grace_s=_GRACE_S)
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=_LAST_WORDS_S)
        feed.cancel()
        await asyncio.gather(feed, return_exceptions=True)
        # Where the lease is lost, the answers are in the ledger.
        await self._results.drain()

    async def _work_all(self, gateways: Gateways) -> None:
        find, embeds = gateways.endpoint, self.embeds
        await demand_answers(self.run.asked, find=find, embeds=embeds, executor=self._shared)
        async with asyncio.TaskGroup() as group:
            async for group_of, item in self._waiting():
                await self._places.acquire()
                if self._halted:
                    break
                if self._share.is_time_up:
                    self._is_cut = True
                    break
                task = group.create_task(self._work(group_of, item, gateways))
                self._under_way.add(task)
                task.add_done_callback(self._under_way.discard)
            else:
                self._is_fed = True
        await self._results.drain()

    async def _waiting(self) -> AsyncIterator[tuple[RunGroup, ItemT]]:
        while taken := await self._db(self._take):
            group, items = taken
            for item in items:
                yield group, item

    def _take(self) -> tuple[RunGroup, Sequence[ItemT]] | None:
        """One more free group and what waits in it; None where none is free."""
        while group := self._share.claim():
            if items := self.read_group(group):
                self._left[group.pk] = len(items)
                return group, items
            self._share.end(group)
        return None

    async def _work(self, group: RunGroup, item: ItemT, gateways: Gateways) -> None:
        try:
            result = await self.work(item, gateways)
        except LLMError as error:
            result = self.failed(item, error)
        finally:
            self._places.release()
        if result.failure and result.failure.halts:
            self._halted.append((group, result))  # the item goes on waiting
        else:
            self._results.put((group, result)).add_done_callback(self._note_stored)

    def _note_stored(self, stored: "asyncio.Future[None]") -> None:
        """What could not be stored ends the drive, and no item: calls on their way are taken."""
        error = None if stored.cancelled() else stored.exception()
        if error is not None and not self._unstored.done():
            self._unstored.set_exception(error)

    def _store(self, ready: Sequence[tuple[RunGroup, ResultT]]) -> Sequence[None]:
        """Write results in one transaction, and end their groups. Raises LostLease."""
        groups = {group.pk: group for group, _ in ready}
        with transaction.atomic():
            self._share.hold_groups(groups.values())
            self._share.count(self.store([result for _, result in ready]))
            reach("before-outcomes-commit")
        reach("after-outcomes-commit")
        for group, _ in ready:
            self._left[group.pk] -= 1
        for pk, group in groups.items():
            if not self._left[pk]:
                self._share.end(group)
        return [None] * len(ready)

    async def _beat(self) -> None:
        pause = min(0.5, settings.ASSAY_LEASE_SECONDS / _HEARTBEATS_PER_LEASE)
        while True:
            await asyncio.sleep(pause)
            if stopping.is_set():
                raise Stopping
            await self._db(self._share.beat)

    async def _db(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._database, function)


RowT = TypeVar("RowT", bound=models.Model)
ExamT = TypeVar("ExamT")
SaidT = TypeVar("SaidT")


@dataclass(frozen=True)
class Job(Generic[RowT, ExamT, SaidT]):
    """A row that waits, with what is asked about it; without an exam nothing is, for that `fault`.
    Then what was said of it, or why nothing was."""

    row: RowT
    exam: ExamT | None
    fault: str = ""
    said: SaidT | None = None
    failure: LLMError | None = None


class ExamPump(Pump[Job[RowT, ExamT, SaidT], Job[RowT, ExamT, SaidT]]):
    """A pump that asks about each row by a rule, until a reply can be used."""

    @abstractmethod
    def steps(self, row: RowT, exam: ExamT) -> Generator[Sequence[Request], Sequence[Reply], SaidT]:
        """The rule by which one row is asked about."""

    async def work(
        self, item: Job[RowT, ExamT, SaidT], gateways: Gateways
    ) -> Job[RowT, ExamT, SaidT]:
        """Ask, where there is something to ask."""
        if item.exam is None:
            return item
        said = await carry(
            self.steps(item.row, item.exam),
            lambda a: gateways.complete(a, f"{a.role}:{item.row.pk}"),
        )
        return replace(item, said=said)
