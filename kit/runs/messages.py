"""Which due runs a worker should be told of again. Pure: the clock is an argument.

A message that nobody took yet is worth no second one: where all threads are busy for hours, the
queue would fill with thousands of copies.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

# A task's name, the run's id, and whether somebody leads the run, so that only help is welcome. A
# run that loses its leader is a new matter and told of at once.
Key: TypeAlias = tuple[str, int, bool]

# Seconds before a run is told of again; doubled each time.
PATIENCE: Final = 5.0
# The longest of these waits. After so long a message that nobody took counts as lost.
LONGEST: Final = 3600.0
# Messages in one's own queue at most.
MOST_WAITING: Final = 100


@dataclass(slots=True)
class _Told:
    at: float
    patience: float


class Messages:
    """The messages that one worker process sent about due runs.

    In its own in-memory queue (`own_queue`) it sees what is taken from there, and sends nothing
    twice before that. Elsewhere it cannot see, and waits longer each time.
    """

    def __init__(self, *, own_queue: bool) -> None:
        self._own_queue = own_queue
        self._told: dict[Key, _Told] = {}
        self._waiting: dict[Key, float] = {}
        self._lock = threading.Lock()

    def wanted(self, due: Sequence[Key], *, now: float) -> list[Key]:
        """Those of the due runs that should be told of now."""
        with self._lock:
            present = set(due)
            # What was taken since is a new matter when it falls due again.
            self._told = {key: told for key, told in self._told.items() if key in present}
            self._waiting = {k: sent for k, sent in self._waiting.items() if now - sent < LONGEST}
            wanted = [key for key in due if self._is_wanted(key, now)]
            return wanted[: max(0, MOST_WAITING - len(self._waiting))]

    def note_sent(self, key: Key, *, now: float) -> None:
        """A message is on its way."""
        with self._lock:
            before, patience = self._told.get(key), PATIENCE
            if self._own_queue:
                self._waiting[key] = now
            elif before is not None:
                patience = min(LONGEST, 2 * before.patience)
            self._told[key] = _Told(now, patience)

    def note_unsent(self, key: Key) -> None:
        """The message could not be sent."""
        with self._lock:
            self._told.pop(key, None)
            self._waiting.pop(key, None)

    def note_received(self, task: str, pk: int) -> None:
        """A message was taken from this process's own queue."""
        with self._lock:
            for has_leader in (False, True):
                self._waiting.pop((task, pk, has_leader), None)

    def _is_wanted(self, key: Key, now: float) -> bool:
        told = self._told.get(key)
        return key not in self._waiting and (told is None or now - told.at >= told.patience)
