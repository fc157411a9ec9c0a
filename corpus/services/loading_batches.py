"""Passages as columns: the fast way into a version, for texts that nothing here can clash with.

Whatever needs a closer look (a passage that is here already, an id given twice) is handed back to
be taken one by one, so that both ways find the same and say the same.
"""

from collections.abc import Iterator, Sequence

from django.db import IntegrityError

from corpus.importers.rows import PassageBatch, PassageRow
from corpus.models import Passage
from corpus.services.loading_context import LoadContext, chunks
from corpus.services.loading_fills import as_json
from corpus.services.loading_pace import Pace
from kit.bulk import copy_columns


class BatchWriter:
    """Writes batches of sound passages; `add` and `flush` yield the rows that it leaves alone."""

    def __init__(self, context: LoadContext, pace: Pace) -> None:
        self.context = context
        self._pace = pace
        self._waiting: list[PassageBatch] = []
        self._rows = self._characters = 0
        self._has_older: dict[str, bool] = {}

    def add(self, batch: PassageBatch) -> Iterator[PassageRow]:
        """Take a batch."""
        if len(set(batch.pids)) < len(batch):
            yield from self.flush()
            yield from batch
            return
        known = self._known(batch)
        if known:
            yield from batch.rows(n for n, pid in enumerate(batch.pids) if pid in known)
            batch = batch.without(known)
        self._waiting.append(batch)
        self._rows += len(batch)
        self._characters += batch.characters
        if self._pace.is_full(self._rows, self._characters):
            yield from self.flush()

    def flush(self) -> Iterator[PassageRow]:
        """Write what is waiting; an id that this load has written before stops none of it."""
        batches, self._waiting = [batch for batch in self._waiting if batch], []
        self._rows = self._characters = 0
        if not batches:
            return
        if not self.context.tally.problems:
            try:
                self._write(batches)
            except IntegrityError:
                for batch in batches:
                    yield from batch
                return
        self.context.tally.add("passages", added=sum(map(len, batches)))

    def _write(self, batches: list[PassageBatch]) -> None:
        self._make_room(batches)
        with self._pace.writing(self.context, sum(map(len, batches))):
            for batch in batches:
                copy_columns(Passage, fixed=self._fixed(batch), columns=_columns(batch))

    def _make_room(self, batches: list[PassageBatch]) -> None:
        """Version and domains, in a transaction that does not go back with the texts."""
        names = {batch.domain for batch in batches}
        if self.context.version is None or names - self.context.domains.keys():
            with self._pace.writing(self.context, 0):
                self.context.own_version()
                for name in names:
                    self.context.domain(name)

    def _fixed(self, batch: PassageBatch) -> dict[str, int]:
        version, domain = self.context.own_version(), self.context.domain(batch.domain)
        return {"version_id": version.pk, "domain_id": domain}

    def _known(self, batch: PassageBatch) -> set[str]:
        """Ids that an earlier load has brought."""
        context, known = self.context, set[str]()
        if context.parent is None or batch.domain not in context.domains:
            return known
        older = Passage.objects.in_version(context.parent)
        older = older.filter(domain_id=context.domains[batch.domain]).order_by()
        if batch.domain not in self._has_older:
            self._has_older[batch.domain] = older.exists()
        for pids in chunks(batch.pids if self._has_older[batch.domain] else []):
            known.update(older.filter(pid__in=pids).values_list("pid", flat=True))
        return known


def _columns(batch: PassageBatch) -> dict[str, Sequence[str | None]]:
    columns: dict[str, Sequence[str | None]] = {"pid": batch.pids, "text": batch.texts}
    if batch.titles:
        columns["title"] = [title or "" for title in batch.titles]
    if batch.source_urls:
        columns["source_url"] = [url or "" for url in batch.source_urls]
    if batch.extras:
        columns["extra"] = [as_json(each) for each in batch.extras]
    return columns
