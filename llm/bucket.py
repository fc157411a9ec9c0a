"""The arithmetic of a shared rate limit. Pure: the clock is an argument.

A token bucket for requests and one for tokens. Nothing is held by anybody: a worker takes what it
is about to use in chunks of about a second, and lets what it did not use go back.
"""

from dataclasses import dataclass, replace
from typing import Final

WINDOW_S: Final = 60.0
# What a worker took it uses within so many seconds, or gives up.
LEASE_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Rule:
    """An endpoint's limits per minute; 0 is none.

    The bucket holds a second's worth, at least 1, and fills so slowly that no minute sees more
    than the limit: what was in the bucket, what flows in meanwhile, and what a worker took just
    before and still had (`LEASE_S`).
    """

    requests_per_minute: int
    tokens_per_minute: int

    @property
    def is_none(self) -> bool:
        """Whether there is nothing to keep to."""
        return not (self.requests_per_minute or self.tokens_per_minute)

    @property
    def size(self) -> tuple[float, float]:
        """What a full bucket holds, in requests and tokens."""
        return _size(self.requests_per_minute), _size(self.tokens_per_minute)

    @property
    def rate(self) -> tuple[float, float]:
        """What flows in per second."""
        return _rate(self.requests_per_minute), _rate(self.tokens_per_minute)


@dataclass(frozen=True, slots=True)
class Bucket:
    """What is left at the moment `filled_at`; below 0 where one large request was let through."""

    requests: float
    tokens: float
    filled_at: float


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a worker asks for: at least one request with its tokens, at best all of them."""

    requests: int
    tokens: float
    first_tokens: float


@dataclass(frozen=True, slots=True)
class Taken:
    """What it got; with none, how long to wait in seconds before it is worth asking again."""

    requests: int
    tokens: float
    wait_s: float = 0.0


def full(rule: Rule, *, now: float) -> Bucket:
    """A bucket nobody has used yet."""
    return Bucket(*rule.size, filled_at=now)


def refilled(bucket: Bucket, rule: Rule, *, now: float) -> Bucket:
    """The bucket at that moment. A clock that is behind fills nothing and takes nothing."""
    seconds = max(0.0, now - bucket.filled_at)
    levels = zip((bucket.requests, bucket.tokens), rule.size, rule.rate, strict=True)
    requests, tokens = (min(size, level + seconds * rate) for level, size, rate in levels)
    return Bucket(requests, tokens, filled_at=max(now, bucket.filled_at))


def take(bucket: Bucket, rule: Rule, wanted: Wanted, *, now: float) -> tuple[Bucket, Taken]:
    """Take as much of what is wanted as there is, or nothing if not one request fits.

    A request whose tokens no bucket could hold goes through a full one and leaves a debt.
    """
    bucket = refilled(bucket, rule, now=now)
    sizes, rates = rule.size, rule.rate
    needs = (1.0, min(wanted.first_tokens, sizes[1]))
    levels = (bucket.requests, bucket.tokens)
    limits = (rule.requests_per_minute, rule.tokens_per_minute)
    waits = [
        (need - level) / rate
        for need, level, rate, limit in zip(needs, levels, rates, limits, strict=True)
        if limit and level < need - 1e-9
    ]
    if waits:
        return bucket, Taken(0, 0.0, wait_s=max(waits))
    requests = min(wanted.requests, int(levels[0] + 1e-9)) if limits[0] else wanted.requests
    tokens = max(wanted.first_tokens, min(wanted.tokens, levels[1]))
    tokens = tokens if limits[1] else 0.0
    return _less(bucket, rule, requests, tokens), Taken(requests, tokens)


def returned(bucket: Bucket, rule: Rule, *, requests: float, tokens: float) -> Bucket:
    """The bucket after a worker gave back what it did not use, or (below 0) used beyond."""
    sizes = rule.size
    return replace(
        bucket,
        requests=min(sizes[0], bucket.requests + requests),
        tokens=min(sizes[1], bucket.tokens + tokens),
    )


def _less(bucket: Bucket, rule: Rule, requests: float, tokens: float) -> Bucket:
    return replace(
        bucket,
        requests=bucket.requests - (requests if rule.requests_per_minute else 0),
        tokens=bucket.tokens - tokens,
    )


def _size(per_minute: int) -> float:
    return max(1.0, per_minute / WINDOW_S)


def _rate(per_minute: int) -> float:
    """The inflow with which size + (a minute and a lease) of it stays within the limit."""
    if per_minute <= 1:
        return per_minute / (WINDOW_S + LEASE_S)
    return (per_minute - _size(per_minute)) / (WINDOW_S + LEASE_S)
