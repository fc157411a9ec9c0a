"""How the work of reading grows with what is read: as a ratio of two sizes, never in seconds."""

import time
from collections.abc import Callable
from typing import TypeVar

Given = TypeVar("Given")

TIMES = 4
# Four times the text may cost six times the work: what is linear stays below, what grows with the
# square costs sixteen.
MOST = 6.0
_FIRST, _LARGEST = 2_000, 2_000_000
# Shorter work is lost in what the clock and the machine add to it: it is measured at a larger size.
_TELLING_NS = 3_000_000
_TRIES = 6


def growth(
    job: Callable[[Given], object], given: Callable[[int], Given], *, first: int = _FIRST
) -> float:
    """How many times the work of a text TIMES as long is; 0 where both are next to nothing.

    Of both sizes the least processor time of several counts. They are measured again before the
    ratio is believed to be large, because another process may have been in the way.
    """
    size = first
    job(given(size // 10))  # what is made once and kept is no part of it
    small = large = _work(job, given(size))
    while large < _TELLING_NS:
        if size > _LARGEST:
            return 0.0
        size *= TIMES
        small, large = large, _work(job, given(size))
    for _ in range(_TRIES):
        small = min(small, _work(job, given(size // TIMES)))
        if large <= MOST * small:
            break
        large = min(large, _work(job, given(size)))
    return large / small


def _work(job: Callable[[Given], object], given: Given) -> int:
    begun = time.thread_time_ns()
    job(given)
    return time.thread_time_ns() - begun
