"""Holding calls back while an endpoint is in trouble: one tries, the others wait.

Without it every call under way would try again on its own, and every pair would use up its
attempts in an outage that has nothing to do with it. The first answer of any kind that shows the
endpoint at work, a refusal too, lets everybody go on.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Final

from llm.errors import ErrorClass, LLMError, Outage, Transient
from llm.retry import Backoff

# Failures in a row, none of them a proof of life, after which calls go one at a time.
SUSPICION: Final = 8
# One-at-a-time tries that fail before everybody is sent home: about four minutes.
PATIENCE: Final = 20


class Breaker:
    """The state of one endpoint as one worker sees it. Belongs to one event loop."""

    def __init__(
        self,
        backoff: Backoff,
        rng: random.Random,
        *,
        suspicion: int = SUSPICION,
        patience: int = PATIENCE,
    ) -> None:
        self._backoff, self._rng = backoff, rng
        self._suspicion, self._patience = suspicion, patience
        self._failures = 0
        self._last: Transient | None = None
        self._not_before = self._told_s = 0.0
        self._probing = asyncio.Lock()

    @property
    def is_open(self) -> bool:
        """Whether the endpoint is taken to be out of order."""
        return self._failures >= self._suspicion

    @property
    def is_given_up(self) -> bool:
        """Whether enough was tried."""
        return self._failures >= self._suspicion + self._patience

    async def enter(self) -> Callable[[], None]:
        """Return when a call may be tried; call what it returns when its end is noted.

        Raises Outage where the endpoint was given up.
        """
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
        if not isinstance(error, Transient):
            self._failures, self._last = 0, None
            return
        if error.error_class is ErrorClass.CALLED_OFF:
            return
        self._failures, self._last = self._failures + 1, error
        if error.retry_after is not None:
            # It is said to one call and meant for all.
            self._told_s = min(error.retry_after, self._backoff.retry_after_cap_s)
            self._not_before = max(self._not_before, _now() + self._told_s)

    async def _wait_as_told(self) -> None:
        while (wait := self._not_before - _now()) > 0:
            # Spread over a tenth more, lest everybody comes back in the same moment.
            await asyncio.sleep(wait + 0.1 * self._told_s * self._rng.random())

    async def _pause(self) -> None:
        tries = self._failures - self._suspicion + 1
        told = self._last.retry_after if self._last else None
        await asyncio.sleep(self._backoff.delay(tries, retry_after=told, rng=self._rng))
        await self._wait_as_told()

    def _check(self) -> None:
        if self.is_given_up and self._last is not None:
            last = self._last
            raise Outage(last.message, status=last.status, error_class=last.error_class)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _nothing() -> None:
    """Nothing was taken, so nothing is given back."""
