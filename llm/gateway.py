"""The one way to ask a model: replay, write down, send, retry, write down again.

No transaction spans a call. Before an attempt is sent its intent is committed, together with the
reservation of what it can cost at most; a reply is handed out after its settlement is committed.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, Literal, Self, TypeVar

from django.db import connections
from django.utils import timezone

from kit.failpoints import reach
from kit.runs.turns import Turn
from llm import endpoints
from llm.batching import Batcher
from llm.client import Client
from llm.endpoints import Endpoint
from llm.errors import ErrorClass, LLMError, Outage, OverBudget, Permanent, Refusal, Transient
from llm.ledger import writing
from llm.ledger.writing import NOT_NOW, Intent, Outcome
from llm.limits import SOMEBODY, Health, Limiter, wait_before
from llm.models import CALL_DEADLINE_S, Account, ModelProfile
from llm.prices import PriceTable, table
from llm.profiles import Profile, adapted, known, likely_input
from llm.requests import Reply, Request
from llm.reranking import RerankRequest
from llm.wire import EmbeddingRequest

logger = logging.getLogger(__name__)
T = TypeVar("T")
# An answer's length where the request names none, for the shared limit on tokens only.
_LIKELY_OUTPUT: Final = 500
# A call waits for its intent with its place in flight taken, so that is kept short; it waits for
# the rest without one, and the larger the groups the less each row costs.
_INTENT_LINGER_S: Final = 0.003
_LINGER_S: Final = 0.03
_LINGER_PER_CALL_S: Final = 0.0005
# Between two looks whether the last call in flight was answered.
_LOOK_S: Final = 0.02


@dataclass(frozen=True, slots=True)
class _Line:
    """What leads to one endpoint; `profiles` are how models are asked there, as far as learnt."""

    endpoint: Endpoint
    client: Client
    limiter: Limiter
    health: Health
    profiles: dict[str, Profile]

    def profile(self, model: str) -> Profile:
        """How that model is asked here."""
        return self.profiles.get(model) or known(model, api=self.endpoint.api)


class Gateways:
    """Calls under one worker's name to any endpoint: `async with Gateways(...) as gateways`.

    `concurrency` bounds the calls in flight to all of them. `known` endpoints are used as given,
    others looked up by name. Calls are charged to the account, at `prices`; where it has a limit
    they must have one. `turn` is that of the run which asks. `attempts` is how often a request is
    tried, None leaves it to what goes wrong. Database work is done in one thread: its own, or that
    of `executor`.
    """

    def __init__(
        self,
        *,
        concurrency: int,
        known: Iterable[Endpoint] = (),
        account: Account | None = None,
        turn: Turn | None = None,
        prices: PriceTable | None = None,
        attempts: int | None = None,
        deadline_s: float = CALL_DEADLINE_S,
        executor: Executor | None = None,
    ) -> None:
        self._endpoints = {endpoint.name: endpoint for endpoint in known}
        self._account, self._prices = account, prices or table()
        self._attempts, self._deadline_s = attempts, deadline_s
        self._slots, self._concurrency = asyncio.Semaphore(concurrency), concurrency
        self._turn, self._in_hand = turn or Turn(SOMEBODY), 0
        self._crowd, self._opening = asyncio.Lock(), asyncio.Lock()
        self._lines: dict[str, _Line] = {}
        self._stack = AsyncExitStack()
        self._asked: dict[str, asyncio.Task[Reply]] = {}
        self._under_way, self._closing = 0, False
        self._is_own = executor is None
        self._executor = executor or ThreadPoolExecutor(1, thread_name_prefix="ledger")
        linger_s = min(_LINGER_S, concurrency * _LINGER_PER_CALL_S)
        brief_s = min(_INTENT_LINGER_S, linger_s)
        self._look_ups = Batcher(writing.look_up, executor=self._executor, linger_s=linger_s)
        self._intents = Batcher(writing.intend, executor=self._executor, linger_s=brief_s)
        self._outcomes = Batcher(writing.settle, executor=self._executor, linger_s=linger_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Call off what is still under way, and write down what came of it."""
        under_way = [*self._asked.values()]
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        await self._drain()
        await self._stack.aclose()
        if self._is_own:
            await self.in_database(connections.close_all)
            self._executor.shutdown()

    async def complete(self, request: Request, subject: str) -> Reply:
        """The answer to the request: from the ledger if it was ever paid for, else by a call.

        Whoever asks the same meanwhile shares the one call. An answer that was cut off at its
        longest length is asked for once more with twice of it. Raises SettingsError before anything
        is written; Permanent at once, or where the second answer is cut off too, Refusal where the
        model would not answer, the last Transient when the attempts are used up, Outage when the
        endpoint answers nobody, and OverBudget when nothing may be sent any more.
        """
        line = self._lines.get(request.endpoint) or await self._open(request.endpoint)
        if self._account and self._account.limit_units is not None:
            self._prices.demand(line.endpoint, request.model, on=datetime.now(UTC).date())
        try:
            reply = await self._shared_answer(line, request, subject)
            if reply.is_cut and request.max_tokens:
                longest = 2 * request.max_tokens
                longer = replace(request, max_tokens=longest)
                first, reply = reply, await self._shared_answer(line, longer, subject)
                reply = replace(reply, cut_call_id=first.call_id)
                if reply.is_cut:
                    raise Permanent(
                        f"The answer was cut off at {request.max_tokens} tokens and again at "
                        f"{longest}: allow longer answers, or less reasoning.",
                        error_class=ErrorClass.CUT_OFF,
                        call_ids=reply.call_ids,
                    )
            if reply.is_refusal:
                raise Refusal(reply.text or "No reason was given.", call_ids=reply.call_ids)
        except LLMError as error:
            error.describe(line.endpoint, request.model)
            raise
        return reply

    def endpoint(self, name: str) -> Endpoint:
        """The endpoint of that name. Raises SettingsError."""
        if name not in self._endpoints:
            self._endpoints[name] = endpoints.get(name)
        return self._endpoints[name]

    async def wind_down(self, *, grace_s: float) -> None:
        """Send nothing more, and give the calls in flight so many seconds for their answers.

        What was answered is handed out as ever; whoever wants to send waits until it is
        cancelled.
        """
        self._closing = True
        with suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                while self._under_way:
                    await asyncio.sleep(_LOOK_S)
        await self._drain()

    async def in_database(self, work: Callable[[], T]) -> T:
        """What this work returns, done in the thread for the database."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    async def _open(self, name: str) -> _Line:
        async with self._opening:
            if name not in self._lines:
                endpoint = self.endpoint(name)
                learnt = await self.in_database(partial(ModelProfile.objects.learnt, endpoint))
                client = Client(endpoint, deadline_s=self._deadline_s)
                limiter = Limiter(endpoint, executor=self._executor, who=self._turn.who)
                await self._stack.enter_async_context(client)
                health = Health(self._attempts)
                self._lines[name] = _Line(endpoint, client, limiter, health, learnt)
        return self._lines[name]

    async def _shared_answer(self, line: _Line, request: Request, subject: str) -> Reply:
        """One call for all who ask the same at the same time; it goes on without whoever leaves."""
        key, task = request.key, self._asked.get(request.key)
        is_first = task is None
        if task is None:
            task = self._asked[key] = asyncio.create_task(self._complete(line, request, subject))
            task.add_done_callback(lambda _: self._asked.pop(key))
        reply = await asyncio.shield(task)
        return reply if is_first else replace(reply, replayed=True)

    async def _complete(self, line: _Line, request: Request, subject: str) -> Reply:
        if (found := await self._look_ups.put(request.key)) is not None:
            return found
        price = self._prices.find(line.endpoint, request.model, on=datetime.now(UTC).date())
        bound = price.bound(request) if price else None
        payer = self._account.pk if self._account else None
        intent = Intent(request, subject, line.endpoint.is_practice, payer, price, bound)
        attempt, signs = 1, 0
        while True:
            try:
                return await self._attempt(line, intent)
            except Transient as error:
                signs = line.health.signs if attempt == 1 else signs
                if isinstance(error, Outage) or line.health.is_spent(error, attempt, signs=signs):
                    raise
                wait_s = wait_before(attempt, retry_after=error.retry_after)
            except Permanent as error:
                if not error.is_adapted:
                    raise
                continue
            await asyncio.sleep(wait_s)
            attempt += 1

    async def _attempt(self, line: _Line, intent: Intent) -> Reply:
        """One row, one call."""
        may_room_come = True
        while not (sent := await self._open_and_send(line, intent)):
            if sent is not None:  # as many of the benchmark as may be are in flight
                async with self._crowd:  # one looks at a time, however many wait
                    await asyncio.sleep(0.05 + 0.1 * random.random())  # noqa: S311
                continue
            if not may_room_come:
                raise OverBudget("The next call does not fit into what is left of the budget.")
            # A call under way may still give back what another needs.
            since = timezone.now() - timedelta(seconds=self._deadline_s + 60)
            awaited = partial(writing.is_awaiting, intent.account_id, since=since)
            if may_room_come := await self.in_database(awaited):
                await asyncio.sleep(0.05 + 0.1 * random.random())  # noqa: S311
        reach("before-settle")
        reply = await self._outcomes.put(sent)
        if isinstance(sent[1], LLMError):
            raise sent[1]
        if reply is None:
            raise LLMError("The answer could not be written down.", maybe_paid=True)
        return reply

    async def _open_and_send(self, line: _Line, intent: Intent) -> Outcome | Literal[0] | None:
        """Write the intent, send it, note what came; None if the budget has no room for it now,
        NOT_NOW while the benchmark has as many calls in flight as it may."""
        request = intent.request
        async with self._slots, self._portion(), line.health.place():
            estimate = likely_input(request) + (request.max_tokens or _LIKELY_OUTPUT)
            await line.limiter.permit(estimate)
            if self._closing:
                await asyncio.Event().wait()  # until cancelled
            intent = replace(intent, profile=line.profile(request.model))
            pending, was_sent = self._intents.put(intent), False
            result: Reply | LLMError
            self._under_way += 1
            try:
                call_id = await asyncio.shield(pending)
                if not call_id:
                    line.limiter.give_back(estimate)
                    return NOT_NOW if call_id == NOT_NOW else None
                was_sent = True
                reach("send", call_id)
                try:
                    result = await line.client.send(request, intent.profile)
                except LLMError as error:
                    await self._learn(line, intent, error)
                    result = error
            except asyncio.CancelledError:
                pending.add_done_callback(partial(self._call_off, was_sent))
                raise
            finally:
                self._under_way -= 1
            line.health.note(result if isinstance(result, LLMError) else None)
            if isinstance(result, Reply) and result.usage:
                used = result.usage.input + result.usage.output
                line.limiter.correct(estimated=estimate, used=used)
            return call_id, result

    @asynccontextmanager
    async def _portion(self) -> AsyncIterator[None]:
        """A place among the calls in flight that are this run's share of the process."""
        while self._in_hand and self._in_hand >= self._concurrency * self._turn.portion:
            await asyncio.sleep(_LOOK_S)
        self._in_hand += 1
        try:
            yield
        finally:
            self._in_hand -= 1

    async def _learn(self, line: _Line, intent: Intent, refusal: LLMError) -> None:
        """Ask the model in another way because of this refusal, if it names one."""
        model, asked = intent.request.model, intent.profile
        only_texts = isinstance(intent.request, EmbeddingRequest | RerankRequest)
        if asked is None or refusal.named is None or only_texts:
            return
        if line.profile(model) != asked:
            refusal.is_adapted = True  # by the refusal of another call
        elif changed := adapted(asked, refusal.named, model):
            logger.info("%s: %s is now asked as %s", line.endpoint.name, model, changed)
            line.profiles[model], refusal.is_adapted = changed, True
            what = line.endpoint, model, changed, refusal.message
            await self.in_database(partial(ModelProfile.objects.keep, *what))

    def _call_off(self, was_sent: bool, intent: "asyncio.Future[int | None]") -> None:
        """Settle a call that we end ourselves, once its intent stands: what was not sent is
        withdrawn, the rest may be paid for."""
        if not intent.cancelled() and not intent.exception() and (call_id := intent.result()):
            words = f"Called off before {'the answer came' if was_sent else 'sending'}."
            kind = ErrorClass.CALLED_OFF
            self._outcomes.put((call_id, LLMError(words, maybe_paid=was_sent, error_class=kind)))

    async def _drain(self) -> None:
        """Wait until everything handed to the ledger is written."""
        for each in (self._look_ups, self._intents, self._outcomes):
            await each.drain()
