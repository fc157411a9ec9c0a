"""Passages of a file of records: as columns where they are sound, else one by one.

Both ways give the same rows (tests/corpus/test_import_blocks.py holds them together).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from corpus.importers.blocks import BLOCK_BYTES, BLOCK_ROWS, Layout, are_sound
from corpus.importers.extras import other_fields
from corpus.importers.fields import (
    PID_LIMIT,
    TITLE_LIMIT,
    URL_LIMIT,
    Record,
    text_fault,
    unless_wrong,
)
from corpus.importers.files import DataFile, Meter
from corpus.importers.reading import blocks
from corpus.importers.rows import PassageBatch, PassageRow, Place, Problem, Row


class Found(NamedTuple):
    """A passage of a file that is no JSON, its id and text not looked at yet."""

    line: int
    pid: str
    title: str | None
    text: str


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


def passage(
    domain: str, record: Record | Problem, layout: Layout, *, page_id: str = ""
) -> Iterator[Row]:
    """One record by itself, with what could not be kept of it."""
    if isinstance(record, Problem):
        yield record
        return
    key, field = first_given(record, layout.ids), first_given(record, layout.texts)
    pid = record.ident(key)
    taken = {key, field, *layout.others}
    known = taken if layout.keeps_others else record.data.keys()
    extra, dropped = other_fields(record, known, f"{domain}: {pid}")
    title, url = layout.title, layout.source_url
    row = PassageRow(
        domain=domain,
        pid=pid,
        text=record.text(field),
        place=record.place.at(field),
        title=record.maybe_text(title, limit=TITLE_LIMIT) if title else None,
        source_url=record.maybe_text(url, limit=URL_LIMIT) if url else None,
        page_id=page_id,
        extra=extra,
    )
    yield from unless_wrong(record.problems, row, *dropped)


def first_given(record: Record, names: Sequence[str]) -> str:
    """The first of these fields that the record has, else the first of them."""
    return next((name for name in names if record.given(name)), names[0])


def in_batches(file: DataFile, found: Iterable[Found | Problem]) -> Iterator[Row]:
    """Passages of a file that is no JSON, in groups as large as blocks of records."""
    waiting: list[Found | Problem] = []
    size = 0
    for each in found:
        waiting.append(each)
        size += len(each.text) if isinstance(each, Found) else 0
        if len(waiting) >= BLOCK_ROWS or size >= BLOCK_BYTES:
            yield from _group(file, waiting)
            waiting, size = [], 0
    yield from _group(file, waiting)


def _group(file: DataFile, group: list[Found | Problem]) -> Iterator[Row]:
    passages = [each for each in group if isinstance(each, Found)]
    if passages and len(passages) == len(group):
        lines, pids, titles, texts = map(list, zip(*passages, strict=True))
        given = [each for each in titles if each is not None]
        fits = are_sound(pids, PID_LIMIT) and are_sound(texts)
        if fits and "" not in pids and (not given or are_sound(given, TITLE_LIMIT)):
            kept = titles if given else []
            yield PassageBatch(file.domain, file.name, lines, pids, texts, kept, text_field="")
            return
    for each in group:
        yield from [each] if isinstance(each, Problem) else _one(file, each)


def _one(file: DataFile, found: Found) -> Iterator[Row]:
    place = Place(file.name, found.line)
    parts = (
        ("id", found.pid, PID_LIMIT),
        ("title", found.title or "", TITLE_LIMIT),
        ("text", found.text, 0),
    )
    faults = [(name, text_fault(value, limit)) for name, value, limit in parts]
    problems = [Problem(place.at(name), fault) for name, fault in faults if fault]
    row = PassageRow(file.domain, found.pid, found.text, place, title=found.title)
    yield from unless_wrong(problems, row)
