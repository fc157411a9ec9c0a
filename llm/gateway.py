"""The one way to ask a model: replay, write down, send, retry, write down again.

No transaction is held across a call. Before an attempt is sent its intent is committed, together
with the reservation of what it can cost at most. A reply is handed out only after its settlement
is committed.
"""

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, Generic, Self, TypeVar

from django.db import connections
from django.utils import timezone

from kit.failpoints import reach
from llm import endpoints, ledger
from llm.bucket import Rule
from llm.client import Client
from llm.endpoints import Endpoint
from llm.errors import ErrorClass, LLMError, Outage, OverBudget, Permanent, Refusal, Transient
from llm.estimates import likely_input
from llm.limits import Limiter
from llm.models import ModelProfile
from llm.outages import Health
from llm.prices import PriceTable, table
from llm.records import Charging, Intent, Outcome
from llm.requests import RawReply, Reply, Request
from llm.waiting import Backoff, Policy

T = TypeVar("T")
Item = TypeVar("Item")
# An answer's length where the request names none, for the shared limit on tokens only.
_LIKELY_OUTPUT: Final = 500
# A call waits for its intent with its place in flight taken, so that is kept short; it waits for
# the rest without one, and the larger the groups the less each row costs.
_INTENT_LINGER_S: Final = 0.003
_LINGER_S: Final = 0.03
_LINGER_PER_CALL_S: Final = 0.0005
_GROUP: Final = 256


class Gateways:
    """Calls to any endpoint that is set up: `async with Gateways(...) as gateways`.

    All endpoints share the bound on calls in flight, the account and the thread for the database;
    a gateway each is opened when first asked for. `must_be_priced`: a model without a price is
    refused (UnknownPrice), because a limit could not be kept. `known` endpoints are used as given,
    others are looked up by name.
    """

    def __init__(
        self,
        *,
        concurrency: int,
        owner: str,
        known: Iterable[Endpoint] = (),
        account_id: int | None = None,
        must_be_priced: bool = False,
        prices: PriceTable | None = None,
        executor: Executor | None = None,
        **options: Any,
    ) -> None:
        self._endpoints = {endpoint.name: endpoint for endpoint in known}
        self._prices = prices or table()
        self._must_be_priced = must_be_priced
        self._priced: set[tuple[str, str]] = set()
        self._options = options | {
            "concurrency": concurrency,
            "owner": owner,
            "account_id": account_id,
            "prices": self._prices,
            "slots": asyncio.Semaphore(concurrency),
            "executor": executor,
        }
        self._gateways: dict[str, Gateway] = {}
        self._opening = asyncio.Lock()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._stack.__aenter__()
        return self

    async def __aexit__(self, *exc_info: Any) -> None:
        await self._stack.__aexit__(*exc_info)

    async def complete(self, request: Request, subject: str) -> Reply:
        """The answer, as Gateway.complete gives it, from the endpoint that the request names.

        Raises UnknownEndpoint or UnknownPrice before anything is written or sent.
        """
        self._demand_price(request)
        gateway = self._gateways.get(request.endpoint) or await self._open(request.endpoint)
        return await gateway.complete(request, subject)

    def endpoint(self, name: str) -> Endpoint:
        """The endpoint of that name. Raises UnknownEndpoint."""
        if name not in self._endpoints:
            self._endpoints[name] = endpoints.get(name)
        return self._endpoints[name]

    async def wind_down(self, *, grace_s: float) -> None:
        """Send nothing more; wait so long for what is in flight (Gateway.wind_down)."""
        gateways = self._gateways.values()
        await asyncio.gather(*(gateway.wind_down(grace_s=grace_s) for gateway in gateways))

    async def _open(self, name: str) -> "Gateway":
        async with self._opening:
            if name not in self._gateways:
                gateway = Gateway(self.endpoint(name), **self._options)
                self._gateways[name] = await self._stack.enter_async_context(gateway)
        return self._gateways[name]

    def _demand_price(self, request: Request) -> None:
        seat = (request.endpoint, request.model)
        if not self._must_be_priced or seat in self._priced:
            return
        day = datetime.now(UTC).date()
        self._prices.demand(self.endpoint(request.endpoint), request.model, on=day)
        self._priced.add(seat)


class Gateway:
    """Calls to one endpoint under one worker's name: `async with Gateway(...) as gateway`.

    `concurrency` bounds the calls in flight (`slots`, where several gateways share one bound);
    `max_attempts` and `backoff` say how often and after which wait a request is tried again, and
    `rng` decides the jitter. Calls are charged to `account_id`, at `prices`. All database work
    happens in one thread: its own, or that of `executor`.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        concurrency: int,
        owner: str,
        max_attempts: int | None = None,
        deadline_s: float = ledger.CALL_DEADLINE_S,
        backoff: Backoff | None = None,
        rng: random.Random | None = None,
        account_id: int | None = None,
        prices: PriceTable | None = None,
        slots: asyncio.Semaphore | None = None,
        executor: Executor | None = None,
    ) -> None:
        self._endpoint, self._owner = endpoint, owner
        self._concurrency, self._deadline_s = concurrency, deadline_s
        self._policy = Policy.of(max_attempts, backoff)
        self._rng = rng or random.Random()  # noqa: S311  (spreads retries, guards nothing)
        self._charging = Charging(endpoint, prices or table(), account_id)
        self._slots = slots or asyncio.Semaphore(concurrency)
        self._health = Health(self._policy, self._rng)
        self._asked: dict[str, _Flight] = {}
        self._tasks: set[asyncio.Task[Reply]] = set()
        self._shared = executor
        self._under_way = 0
        self._closing = False
        self._idle = asyncio.Event()
        self._idle.set()

    async def __aenter__(self) -> Self:
        self._own = None if self._shared else ThreadPoolExecutor(1, thread_name_prefix="ledger")
        executor = self._shared or self._own
        assert executor is not None
        self._executor = executor
        learnt = await self.in_database(ModelProfile.objects.at(self._endpoint).by_model)
        self._client = Client(self._endpoint, deadline_s=self._deadline_s, learnt=learnt)
        await self._client.__aenter__()
        linger_s = min(_LINGER_S, self._concurrency * _LINGER_PER_CALL_S)
        brief_s = min(_INTENT_LINGER_S, linger_s)
        self._look_ups = Batcher(ledger.look_up, executor=executor, linger_s=linger_s)
        self._intents = Batcher(self._write_intents, executor=executor, linger_s=brief_s)
        self._outcomes = Batcher(ledger.settle, executor=executor, linger_s=linger_s)
        rule = Rule(self._endpoint.requests_per_minute, self._endpoint.tokens_per_minute)
        self._limiter = Limiter(self._endpoint.name, rule, executor=executor)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Call off what is still under way, and write down what came of it."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._drain()
        await self._limiter.close()
        await self._client.__aexit__()
        if self._own is not None:
            await self.in_database(connections.close_all)
            self._own.shutdown()

    async def complete(self, request: Request, subject: str) -> Reply:
        """The answer to the request: from the ledger if it was ever paid for, else by a call.

        Whoever asks the same meanwhile shares the one call. An answer that was cut off at its
        longest length is asked for once more with twice of it. Raises Permanent at once, or where
        the second answer is cut off too, Refusal where the model would not answer, the last
        Transient when the attempts are used up, Outage when the endpoint answers nobody, and
        OverBudget when nothing may be sent any more.
        """
        if request.endpoint != self._endpoint.name:
            raise ValueError(
                f"This gateway leads to {self._endpoint.name}, not {request.endpoint}."
            )
        try:
            reply = await self._shared_answer(request, subject)
            if reply.is_cut and request.max_tokens:
                longest = 2 * request.max_tokens
                reply = await self._shared_answer(replace(request, max_tokens=longest), subject)
            if reply.is_refusal:
                raise Refusal(reply.text)
            if reply.is_cut and request.max_tokens:
                raise Permanent(
                    f"The answer was cut off at {request.max_tokens} tokens and again at {longest}:"
                    " allow longer answers, or less reasoning.",
                    error_class=ErrorClass.CUT_OFF,
                )
        except LLMError as error:
            error.endpoint, error.model = self._endpoint.name, request.model
            raise
        return reply

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
            await self._drain()

    async def _shared_answer(self, request: Request, subject: str) -> Reply:
        """One flight for all who ask the same at the same time; it ends with the last of them."""
        flight = self._asked.get(request.key)
        is_first = flight is None
        if flight is None:
            flight = self._asked[request.key] = _Flight(self._complete(request, subject))
            self._tasks.add(flight.task)
            flight.task.add_done_callback(self._tasks.discard)
        flight.waiting += 1
        try:
            reply = await asyncio.shield(flight.task)
            return reply if is_first else replace(reply, replayed=True)
        finally:
            flight.waiting -= 1
            if not flight.waiting or flight.task.done():  # nobody may join any more
                flight.task.cancel()
                if self._asked.get(request.key) is flight:
                    del self._asked[request.key]

    async def _complete(self, request: Request, subject: str) -> Reply:
        found = await self._look_ups.put(request.key)
        if found.reply is not None:
            return found.reply
        intent = Intent(
            request,
            subject,
            practice=self._endpoint.is_practice,
            charge=self._charging.charge(request),
            attempts=found.attempts,
        )
        attempt, signs = 1, 0
        while True:
            try:
                return await self._attempt(intent)
            except LLMError as error:
                intent = replace(intent, attempts=None)  # another worker may be at it as well
                if error.is_mended:
                    keep = partial(self._keep_profile, request.model, error.message)
                    await self.in_database(keep)
                    continue
                if attempt == 1:
                    signs = self._health.signs
                if isinstance(error, Outage) or not isinstance(error, Transient):
                    raise
                if self._health.is_spent(error, attempt, signs=signs):
                    raise
                wait = self._policy.backoff.delay(
                    attempt, retry_after=error.retry_after, rng=self._rng
                )
            await asyncio.sleep(wait)
            attempt += 1

    def _keep_profile(self, model: str, refusal: str) -> None:
        profile = self._client.profile(model)
        kept = ModelProfile.objects.at(self._endpoint).by_model().get(model)
        if kept != profile:
            ModelProfile.objects.keep(self._endpoint, model, profile, refusal=refusal)

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
        reply = await self._outcomes.put(Outcome(call_id, result, intent))
        if isinstance(result, LLMError):
            raise result
        if reply is None:
            raise LLMError("The answer could not be written down.", maybe_paid=True)
        return reply

    async def _open_and_send(self, intent: Intent) -> tuple[int, RawReply | LLMError] | None:
        """Write the intent, send it, note what came; None if the budget has no room for it now."""
        leave = await self._health.enter()
        try:
            estimate = likely_input(intent.request) + (intent.request.max_tokens or _LIKELY_OUTPUT)
            await self._limiter.permit(estimate)
            if self._closing:
                await asyncio.Event().wait()  # until cancelled
            intent = replace(intent, profile=self._client.profile(intent.request.model))
            self._under_way += 1
            self._idle.clear()
            try:
                call_id = await self._open(intent)
                if call_id is None:
                    self._limiter.correct(estimated=estimate, used=0)
                    return None
                result = await self._send(call_id, intent)
            finally:
                self._under_way -= 1
                if not self._under_way:
                    self._idle.set()
            self._health.note(result if isinstance(result, LLMError) else None)
            if isinstance(result, RawReply) and result.usage:
                used = result.usage.input + result.usage.output
                self._limiter.correct(estimated=estimate, used=used)
            return call_id, result
        finally:
            leave()

    async def _open(self, intent: Intent) -> int | None:
        """Commit the intent; None where the account has no room for it.

        Called off meanwhile, it is withdrawn: nothing was sent.
        """
        pending = self._intents.put(intent)
        try:
            return await asyncio.shield(pending)
        except asyncio.CancelledError:
            pending.add_done_callback(lambda done: self._withdraw(done, intent))
            raise

    def _withdraw(self, pending: "asyncio.Future[int | None]", intent: Intent) -> None:
        if pending.cancelled() or pending.exception() is not None:
            return
        if (call_id := pending.result()) is not None:
            error = Permanent("Called off before sending.", error_class=ErrorClass.CALLED_OFF)
            self._outcomes.put(Outcome(call_id, error, intent))

    async def _send(self, call_id: int, intent: Intent) -> RawReply | LLMError:
        reach("send", call_id)
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
            self._outcomes.put(Outcome(call_id, called_off, intent))
            raise

    async def _may_room_come(self, intent: Intent) -> bool:
        """Whether a call under way may still give back what another needs; after a little wait."""
        account_id = intent.charge.account_id
        if account_id is None:
            return False
        since = timezone.now() - timedelta(seconds=self._deadline_s + 60)
        awaited = await self.in_database(lambda: ledger.is_awaiting(account_id, since=since))
        if awaited:
            await asyncio.sleep(0.05 + 0.1 * self._rng.random())
        return awaited

    async def _drain(self) -> None:
        """Wait until everything handed to the ledger is written."""
        await self._look_ups.drain()
        await self._intents.drain()
        await self._outcomes.drain()

    def _write_intents(self, intents: Sequence[Intent]) -> list[int | None]:
        return ledger.intend(intents, owner=self._owner)

    async def in_database(self, work: Callable[[], T]) -> T:
        """What this work returns, done in the gateway's thread for the database."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)


class _Flight:
    """One request under way, and how many wait for its answer."""

    def __init__(self, work: Coroutine[Any, Any, Reply]) -> None:
        self.task, self.waiting = asyncio.create_task(work), 0


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
        limit: int = _GROUP,
        linger_s: float = 0.002,
    ) -> None:
        self._work, self._executor = work, executor
        self._limit, self._linger_s = limit, linger_s
        self._waiting: list[tuple[Item, asyncio.Future[T]]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._group: asyncio.Task[None] | None = None

    def put(self, item: Item) -> "asyncio.Future[T]":
        """Hand in an item; its result comes when its group is done."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
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

    async def _run(self, group: list[tuple[Item, "asyncio.Future[T]"]]) -> None:
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
            for _, future in group:
                if not future.done():
                    future.set_exception(error)
        finally:
            self._group = None
            self._start()
