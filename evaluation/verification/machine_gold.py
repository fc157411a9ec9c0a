"""Machine gold of a release, against its evidence and against what experts and people said."""

from collections import Counter
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow.parquet as pq

from evaluation.exporters.bright_pro import MACHINE
from evaluation.exporters.names import aspect_id
from evaluation.verification.copies import TWICE
from evaluation.verification.rows import UNREADABLE, Pair, Report, objects, why_not
from evaluation.verification.rules import derive

# The id of an aspect and that of a passage.
Key: TypeAlias = tuple[str, str]


def check_machine_gold(folder: Path, split: str, report: Report) -> None:
    """Each passage supports one aspect that is there, by its evidence and no expert; older releases
    have none."""
    name = f"{MACHINE}/{split}.parquet"
    sources = _derived(folder, split, report)
    path = folder / name
    rows = pq.read_table(path).to_pylist() if path.is_file() else []
    if not rows and not sources:
        return
    aspects = _table(folder / f"aspects/{split}.parquet", "id", "supporting_docs")
    assigned = {
        (_query(split, row["id"]), pid) for row in aspects for pid in row["supporting_docs"] or ()
    }
    known = {row["id"] for row in aspects}
    documents = {row["id"] for row in _table(folder / f"documents/{split}.parquet", "id")}
    refused = _refused(folder, split)
    times = Counter((_query(split, row["id"]), row["doc_id"]) for row in rows)
    seen: set[Key] = set()
    for row in rows:
        key, pair = (row["id"], row["doc_id"]), (_query(split, row["id"]), row["doc_id"])
        why = {
            TWICE: key in seen,
            "there is no such aspect": row["id"] not in known,
            "no evidence says that it supports this aspect": key not in sources,
            "its source is not that of its evidence": sources.get(key) != row["source"],
            "it supports several aspects of the query": times[pair] > 1,
            "an expert assigned it to an aspect of the query": pair in assigned,
            "people found it not relevant for the query": pair in refused,
            "it is not in documents": row["doc_id"] not in documents,
        }
        for words in (words for words, is_wrong in why.items() if is_wrong):
            report.add(name, words, *pair)
        seen.add(key)
    for aspect, pid in sorted(sources.keys() - seen):
        report.add(name, "its evidence says that it is machine gold", _query(split, aspect), pid)


def _derived(folder: Path, split: str, report: Report) -> dict[Key, str]:
    """The source of each row of the evidence, each derived again."""
    found: dict[Key, str] = {}
    name = f"evidence/{MACHINE}/{split}.jsonl"
    if not (folder / name).is_file():
        return found
    texts: dict[str, type] = dict.fromkeys(("query_id", "passage_id", "source"), str)
    for row in objects(folder, name, report, **texts, aspect=int, label=int):
        pair = row["query_id"], row["passage_id"]
        key = aspect_id(split, row["query_id"], row["aspect"]), row["passage_id"]
        report.labels += 1
        if key in found:
            report.add(name, TWICE, *pair)
        found[key] = row["source"]
        try:
            label = derive(row, supporting=False)
        except UNREADABLE as error:
            report.add(name, why_not(error), *pair)
            continue
        report.derived += label is not None
        report.unverified += label is None
        if 0 in (label, row["label"]):
            report.add(name, "by its evidence it does not support the aspect", *pair)
    return found


def _refused(folder: Path, split: str) -> set[Pair]:
    """What people found not relevant, as far as labels were given right in this corpus version."""
    # What is no row of evidence is named where labels are derived.
    rows = objects(folder, f"evidence/{split}.jsonl", Report(), query_id=str, passage_id=str)
    return {
        (row["query_id"], row["passage_id"])
        for row in rows
        if row.get("source") in ("expert", "human") and not row.get("label")
    }


def _query(split: str, aspect: str) -> str:
    """The id of an aspect's query."""
    return aspect.removeprefix(f"{split}-").rpartition("-a")[0]


def _table(path: Path, *columns: str) -> list[dict[str, Any]]:
    return pq.read_table(path, columns=list(columns)).to_pylist() if path.is_file() else []
