"""How much one transaction of the text index writes, so that people who save hardly wait."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from kit.bulk import one_writer_at_a_time

# Seconds that SQLite's one write lock is held at once, about.
_HOLD = 0.08
# And left alone afterwards. SQLite keeps no queue: who waits looks again, in the first two tenths
# of a second at least every 50 ms, so that a gap of this length is not missed.
_GAP = 0.06


class Pace:
    """Writes in transactions of `size`: more where that was quick, less where it took long.

    Between a fifth and twice of what it begins with: on a busy machine the smallest transactions
    are slow too, and only the more of them.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._least, self._most = max(1, size // 5), 2 * size
        self._people_wait = one_writer_at_a_time()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction; afterwards everybody else gets a turn."""
        with transaction.atomic():
            # From here on: waiting for the lock is no work.
            started = time.monotonic()
            yield
        seconds = time.monotonic() - started
        # Nobody had to wait for a transaction that found next to nothing to do.
        if self._people_wait and seconds > _HOLD / 4:
            self._learn(seconds)
            time.sleep(_GAP)

    def _learn(self, seconds: float) -> None:
        fitting = round(self.size * _HOLD / seconds)
        self.size = max(self._least, min(self._most, fitting))
