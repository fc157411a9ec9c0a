"""One rate limit per endpoint for all workers on all hosts, kept in the database.

A worker takes permits for about a second at a time by compare-and-set on the endpoint's row, so
that a call costs no query of its own, and gives back what it did not use.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Final

from django.db import IntegrityError, transaction

from llm.bucket import LEASE_S, Bucket, Rule, Taken, Wanted, full, refilled, returned, take
from llm.models import RateLimit

_TRIES: Final = 50
# Permits taken at once, at most: what is waiting now, or a second's worth, whichever is less.
_MOST_AT_ONCE: Final = 256


class Limiter:
    """The permits of one worker at one endpoint. All methods belong to one event loop."""

    def __init__(
        self,
        endpoint: str,
        rule: Rule,
        *,
        executor: Executor,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._endpoint, self._rule = endpoint, rule
        self._executor, self._clock = executor, clock
        self._requests, self._tokens, self._until = 0, 0.0, 0.0
        self._owed = 0.0
        self._waiting = 0
        self._turn = asyncio.Lock()

    async def permit(self, tokens: float) -> None:
        """Return when one request of about so many tokens may be sent."""
        if self._rule.is_none:
            return
        self._waiting += 1
        try:
            async with self._turn:  # first come, first served
                while not self._take_here(tokens):
                    await self._take_more(tokens)
        finally:
            self._waiting -= 1

    def correct(self, *, estimated: float, used: float) -> None:
        """Tell what a permitted request used in truth; the difference goes back with the next."""
        if self._rule.tokens_per_minute:
            self._owed += estimated - used

    async def close(self) -> None:
        """Give back what is left."""
        if not self._rule.is_none:
            await self._in_thread(self._give_back)

    def _take_here(self, tokens: float) -> bool:
        if self._requests < 1 or self._clock() > self._until:
            return False
        if self._rule.tokens_per_minute and self._tokens < tokens:
            return False
        self._requests -= 1
        self._tokens -= tokens
        return True

    async def _take_more(self, tokens: float) -> None:
        second = self._rule.requests_per_minute / 60 or _MOST_AT_ONCE
        count = max(1, min(self._waiting, int(second), _MOST_AT_ONCE))
        wanted = Wanted(requests=count, tokens=count * tokens, first_tokens=tokens)
        taken = await self._in_thread(lambda: self._exchange(wanted))
        if taken.wait_s:
            await asyncio.sleep(min(taken.wait_s, 5.0))  # another worker may give back meanwhile
            return
        self._requests, self._tokens = taken.requests, taken.tokens
        self._until = self._clock() + LEASE_S

    def _exchange(self, wanted: Wanted) -> Taken:
        """Give back the rest of the last chunk and take the next, in one move."""
        requests, tokens = self._rest()

        def change(bucket: Bucket, now: float) -> tuple[Bucket, Taken]:
            bucket = refilled(bucket, self._rule, now=now)
            bucket = returned(bucket, self._rule, requests=requests, tokens=tokens)
            return take(bucket, self._rule, wanted, now=now)

        return self._move(change)

    def _give_back(self) -> Taken:
        requests, tokens = self._rest()

        def change(bucket: Bucket, now: float) -> tuple[Bucket, Taken]:
            bucket = refilled(bucket, self._rule, now=now)
            return returned(bucket, self._rule, requests=requests, tokens=tokens), Taken(0, 0.0)

        return self._move(change)

    def _rest(self) -> tuple[int, float]:
        """What is left of the last chunk, and what was estimated wrong; both are handed over."""
        rest = self._requests, self._tokens + self._owed
        self._requests, self._tokens, self._owed = 0, 0.0, 0.0
        return rest

    def _move(self, change: Callable[[Bucket, float], tuple[Bucket, Taken]]) -> Taken:
        """Change the shared bucket by compare-and-set, however many others do at this moment."""
        rows = RateLimit.objects.filter(pk=self._endpoint)
        for _ in range(_TRIES):
            now = self._clock()
            row = rows.first() or self._first_row(now)
            before = Bucket(row.requests, row.tokens, row.filled_at)
            after, taken = change(before, now)
            if after == before:
                return taken
            moved = rows.filter(version=row.version).update(
                version=row.version + 1,
                requests=after.requests,
                tokens=after.tokens,
                filled_at=after.filled_at,
            )
            if moved:
                return taken
            time.sleep(0.002)
        return Taken(0, 0.0, wait_s=0.1)

    def _first_row(self, now: float) -> RateLimit:
        bucket = full(self._rule, now=now)
        values = {name: getattr(bucket, name) for name in ("requests", "tokens", "filled_at")}
        try:
            with transaction.atomic():
                return RateLimit.objects.create(endpoint=self._endpoint, **values)
        except IntegrityError:
            return RateLimit.objects.get(pk=self._endpoint)

    async def _in_thread(self, work: Callable[[], Taken]) -> Taken:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)
