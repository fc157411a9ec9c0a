"""Pages and passages: written in short transactions into a version that nobody sees yet."""

from collections.abc import Mapping
from typing import TypeAlias

from corpus.importers.rows import DocumentRow, Key, PassageBatch, PassageRow
from corpus.models import Document, Passage
from corpus.services.loading_batches import BatchWriter
from corpus.services.loading_context import CHUNK, LoadContext
from corpus.services.loading_fills import PASSAGE, Cut, Fills, find_cut, passage_columns
from corpus.services.loading_known import known_pages, known_passages, same_text
from corpus.services.loading_pace import MOST_CHARACTERS, Pace
from kit.bulk import copy_rows

_PASSAGE = ("version_id", "domain_id", "pid", *PASSAGE)
_DOCUMENT = ("version_id", "domain_id", "doc_id", "title", "source_url", "text")
_NOWHERE = Cut()
Known: TypeAlias = Mapping[Key, Passage] | Mapping[Key, Document]


class TextLoader:
    """Takes texts one by one or in batches, compares them with what is here, writes what is new.

    In the order they come: of two texts under one id, the later one is the problem.
    `fills` holds the texts of passages that are here without one: visible rows, so they are
    written when the load is published.
    """

    def __init__(self, context: LoadContext) -> None:
        self.context = context
        self.fills: Fills = {}
        self._pages: dict[Key, DocumentRow] = {}
        self._passages: dict[Key, PassageRow] = {}
        self._characters = 0
        self._pace = Pace()
        self._batches = BatchWriter(context, self._pace)

    def add_page(self, row: DocumentRow) -> None:
        """Take a page."""
        key = row.domain, row.doc_id
        if key in self._pages:
            self._repeated(row, self._pages[key] == row, row.doc_id)
        else:
            self._pages[key] = row
            self._characters += len(row.text) + len(row.title or "")
        if len(self._pages) >= CHUNK or self._characters >= MOST_CHARACTERS:
            self._flush_rows()

    def add_passage(self, row: PassageRow) -> None:
        """Take a passage; its page, if any, was given before."""
        self._flush_batches()
        self._take(row)

    def add_batch(self, batch: PassageBatch) -> None:
        """Take passages that were given without pages."""
        if self._passages:
            self._flush_rows()
        for row in self._batches.add(batch):
            self._take(row)

    def flush(self) -> None:
        """Write what is waiting."""
        self._flush_batches()
        self._flush_rows()

    def _flush_batches(self) -> None:
        for row in self._batches.flush():
            self._take(row)

    def _take(self, row: PassageRow) -> None:
        key = row.domain, row.pid
        before = self._passages.get(key) or (self.fills[key][1] if key in self.fills else None)
        if before is not None:
            self._repeated(row, before == row, row.pid)
        else:
            self._passages[key] = row
            self._characters += len(row.text) + len(row.title or "")
        if len(self._passages) >= CHUNK or self._characters >= MOST_CHARACTERS:
            self._flush_rows()

    def _flush_rows(self) -> None:
        self._characters = 0
        self._flush_pages()
        rows, self._passages = self._passages, {}
        known = known_passages(self.context, rows)
        new = [row for row in rows.values() if not self._is_known(row, row.pid, known)]
        empty = [row for key, row in rows.items() if key in known and not known[key].is_loaded]
        cuts = self._cuts([*new, *empty])
        for row in empty:
            key = row.domain, row.pid
            self.fills[key] = (known[key].pk, row, cuts.get(key, _NOWHERE))
        if new and not self.context.tally.problems:
            self._write_passages(new, cuts)
        self.context.tally.add("passages", added=len(new), filled=len(empty))

    def _flush_pages(self) -> None:
        rows, self._pages = self._pages, {}
        known = known_pages(self.context, rows)
        new = [row for row in rows.values() if not self._is_known(row, row.doc_id, known)]
        if new and not self.context.tally.problems:
            self._write_pages(new)
        self.context.tally.add("documents", added=len(new))

    def _is_known(self, row: PassageRow | DocumentRow, name: str, known: Known) -> bool:
        """Whether the text is here already; counts it, and notes a clash."""
        found = known.get((row.domain, name))
        if found is None:
            return False
        own = self.context.version
        if found.text is not None:
            if own is not None and found.version_id == own.pk:
                self._repeated(row, same_text(found, row), name)
            elif same_text(found, row):
                kind = "passages" if isinstance(row, PassageRow) else "documents"
                self.context.tally.add(kind, present=1)
            else:
                self._clash(row, name, "here already")
        return True

    def _repeated(self, row: PassageRow | DocumentRow, same: bool, name: str) -> None:
        if same:
            self.context.tally.odd("texts repeated under their id", f"{row.domain}: {name}")
        else:
            self._clash(row, name, "earlier in this load")

    def _clash(self, row: PassageRow | DocumentRow, name: str, where: str) -> None:
        message = f"{name} stands {where} with another text, title or address."
        self.context.tally.fail(row.place, f"{message} Texts are never edited: give it a new id.")

    def _cuts(self, rows: list[PassageRow]) -> dict[Key, Cut]:
        wanted = {(row.domain, row.page_id) for row in rows if row.page_id}
        pages = known_pages(self.context, wanted) if wanted else {}
        return {
            (row.domain, row.pid): find_cut(pages[row.domain, row.page_id], row.text)
            for row in rows
            if (row.domain, row.page_id) in pages
        }

    def _write_pages(self, rows: list[DocumentRow]) -> None:
        with self._pace.writing(self.context, len(rows)):
            version = self.context.own_version().pk
            texts = ((row, self.context.domain(row.domain)) for row in rows)
            values = [
                (version, domain, row.doc_id, row.title or "", row.source_url or "", row.text)
                for row, domain in texts
            ]
            copy_rows(Document, _DOCUMENT, values)

    def _write_passages(self, rows: list[PassageRow], cuts: Mapping[Key, Cut]) -> None:
        with self._pace.writing(self.context, len(rows)):
            version = self.context.own_version().pk
            domains = {name: self.context.domain(name) for name in {row.domain for row in rows}}
            values = [
                (version, domains[row.domain], row.pid, *passage_columns(row, _cut(row, cuts)))
                for row in rows
            ]
            copy_rows(Passage, _PASSAGE, values)


def _cut(row: PassageRow, cuts: Mapping[Key, Cut]) -> Cut:
    return cuts.get((row.domain, row.pid), _NOWHERE)
