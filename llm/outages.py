"""The one rule for endpoints in trouble: who failed by itself, and when nobody is asked any more.

An endpoint that answers nobody fails every request alike, and one that refuses a parameter or a
key refuses all of them. What failed so is no fault of the items of a run: they wait.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Final

from llm.errors import ErrorClass, LLMError, Outage, Permanent, Transient
from llm.waiting import Policy

# Failures in a row, without a sign of life, after which calls go one at a time.
SUSPICION: Final = 8
# One-at-a-time tries that fail before everybody is sent home: about four minutes.
PATIENCE: Final = 20
# Refusals in a row after which the rest is not tried.
REFUSALS: Final = 20
# Failures after which asking again may be paid for again.
_COSTLY: Final = frozenset({ErrorClass.TIMEOUT, ErrorClass.BAD_ANSWER})


class Health:
    """The state of one endpoint as one worker sees it. Belongs to one event loop.

    The first answer of any kind that shows the endpoint at work, a refusal too, lets everybody go
    on who waited.
    """

    def __init__(
        self,
        policy: Policy,
        rng: random.Random,
        *,
        suspicion: int = SUSPICION,
        patience: int = PATIENCE,
    ) -> None:
        self._policy, self._rng = policy, rng
        self._suspicion, self._patience = suspicion, patience
        self._signs = 0
        self._answers = 0
        self._failures = 0
        self._refusals: list[str] = []
        self._last: LLMError | None = None
        self._not_before = self._told_s = 0.0
        self._probing = asyncio.Lock()

    @property
    def signs(self) -> int:
        """How often it showed itself at work; to be told to `is_spent` later."""
        return self._signs

    @property
    def is_open(self) -> bool:
        """Whether the endpoint is taken to be out of order."""
        return self._failures >= self._suspicion

    async def enter(self) -> Callable[[], None]:
        """Return when a call may be tried; call what it returns when its end is noted.

        Raises Outage where the endpoint was given up.
        """
        self._check()
        await self._wait_as_told()
        if not self.is_open:
            return _nothing
        await self._probing.acquire()
        try:
            self._check()
            if self.is_open:
                await self._pause()
            self._check()
        except BaseException:
            self._probing.release()
            raise
        if self.is_open:
            return self._probing.release
        self._probing.release()
        return _nothing

    def note(self, error: LLMError | None) -> None:
        """What came of a try; None is an answer."""
        if error is not None and error.error_class is ErrorClass.CALLED_OFF:
            return
        if not isinstance(error, Transient):
            self._signs, self._failures = self._signs + 1, 0
            self._note_refusal(error)
            return
        self._failures, self._last = self._failures + 1, error
        if error.retry_after is not None:
            # It is said to one call and meant for all.
            self._told_s = min(error.retry_after, self._policy.backoff.retry_after_cap_s)
            self._not_before = max(self._not_before, _now() + self._told_s)

    def is_spent(self, error: Transient, attempt: int, *, signs: int) -> bool:
        """Whether the attempt of that number, which ended so, was the request's last.

        `signs` is what the endpoint had shown when the request failed first. Without a sign since,
        it is not the request that fails: one that costs nothing is tried on as long as
        there is patience with an endpoint that answered before. Raises Outage where there is none.
        """
        if not self._policy.is_spent(error, attempt):
            return False
        if self._signs > signs:
            return True
        if not self._signs or error.error_class in _COSTLY:
            raise self._outage(error)
        return False

    def _note_refusal(self, error: LLMError | None) -> None:
        """The same words so many times in a row, or any from the first call on."""
        if error is None or error.is_mended:
            self._answers += error is None
            self._refusals = []
            return
        if not isinstance(error, Permanent) or error.error_class is not ErrorClass.REFUSED:
            return
        same = not self._refusals or error.message == self._refusals[-1]
        kept = self._refusals if same or not self._answers else []
        self._refusals, self._last = [*kept, error.message], error

    async def _wait_as_told(self) -> None:
        while (wait := self._not_before - _now()) > 0:
            # Spread over a tenth more, lest everybody comes back in the same moment.
            await asyncio.sleep(wait + 0.1 * self._told_s * self._rng.random())

    async def _pause(self) -> None:
        tries = self._failures - self._suspicion + 1
        told = self._last.retry_after if isinstance(self._last, Transient) else None
        await asyncio.sleep(self._policy.backoff.delay(tries, retry_after=told, rng=self._rng))
        await self._wait_as_told()

    def _check(self) -> None:
        if self._last is None:
            return
        if len(self._refusals) >= REFUSALS:
            raise self._outage(self._last, refusals=len(self._refusals))
        if self._failures >= self._suspicion + self._patience:
            raise self._outage(self._last)

    @staticmethod
    def _outage(last: LLMError, *, refusals: int = 0) -> Outage:
        return Outage(
            last.message,
            maybe_paid=last.maybe_paid,
            status=last.status,
            error_class=last.error_class,
            refusals=refusals,
        )


def _now() -> float:
    return asyncio.get_running_loop().time()


def _nothing() -> None:
    """Nothing was taken, so nothing is given back."""
