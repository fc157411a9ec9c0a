"""A TREC collection: topics, documents and qrels in one folder, which is one domain.

What a file or folder holds is told by its name (topics or queries; qrels; documents, docs, corpus,
collection or passages); a single file also by how it begins.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from corpus.importers.files import DataFile, Meter
from corpus.importers.listing import as_file, files_under, missing, name_of, stem_of
from corpus.importers.qrels import read_qrels
from corpus.importers.rows import JudgmentRow, Oddity, QueryRow, Row
from corpus.importers.streams import first_bytes
from corpus.importers.trec_documents import read_documents
from corpus.importers.trec_topics import read_topics

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
