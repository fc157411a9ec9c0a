"""A BEIR folder inside a release: one dataset a split, with the expert view as its qrels."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import orjson

from evaluation.exporters.beir import HEADER
from evaluation.exporters.lines import write_jsonl, write_lines
from evaluation.exporters.names import fits_trec
from evaluation.exporters.records import QueryRecord

_BUFFER = 1 << 20


def write_gold(folder: Path, queries: Sequence[QueryRecord]) -> None:
    """`queries.jsonl` and `qrels/test.tsv`; ids with white space are left out of the latter."""
    rows = ({"_id": query.qid, "text": query.text} for query in queries)
    write_jsonl(folder / "queries.jsonl", rows)
    write_lines(folder / "qrels" / "test.tsv", _lines(queries))


def copied(folder: Path, rows: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The same rows (id, text), each written into `corpus.jsonl` as it goes by."""
    folder.mkdir(parents=True, exist_ok=True)
    dumps, option = orjson.dumps, orjson.OPT_APPEND_NEWLINE
    with (folder / "corpus.jsonl").open("wb", buffering=_BUFFER) as file:
        write = file.write
        for row in rows:
            write(dumps({"_id": row[0], "title": "", "text": row[1]}, option=option))
            yield row


def _lines(queries: Sequence[QueryRecord]) -> Iterator[str]:
    yield HEADER
    for query in queries:
        for label in query.labels:
            if fits_trec(query.qid) and fits_trec(label.passage):
                yield f"{query.qid}\t{label.passage}\t{label.expert}"
