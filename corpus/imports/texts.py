"""Pages and passages: written in short transactions into a version that nobody sees yet.

Passages come as columns where they can: the fast way into a version, for texts that nothing here
can clash with. Whatever needs a closer look (a passage that is here already, an id given twice) is
taken one by one, so that both ways find the same and say the same: compared with what is in the
layers that a load extends, and in its own version. Passages that are known by id alone get their
text in the last transaction of a load, because that changes rows which people see.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from django.db import IntegrityError, connection, models

from corpus.importers.rows import DocumentRow, Key, PassageBatch, PassageRow
from corpus.imports.context import CHUNK, MAX_CHARACTERS, ConcurrentLoad, LoadContext, Pace, known
from corpus.models import Document, Passage
from corpus.texts.indexing import index_filled
from kit.database.bulk import copy_columns, copy_rows

# The page a passage is from and, where it stands there exactly once, its [start, end).
Cut: TypeAlias = tuple[int | None, int | None, int | None]
NOWHERE: Cut = (None, None, None)
# Row id of a passage without text, the row that brings its text, and its place in a page.
Fills: TypeAlias = dict[Key, tuple[int, PassageRow, Cut]]
PASSAGE = ("title", "source_url", "fetched_on", "text", "extra", "document_id", "start", "end")


def find_cut(page: Document, text: str) -> Cut:
    """Where a passage stands in its page, in code points; nowhere unless exactly once."""
    start = page.text.find(text) if text else -1
    if start < 0 or page.text.find(text, start + 1) >= 0:
        return page.pk, None, None
    return page.pk, start, start + len(text)


def passage_columns(row: PassageRow, cut: Cut) -> tuple[Any, ...]:
    """A row's values in the order of PASSAGE."""
    extra = as_json(row.extra)
    return row.title or "", row.source_url or "", row.fetched_on, row.text, extra, *cut


def fill_passages(fills: Mapping[Key, tuple[int, PassageRow, Cut]]) -> None:
    """Give passages that were known by id alone their text, and let words find it.

    Raises Overtaken if another load gave one of them a text meanwhile.
    """
    rows = [(*passage_columns(row, cut), pk) for pk, row, cut in fills.values()]
    fill_rows(Passage, PASSAGE, rows, empty="text IS NULL")
    index_filled([pk for pk, _, _ in fills.values()])


def fill_rows(
    model: type[models.Model], columns: Sequence[str], rows: Sequence[Sequence[Any]], *, empty: str
) -> None:
    """Update rows (values, then the row's id) where they are still `empty`, a condition in SQL.

    Raises Overtaken if one of them is not.
    """
    if not rows:
        return
    quote = connection.ops.quote_name
    values = ", ".join(f"{quote(name)} = %s" for name in columns)
    # Names come from the model, values go through the driver.
    sql = f"UPDATE {quote(model._meta.db_table)} SET {values} WHERE id = %s AND {empty}"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.executemany(sql, rows)
        if cursor.rowcount < len(rows):
            raise ConcurrentLoad


def as_json(value: object) -> str | None:
    """What a JSON column stores; None where nothing was given."""
    return None if value is None else json.dumps(value)


def json_list(values: Iterable[object] | None) -> str:
    """What a column of lists stores."""
    return json.dumps(list(values or ()))


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
        here = self._known(batch)
        if here:
            yield from batch.rows(n for n, pid in enumerate(batch.pids) if pid in here)
            batch = batch.without(here)
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
        # Version and domains, in a transaction that does not go back with the texts.
        names = {batch.domain for batch in batches}
        if self.context.version is None or names - self.context.domains.keys():
            with self._pace.writing(self.context, 0):
                self.context.own_version()
                for name in names:
                    self.context.domain(name)
        with self._pace.writing(self.context, sum(map(len, batches))):
            for batch in batches:
                columns: dict[str, Sequence[str | None]] = {"pid": batch.pids, "text": batch.texts}
                if batch.titles:
                    columns["title"] = [title or "" for title in batch.titles]
                if batch.source_urls:
                    columns["source_url"] = [url or "" for url in batch.source_urls]
                if batch.dates:
                    columns["fetched_on"] = batch.dates
                if batch.extras:
                    columns["extra"] = [as_json(each) for each in batch.extras]
                copy_columns(Passage, fixed=self._fixed(batch), columns=columns)

    def _fixed(self, batch: PassageBatch) -> dict[str, int]:
        version, domain = self.context.own_version(), self.context.domain(batch.domain)
        return {"version_id": version.pk, "domain_id": domain}

    def _known(self, batch: PassageBatch) -> set[str]:
        """Ids that an earlier load has brought."""
        context, domain = self.context, batch.domain
        if context.parent is None or domain not in context.domains:
            return set()
        older = Passage.objects.in_version(context.parent)
        if domain not in self._has_older:
            self._has_older[domain] = older.filter(domain_id=context.domains[domain]).exists()
        keys = [(domain, pid) for pid in batch.pids] if self._has_older[domain] else []
        return {
            pid
            for _, found in known(context, older, "pid", keys)
            for pid in found.values_list("pid", flat=True)
        }


def known_passages(context: LoadContext, keys: Iterable[Key]) -> dict[Key, Passage]:
    """The passages of these keys that are here."""
    rows = Passage.objects.filter(version_id__in=context.layers)
    found = known(context, rows, "pid", keys)
    return {(domain, each.pid): each for domain, part in found for each in part}


def known_pages(context: LoadContext, keys: Iterable[Key]) -> dict[Key, Document]:
    """The pages of these keys that are here."""
    rows = Document.objects.filter(version_id__in=context.layers)
    found = known(context, rows, "doc_id", keys)
    return {(domain, each.doc_id): each for domain, part in found for each in part}


def same_text(found: Passage | Document, row: PassageRow | DocumentRow) -> bool:
    """Whether the row says nothing else than what is stored; what it leaves out agrees.

    A release gives a passage the address and day of its page.
    """
    extra = row.extra if isinstance(row, PassageRow) else None
    of_page = found if isinstance(found, Passage) else None
    return (
        found.text == row.text
        and row.title in (None, found.title)
        and (
            row.source_url in (None, found.source_url)
            or (of_page is not None and row.source_url == of_page.address)
        )
        and (
            row.fetched_on in (None, str(found.fetched_on))
            or (of_page is not None and row.fetched_on == str(of_page.fetched))
        )
        and (extra is None or extra == getattr(found, "extra", None))
    )


_PASSAGE = ("version_id", "domain_id", "pid", *PASSAGE)
_DOCUMENT = ("version_id", "domain_id", "doc_id", "title", "source_url", "fetched_on", "text")
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
        if len(self._pages) >= CHUNK or self._characters >= MAX_CHARACTERS:
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
        if len(self._passages) >= CHUNK or self._characters >= MAX_CHARACTERS:
            self._flush_rows()

    def _flush_rows(self) -> None:
        self._characters = 0
        self._flush_pages()
        rows, self._passages = self._passages, {}
        here = known_passages(self.context, rows)
        new = [row for row in rows.values() if not self._is_known(row, row.pid, here)]
        empty = [row for key, row in rows.items() if key in here and not here[key].is_loaded]
        cuts = self._cuts([*new, *empty])
        for row in empty:
            key = row.domain, row.pid
            self.fills[key] = (here[key].pk, row, cuts.get(key, NOWHERE))
        if new and not self.context.tally.problems:
            self._write_passages(new, cuts)
        self.context.tally.add("passages", added=len(new), filled=len(empty))

    def _flush_pages(self) -> None:
        rows, self._pages = self._pages, {}
        here = known_pages(self.context, rows)
        new = [row for row in rows.values() if not self._is_known(row, row.doc_id, here)]
        if new and not self.context.tally.problems:
            self._write_pages(new)
        self.context.tally.add("documents", added=len(new))

    def _is_known(self, row: PassageRow | DocumentRow, name: str, here: Known) -> bool:
        """Whether the text is here already; counts it, and notes a clash."""
        found = here.get((row.domain, name))
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
        message = f"{name} stands {where} with another text, title, address or date."
        self.context.tally.fail(
            row.location, f"{message} Texts are never edited: give it a new id."
        )

    def _cuts(self, rows: list[PassageRow]) -> dict[Key, Cut]:
        requested = {(row.domain, row.page_id) for row in rows if row.page_id}
        pages = known_pages(self.context, requested) if requested else {}
        return {
            (row.domain, row.pid): find_cut(pages[row.domain, row.page_id], row.text)
            for row in rows
            if (row.domain, row.page_id) in pages
        }

    def _write_pages(self, rows: list[DocumentRow]) -> None:
        with self._pace.writing(self.context, len(rows)):
            version = self.context.own_version().pk
            domain = self.context.domain
            values = [
                (
                    *(version, domain(row.domain), row.doc_id),
                    *(row.title or "", row.source_url or "", row.fetched_on, row.text),
                )
                for row in rows
            ]
            copy_rows(Document, _DOCUMENT, values)

    def _write_passages(self, rows: list[PassageRow], cuts: Mapping[Key, Cut]) -> None:
        with self._pace.writing(self.context, len(rows)):
            version = self.context.own_version().pk
            domains = {name: self.context.domain(name) for name in {row.domain for row in rows}}
            found = ((row, cuts.get((row.domain, row.pid), NOWHERE)) for row in rows)
            values = [
                (version, domains[row.domain], row.pid, *passage_columns(row, cut))
                for row, cut in found
            ]
            copy_rows(Passage, _PASSAGE, values)
