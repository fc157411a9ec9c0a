"""A BEIR folder inside a release: one dataset a split, with the expert view as its qrels.

Its corpus is written with the documents (documents.py).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from evaluation.exporters.beir import HEADER
from evaluation.exporters.lines import write_jsonl, write_lines
from evaluation.exporters.names import fits_trec
from evaluation.exporters.records import QueryRecord


def write_gold(folder: Path, queries: Sequence[QueryRecord]) -> None:
    """`queries.jsonl` and `qrels/test.tsv`; ids with white space are left out of the latter."""
    rows = ({"_id": query.qid, "text": query.text} for query in queries)
    write_jsonl(folder / "queries.jsonl", rows)
    write_lines(folder / "qrels" / "test.tsv", _lines(queries))


def _lines(queries: Sequence[QueryRecord]) -> Iterator[str]:
    yield HEADER
    for query in queries:
        for label in query.labels:
            if fits_trec(query.qid) and fits_trec(label.passage):
                yield f"{query.qid}\t{label.passage}\t{label.expert}"
