"""Driving a run: many debates at once in one worker process, calls limited, results in groups.

The rules are generators (debate.kinds) and the money is the gateways' (llm.gateways); the pump
only feeds one from the other. A pump that dies loses nothing: whoever claims the run next drives
the waiting debates again, and answers that were paid for come from the ledger.

One worker process drives a run at a time: the run's lease covers all of its debates, and the
fence of that one claim goes into every write. Several processes help by driving several runs.
Several on one run would need claims on groups of debates under leases of their own (`_waiting`
is where such a group would be claimed, `store_outcomes` where its fence would be asked for);
budget, rate limit and ledger are shared by all processes already.
"""

import asyncio
import contextlib
import math
import sys
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar

from django.conf import settings
from django.db import connection
from django.utils.crypto import salted_hmac

from debate.failures import HALTS, Blame, CannotGoOn, Failure
from debate.hearing import Hearing
from debate.kinds import Rule, rule_of
from debate.models import Debate, DebateRun
from debate.services.budget import budget_words, open_account
from debate.services.closing import close_run
from debate.services.lost_calls import CALL_DEADLINE_S
from debate.services.outcomes import Outcome, store_outcomes
from debate.services.prompts import PromptGone
from debate.streak import Streak, outage
from kit.runs import Stopping, stopping, worker_id
from llm.endpoints import Endpoint
from llm.gateways import Gateways

T = TypeVar("T")

# Debates read at a time, and results written at a time: large enough to cost little, small
# enough that a kill repeats little.
_PAGE = 200
_GROUP = 50
_GROUP_SECONDS = 0.3
_HEARTBEATS_PER_LEASE = 4
# Debates that fail in a row, at least, before it is the endpoint and not they.
_OUTAGE = 20
# Told to end, a drive sends nothing more and gives calls in flight so long for their answers,
# which are paid for; then what the debates made of them is stored.
_GRACE_S: Final = 4.0
_LAST_WORDS_S: Final = 0.3
# How long a thread keeps the interpreter to itself. A call needs it many times for moments, and
# the database's thread for long: with Python's 5 ms every call waits for that, several times.
_SWITCH_S: Final = 0.0005
PROMPT_CHANGED = "The prompt changed since this run was made; start a new run."


def drive(run: DebateRun, endpoint: Endpoint, *, seconds: float | None = None) -> None:
    """Hold every waiting debate of a run that this process has claimed, then finish it.

    After `seconds` no more debates are begun, and what is left is released for the next claim.
    Where the budget is used up or an endpoint answers nobody, the run is paused with a reason.
    Raises LostLease if the run was paused, cancelled or taken over meanwhile, Stopping if this
    process is to end, CannotGoOn if the endpoint or the prompt is at fault.
    """
    sys.setswitchinterval(min(_SWITCH_S, sys.getswitchinterval()))
    asyncio.run(Pump(run, endpoint, seconds=seconds).run_to_end())


class Pump:
    """One worker's drive of one run. All database work happens in threads of its own."""

    def __init__(self, run: DebateRun, endpoint: Endpoint, *, seconds: float | None) -> None:
        self.run, self.endpoint = run, endpoint
        self.is_fresh = run.done == 0
        self.ends_at = math.inf if seconds is None else time.monotonic() + seconds
        self.is_cut = False
        self.halted_by: Failure | None = None
        self.streak = Streak(max(_OUTAGE, 2 * run.calls_in_flight))
        self.rule = prepare(run)
        self.key = fence_key()
        self.results: asyncio.Queue[Outcome | None] = asyncio.Queue(maxsize=4 * _GROUP)
        self.debates: set[asyncio.Task[None]] = set()
        self.database = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pump-db")

    async def run_to_end(self) -> None:
        """Feed, debate, write and beat until nothing waits or the time is up."""
        try:
            account = await self._db(partial(open_account, self.run))
            gateways = Gateways(
                concurrency=self.run.calls_in_flight,
                owner=worker_id(),
                known=[self.endpoint],
                deadline_s=CALL_DEADLINE_S,
                account_id=account.pk,
                must_be_priced=account.limit_units is not None,
                # A database with a single writer: two threads would only wait for its lock.
                executor=self.database if connection.vendor == "sqlite" else None,
            )
            async with gateways:
                await self._until_done(gateways)
            await self._db(self._leave)
        finally:
            await self._db(lambda: connection.close())  # the thread's own connection
            self.database.shutdown(wait=False)

    async def _until_done(self, gateways: Gateways) -> None:
        writer = asyncio.create_task(self._write())
        beat = asyncio.create_task(self._beat())
        feed = asyncio.create_task(self._debate_all(gateways))
        try:
            await _first_of(feed, writer, beat)  # a lost lease or a fault in any ends all
            await self.results.put(None)
            await _first_of(writer, beat)
            is_last = not (self.is_cut or self.halted_by)
            rest = self.streak.end(is_last=is_last, is_fresh=self.is_fresh)
            await self._db(partial(store_outcomes, run=self.run, outcomes=rest))
        except BaseException:
            await self._wind_down(gateways, feed, writer)
            raise
        finally:
            for task in (feed, writer, beat):
                task.cancel()
            await asyncio.gather(feed, writer, beat, return_exceptions=True)

    def _leave(self) -> None:
        """Finish the run, or give it back, or pause it with words for people."""
        if self.halted_by is None:
            self.run.release() if self.is_cut else close_run(self.run)
            return
        if self.halted_by.blame is Blame.BUDGET:
            words = budget_words(self.run)
        else:
            words = outage(self.halted_by.words)
        self.run.pause(pause_reason=words, error=words)

    async def _wind_down(
        self, gateways: Gateways, feed: "asyncio.Task[None]", writer: "asyncio.Task[None]"
    ) -> None:
        """Take what is on its way, and store what there is of it."""
        await gateways.wind_down(grace_s=_GRACE_S)
        if self.debates:
            await asyncio.wait(self.debates, timeout=_LAST_WORDS_S)
        feed.cancel()
        await asyncio.gather(feed, return_exceptions=True)
        if not writer.done():
            ended = asyncio.create_task(self.results.put(None))
            # It ends by itself, or by losing the lease: then the answers are in the ledger.
            await asyncio.wait([writer])
            ended.cancel()

    async def _debate_all(self, gateways: Gateways) -> None:
        # Twice as many debates as calls, so that a slow pair never leaves a call's place empty.
        places = asyncio.Semaphore(2 * self.run.calls_in_flight)
        async with asyncio.TaskGroup() as group:
            async for debate in self._waiting():
                await places.acquire()
                if self.halted_by:
                    break
                if time.monotonic() >= self.ends_at:
                    self.is_cut = True
                    break
                task = group.create_task(self._debate(debate, gateways))
                self.debates.add(task)
                task.add_done_callback(self.debates.discard)
                task.add_done_callback(lambda _: places.release())

    async def _waiting(self) -> AsyncIterator[Debate]:
        last = 0
        while page := await self._db(partial(_read_page, self.run.pk, last)):
            for debate in page:
                yield debate
            last = page[-1].pk

    async def _debate(self, debate: Debate, gateways: Gateways) -> None:
        hearing = Hearing(debate, gateways=gateways, max_tokens=self.run.max_tokens)
        outcome = await hearing.hold(self.rule, self.key)
        if outcome.failure and outcome.failure.blame in HALTS:
            self.halted_by = outcome.failure  # the pair goes on waiting
        else:
            await self.results.put(outcome)

    async def _write(self) -> None:
        """Store what is debated, in groups, until None says that no more will come."""
        is_over = False
        while not is_over:
            group = [await self.results.get()]
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_GROUP_SECONDS):
                    while len(group) < _GROUP and group[-1] is not None:
                        group.append(await self.results.get())
            is_over = group[-1] is None
            ready, stop = self.streak.sift([outcome for outcome in group if outcome])
            if ready:
                await self._db(partial(store_outcomes, run=self.run, outcomes=ready))
            if stop:
                raise stop

    async def _beat(self) -> None:
        pause = min(0.5, settings.ASSAY_LEASE_SECONDS / _HEARTBEATS_PER_LEASE)
        while True:
            await asyncio.sleep(pause)
            if stopping.is_set():
                raise Stopping
            await self._db(self.run.beat)

    async def _db(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.database, function)


def prepare(run: DebateRun) -> Rule:
    """What the run does with a pair, as it was frozen; raises CannotGoOn if that is gone."""
    try:
        return rule_of(run)
    except PromptGone:
        raise CannotGoOn(PROMPT_CHANGED) from None


def fence_key() -> bytes:
    """The server's key for the delimiters around hostile text (design.md section 4)."""
    return salted_hmac("assay.fence", "", algorithm="sha256").digest()


async def _first_of(*tasks: "asyncio.Task[Any]") -> None:
    """Wait until one of them ends, and raise what it raised."""
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()


def _read_page(run_id: int, after: int) -> list[Debate]:
    waiting = Debate.objects.waiting().filter(run_id=run_id, pk__gt=after)
    return list(waiting.select_related("query", "passage").order_by("pk")[:_PAGE])
