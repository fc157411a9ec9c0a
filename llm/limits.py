"""When a call may be sent: the rate limit that all workers share, the wait before another try, and
the one rule for endpoints in trouble.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from math import inf
from typing import Final, NamedTuple

from django.db import transaction

from kit.runs.turns import Claimant
from llm.batching import Batcher
from llm.endpoints import Endpoint
from llm.errors import ErrorClass, LLMError, Outage, Transient
from llm.models import RateLimit

# A call leaves so many seconds after the moment that it was given, at most.
LATE_S: Final = 1.0
_TOGETHER_S: Final = 0.25
# A run that asked for nothing so long is no longer reckoned with.
_FORGOTTEN_S: Final = 5.0
# Who asks outside of a run.
SOMEBODY: Final = Claimant(("", 0))

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


class Until(NamedTuple):
    """Up to when, in seconds since the epoch, the requests and tokens of an endpoint are given."""

    requests: float
    tokens: float


def _ahead(per_minute: int) -> float:
    return max(1.0, per_minute / 60)


def rate(per_minute: int) -> float:
    """What flows in a second, so slow that no minute sees more than the limit: neither with what
    may be taken ahead, nor with calls that leave later than the moment they were given."""
    return (per_minute - _ahead(per_minute) if per_minute > 1 else per_minute) / (60 + LATE_S)


def give(
    until: Until, limits: tuple[int, int], tokens: float, *, now: float
) -> tuple[Until, float]:
    """The moment at which one more request of so many tokens may be sent, and what is given then.

    `limits` are requests and tokens a minute, 0 is none. A second's worth may be taken ahead, at
    least 1; a request that is worth more waits until nothing is owed, and owes it.
    """
    needs = list(zip(until, limits, (1.0, tokens), strict=True))
    moments = (
        given - (_ahead(limit) - min(need, _ahead(limit))) / rate(limit)
        for given, limit, need in needs
        if limit
    )
    at = max(now, *moments)
    after = (max(given, at) + need / rate(limit) if limit else 0.0 for given, limit, need in needs)
    return Until(*after), at


class Limiter:
    """The pace of one worker at one endpoint. All methods belong to one event loop.

    The limit is kept in the database, where calls that wait are given their moments in groups, no
    more than about a second before, so that a worker that dies wastes no more. Where several
    runs wait, each has its share (kit/runs/turns.py): who has had a second more comes back later.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        executor: Executor,
        who: Claimant = SOMEBODY,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._who, self._name = who, "/".join(map(str, (who.scope, *who.key)))
        self._limits = endpoint.requests_per_minute, endpoint.tokens_per_minute
        self._endpoint, self._clock = endpoint.name, clock
        self._moments = Batcher(self._give, executor=executor)
        # Tokens used beyond what was estimated, told with the next request; below 0 they come back.
        self._owed = 0.0
        # Requests that were permitted and never sent, which come back likewise.
        self._unsent = 0

    async def permit(self, tokens: float) -> None:
        """Return when one request of about so many tokens may be sent."""
        is_given = not any(self._limits)
        while not is_given:
            told, self._owed, self._unsent = (self._owed, self._unsent), 0.0, 0
            at, is_given = await self._moments.put((tokens, *told))
            wait_s = at - self._clock()
            if not is_given:  # a little before; who waits for about the same moment asks together
                wait_s -= _TOGETHER_S + wait_s % _TOGETHER_S
            await asyncio.sleep(wait_s)

    def correct(self, *, estimated: float, used: float) -> None:
        """Tell what a permitted request used in truth."""
        self._owed += used - estimated

    def give_back(self, tokens: float) -> None:
        """Tell that a permitted request of about so many tokens is not sent."""
        self._owed -= tokens
        self._unsent += 1

    def _give(self, asked: Sequence[tuple[float, float, int]]) -> list[tuple[float, bool]]:
        """When each may be sent, and whether that is settled: else it is to ask again before.

        Each with the tokens that are owed and the requests that come back.
        """
        requests_limit, tokens_limit = self._limits
        with transaction.atomic():
            rows = RateLimit.objects.select_for_update()
            row, _ = rows.get_or_create(endpoint=self._endpoint)
            now, found = self._clock(), list[tuple[float, bool]]()
            turn = _Turn(self._who, self._name, row.turns, now)
            back = sum(each for *_, each in asked) / rate(requests_limit) if requests_limit else 0
            owed = sum(each for _, each, _ in asked) / rate(tokens_limit) if tokens_limit else 0
            until = given = Until(row.requests_until - back, row.tokens_until + owed)
            for tokens, *_ in asked:
                # By what is given and not by the moment: no large request is passed by small ones.
                is_settled = max(until) <= now + 1 + LATE_S and turn.is_mine
                until, at = give(until, self._limits, tokens, now=now)
                if is_settled:
                    given = until
                    turn.take(tokens, self._limits)
                else:
                    at = turn.wait(at)
                found.append((at, is_settled))
            row.requests_until, row.tokens_until = given
            row.turns = turn.stored
            row.save()
        return found


class _Turn:
    """A run beside the others that ask one endpoint, as the row of its limit keeps them."""

    def __init__(
        self, who: Claimant, name: str, rows: Mapping[str, Sequence[float]], now: float
    ) -> None:
        others = {key: each for key, each in rows.items() if each[1] + _FORGOTTEN_S > now}
        mine = others.pop(name, None)
        # A run that comes, or comes again, owes nothing and is owed nothing.
        least = min((had for had, _ in others.values()), default=0.0)
        self._had, self._until = mine or (least, 0.0)
        # When its requests that wait now come back.
        self._waits: list[float] = []
        self._first = min((had for had, until in others.values() if until > now), default=inf)
        same = sum(key.startswith(f"{who.scope}/") for key in others) if who.scope else 0
        self._weight = who.weight / (1 + same)
        self._others, self._name, self._now = others, name, now

    @property
    def is_mine(self) -> bool:
        """Whether it had no second more than one that waits, each by its weight."""
        return self._had <= self._first + 1 / self._weight

    def take(self, tokens: float, limits: tuple[int, int]) -> None:
        """It is given one request of so many tokens."""
        needs = zip((1.0, tokens), limits, strict=True)
        self._had += max(need / rate(limit) for need, limit in needs if limit) / self._weight

    def wait(self, at: float) -> float:
        """It is not given it, and waits until this moment at least; when it comes back."""
        self._waits.append(max(at, self._now + 2 * _TOGETHER_S))
        return self._waits[-1]

    @property
    def stored(self) -> dict[str, Sequence[float]]:
        """All of them, for the row."""
        until = max(self._until, self._now, *self._waits)
        # However many wait behind the first: nobody waits long for a worker that died.
        last = max(self._now + _FORGOTTEN_S, min(self._waits, default=0.0))
        return self._others | {self._name: [self._had, min(until, last)]}


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

    An endpoint that answers nobody fails every request alike: no fault of a run's items, which
    wait. The first answer of any kind that shows it at work, a refusal too, lets everybody go on.
    `attempts` is how often each request is tried; None leaves it to what goes wrong.
    """

    def __init__(self, attempts: int | None = None) -> None:
        self._attempts = attempts
        # How often it showed itself at work; for `is_spent` later.
        self.signs = 0
        self._answers = self._failures = self._refusals = 0
        self._refused_with = ""
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
        await self._wait_as_asked()
        if self.is_open:
            async with self._probing:
                self._check()
                if self.is_open:
                    tries = self._failures - SUSPICION + 1
                    retry_after = self._last.retry_after if self._last else None
                    await asyncio.sleep(wait_before(tries, retry_after=retry_after))
                    await self._wait_as_asked()
                if self.is_open:
                    yield
                    return
        yield

    def note(self, error: LLMError | None) -> None:
        """What came of a try; None is an answer."""
        if error is not None and error.error_class is ErrorClass.CALLED_OFF:
            return
        if isinstance(error, Transient):
            self._failures, self._last = self._failures + 1, error
            if error.retry_after is not None:
                # One call was asked to wait, and all should.
                self._retry_after_s = min(error.retry_after, LONGEST_RETRY_AFTER_S)
                self._not_before = max(self._not_before, time.monotonic() + self._retry_after_s)
            return
        self.signs, self._failures = self.signs + 1, 0
        if error is None or error.is_adapted:
            self._answers += error is None
            self._refusals = 0
        elif error.error_class is ErrorClass.REFUSED:
            # The same words so many times in a row, or any from the first call on.
            is_next = error.message == self._refused_with or not self._answers
            self._refusals = self._refusals + 1 if is_next else 1
            self._refused_with, self._last = error.message, error

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

    async def _wait_as_asked(self) -> None:
        self._check()
        while (wait := self._not_before - time.monotonic()) > 0:
            # Spread over a tenth more, lest everybody comes back in the same moment.
            await asyncio.sleep(wait + 0.1 * self._retry_after_s * random.random())  # noqa: S311
            self._check()

    def _check(self) -> None:
        if self._last and self._refusals >= REFUSALS:
            raise _outage(self._last, refusals=self._refusals)
        if self._last and self._failures >= SUSPICION + PATIENCE:
            raise _outage(self._last)


def _outage(last: LLMError, *, refusals: int = 0) -> Outage:
    paid, status, kind = last.maybe_paid, last.status, last.error_class
    return Outage(last.message, maybe_paid=paid, status=status, error_class=kind, refusals=refusals)
