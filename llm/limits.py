"""When a call may be sent: the rate limit that all workers share, the wait before another try, and
the one rule for endpoints in trouble.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from django.db import transaction

from llm.endpoints import Endpoint
from llm.errors import ErrorClass, LLMError, Outage, Permanent, Transient
from llm.models import RateLimit

# What a worker took from an endpoint's bucket it uses within so many seconds, or gives up.
LEASE_S: Final = 1.0
# Permits granted at once, at most: what is waiting now, or a second's worth, whichever is less.
_MOST_AT_ONCE: Final = 256

# Waits before another try: up to the first, doubled at each attempt; what an endpoint asks for in
# Retry-After goes first.
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
LONGEST_RETRY_AFTER_S = 120.0
# How often one request is tried. What timed out, or was answered with something else, may have
# been paid for in full.
ATTEMPTS: Final = 5
ATTEMPTS_OF: Final[Mapping[ErrorClass, int]] = {
    ErrorClass.RATE_LIMIT: 8,
    ErrorClass.TIMEOUT: 3,
    ErrorClass.BAD_ANSWER: 3,
}

# Failures in a row, without a sign of life, after which calls go one at a time.
SUSPICION = 8
# One-at-a-time tries that fail before everybody is sent home: about four minutes.
PATIENCE = 20
# Refusals in a row after which the rest is not tried.
REFUSALS: Final = 20


class Bucket(NamedTuple):
    """What is left at the moment `filled_at`; below 0 where one large request was let through."""

    requests: float
    tokens: float
    filled_at: float


class Grant(NamedTuple):
    """What a worker got; with none, how long to wait in seconds before it is worth asking again."""

    requests: int = 0
    tokens: float = 0.0
    wait_s: float = 0.0


def size(per_minute: int) -> float:
    """What a full bucket holds: a second's worth, at least 1."""
    return max(1.0, per_minute / 60)


def rate(per_minute: int) -> float:
    """What flows in a second, so slow that no minute sees more than the limit.

    A minute sees what was in the bucket, what flows in, and what a worker took just before and
    still had.
    """
    left = per_minute if per_minute <= 1 else per_minute - size(per_minute)
    return left / (60 + LEASE_S)


def exchange(
    bucket: Bucket,
    limits: tuple[int, int],
    *,
    now: float,
    back: tuple[float, float] = (0, 0),
    count: int = 0,
    each: float = 0.0,
) -> tuple[Bucket, Grant]:
    """Give back what was not used (below 0: used beyond), then take up to `count` requests.

    `limits` are requests and tokens a minute, 0 is none; `each` request is worth so many tokens.
    One whose tokens no bucket could hold goes through a full one and leaves a debt. A clock that is
    behind fills nothing and takes nothing.
    """
    seconds = max(0.0, now - bucket.filled_at)
    requests, tokens = (
        min(size(limit), min(size(limit), level + seconds * rate(limit)) + given)
        for level, limit, given in zip(bucket[:2], limits, back, strict=True)
    )
    filled = Bucket(requests, tokens, max(now, bucket.filled_at))
    needs = zip((1.0, min(each, size(limits[1]))), (requests, tokens), limits, strict=True)
    waits = [
        (need - level) / rate(limit)
        for need, level, limit in needs
        if limit and level < need - 1e-9
    ]
    if not count or waits:
        return filled, Grant(wait_s=max(waits, default=0.0) if count else 0.0)
    got = min(count, int(requests + 1e-9)) if limits[0] else count
    worth = max(each, min(count * each, tokens)) if limits[1] else 0.0
    left = requests - got if limits[0] else requests
    return filled._replace(requests=left, tokens=tokens - worth), Grant(got, worth)


class Limiter:
    """The permits of one worker at one endpoint. All methods belong to one event loop.

    The limit is kept in the database: a worker takes permits for about a second at a time, so that
    a call costs no query of its own, and gives back what it did not use.
    """

    def __init__(
        self, endpoint: Endpoint, *, executor: Executor, clock: Callable[[], float] = time.time
    ) -> None:
        self._limits = endpoint.requests_per_minute, endpoint.tokens_per_minute
        self._endpoint, self._executor, self._clock = endpoint.name, executor, clock
        self._requests, self._tokens, self._until = 0, 0.0, 0.0
        self._waiting = 0
        self._turn = asyncio.Lock()

    async def permit(self, tokens: float) -> None:
        """Return when one request of about so many tokens may be sent."""
        if not any(self._limits):
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
        if self._limits[1]:
            self._tokens += estimated - used

    async def close(self) -> None:
        """Give back what is left."""
        if any(self._limits):
            await self._exchange(0, 0.0)

    def _take_here(self, tokens: float) -> bool:
        if self._requests < 1 or self._clock() > self._until:
            return False
        if self._limits[1] and self._tokens < tokens:
            return False
        self._requests -= 1
        self._tokens -= tokens
        return True

    async def _take_more(self, tokens: float) -> None:
        second = self._limits[0] / 60 or _MOST_AT_ONCE
        granted = await self._exchange(
            max(1, min(self._waiting, int(second), _MOST_AT_ONCE)), tokens
        )
        self._requests += granted.requests
        self._tokens += granted.tokens
        self._until = self._clock() + LEASE_S
        if granted.wait_s:
            await asyncio.sleep(min(granted.wait_s, 5.0))  # another worker may give back meanwhile

    async def _exchange(self, count: int, each: float) -> Grant:
        """Give back the rest of the last chunk and take the next, in one move."""
        rest = self._requests, self._tokens
        self._requests, self._tokens = 0, 0.0
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, self._move, rest, count, each)

    def _move(self, rest: tuple[int, float], count: int, each: float) -> Grant:
        """Change the shared bucket, one worker after the other."""
        requests, tokens = map(size, self._limits)
        full = {"requests": requests, "tokens": tokens, "filled_at": self._clock()}
        with transaction.atomic():
            rows = RateLimit.objects.select_for_update()
            row, _ = rows.get_or_create(endpoint=self._endpoint, defaults=full)
            bucket = Bucket(row.requests, row.tokens, row.filled_at)
            now, limits = self._clock(), self._limits
            after, granted = exchange(bucket, limits, now=now, back=rest, count=count, each=each)
            row.requests, row.tokens, row.filled_at = after
            row.version += 1
            row.save()
        return granted


def wait_before(attempt: int, *, retry_after: float | None) -> float:
    """Seconds to wait after the attempt of that number, counted from 1.

    Full jitter, anything from nothing to the whole wait, spreads calls that failed together best;
    to what the endpoint asked for, which is a promise, up to a tenth is added.
    """
    if retry_after is not None:
        return min(retry_after, LONGEST_RETRY_AFTER_S) * (1 + 0.1 * random.random())  # noqa: S311
    longest = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(attempt - 1, 60))
    return longest * random.random()  # noqa: S311


class Health:
    """The one rule for an endpoint in trouble, as one worker sees it. Belongs to one event loop.

    An endpoint that answers nobody fails every request alike, and one that refuses a parameter or
    a key refuses all of them. What failed so is no fault of the items of a run: they wait. The
    first answer of any kind that shows the endpoint at work, a refusal too, lets everybody go on.
    `attempts` is how often each request is tried; None leaves it to what goes wrong.
    """

    def __init__(self, attempts: int | None = None) -> None:
        self._attempts = attempts
        # How often it showed itself at work; for `is_spent` later.
        self.signs = 0
        self._answers = self._failures = 0
        self._refusals: list[str] = []
        self._last: LLMError | None = None
        self._not_before = self._retry_after_s = 0.0
        self._probing = asyncio.Lock()

    @property
    def is_open(self) -> bool:
        """Whether the endpoint is granted to be out of order."""
        return self._failures >= SUSPICION

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """A place to try one call in, by itself in an outage; its end is to be noted inside.

        Raises Outage where the endpoint was given up.
        """
        self._check()
        await self._wait_as_asked()
        if self.is_open:
            async with self._probing:
                self._check()
                if self.is_open:
                    tries = self._failures - SUSPICION + 1
                    retry_after = self._last.retry_after if self._last else None
                    await asyncio.sleep(wait_before(tries, retry_after=retry_after))
                    await self._wait_as_asked()
                    self._check()
                if self.is_open:
                    yield
                    return
        yield

    def note(self, error: LLMError | None) -> None:
        """What came of a try; None is an answer."""
        if error is not None and error.error_class is ErrorClass.CALLED_OFF:
            return
        if not isinstance(error, Transient):
            self.signs, self._failures = self.signs + 1, 0
            self._note_refusal(error)
            return
        self._failures, self._last = self._failures + 1, error
        if error.retry_after is not None:
            # One call was asked to wait, and all should.
            self._retry_after_s = min(error.retry_after, LONGEST_RETRY_AFTER_S)
            self._not_before = max(self._not_before, time.monotonic() + self._retry_after_s)

    def is_spent(self, error: Transient, attempt: int, *, signs: int) -> bool:
        """Whether the attempt of that number, which ended so, was the request's last.

        `signs` is what the endpoint had shown when the request failed first. Without a sign since,
        it is not the request that fails: one that costs nothing is tried on as long as
        there is patience with an endpoint that answered before. Raises Outage where there is none.
        """
        if attempt < (self._attempts or ATTEMPTS_OF.get(error.error_class, ATTEMPTS)):
            return False
        if self.signs > signs:
            return True
        # Asked again, these may be paid for again.
        is_costly = error.error_class in (ErrorClass.TIMEOUT, ErrorClass.BAD_ANSWER)
        if not self.signs or is_costly:
            raise _outage(error)
        return False

    def _note_refusal(self, error: LLMError | None) -> None:
        """The same words so many times in a row, or any from the first call on."""
        if error is None or error.is_adapted:
            self._answers += error is None
            self._refusals = []
        elif isinstance(error, Permanent) and error.error_class is ErrorClass.REFUSED:
            same = not self._refusals or error.message == self._refusals[-1]
            kept = self._refusals if same or not self._answers else []
            self._refusals, self._last = [*kept, error.message], error

    async def _wait_as_asked(self) -> None:
        while (wait := self._not_before - time.monotonic()) > 0:
            # Spread over a tenth more, lest everybody comes back in the same moment.
            await asyncio.sleep(wait + 0.1 * self._retry_after_s * random.random())  # noqa: S311

    def _check(self) -> None:
        if self._last is None:
            return
        if len(self._refusals) >= REFUSALS:
            raise _outage(self._last, refusals=len(self._refusals))
        if self._failures >= SUSPICION + PATIENCE:
            raise _outage(self._last)


def _outage(last: LLMError, *, refusals: int = 0) -> Outage:
    return Outage(
        last.message,
        maybe_paid=last.maybe_paid,
        status=last.status,
        error_class=last.error_class,
        refusals=refusals,
    )
