"""Pairs by themselves: rows of id, query, answers, passage, each one (query, passage) to judge."""

from collections.abc import Iterator
from pathlib import Path

from corpus.importers.fields import QID_LIMIT, Record
from corpus.importers.files import Meter, data_files
from corpus.importers.reading import nothing_here, records
from corpus.importers.rows import PairRow, PassageRow, Place, Problem, QueryRow, Row

DOMAIN = "pairs"


def read(path: Path, *, qrels: Path | None = None, meter: Meter | None = None) -> Iterator[Row]:
    """Rows of a file (or a folder of files); query and passage take the row's id."""
    meter = meter or Meter()
    if qrels is not None:
        yield Problem(Place(qrels.name), "This format has no gold and takes no qrels.")
        return
    files = data_files(path)
    if not files:
        yield nothing_here(path, "a file of pairs")
    meter.expect(files)
    for file in files:
        for record in records(file, meter):
            yield from [record] if isinstance(record, Problem) else _pair(record)


def _pair(record: Record) -> Iterator[Row]:
    key = record.ident("id", limit=QID_LIMIT)
    rows: list[Row] = [
        QueryRow(
            DOMAIN,
            key,
            record.text("query"),
            record.place.at("query"),
            answers=record.texts("answers"),
        ),
        PassageRow(DOMAIN, key, record.text("passage"), record.place.at("passage")),
        PairRow(DOMAIN, key, key, record.place),
    ]
    yield from record.problems or rows
