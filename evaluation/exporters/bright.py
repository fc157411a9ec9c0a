"""BRIGHT: queries as JSON lines, passages and pages as `{id, content}`, gold as TREC qrels.

Its qrels are separated by tabs, as its ids have blanks.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from corpus.importers.rows import DocumentRow, PassageRow, QueryRow
from evaluation.exporters.files import about, write_jsonl
from evaluation.exporters.trec import write_qrels

__all__ = ["write_qrels", "write_queries", "write_texts"]

_OPTIONAL = ("reasoning", "gold_answer", "gold_ids_long", "excluded_ids")


def write_queries(path: Path, rows: Iterable[QueryRow], gold: Mapping[str, Sequence[str]]) -> int:
    """One object per query with its gold ids (by query id); what was not given is left out."""
    return write_jsonl(path, (_query(row, gold.get(row.qid, ())) for row in rows))


def write_texts(path: Path, rows: Iterable[PassageRow | DocumentRow]) -> int:
    """Passages (documents/) or pages (long_documents/)."""
    return write_jsonl(path, map(text_of, rows))


def text_of(row: PassageRow | DocumentRow) -> dict[str, str]:
    """A passage or page as BRIGHT and Bright-Pro have it."""
    name = row.pid if isinstance(row, PassageRow) else row.doc_id
    return {"id": name, "content": row.text, **about(row)}


def _query(row: QueryRow, gold: Sequence[str]) -> dict[str, Any]:
    given = {name: getattr(row, name) for name in _OPTIONAL if getattr(row, name) is not None}
    extra = row.extra or {}
    return {"id": row.qid, "query": row.text or "", "gold_ids": gold, **given, **extra}
