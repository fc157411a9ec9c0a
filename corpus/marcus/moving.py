"""What was left out of a text in one place and put into another one elsewhere."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

# Shorter runs of tokens stand in many places without having been moved there.
_LEAST: Final = 3


def moved(gone: Sequence[Sequence[str]], new: Sequence[Sequence[str]]) -> tuple[set[int], set[int]]:
    """The places of those of either that stand in one of the other, or hold one of it.

    By a suffix array of them all: to hold each against each takes minutes where there are
    thousands of both.
    """
    long = [
        (is_new, place, run)
        for is_new, runs in enumerate((gone, new))
        for place, run in enumerate(runs)
        if len(run) >= _LEAST
    ]
    numbers: dict[str, int] = {}
    codes: list[int] = []
    starts: list[int] = []
    for place, (_, _, run) in enumerate(long):
        starts.append(len(codes))
        codes += [numbers.setdefault(form, len(numbers)) for form in run]
        codes.append(-1 - place)  # an end like no other: nothing is found across two runs
    if not codes:
        return set(), set()
    order = _suffixes(codes, max(len(run) for _, _, run in long))
    owner = np.repeat(np.arange(len(long)), np.diff([*starts, len(codes)]))[order]
    sides = np.array([is_new for is_new, _, _ in long])[owner]
    before = np.concatenate([[0], np.cumsum(sides)])
    held = np.zeros((2, len(codes) + 1), dtype=np.int64)
    found = np.zeros(len(long), dtype=bool)
    for place, (is_new, _, run) in enumerate(long):
        wanted = codes[starts[place] : starts[place] + len(run)]

        def beginning(at: int, size: int = len(run)) -> list[int]:
            return codes[at : at + size]

        low = bisect_left(order, wanted, key=beginning)
        high = bisect_right(order, wanted, lo=low, key=beginning)
        count = int(before[high] - before[low])
        found[place] = (high - low > count) if is_new else count > 0
        held[is_new, low] += 1
        held[is_new, high] -= 1
    # A place is held by the other side where one of its runs begins there.
    covered = np.cumsum(held, axis=1)[1 - sides, np.arange(len(codes))] > 0
    found[owner[covered]] = True
    hits = [each[:2] for each, is_found in zip(long, found, strict=True) if is_found]
    return {p for is_new, p in hits if not is_new}, {p for is_new, p in hits if is_new}


def _suffixes(codes: Sequence[int], longest: int) -> npt.NDArray[np.int64]:
    """Where suffixes begin, in their order as far as `longest` codes tell it."""
    rank = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    width = 1
    while width < longest:
        behind = np.full(len(rank), -1)
        behind[:-width] = rank[width:]
        rank = np.unique(rank * (len(rank) + 1) + behind + 1, return_inverse=True)[1]
        width *= 2
    return np.argsort(rank, kind="stable")
