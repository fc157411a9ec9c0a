"""BEIR: `corpus.jsonl`, `queries.jsonl` and `qrels/{split}.tsv`, as its readers expect them.

The corpus of a release is written with its documents (documents.py).
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from corpus.importers.rows import JudgmentRow, PassageRow, QueryRow
from evaluation.exporters.files import write_jsonl, write_lines
from evaluation.exporters.names import fits_trec, in_columns
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
    title = {} if row.title is None else {"title": row.title}
    return {"_id": row.pid, **title, "text": row.text, **(row.extra or {})}


def _query(row: QueryRow) -> dict[str, Any]:
    return {"_id": row.qid, "text": row.text or "", **(row.extra or {})}


def _lines(rows: Iterable[JudgmentRow]) -> Iterator[str]:
    yield HEADER
    for row in rows:
        yield in_columns(row.qid, row.pid, str(row.label))


def write_gold(folder: Path, queries: Sequence[QueryRecord]) -> None:
    """A release's `queries.jsonl` and `qrels/test.tsv`: the expert view of ids that fit."""
    rows = ({"_id": query.qid, "text": query.text} for query in queries)
    write_jsonl(folder / "queries.jsonl", rows)
    write_lines(folder / "qrels" / "test.tsv", _gold_lines(queries))


def _gold_lines(queries: Sequence[QueryRecord]) -> Iterator[str]:
    yield HEADER
    for query in queries:
        for label in query.labels:
            if fits_trec(query.qid) and fits_trec(label.passage):
                yield f"{query.qid}\t{label.passage}\t{label.expert}"
