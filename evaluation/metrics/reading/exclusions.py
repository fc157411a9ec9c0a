"""Ids to leave out of a ranking, out of one file (docs/protocol.md 1.5 rule 2)."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from corpus.importers.fields import NOTHING, QID_LIMIT, excluded_ids
from corpus.importers.files import DataFile, Meter
from corpus.importers.reading import Unreadable, column_lines, content_of, records
from corpus.importers.rows import Problem
from evaluation.metrics.faults import MetricFault
from evaluation.metrics.reading.rows import (
    JSON,
    TEXT,
    Names,
    data_file,
    good_rows,
    kind_of,
    new_meter,
    parsed,
)

Excluded = dict[str, tuple[str, ...]]


def read_excluded(path: Path, names: Names | None = None) -> Excluded:
    """{qid: ids} of one JSON object, of rows with id and excluded_ids, or of two columns.

    Raises MetricFault naming file, line and field.
    """
    file = data_file(path)
    kind = kind_of(file)
    if kind == JSON and (found := _object(file)) is not None:
        return found
    rows = _columns(file) if kind == TEXT else _records(file, new_meter(names))
    excluded: Excluded = {}
    for qid, ids in good_rows(rows, Counter()):
        excluded[qid] = (*excluded.get(qid, ()), *ids)
    return {qid: () if NOTHING in ids else ids for qid, ids in excluded.items()}


def _columns(file: DataFile) -> Iterator[Any]:
    for each in column_lines(file, new_meter()):
        if isinstance(each, Problem):
            yield each
            continue
        location, line = each
        columns = line.split(None, 1)
        if len(columns) == 2:
            yield columns[0], (columns[1].strip(),)
        else:
            yield Problem(location, "Two columns are needed: query id, passage id.")


def _records(file: DataFile, meter: Meter) -> Iterator[Any]:
    for record in records(file, meter):
        if isinstance(record, Problem):
            yield record
            continue
        qid = record.ident("q_id" if record.given("q_id") else "id", limit=QID_LIMIT)
        ids, _ = excluded_ids(record, qid)
        yield from record.problems
        yield qid, ids or ()


def _object(file: DataFile) -> Excluded | None:
    """`{qid: [passage id, ...]}`, or None where the file holds rows."""
    try:
        value = parsed(content_of(file, new_meter()))
    except (Unreadable, orjson.JSONDecodeError):
        return None
    if not isinstance(value, dict) or "id" in value or "q_id" in value:
        return None
    for qid, ids in value.items():
        if not isinstance(ids, list) or not all(isinstance(each, str) and each for each in ids):
            what = "A list of passage ids is needed here: {query id: [passage id, ...]}."
            raise MetricFault([f"{file.name} {qid[:80]}: {what}"])
    return {qid: () if NOTHING in ids else tuple(ids) for qid, ids in value.items()}
