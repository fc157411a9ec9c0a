"""Gold out of one file: TREC or BEIR qrels, BRIDGE or Bright-Pro rows, or one JSON object."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from corpus.importers.files import DataFile, Meter
from corpus.importers.formats import FORMATS
from corpus.importers.qrels import read_judgments, read_pairs, read_qrels
from corpus.importers.reading import Unreadable, content_of, first_bytes, records
from corpus.importers.rows import JudgmentRow, QueryRow
from evaluation.metrics.faults import MetricFault
from evaluation.metrics.gold import label_faults
from evaluation.metrics.reading.rows import (
    JSON,
    TEXT,
    Names,
    data_file,
    good_rows,
    kind_of,
    new_meter,
    parsed,
    string_count,
)

REPEATED = "judgments repeated"


@dataclass
class GoldFile:
    """Labels by query and passage, with what else a file may say.

    `subtopics` maps query and subtopic to the passages that are relevant to it, `excluded` a
    query to the ids to leave out; both are empty where the file does not speak of them.
    """

    labels: dict[str, dict[str, int]] = field(default_factory=dict)
    subtopics: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    excluded: dict[str, tuple[str, ...]] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)


def read_gold(path: Path, names: Names | None = None) -> GoldFile:
    """The gold of a file; raises MetricFault naming file, line and field of every fault."""
    file = data_file(path)
    kind = kind_of(file)
    if kind == JSON and (found := _object(file)) is not None:
        return found
    meter = new_meter(names)
    if kind == TEXT:
        rows = _text_rows(file, meter)
    elif "docid" in (fields := _first_fields(file, meter.aside())):
        rows = read_judgments(file, meter)
    else:
        rows = FORMATS["bridge" if "q_id" in fields else "bright"].read(file.path, meter=meter)
    gold = GoldFile()
    _fill(gold, good_rows(_reported(file, rows), gold.notes))
    if not gold.labels:
        raise MetricFault([f"{file.name}: There is no judgment in this file."])
    return gold


def _reported(file: DataFile, rows: Iterable[Any]) -> Iterator[Any]:
    try:
        yield from rows
    except Unreadable as fault:
        where = f"{file.name}:{fault.line}" if fault.line else file.name
        raise MetricFault([f"{where}: {fault.message}"]) from None


def _text_rows(file: DataFile, meter: Meter) -> Iterable[Any]:
    """BEIR's three columns by tabs, else TREC's four."""
    lines = first_bytes(file).splitlines()
    first = next((each for each in lines if each.strip() and not each.startswith(b"#")), b"")
    if first.count(b"\t") == 2:
        return read_pairs(file, meter, gold=file.name)
    return read_qrels(file, meter)


def _first_fields(file: DataFile, meter: Meter) -> Collection[str]:
    for record in records(file, meter):
        return getattr(record, "data", {}).keys()
    return ()


def _fill(gold: GoldFile, rows: Iterable[Any]) -> None:
    places: dict[str, str] = {}
    faults: list[str] = []
    for row in rows:
        if isinstance(row, QueryRow):
            if row.qid in places:
                faults.append(
                    f"{row.location}: Query {row.qid} stands at {places[row.qid]} before."
                )
            places[row.qid] = str(row.location)
            gold.labels.setdefault(row.qid, {})
            if row.excluded_ids:
                gold.excluded[row.qid] = row.excluded_ids
        elif isinstance(row, JudgmentRow):
            faults += _add(gold, row)
    if faults:
        raise MetricFault.of(faults)


def _add(gold: GoldFile, row: JudgmentRow) -> Iterator[str]:
    labels = gold.labels.setdefault(row.qid, {})
    before = labels.setdefault(row.pid, row.label)
    if before != row.label:
        yield f"{row.location}: {row.pid} has the label {before} for query {row.qid} before."
    for name, label in (row.subtopics or {}).items():
        passages = gold.subtopics.setdefault(row.qid, {}).setdefault(name, [])
        if label > 0:
            passages.append(row.pid)


def _object(file: DataFile) -> GoldFile | None:
    """`{qid: {passage id: label}}`, or None where the file is something else."""
    try:
        content = content_of(file, new_meter())
        labels = parsed(content)
    except (Unreadable, orjson.JSONDecodeError):
        return None
    if not isinstance(labels, dict) or not all(isinstance(e, dict) for e in labels.values()):
        return None
    if not labels or string_count(content) != len(labels) + sum(map(len, labels.values())):
        what = "labels by query and passage, each named once: {qid: {passage id: label}}"
        raise MetricFault([f"{file.name}: This object should hold {what}."])
    if faults := list(label_faults(labels)):
        raise MetricFault.of(f"{file.name}: {fault}" for fault in faults)
    return GoldFile(labels=labels)
