"""BEIR: `corpus.jsonl`, `queries.jsonl` and `qrels/{split}.tsv`, as its readers expect them.

The corpus of a release is written with its documents (documents.py).
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from corpus.importers.rows import JudgmentRow, PassageRow, QueryRow
from evaluation.exporters.files import about, write_jsonl, write_lines
from evaluation.exporters.names import fits_tabs, in_columns
from evaluation.exporters.records import QueryRecord

HEADER = "query-id\tcorpus-id\tscore"


def write_corpus(path: Path, rows: Iterable[PassageRow]) -> int:
    """One object per passage; other fields (BEIR's metadata) come out as they came in."""
    return write_jsonl(path, map(_passage, rows))


def write_queries(path: Path, rows: Iterable[QueryRow]) -> int:
    """One object per query; the text of one that is known by its id alone is empty."""
    return write_jsonl(path, map(_query, rows))


def write_qrels(path: Path, rows: Iterable[JudgmentRow]) -> int:
    """One line per judgment under the header, which is not counted.

    Raises ValueError for an id that does not fit between tabs.
    """
    return write_lines(path, _lines(rows)) - 1


def _passage(row: PassageRow) -> dict[str, Any]:
    return {"_id": row.pid, **about(row), "text": row.text, **(row.extra or {})}


def _query(row: QueryRow) -> dict[str, Any]:
    return {"_id": row.qid, "text": row.text or "", **(row.extra or {})}


def _lines(rows: Iterable[JudgmentRow]) -> Iterator[str]:
    yield HEADER
    for row in rows:
        yield in_columns(row.qid, row.pid, str(row.label))


def write_gold(folder: Path, queries: Sequence[QueryRecord]) -> None:
    """A release's `queries.jsonl` and `qrels/test.tsv`."""
    write_jsonl(folder / "queries.jsonl", map(_released, queries))
    write_labels(folder, queries)


def write_labels(folder: Path, queries: Sequence[QueryRecord]) -> None:
    """`qrels/test.tsv`: the expert view; ids may have blanks, those with a tab or the end of a line
    are left out."""
    write_lines(folder / "qrels" / "test.tsv", _gold_lines(queries))


def _released(query: QueryRecord) -> dict[str, Any]:
    excluded = {"excluded_ids": query.excluded} if query.excluded else {}
    return {"_id": query.qid, "text": query.text, **excluded}


def _gold_lines(queries: Sequence[QueryRecord]) -> Iterator[str]:
    yield HEADER
    for query in queries:
        for label in query.labels:
            if fits_tabs(query.qid) and fits_tabs(label.passage):
                yield in_columns(query.qid, label.passage, str(label.expert))
