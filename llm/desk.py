"""The ledger for many calls at once: what comes together is written together, in one thread."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor
from datetime import timedelta
from typing import Final

from django.utils import timezone

from llm import ledger
from llm.batching import Batcher
from llm.errors import ErrorClass, LLMError, Permanent
from llm.records import Found, Intent, Outcome
from llm.requests import RawReply, Reply

# A call waits for its intent with its place in flight taken, so that is kept short; it waits for
# the other two without one, and the larger their groups the less each row costs.
_INTENT_LINGER_S: Final = 0.003
_LINGER_S: Final = 0.03
_LINGER_PER_CALL_S: Final = 0.0005
_GROUP: Final = 256


class Desk:
    """Looks up, opens and settles calls. `busy` is about how many are in flight."""

    def __init__(self, executor: Executor, *, owner: str, busy: int) -> None:
        self._executor, self._owner = executor, owner
        linger_s = min(_LINGER_S, busy * _LINGER_PER_CALL_S)
        self._found: Batcher[str, Found] = Batcher(
            ledger.look_up, executor=executor, limit=_GROUP, linger_s=linger_s
        )
        self._intents: Batcher[Intent, int | None] = Batcher(
            self._write_intents,
            executor=executor,
            limit=_GROUP,
            linger_s=min(_INTENT_LINGER_S, linger_s),
        )
        self._outcomes: Batcher[Outcome, Reply | None] = Batcher(
            ledger.settle, executor=executor, limit=_GROUP, linger_s=linger_s
        )

    async def look_up(self, key: str) -> Found:
        """What the ledger knows of the request."""
        return await self._found.put(key)

    async def open(self, intent: Intent) -> int | None:
        """Commit the intent; None where the account has no room for it.

        Called off meanwhile, it is withdrawn: nothing was sent.
        """
        pending = self._intents.put(intent)
        try:
            return await asyncio.shield(pending)
        except asyncio.CancelledError:
            pending.add_done_callback(lambda done: self._withdraw(done, intent))
            raise

    async def settle(
        self, call_id: int, result: RawReply | LLMError, intent: Intent
    ) -> Reply | None:
        """Commit what came of the call; its answer, or the one that stands."""
        return await self._outcomes.put(Outcome(call_id, result, intent))

    def note(self, call_id: int, result: LLMError, intent: Intent) -> None:
        """Settle a call that nobody waits for any more."""
        self._outcomes.put(Outcome(call_id, result, intent))

    async def is_awaiting(self, intent: Intent, *, within_s: float) -> bool:
        """Whether calls of the same account are under way that began so lately."""
        account_id = intent.charge.account_id
        if account_id is None:
            return False
        since = timezone.now() - timedelta(seconds=within_s)
        return await asyncio.get_running_loop().run_in_executor(
            self._executor, lambda: ledger.is_awaiting(account_id, since=since)
        )

    async def drain(self) -> None:
        """Wait until everything handed in is done."""
        for batcher in (self._found, self._intents, self._outcomes):
            await batcher.drain()

    def _withdraw(self, pending: "asyncio.Future[int | None]", intent: Intent) -> None:
        if pending.cancelled() or pending.exception() is not None:
            return
        if (call_id := pending.result()) is not None:
            error = Permanent("Called off before sending.", error_class=ErrorClass.CALLED_OFF)
            self._outcomes.put(Outcome(call_id, error, intent))

    def _write_intents(self, intents: Sequence[Intent]) -> list[int | None]:
        return ledger.intend(intents, owner=self._owner)
