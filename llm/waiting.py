"""How long to wait before asking again. Pure: clock and randomness are arguments."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Self

from llm.errors import ErrorClass, Transient


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits in seconds: up to `first_s` doubled at each attempt, at most `cap_s`.

    What an endpoint asks for in Retry-After goes first, up to `retry_after_cap_s`.
    """

    first_s: float = 0.5
    cap_s: float = 30.0
    retry_after_cap_s: float = 120.0

    def delay(self, attempt: int, *, retry_after: float | None, rng: random.Random) -> float:
        """Seconds to wait after the attempt of that number, counted from 1.

        Full jitter, anything from nothing to the whole wait, spreads calls that failed together
        best; on top of a Retry-After, which is a promise, comes up to a tenth.
        """
        if retry_after is not None:
            return min(retry_after, self.retry_after_cap_s) * (1 + 0.1 * rng.random())
        return min(self.cap_s, self.first_s * 2.0 ** min(attempt - 1, 60)) * rng.random()


@dataclass(frozen=True, slots=True)
class Policy:
    """How often a request is tried again, by what went wrong, and how long to wait between.

    `attempts` counts all tries at one request; an attempt that timed out, or was answered with
    something else, may have been paid for in full, so there are fewer of those.
    """

    backoff: Backoff = field(default_factory=Backoff)
    attempts: int = 5
    attempts_of: Mapping[ErrorClass, int] = field(
        default_factory=lambda: {
            ErrorClass.RATE_LIMIT: 8,
            ErrorClass.TIMEOUT: 3,
            ErrorClass.BAD_ANSWER: 3,
        }
    )

    @classmethod
    def of(cls, attempts: int | None, backoff: Backoff | None) -> Self:
        """So many attempts whatever goes wrong; the usual ones where no number is given."""
        backoff = backoff or Backoff()
        return cls(backoff) if attempts is None else cls(backoff, attempts, attempts_of={})

    def is_spent(self, error: Transient, attempt: int) -> bool:
        """Whether the attempt of that number, which ended so, was the last."""
        return attempt >= self.attempts_of.get(error.error_class, self.attempts)


def retry_after(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """Seconds that the endpoint asks to wait: `retry-after-ms`, or Retry-After in either form.

    None where it says nothing that can be read (RFC 9110, 10.2.3: seconds or an HTTP date).
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    return _until(value, now) if seconds is None and value else seconds


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if isfinite(number) and number >= 0 else None


def _until(value: str, now: datetime) -> float | None:
    try:
        return max(0.0, (parsedate_to_datetime(value) - now).total_seconds())
    except (TypeError, ValueError):  # no date, or one without a time zone
        return None
