"""Which due runs a worker should be sent a message about again. Pure: the clock is an argument.

A message that nobody took yet is worth no second one: where all threads are busy for hours, the
queue would fill with thousands of copies.
"""

import threading
from collections.abc import Collection, Sequence
from typing import Final, TypeAlias

# A task's name, the run's id, whether somebody leads the run, so that only help is welcome, and how
# often it was claimed. A run that loses its leader, or was claimed and given back since, is a new
# matter, and a message is sent at once.
Key: TypeAlias = tuple[str, int, bool, int]

# Seconds before a second message; doubled each time.
PATIENCE: Final = 5.0
# The longest of these waits. After so long a message that nobody took counts as lost.
MAX_PATIENCE: Final = 3600.0
# Messages in one's own queue at most.
MAX_WAITING: Final = 100


class Messages:
    """The messages that one worker process sent about due runs.

    In its own in-memory queue (`own_queue`) it sees what is taken from there, and sends nothing
    twice before that. Elsewhere it cannot see, and waits longer each time.
    """

    def __init__(self, *, own_queue: bool) -> None:
        self._own_queue = own_queue
        # When the last message was sent, and how long the next one waits.
        self._sent: dict[Key, tuple[float, float]] = {}
        self._waiting: dict[Key, float] = {}
        self._lock = threading.Lock()

    def to_send(self, due: Sequence[Key], *, now: float) -> list[Key]:
        """Those of the due runs about which a message should be sent now."""
        with self._lock:
            present = set(due)
            # What was taken since is a new matter when it falls due again.
            self._sent = {key: sent for key, sent in self._sent.items() if key in present}
            self._waiting = {
                key: at for key, at in self._waiting.items() if now - at < MAX_PATIENCE
            }
            found = [key for key in due if self._may_send(key, now)]
            return found[: max(0, MAX_WAITING - len(self._waiting))]

    def note_sent(self, key: Key, *, now: float) -> None:
        """A message is on its way."""
        with self._lock:
            patience = PATIENCE
            if self._own_queue:
                self._waiting[key] = now
            elif key in self._sent:
                patience = min(MAX_PATIENCE, 2 * self._sent[key][1])
            self._sent[key] = now, patience

    def note_unsent(self, key: Key) -> None:
        """The message could not be sent."""
        with self._lock:
            self._sent.pop(key, None)
            self._waiting.pop(key, None)

    def forget(self, runs: Collection[tuple[str, int]]) -> None:
        """The last message about these led to nothing: another may be sent at once."""
        with self._lock:
            self._sent = {key: sent for key, sent in self._sent.items() if key[:2] not in runs}

    def note_received(self, task: str, pk: int) -> None:
        """A message was taken from this process's own queue."""
        with self._lock:
            for key in [key for key in self._waiting if key[:2] == (task, pk)]:
                del self._waiting[key]

    def _may_send(self, key: Key, now: float) -> bool:
        at, patience = self._sent.get(key, (now, 0.0))
        return key not in self._waiting and now - at >= patience
