"""A TREC collection: topics, documents and qrels in one folder, which is one domain.

What a file or folder holds is told by its name (topics or queries; qrels; documents, docs, corpus,
collection or passages); a single file also by how it begins.

TREC topics: marked up (num, title, desc, narr), as `qid<tab>text`, or as JSON lines."""

import re
from collections.abc import Iterator
from pathlib import Path

from corpus.importers.extras import other_fields
from corpus.importers.fields import QID_LIMIT, Record, text_fault, unless_wrong
from corpus.importers.files import DataFile, Meter
from corpus.importers.listing import as_file, files_under, missing, name_of, stem_of
from corpus.importers.passages import first_given
from corpus.importers.qrels import read_qrels
from corpus.importers.reading import records
from corpus.importers.rows import JudgmentRow, Oddity, Place, Problem, QueryRow, Row
from corpus.importers.streams import column_lines, first_bytes
from corpus.importers.trec_documents import Element, blocks, elements, read_documents

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


_KINDS = (
    ("qrels", re.compile(r"qrel", re.IGNORECASE)),
    ("topics", re.compile(r"topic|quer", re.IGNORECASE)),
    ("documents", re.compile(r"doc|corpus|collection|passages", re.IGNORECASE)),
)
NOT_READ = "files whose name says neither topics, documents nor qrels, not read"
ID_ONLY = "queries known by their judgments alone"


def read(path: Path, *, qrels: Path | None = None, meter: Meter | None = None) -> Iterator[Row]:
    """Rows of a folder or of one file; `qrels` takes the place of the folder's own.

    Where no topics are given, each query that is judged is a QueryRow without text.
    """
    meter = meter or Meter()
    parts = _parts(path, own_gold=qrels is None)
    if qrels is not None:
        domain = name_of(path) if path.is_dir() else stem_of(path)
        parts["qrels"] = [as_file(each, qrels, domain) for each in files_under(qrels)]
    if not any(parts[kind] for kind, _ in _KINDS):
        yield missing(path, "topics, documents or qrels")
        return
    meter.expect([*parts["topics"], *parts["qrels"], *parts["documents"]])
    yield from (Oddity(NOT_READ, each.name) for each in parts[""])
    for file in parts["topics"]:
        yield from read_topics(file, meter, first_bytes(file))
    yield from _judgments(parts["qrels"], meter, name_queries=not parts["topics"])
    for file in parts["documents"]:
        yield from read_documents(file, meter, first_bytes(file))


def _parts(path: Path, *, own_gold: bool) -> dict[str, list[DataFile]]:
    parts: dict[str, list[DataFile]] = {"": [], **{kind: [] for kind, _ in _KINDS}}
    for each in files_under(path):
        file = as_file(each, path, name_of(path) if each != path else stem_of(path))
        kind = _kind(file, is_alone=each == path)
        if kind != "qrels" or own_gold:
            parts[kind].append(file)
    return parts


def _kind(file: DataFile, *, is_alone: bool) -> str:
    """By the name of the file, else of the folder it is in; for a single file by its beginning."""
    for part in reversed(Path(file.name).parts):
        for kind, pattern in _KINDS:
            if pattern.search(part):
                return kind
    return _sniffed(first_bytes(file)) if is_alone else ""


def _sniffed(head: bytes) -> str:
    start = head[:5].lower()
    if start.startswith((b"<top>", b"<doc>")):
        return "topics" if start == b"<top>" else "documents"
    line = next((each for each in head.splitlines() if not each.startswith(b"#")), b"").split()
    if len(line) == 4 and re.fullmatch(rb"[+-]?\d+", line[-1]):
        return "qrels"
    return "topics" if b"\t" in head.split(b"\n", 1)[0] else ""


def _judgments(files: list[DataFile], meter: Meter, *, name_queries: bool) -> Iterator[Row]:
    named: set[str] = set()
    for file in files:
        for row in read_qrels(file, meter):
            if name_queries and isinstance(row, JudgmentRow) and row.qid not in named:
                named.add(row.qid)
                yield QueryRow(row.domain, row.qid, None, row.place.at("query id"))
                yield Oddity(ID_ONLY, f"{row.domain}-{row.qid}")
            yield row
