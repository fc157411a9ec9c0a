"""Passages of a file of records: as columns where they are sound, else one by one.

Both ways give the same rows (tests/corpus/test_import_blocks.py holds them together).

Files of marked-up records in large pieces, each cut behind the end of a record.

Looking at every line of half a million documents would take longer than storing them.

Pairs by themselves: rows of id, query, answers, passage, each one (query, passage) to judge."""

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from corpus.importers import reading
from corpus.importers.blocks import BLOCK_BYTES, BLOCK_ROWS, Layout, are_sound
from corpus.importers.extras import other_fields
from corpus.importers.fields import (
    PID_LIMIT,
    QID_LIMIT,
    TITLE_LIMIT,
    URL_LIMIT,
    Record,
    text_fault,
    unless_wrong,
)
from corpus.importers.files import DataFile, Meter, data_files
from corpus.importers.reading import Unreadable, blocks, check_growth, nothing_here, records
from corpus.importers.rows import PairRow, PassageBatch, PassageRow, Place, Problem, QueryRow, Row
from corpus.importers.streams import BOM, unzipped


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


# Bytes of the file that are looked at together: what a processor keeps at hand.
PIECE = 256 * 1024
_LINE_END = ord("\n")
TOO_LONG = "More than {} MB without a line that ends with </{}>."


def pieces(file: DataFile, meter: Meter, name: str) -> Iterator[tuple[int, bytes]]:
    """The file without a byte order mark, as (number of the first line, bytes).

    Each piece but the last ends with a line that ends with `</name>`. Raises Unreadable; what was
    read before has been yielded then.
    """
    number, held, is_first = 1, bytearray(), True
    try:
        with file.path.open("rb") as raw:
            stream = unzipped(file, raw)
            while block := stream.read(max(PIECE, len(held))):
                block, is_first = block.removeprefix(BOM) if is_first else block, False
                held += block
                meter.at(raw.tell())
                if cut := _last_end(held, name, len(held) - len(block)):
                    yield number, bytes(held[:cut])
                    number += _line_ends(held, cut)
                    del held[:cut]
                elif len(held) > reading.LINE_LIMIT:
                    raise Unreadable(TOO_LONG.format(reading.LINE_LIMIT // 2**20, name), number)
                check_growth(stream, raw, meter, number)
    except EOFError as error:
        last = number + held.count(b"\n")
        raise Unreadable("The gzip file ends too early; fetch it again.", last) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        last = number + held.count(b"\n")
        raise Unreadable("This is not a readable gzip file; fetch it again.", last) from error
    if held:
        yield number, bytes(held)


def _line_ends(held: bytearray, cut: int) -> int:
    """How many stand before `cut`, which is not 0; three times as fast as `bytearray.count`."""
    return int(np.count_nonzero(np.frombuffer(held, np.uint8, cut) == _LINE_END))


def _last_end(held: bytearray, name: str, before: int) -> int:
    """Where the last line that ends with `</name>` is over, 0 if there is none.

    What stands `before` was searched already, but for an end that was cut apart.
    """
    start = max(0, before - 256)
    usual = (f"</{each}>\n".encode() for each in (name.upper(), name.lower()))
    for end in usual:
        if (found := held.rfind(end, start)) >= 0:
            return found + len(end)
    pattern = re.compile(rf"</{name}>\s*?\n".encode(), re.IGNORECASE)
    return max((each.end() for each in pattern.finditer(held, start)), default=0)


DOMAIN = "pairs"


def read(path: Path, *, qrels: Path | None = None, meter: Meter | None = None) -> Iterator[Row]:
    """Rows of a file (or a folder of files); query and passage take the row's id."""
    meter = meter or Meter()
    if qrels is not None:
        yield Problem(Place(qrels.name), "This format has no gold and takes no qrels.")
        return
    files = data_files(path)
    if not files:
        yield nothing_here(path, "a file of pairs")
    meter.expect(files)
    for file in files:
        for record in records(file, meter):
            yield from [record] if isinstance(record, Problem) else _pair(record)


def _pair(record: Record) -> Iterator[Row]:
    key = record.ident("id", limit=QID_LIMIT)
    rows: list[Row] = [
        QueryRow(
            DOMAIN,
            key,
            record.text("query"),
            record.place.at("query"),
            answers=record.texts("answers"),
        ),
        PassageRow(DOMAIN, key, record.text("passage"), record.place.at("passage")),
        PairRow(DOMAIN, key, key, record.place),
    ]
    yield from record.problems or rows
