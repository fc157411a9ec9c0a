"""How the work of reading grows with what is read: as a ratio of two sizes, never in seconds."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

Given = TypeVar("Given")

TIMES: Final = 4
# Four times the text may cost six times the work: what is linear stays below, what grows with the
# square costs sixteen.
MOST: Final = 6.0
_FIRST, _LARGEST = 2_000, 500_000
# Shorter work is lost in what the clock adds to it: it is measured at a larger size.
_TELLING_NS: Final = 400_000
_TRIES: Final = 20
# No larger size is looked at beyond it: what grows with the square would soon take minutes.
_ENOUGH_NS: Final = 20_000_000


def growth(
    job: Callable[[Given], object], given: Callable[[int], Given], *, first: int = _FIRST
) -> float:
    """How many times the work of a text TIMES as long is; 0 where both are next to nothing.

    The least processor time of several counts for both sizes. A large ratio is believed only once
    it was measured again, for another process may have been in the way, and only if it is as large
    at a larger size: neither a step, such as a text that is too short to be cut, nor a cache that
    others empty is growth.
    """
    size, is_suspect = first, False
    small = large = _work(job, given(size))
    while size <= _LARGEST:
        size *= TIMES
        small, large = large, _work(job, given(size))
        if large < _TELLING_NS:
            continue
        for _ in range(_TRIES):
            small = min(small, _work(job, given(size // TIMES)))
            if large <= MOST * small:
                return large / small
            large = min(large, _work(job, given(size)))
        if large > _ENOUGH_NS:
            if is_suspect:
                break
            is_suspect = True
    return large / small if large > _ENOUGH_NS else 0.0


def _work(job: Callable[[Given], object], given: Given) -> int:
    begun = time.thread_time_ns()
    job(given)
    return time.thread_time_ns() - begun
