"""Aspects out of one file: Bright-Pro's rows with weights, or qrels of subtopics."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from corpus.importers.bright import guessed_scale, on_scale, read_aspect
from corpus.importers.fields import Record
from corpus.importers.files import DataFile, Meter
from corpus.importers.reading import records
from corpus.importers.records import checked
from corpus.importers.rows import AspectRow, Problem
from evaluation.metrics.faults import MetricFault
from evaluation.metrics.gold import Aspect
from evaluation.metrics.reading.golds import GoldFile, read_gold
from evaluation.metrics.reading.rows import (
    TEXT,
    Names,
    data_file,
    good_rows,
    kind_of,
    new_meter,
)

_NUMBER = re.compile(r"-(?:a|aspect-)\d{1,4}$", re.ASCII)
Named = dict[str, dict[str, Aspect]]


def read_aspects(
    path: Path, qids: Collection[str], *, complete: bool = True, names: Names | None = None
) -> Named:
    """{qid: {name: Aspect}} of a file.

    A passage that supports two aspects of a query is a fault; without `complete` the last one
    that names it counts, as in the reference (docs/protocol.md 9). Subtopics may share passages.
    Raises MetricFault naming file, line and field.
    """
    file = data_file(path)
    if kind_of(file) == TEXT:
        return of_subtopics(read_gold(path, names))
    rows = list(good_rows(_rows(file, qids, new_meter(names)), Counter()))
    if not rows:
        raise MetricFault([f"{file.name}: There is no aspect in this file."])
    guess = guessed_scale(rows)
    placed = [on_scale(row, guess) for row in rows]
    if off := [str(each) for each in placed if isinstance(each, Problem)]:
        raise MetricFault.of(off)
    found = [each for each in placed if isinstance(each, AspectRow)]
    return _named(found, complete=complete)


def of_subtopics(gold: GoldFile) -> Named:
    """Each subtopic as an aspect of weight 1; a file of one subtopic counts as one."""
    if gold.subtopics:
        return {
            qid: {name: Aspect(1.0, passages) for name, passages in named.items()}
            for qid, named in gold.subtopics.items()
        }
    return {
        qid: {"1": Aspect(1.0, [pid for pid, label in labels.items() if label > 0])}
        for qid, labels in gold.labels.items()
    }


def _rows(file: DataFile, qids: Collection[str], meter: Meter) -> Iterator[Any]:
    found = list(records(file, meter))
    task = _task([each for each in found if isinstance(each, Record)], file.domain, qids)
    for record in found:
        yield from checked(task, record, read_aspect)


def _task(found: Iterable[Record], domain: str, qids: Collection[str]) -> str:
    """What stands before the query id in an aspect id, as the file's name need not say it."""
    for record in found:
        stem = _NUMBER.sub("", str(record.data.get("id")))
        if stem.startswith(f"{domain}-"):
            return domain
        fitting = [qid for qid in qids if stem.endswith(f"-{qid}")]
        if fitting:
            return stem[: -len(max(fitting, key=len)) - 1]
    return domain


def _named(rows: Iterable[AspectRow], *, complete: bool) -> Named:
    supported: dict[tuple[str, str], str] = {}
    found: Named = {}
    faults: list[str] = []
    for row in sorted(rows, key=lambda row: row.k):
        name = f"a{row.k}"
        if name in found.setdefault(row.qid, {}):
            faults.append(f"{row.location}: The query {row.qid} has two aspects numbered {row.k}.")
        found[row.qid][name] = Aspect(row.weight, [])
        for pid in row.supporting_docs:
            if (before := supported.get((row.qid, pid))) is not None and complete:
                where = row.location.at("supporting_docs")
                faults.append(f"{where}: {pid} already supports aspect {before}.")
            supported[row.qid, pid] = name
    if faults:
        raise MetricFault.of(faults)
    passages: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (qid, pid), name in supported.items():
        passages[qid, name].append(pid)
    return {
        qid: {name: replace(each, passages=passages[qid, name]) for name, each in named.items()}
        for qid, named in found.items()
    }
