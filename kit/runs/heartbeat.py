"""Keeping a run's lease while its worker is busy inside one long read."""

import logging
import threading
from types import TracebackType
from typing import Self

from django.db import DatabaseError, connection

from kit.runs.models import LostLease, TrackedRun

logger = logging.getLogger(__name__)
# Seconds between two beats: also how often a page that watches can see progress.
EVERY = 1.0


class Heartbeat:
    """Beats for a run from a thread of its own, with a connection of its own.

    A frozen view is read in one transaction in which nothing can be written, so the worker cannot
    beat itself. `step` tells the progress and raises LostLease once the run is no longer ours.
    """

    def __init__(self, run: TrackedRun, *, every: float = EVERY) -> None:
        self._run = run
        self._every = every
        self._done = self._total = 0
        self._lost = False
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._beat_on, name="heartbeat", daemon=True)
        # Inside a transaction nobody else could see the beats.
        self._silent = connection.in_atomic_block

    def __enter__(self) -> Self:
        if not self._silent:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopped.set()
        if not self._silent:
            self._thread.join()

    def step(self, done: int, total: int) -> None:
        """Note how far the work is; raises LostLease if it has to stop."""
        self._done, self._total = done, total
        if self._lost:
            raise LostLease(f"{self._run._meta.label} {self._run.pk}")

    def _beat_on(self) -> None:
        try:
            while not self._lost and not self._stopped.wait(self._every):
                self._beat()
        finally:
            connection.close()

    def _beat(self) -> None:
        try:
            self._run.beat(done=self._done, total=self._total)
        except LostLease:
            self._lost = True
        except DatabaseError:
            # The lease outlives a few missed beats.
            logger.warning("the database did not take a beat", exc_info=True)
