"""TREC topics and documents, marked up so that every text comes out again as it went in.

A text is set between its tags with one blank (or line end) on either side, which readers of ours
take away again. What would end its element early cannot be written and raises ValueError.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from corpus.importers.rows import PassageRow, QueryRow
from evaluation.exporters.files import write_lines

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
