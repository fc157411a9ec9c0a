"""The one way to ask a model: replay, write down, send, retry, write down again.

No transaction is held across a call. Before an attempt is sent its intent is committed, together
with the reservation of what it can cost at most, and marked as handed over (llm.handover).
A reply is handed out only after its settlement is committed.
"""

import asyncio
import random
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, Self

from django.db import connections

from kit.failpoints import reach
from llm.breaker import Breaker
from llm.bucket import Rule
from llm.charging import Charging
from llm.client import Client
from llm.desk import Desk
from llm.endpoints import Endpoint
from llm.errors import ErrorClass, LLMError, OverBudget, Transient
from llm.estimates import likely_input
from llm.flights import Flights
from llm.handover import Handover
from llm.limits import Limiter
from llm.prices import PriceTable, table
from llm.records import Intent
from llm.requests import RawReply, Reply, Request
from llm.retry import Backoff, Policy

# An answer's length where the request names none, for the shared limit on tokens only.
_LIKELY_OUTPUT: Final = 500


class Gateway:
    """Calls to one endpoint under one worker's name: `async with Gateway(...) as gateway`.

    `concurrency` bounds the calls in flight (`slots`, where several gateways share one bound);
    `policy` says how often and after which wait a request is tried again, and `rng` decides the
    jitter. Calls are charged to `account_id`, at `prices`. All database work happens in one
    thread: its own, or that of `executor`.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        concurrency: int,
        owner: str,
        max_attempts: int | None = None,
        deadline_s: float = 120.0,
        backoff: Backoff | None = None,
        rng: random.Random | None = None,
        account_id: int | None = None,
        prices: PriceTable | None = None,
        slots: asyncio.Semaphore | None = None,
        executor: Executor | None = None,
    ) -> None:
        self._endpoint, self._owner = endpoint, owner
        self._concurrency, self._deadline_s = concurrency, deadline_s
        self._policy = _policy(max_attempts, backoff)
        self._rng = rng or random.Random()  # noqa: S311  (spreads retries, guards nothing)
        self._client = Client(endpoint, deadline_s=deadline_s)
        self._charging = Charging(endpoint, prices or table(), account_id)
        self._slots = slots or asyncio.Semaphore(concurrency)
        self._breaker = Breaker(self._policy.backoff, self._rng)
        self._flights: Flights[Reply] = Flights()
        self._shared = executor
        self._under_way = 0
        self._closing = False
        self._idle = asyncio.Event()
        self._idle.set()

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        self._own = None if self._shared else ThreadPoolExecutor(1, thread_name_prefix="ledger")
        executor = self._shared or self._own
        assert executor is not None
        self._handover = Handover(self._owner).open()
        self._desk = Desk(executor, owner=self._handover.owner, busy=self._concurrency)
        rule = Rule(self._endpoint.requests_per_minute, self._endpoint.tokens_per_minute)
        self._limiter = Limiter(self._endpoint.name, rule, executor=executor)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Call off what is still under way, and write down what came of it."""
        await self._flights.cancel()
        await self._desk.drain()
        await self._limiter.close()
        await self._client.__aexit__()
        self._handover.close()
        if self._own is not None:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._own, connections.close_all)
            self._own.shutdown()

    async def complete(self, request: Request, subject: str) -> Reply:
        """The answer to the request: from the ledger if it was ever paid for, else by a call.

        Whoever asks the same meanwhile shares the one call. Raises Permanent at once, the last
        Transient when the attempts are used up, Outage when the endpoint answers nobody, and
        OverBudget when nothing may be sent any more.
        """
        if request.endpoint != self._endpoint.name:
            raise ValueError(
                f"This gateway leads to {self._endpoint.name}, not {request.endpoint}."
            )
        flight = self._flights.find(request.key)
        if flight is not None:
            return replace(await self._flights.join(flight), replayed=True)
        flight = self._flights.start(request.key, self._complete(request, subject))
        return await self._flights.join(flight)

    async def wind_down(self, *, grace_s: float) -> None:
        """Send nothing more, and give the calls in flight so many seconds for their answers.

        What was answered is handed out as ever; whoever wants to send waits until it is
        cancelled.
        """
        self._closing = True
        try:
            await asyncio.wait_for(self._idle.wait(), timeout=grace_s)
        except TimeoutError:
            return
        finally:
            await self._desk.drain()

    async def _complete(self, request: Request, subject: str) -> Reply:
        found = await self._desk.look_up(request.key)
        if found.reply is not None:
            return found.reply
        intent = Intent(
            request,
            subject,
            practice=self._endpoint.is_practice,
            charge=self._charging.charge(request),
            attempts=found.attempts,
        )
        attempt = 1
        while True:
            try:
                return await self._attempt(intent)
            except LLMError as error:
                error.endpoint, error.model = self._endpoint.name, request.model
                if error.is_mended:
                    intent = replace(intent, attempts=None)
                    continue
                if not isinstance(error, Transient) or self._policy.is_spent(error, attempt):
                    raise
                wait = self._policy.backoff.delay(
                    attempt, retry_after=error.retry_after, rng=self._rng
                )
            await asyncio.sleep(wait)
            attempt += 1
            intent = replace(intent, attempts=None)  # another worker may be at it as well

    async def _attempt(self, intent: Intent) -> Reply:
        """One row, one call."""
        is_last_try = False
        while True:
            async with self._slots:
                sent = await self._open_and_send(intent)
            if sent is not None:
                break
            if is_last_try:
                raise OverBudget("The next call does not fit into what is left of the budget.")
            is_last_try = not await self._may_room_come(intent)
        call_id, result = sent
        reach("before-settle")
        reply = await self._desk.settle(call_id, result, intent)
        if isinstance(result, LLMError):
            raise result
        if reply is None:
            raise LLMError("The answer could not be written down.", maybe_paid=True)
        return reply

    async def _open_and_send(self, intent: Intent) -> tuple[int, RawReply | LLMError] | None:
        """Write the intent, send it, note what came; None if the budget has no room for it now."""
        leave = await self._breaker.enter()
        try:
            estimate = likely_input(intent.request) + (intent.request.max_tokens or _LIKELY_OUTPUT)
            await self._limiter.permit(estimate)
            if self._closing:
                await asyncio.Event().wait()  # until cancelled
            intent = replace(intent, profile=self._client.profile(intent.request.model))
            with self._on_its_way():
                call_id = await self._desk.open(intent)
                if call_id is None:
                    self._limiter.correct(estimated=estimate, used=0)
                    return None
                result = await self._send(call_id, intent)
            self._breaker.note(result if isinstance(result, LLMError) else None)
            if isinstance(result, RawReply) and result.usage:
                used = result.usage.input + result.usage.output
                self._limiter.correct(estimated=estimate, used=used)
            return call_id, result
        finally:
            leave()

    @contextmanager
    def _on_its_way(self) -> Iterator[None]:
        """Count a call from its intent to its answer: winding down waits for these."""
        self._under_way += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    async def _send(self, call_id: int, intent: Intent) -> RawReply | LLMError:
        reach("send", call_id)
        self._handover.mark(call_id)
        reach("handed")
        try:
            return await self._client.send(intent.request, intent.profile)
        except LLMError as error:
            return error
        except asyncio.CancelledError:
            called_off = Transient(
                "Called off before the answer came.",
                maybe_paid=True,
                error_class=ErrorClass.CALLED_OFF,
            )
            self._desk.note(call_id, called_off, intent)
            raise

    async def _may_room_come(self, intent: Intent) -> bool:
        """Whether a call under way may still give back what another needs; after a little wait."""
        awaited = await self._desk.is_awaiting(intent, within_s=self._deadline_s + 60)
        if awaited:
            await asyncio.sleep(0.05 + 0.1 * self._rng.random())
        return awaited


def _policy(max_attempts: int | None, backoff: Backoff | None) -> Policy:
    backoff = backoff or Backoff()
    if max_attempts is None:
        return Policy(backoff)
    return Policy(backoff, attempts=max_attempts, attempts_of={})
