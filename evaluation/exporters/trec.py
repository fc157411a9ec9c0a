"""TREC qrels and runs: of a release by blanks, of imported rows by tabs (ids may have blanks).

Labels of 0 are written: a pair that was judged not relevant is no unjudged one (docs/protocol.md
2.7).

TREC topics and documents, marked up so that every text comes out again as it went in.

A text is set between its tags with one blank (or line end) on either side, which readers of ours
take away again. What would end its element early cannot be written and raises ValueError."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from corpus.importers.rows import JudgmentRow, PassageRow, QueryRow, RunRow
from evaluation.exporters.files import write_lines
from evaluation.exporters.names import fits_trec, in_columns
from evaluation.exporters.records import Label, QueryRecord

_TOPIC_TAGS = re.compile(r"</?(?:top|num|title|desc|narr)\b", re.ASCII | re.IGNORECASE)
_DOCUMENT_TAGS = re.compile(r"</?(?:doc|text)\b", re.ASCII | re.IGNORECASE)
_TITLE_TAGS = re.compile(r"</?(?:doc|title)\b", re.ASCII | re.IGNORECASE)
# An id is read without the white space and the label around it, and tags have no place in it.
_BAD_ID = re.compile(r"^\s|\s$|[<>\n]|^(?:Number|Topic|Description|Narrative)\s*:", re.IGNORECASE)


class Unwritable(ValueError):
    """A text or id that the format cannot hold."""


def write_topics(path: Path, rows: Iterable[QueryRow]) -> int:
    """Queries with their title, description and narrative; returns the number of lines."""
    return write_lines(path, map(_topic, rows))


def write_documents(path: Path, rows: Iterable[PassageRow]) -> int:
    """Passages with their title; returns the number of records."""
    return write_lines(path, map(_document, rows))


def _topic(row: QueryRow) -> str:
    parts = [f"<num> {_id(row.qid)} </num>"]
    for name, text in (("title", row.text), ("desc", row.description), ("narr", row.narrative)):
        if text is not None:
            parts.append(f"<{name}> {_text(text, _TOPIC_TAGS, row.qid)} </{name}>")
    return "\n".join(["<top>", *parts, "</top>"])


def _document(row: PassageRow) -> str:
    parts = [f"<DOCNO> {_id(row.pid)} </DOCNO>"]
    if row.title is not None:
        parts.append(f"<TITLE> {_text(row.title, _TITLE_TAGS, row.pid)} </TITLE>")
    parts.append(f"<TEXT>\n{_text(row.text, _DOCUMENT_TAGS, row.pid)}\n</TEXT>")
    return "\n".join(["<DOC>", *parts, "</DOC>"])


def _id(name: str) -> str:
    if not name or _BAD_ID.search(name):
        raise Unwritable(f"The id {name[:80]!r} cannot stand in a marked-up file.")
    return name


def _text(text: str, tags: re.Pattern[str], owner: str) -> str:
    if found := tags.search(text):
        raise Unwritable(f"The text of {owner[:80]!r} holds {found.group()!r}, which would end it.")
    return text


# What a view says of a pair; None where it knows nothing of it.
View = Callable[[Label], int | None]
VIEWS: dict[str, View] = {
    "base": lambda label: label.base,
    "refined": lambda label: label.refined,
    "expert": lambda label: label.expert,
}


def write_view(path: Path, queries: Sequence[QueryRecord], view: View) -> int:
    """Of a release: one line per pair that the view knows, `qid 0 docid rel` by blanks."""
    return write_lines(path, _view_lines(queries, view))


def _view_lines(queries: Sequence[QueryRecord], view: View) -> Iterator[str]:
    for query in fitting(queries):
        for label in query.labels:
            value = view(label)
            if value is not None and fits_trec(label.passage):
                yield f"{query.qid} 0 {label.passage} {value}"


def fitting(queries: Sequence[QueryRecord]) -> Iterator[QueryRecord]:
    """Queries whose id can stand in the format; the others are a fault of the release."""
    return (query for query in queries if fits_trec(query.qid))


def write_subtopics(path: Path, queries: Sequence[QueryRecord]) -> int:
    """`qid aspect docid 1`: subtopic qrels as ndeval and ir_measures read them.

    The aspect's number stands where plain qrels have 0. Only passages of the expert view's gold;
    no file where no aspect is supported.
    """
    lines = list(_subtopics(queries))
    return write_lines(path, lines) if lines else 0


def _subtopics(queries: Sequence[QueryRecord]) -> Iterator[str]:
    for query in fitting(queries):
        accepted = set(query.accepted)
        for aspect in query.aspects:
            for pid in aspect.supporting:
                if pid in accepted and fits_trec(pid):
                    yield f"{query.qid} {aspect.k} {pid} 1"


def write_imported_subtopics(path: Path, queries: Sequence[QueryRecord]) -> int:
    """The labels of subtopics as they were imported, with grades, zeros and names; no file where
    none were."""
    lines = [
        f"{query.qid} {name} {label.passage} {value}"
        for query in fitting(queries)
        for label in query.labels
        for name, value in (label.subtopics or {}).items()
        if fits_trec(label.passage) and fits_trec(name)
    ]
    return write_lines(path, lines) if lines else 0


def write_qrels(path: Path, rows: Iterable[JudgmentRow]) -> int:
    """Judgments; one line for each subtopic where subtopics were judged.

    Raises ValueError for an id that does not fit in a line.
    """
    return write_lines(path, (line for row in rows for line in _judgment_lines(row)))


def write_run(path: Path, rows: Iterable[RunRow]) -> int:
    """Rankings in their order; without scores each counts down from the list's length.

    Raises ValueError for an id or name that does not fit in a line.
    """
    return write_lines(path, (line for row in rows for line in _run_lines(row)))


def _judgment_lines(row: JudgmentRow) -> Iterator[str]:
    if row.qid.startswith("#"):
        raise ValueError(f"{row.qid[:80]!r} would be read as a comment.")
    for middle, label in (row.subtopics or {"0": row.label}).items():
        yield in_columns(row.qid, middle, row.pid, str(label))


def _run_lines(row: RunRow) -> Iterator[str]:
    count = len(row.pids)
    scores = row.scores if row.scores is not None else range(count, 0, -1)
    for rank, (pid, score) in enumerate(zip(row.pids, scores, strict=True), start=1):
        yield in_columns(row.qid, "Q0", pid, str(rank), repr(score), row.tag or "run")
