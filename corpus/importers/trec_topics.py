"""TREC topics: marked up (num, title, desc, narr), as `qid<tab>text`, or as JSON lines."""

import re
from collections.abc import Iterator

from corpus.importers.extras import other_fields
from corpus.importers.fields import QID_LIMIT, Record, text_fault, unless_wrong
from corpus.importers.files import DataFile, Meter
from corpus.importers.passages import first_given
from corpus.importers.reading import records
from corpus.importers.rows import Oddity, Place, Problem, QueryRow, Row
from corpus.importers.sgml import Element, blocks, elements
from corpus.importers.streams import column_lines

_NAMES = {"num", "title", "desc", "narr"}
# Labels that classic topics put before what they say.
_LABEL = re.compile(r"^\s*(?:Number|Topic|Description|Narrative)\s*:\s*", re.IGNORECASE)
IDS = ("qid", "query_id", "id", "_id", "number")
TEXTS = ("query", "text", "title")
NO_TITLE = "topics without a title, read by their description"


def read_topics(file: DataFile, meter: Meter, head: bytes) -> Iterator[Row]:
    """Queries of a file that begins with `head`."""
    if head[:1] in {b"{", b"["} or file.path.suffix.lower() == ".parquet":
        yield from _from_json(file, meter)
        return
    yield from _from_markup(file, meter) if head[:1] == b"<" else _from_columns(file, meter)
    meter.end(file)


def _from_markup(file: DataFile, meter: Meter) -> Iterator[Row]:
    for each in blocks(file, meter, "top"):
        if isinstance(each, Problem):
            yield each
        else:
            yield from _topic(file.domain, *each)


def _topic(domain: str, place: Place, block: str) -> Iterator[Row]:
    given: dict[str, str] = {}
    for each in elements(block, _NAMES, must_close=False)[0]:
        given.setdefault(each.name, _content(each))
    qid = given.get("num", "").strip()
    if not qid:
        yield Problem(place.at("num"), "This topic has no number.")
        return
    text = given.get("title", given.get("desc"))
    if text is None:
        yield Problem(place.at("title"), "This topic has neither a title nor a description.")
        return
    row = QueryRow(
        domain=domain,
        qid=qid,
        text=text,
        place=place,
        description=given.get("desc"),
        narrative=given.get("narr"),
    )
    yield from unless_wrong(_faults(row), row)
    if "title" not in given:
        yield Oddity(NO_TITLE, f"{domain}-{qid}")


def _content(element: Element) -> str:
    """Only what is written the classic way, without an end, bears a label."""
    is_plain = element.is_closed and element.name != "num"
    return element.content if is_plain else _LABEL.sub("", element.content, count=1)


def _from_columns(file: DataFile, meter: Meter) -> Iterator[Row]:
    for each in column_lines(file, meter):
        if isinstance(each, Problem):
            yield each
            continue
        place, line = each
        qid, tab, text = line.partition("\t")
        if not tab or not qid:
            yield Problem(place, "Two columns are needed: query id, a tab, and the query.")
        else:
            row = QueryRow(file.domain, qid, text, place)
            yield from unless_wrong(_faults(row), row)


def _from_json(file: DataFile, meter: Meter) -> Iterator[Row]:
    for record in records(file, meter):
        yield from [record] if isinstance(record, Problem) else _record(file.domain, record)


def _record(domain: str, record: Record) -> Iterator[Row]:
    key, field = first_given(record, IDS), first_given(record, TEXTS)
    qid = record.ident(key, limit=QID_LIMIT)
    known = {key, field, "description", "narrative"}
    extra, dropped = other_fields(record, known, f"{domain}-{qid}")
    row = QueryRow(
        domain=domain,
        qid=qid,
        text=record.text(field),
        place=record.place.at(field),
        description=record.maybe_text("description"),
        narrative=record.maybe_text("narrative"),
        extra=extra,
    )
    yield from unless_wrong(record.problems, row, *dropped)


def _faults(row: QueryRow) -> Iterator[Problem]:
    parts = {
        "num": (row.qid, QID_LIMIT),
        "title": (row.text or "", 0),
        "desc": (row.description or "", 0),
        "narr": (row.narrative or "", 0),
    }
    for name, (value, limit) in parts.items():
        if fault := text_fault(value, limit):
            yield Problem(row.place.at(name), fault)
