"""Who goes first where several runs wait for the same: the one rule, for all that they share.

A run's share is the weight of its priority, divided among the runs of its benchmark that are at
work in the same process. By it
- a run that waits takes the place of one that has had its slice (`place`),
- calls in flight of a process are divided among its runs (`Turn.portion`),
- an endpoint's limit is divided among all that wait for it, in any process (llm/limits.py).
What waits grows in weight as it waits, and nobody is told to go before their slice: none starves.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from django.conf import settings
from django.db import models


class Priority(models.IntegerChoices):
    """What a person may say of a run; the numbers are weights."""

    LOW = 1, "low"
    NORMAL = 4, "normal"
    HIGH = 16, "high"


def level_of(priority: int | None) -> str | None:
    """It in a word; None where nobody said one."""
    return None if priority is None else Priority(priority).label


def named(level: str | None) -> Priority | None:
    """The priority that is called so; None for none, or "by-size"."""
    return None if level in (None, "by-size") else Priority[str(level).upper()]


def in_a_word(weight: int) -> str:
    """What people call a weight."""
    return str(Priority(weight).label) if weight in Priority else "at the screen"


# Of work for somebody who sits at the screen.
AT_SCREEN: Final = 64
# A run about which nobody has said anything is of normal priority up to so many items, else of low.
SMALL: Final = 200
# How long a run keeps its place beside another of the same share that waits.
SLICE_S: Final = 10.0

Key = tuple[str, int]
"""A run: its task's name and its id."""


class Claimant(NamedTuple):
    """Who wants a share: of which benchmark ("" belongs to none), with which weight, and whether
    it is known to be over soon."""

    key: Key
    scope: str = ""
    weight: int = Priority.NORMAL
    is_small: bool = False


_guard = threading.Lock()
_turns: "dict[Key, Turn]" = {}
# Since when runs that are due have waited, as far as this process has seen.
_waiting: dict[Key, float] = {}
# Runs that found no place in this process, and when there may be one for them.
_refused: dict[Key, float] = {}
# Between two tries at least: where too many have not ended yet what they had begun.
_TRY_S: Final = 1.0
# Threads of this worker process, and what those are at that work for nobody at the screen.
threads = 0
_busy: dict[int, Claimant] = {}


class Turn:
    """A run's turn in this process. `is_over` once it is to give its place to another."""

    def __init__(self, who: Claimant) -> None:
        self.who, self.since, self.is_over = who, time.monotonic(), False

    @property
    def portion(self) -> float:
        """Which part of its own calls in flight it may have now: all, unless others weigh more."""
        if len(_turns) < 2:
            return 1.0
        at_work = [each for each in [*_turns.values()] if not each.is_over]
        most = max((share(each.who, at_work) for each in at_work), default=0.0)
        mine = share(self.who, at_work)
        return mine / most if mine < most else 1.0

    def begin(self) -> None:
        """The run is claimed: whoever is first to go, if there are too many now, is told so."""
        with _guard:
            at_work = [each for each in _turns.values() if not each.is_over]
            others = [each for each in at_work if each is not self]
            if self in at_work and len(at_work) > settings.ASSAY_RUNS_AT_ONCE and others:
                min(others, key=lambda each: _left(each, self.who, others)).is_over = True


def share(who: Claimant, at_work: list[Turn]) -> float:
    """Its weight, divided among the runs of its benchmark at work, itself among them."""
    same = sum(each.who.scope == who.scope and each.who.key != who.key for each in at_work)
    return who.weight / (1 + same if who.scope else 1)


def _left(turn: Turn, who: Claimant, at_work: list[Turn]) -> float:
    """Seconds until that turn is to give its place to one who waits; below 0 they are over."""
    rest = [each for each in at_work if each is not turn]
    slice_s = SLICE_S * share(turn.who, at_work) / share(who, rest)
    return turn.since + slice_s - time.monotonic()


@contextmanager
def place(who: Claimant) -> Iterator[Turn | None]:
    """A place for the run in this process; None where none is free, or it has one already.

    Instead of one that has had its slice it begins at once, while that one ends what it has begun.
    """
    turn = None
    with _guard:
        at_work = [each for each in _turns.values() if not each.is_over]
        most = settings.ASSAY_RUNS_AT_ONCE
        # One that came before and has not begun yet takes the place of one that had its slice.
        over = sum(_left(each, who, at_work) <= 0 for each in at_work)
        if len(at_work) < most + over and who.key not in _turns and len(_turns) < 2 * most:
            turn = _turns[who.key] = Turn(who)
        elif who.key not in _turns:
            left = min((_left(each, who, at_work) for each in at_work), default=0.0)
            _refused[who.key] = time.monotonic() + max(left, _TRY_S)
    try:
        yield turn
    finally:
        if turn is not None:
            with _guard:
                del _turns[who.key]


def may_try_again() -> set[Key]:
    """Runs that found no place here and may find one now; each is named once."""
    with _guard:
        found = {key for key, at in _refused.items() if at <= time.monotonic()}
        for key in found:
            del _refused[key]
    return found


def in_order(due: list[tuple[Claimant, bool, Any]]) -> list[Any]:
    """What waits, (who, whether somebody leads it already, what), in the order of its turns."""
    global _waiting
    now, at_work = time.monotonic(), [*_turns.values()]
    _waiting = since = {who.key: _waiting.get(who.key, now) for who, _, _ in due}

    def rank(each: tuple[Claimant, bool, Any]) -> tuple[bool, float, float]:
        who, is_led, _ = each
        part = share(who, at_work)
        # Those that were seen first in this moment by their share, then as they came.
        return is_led, -(now - since[who.key]) * part, -part

    return [what for *_, what in sorted(due, key=rank)]


def may_claim(who: Claimant, *, at_screen: bool) -> bool:
    """Whether this thread of a worker may begin that run; it is noted as busy with it.

    One thread is kept for people at the screen. Of three or more another one is kept for small
    runs, one of each benchmark, whatever they weigh: a run that holds its thread to the end has no
    slices, and they are not to wait for it. It is open, too, to runs that weigh more than normal
    ones, where their benchmark has none of no less weight at work.
    """
    me = threading.get_ident()
    with _guard:
        others = [each for thread, each in _busy.items() if thread != me]
        free = threads - 1 - len(others)
        same = [each for each in others if each.scope == who.scope]
        is_first = who.is_small and not any(each.is_small for each in same)
        is_above = who.weight > max([Priority.NORMAL, *(each.weight for each in same)])
        kept = 1 if threads > 2 and not is_first and not is_above else 0
        # One that is at work already begins a part of it.
        may = at_screen or me in _busy or threads < 2 or free > kept
        if may and not at_screen:
            _busy.setdefault(me, who)
        return may


def end_claim() -> None:
    """This thread's work is over."""
    _busy.pop(threading.get_ident(), None)
