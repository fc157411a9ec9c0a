"""How much one short transaction of a load writes."""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from django.db import models, transaction

from corpus.services.loading_context import CHUNK, LoadContext
from kit.bulk import commit_without_waiting, copy_rows, one_writer_at_a_time

# The most that waits to be written, in rows and in characters: memory stays bounded.
MOST_ROWS = 10_000
MOST_CHARACTERS = 16_000_000
# Seconds that SQLite's one write lock is held, about: people save in between.
_SHORT, _LONG = 0.1, 0.25
# Between two of them, where nothing is read meanwhile: who waits looks every tenth of a second.
_REST = 0.11


class Pace:
    """Rows in one transaction: more where they are written fast, fewer where people would wait."""

    def __init__(self) -> None:
        self._people_wait = one_writer_at_a_time()
        self._written = 0.0
        self.rows = CHUNK if self._people_wait else MOST_ROWS

    def is_full(self, rows: int, characters: int) -> bool:
        """Whether as much waits as should be written at once."""
        return rows >= self.rows or characters >= MOST_CHARACTERS

    @contextmanager
    def writing(self, context: LoadContext, rows: int) -> Iterator[None]:
        """One transaction of so many rows, only while the run is ours; raises LostLease."""
        with transaction.atomic():
            started = time.monotonic()
            commit_without_waiting()
            context.hold()
            yield
        seconds = time.monotonic() - started
        self._written += seconds
        self._learn(rows, seconds)

    def write(
        self,
        context: LoadContext,
        model: type[models.Model],
        columns: Sequence[str],
        rows: Iterable[Sequence[Any]],
    ) -> None:
        """Insert rows that nobody sees yet, however many, in short transactions."""
        coming = iter(rows)
        while part := list(islice(coming, self.rows)):
            with self.writing(context, len(part)):
                copy_rows(model, columns, part)
            self._rest()

    def _rest(self) -> None:
        """Let people save, once as much was written as a short transaction takes."""
        if self._people_wait and self._written > _SHORT:
            self._written = 0.0
            time.sleep(_REST)

    def _learn(self, rows: int, seconds: float) -> None:
        if not self._people_wait:
            return
        if seconds > _LONG:
            self.rows = max(CHUNK // 4, self.rows // 2)
        elif seconds < _SHORT and rows >= self.rows:
            self.rows = min(MOST_ROWS, self.rows * 2)
