"""A TREC collection: topics, documents and qrels in one folder, which is one domain.

The name of a file or folder shows what it contains (topics or queries; qrels; documents, docs,
corpus, collection or passages), of a single file also its beginning. Topics are marked up (num,
title, desc, narr), XML (web_topics.py), `qid<tab>text`, or JSON lines.
"""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from corpus.importers.fields import QID_LIMIT, Record, faults_at
from corpus.importers.files import DataFile, Meter, as_file, files_under, missing, name_of, stem_of
from corpus.importers.qrels import read_qrels
from corpus.importers.reading import each_line, first_bytes
from corpus.importers.records import each_record, query
from corpus.importers.rows import JudgmentRow, Location, Oddity, Problem, QueryRow, Row
from corpus.importers.trec.documents import Element, blocks, elements, read_documents
from corpus.importers.trec.web_topics import holds_topics, read_web_topics

_NAMES = {"num", "title", "desc", "narr"}
# Labels that classic topics put before what they say.
_LABEL = re.compile(r"^\s*(?:Number|Topic|Description|Narrative)\s*:\s*", re.IGNORECASE)
IDS = ("qid", "query_id", "id", "_id", "number")
TEXTS = ("query", "text", "title")
NO_TITLE = "topics without a title, read by their description"


def read_topics(file: DataFile, meter: Meter, head: bytes) -> Iterator[Row]:
    """Queries of a file that begins with `head`."""
    if head[:1] in {b"{", b"["} or file.path.suffix.lower() == ".parquet":
        yield from each_record([file], meter, _record)
        return
    if holds_topics(head):
        yield from read_web_topics(file, meter)
    elif head[:1] == b"<":
        for each in blocks(file, meter, "top"):
            yield from [each] if isinstance(each, Problem) else _topic(file.domain, *each)
    else:
        for row in each_line(file, meter, partial(_two_columns, file.domain)):
            yield from _sound(row) if isinstance(row, QueryRow) else [row]
    meter.end(file)


def _topic(domain: str, location: Location, block: str) -> Iterator[Row]:
    given: dict[str, str] = {}
    for each in elements(block, _NAMES, must_close=False)[0]:
        given.setdefault(each.name, _content(each))
    qid = given.get("num", "").strip()
    if not qid:
        yield Problem(location.at("num"), "This topic has no number.")
        return
    description = given.get("desc")
    text = given.get("title", description)
    if text is None:
        yield Problem(location.at("title"), "This topic has neither a title nor a description.")
        return
    narrative = given.get("narr")
    yield from _sound(
        QueryRow(domain, qid, text, location, description=description, narrative=narrative)
    )
    if "title" not in given:
        yield Oddity(NO_TITLE, f"{domain}-{qid}")


def _content(element: Element) -> str:
    """Only what is written the classic way, without an end, bears a label."""
    is_plain = element.is_closed and element.name != "num"
    return element.content if is_plain else _LABEL.sub("", element.content, count=1)


def _two_columns(domain: str, location: Location, line: str) -> QueryRow | Problem:
    qid, tab, text = line.partition("\t")
    if not tab or not qid:
        return Problem(location, "Two columns are needed: query id, a tab, and the query.")
    return QueryRow(domain, qid, text, location)


def _sound(row: QueryRow) -> list[Row]:
    """The query, or what is wrong with its texts."""
    faults = faults_at(
        row.location,
        ("num", row.qid, QID_LIMIT),
        ("title", row.text or "", 0),
        ("desc", row.description or "", 0),
        ("narr", row.narrative or "", 0),
    )
    return [*faults] or [row]


def _record(domain: str, record: Record) -> Iterator[Row]:
    key = record.first_given(IDS)
    qid = record.ident(key, limit=QID_LIMIT)
    text, texts = record.first_given(TEXTS), ("description", "narrative")
    yield from query(domain, qid, record, text=text, known=(key,), texts=texts)


_KINDS = (
    ("qrels", re.compile(r"qrel", re.IGNORECASE)),
    ("topics", re.compile(r"topic|quer", re.IGNORECASE)),
    ("documents", re.compile(r"doc|corpus|collection|passages", re.IGNORECASE)),
)
NOT_READ = "files whose name says neither topics, documents nor qrels, not read"
ID_ONLY = "queries known by their judgments alone"


def read(path: Path, meter: Meter, qrels: Path | None) -> Iterator[Row]:
    """Rows of a folder or of one file; `qrels` takes the place of the folder's own.

    Where no topics are given, each query that is judged is a QueryRow without text.
    """
    parts: dict[str, list[DataFile]] = {"": [], **{kind: [] for kind, _ in _KINDS}}
    for each in files_under(path):
        file = as_file(each, path, name_of(path) if each != path else stem_of(path))
        kind = _kind(file, is_alone=each == path)
        if kind != "qrels" or qrels is None:
            parts[kind].append(file)
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
    if holds_topics(head):
        return "topics"
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
                yield QueryRow(row.domain, row.qid, None, row.location.at("query id"))
                yield Oddity(ID_ONLY, f"{row.domain}-{row.qid}")
            yield row
