"""What records of JSON or parquet become: queries one by one, passages as columns where they are
sound, else one by one (tests/corpus/importers/test_import_blocks.py holds both ways together)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from corpus.importers.blocks import ABOUT, Layout
from corpus.importers.fields import TITLE_LIMIT, URL_LIMIT, Record, other_fields
from corpus.importers.files import DataFile, Meter
from corpus.importers.reading import blocks, records
from corpus.importers.rows import PassageRow, Problem, QueryRow, Row


def each_record(
    files: Iterable[DataFile], meter: Meter, read: Callable[[str, Record], Iterator[Row]]
) -> Iterator[Row]:
    """What `read` makes of a domain and each of its records, or else the record's problems."""
    for file in files:
        for record in records(file, meter):
            yield from checked(file.domain, record, read)


def checked(
    domain: str, record: Record | Problem, read: Callable[[str, Record], Iterator[Row]]
) -> Iterator[Row]:
    """What `read` makes of one record, or else its problems."""
    if isinstance(record, Problem):
        yield record
    else:
        rows = list(read(domain, record))
        yield from record.problems or rows


def query(
    domain: str,
    qid: str,
    record: Record,
    *,
    text: str,
    known: Iterable[str],
    texts: Sequence[str] = (),
    lists: Sequence[str] = (),
    **values: Any,
) -> Iterator[Row]:
    """A query with what the field `text` says, and an oddity for what could not be kept of it.

    `texts` and `lists` are optional fields, `values` what the caller has read of others; whatever
    is not `known` either is kept with it.
    """
    named = {text, *known, *texts, *lists, *values}
    extra, dropped = other_fields(record, named, f"{domain}-{qid}")
    content = record.text(text)
    values |= {name: record.maybe_text(name) for name in texts}
    values |= {name: record.maybe_texts(name) for name in lists}
    yield QueryRow(domain, qid, content, record.location.at(text), extra=extra, **values)
    yield from dropped


def read_passages(file: DataFile, meter: Meter, layout: Layout) -> Iterator[Row]:
    """The passages of a file of JSON or parquet records."""
    for block in blocks(file, meter):
        if isinstance(block, Problem):
            yield block
        elif batch := block.passages(file.domain, layout):
            yield batch
        else:
            for each in block.records():
                yield from passage(file.domain, each, layout)


def about(record: Record) -> dict[str, Any]:
    """The fields of ABOUT; None where the record does not give one."""
    return {
        "title": record.maybe_text("title", limit=TITLE_LIMIT),
        "source_url": record.maybe_text("source_url", limit=URL_LIMIT),
        "fetched_on": record.maybe_day("fetched_on"),
    }


def passage(
    domain: str, record: Record | Problem, layout: Layout, *, page_id: str = ""
) -> Iterator[Row]:
    """One record by itself, with what could not be kept of it."""

    def read(domain: str, record: Record) -> Iterator[Row]:
        key, field = record.first_given(layout.ids), record.first_given(layout.texts)
        pid = record.ident(key)
        taken = {key, field, *ABOUT}
        known = taken if layout.keeps_others else record.data.keys()
        extra, dropped = other_fields(record, known, f"{domain}: {pid}")
        yield PassageRow(
            domain=domain,
            pid=pid,
            text=record.text(field),
            location=record.location.at(field),
            page_id=page_id,
            extra=extra,
            **about(record),
        )
        yield from dropped

    yield from checked(domain, record, read)
