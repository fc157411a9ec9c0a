"""Bright-Pro's configurations, as parquet and as JSON lists (docs/protocol.md 3.2 and its card).

BRIDGE's JSONL: one line per query with its relevant ids (docs/protocol.md 1.2 and 2.7)."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from evaluation.exporters.files import write_jsonl, write_list, write_rows
from evaluation.exporters.names import aspect_id
from evaluation.exporters.records import QueryRecord, ReleaseSchema, published_weight


def write_bridge(path: Path, queries: Sequence[QueryRecord]) -> int:
    """`doc_id` holds the refined positives: the original gold plus holes; ids are strings here."""
    rows = (
        {
            "q_id": query.qid,
            "query": query.text,
            "answers": query.answers,
            "doc_id": query.relevant,
        }
        for query in queries
    )
    return write_jsonl(path, rows)


STRINGS = pa.list_(pa.string())
ASPECT_COLUMNS = ("id", "content", "weight", "supporting_docs", "scale")
# The last two together: every label of the subtopic in the imported judgments, zeros included.
SUBTOPIC_COLUMNS = ("subtopic", "subtopic_docs", "subtopic_judged", "subtopic_labels")
DOCUMENTS = pa.schema(
    [
        ("id", pa.string()),
        ("content", pa.string()),
        ("title", pa.string()),
        ("source_url", pa.string()),
        ("fetched_on", pa.date32()),
    ]
)

# The configuration of machine gold.
MACHINE: Final = "machine_gold"
MACHINE_GOLD = pa.schema(
    [
        ("id", pa.string()),
        ("doc_id", pa.string()),
        ("source", pa.string()),
        ("round", pa.int64()),
        ("models", STRINGS),
    ]
)


def examples_schema(shape: ReleaseSchema) -> pa.Schema:
    """The published columns; `answers` and `excluded_ids` where any query of the benchmark has
    some."""
    fields = [
        ("id", pa.int64() if shape.integer_ids else pa.string()),
        ("query", pa.string()),
        ("gold_ids", STRINGS),
        ("reference_answer", pa.string()),
    ]
    fields += [("answers", STRINGS)] * shape.with_answers
    return pa.schema([*fields, *[("excluded_ids", STRINGS)] * shape.with_excluded])


def aspects_schema(shape: ReleaseSchema) -> pa.Schema:
    """The published columns; weights are fractions where any of the benchmark is a share, and
    subtopics stand where any aspect is one."""
    weight = pa.float64() if shape.with_shares else pa.int64()
    types = (pa.string(), pa.string(), weight, STRINGS, pa.string())
    fields = list(zip(ASPECT_COLUMNS, types, strict=True))
    kinds = (pa.string(), STRINGS, STRINGS, pa.list_(pa.int64()))
    own = list(zip(SUBTOPIC_COLUMNS, kinds, strict=True))
    return pa.schema(fields + own * shape.with_subtopics)


def schemas(shape: ReleaseSchema) -> dict[str, pa.Schema]:
    """The columns of all configurations."""
    return {
        "examples": examples_schema(shape),
        "aspects": aspects_schema(shape),
        "documents": DOCUMENTS,
        MACHINE: MACHINE_GOLD,
    }


def write_examples(path: Path, queries: Sequence[QueryRecord], shape: ReleaseSchema) -> int:
    """One row per query, in the order they were loaded."""
    rows = (
        (
            int(query.qid) if shape.integer_ids else query.qid,
            query.text,
            query.gold_ids,
            query.reference_answer,
            *((query.answers,) if shape.with_answers else ()),
            *((query.excluded,) if shape.with_excluded else ()),
        )
        for query in queries
    )
    return write_rows(path, examples_schema(shape), rows)


def write_aspects(
    path: Path, split: str, queries: Sequence[QueryRecord], shape: ReleaseSchema
) -> int:
    """One row per aspect with its raw weight; no file where the split has none."""
    rows = _aspects(split, queries)
    width = len(ASPECT_COLUMNS) + len(SUBTOPIC_COLUMNS) * shape.with_subtopics
    return write_rows(path, aspects_schema(shape), (row[:width] for row in rows))


def write_machine_gold(path: Path, split: str, queries: Sequence[QueryRecord]) -> int:
    """One row for each passage that machines or voters tie to an aspect, in no other file; no file
    where the split has none."""
    rows = (
        (aspect_id(split, query.qid, aspect.k), each.passage, each.source, each.round, each.models)
        for query in queries
        for aspect in query.aspects
        for each in aspect.machine
    )
    return write_rows(path, MACHINE_GOLD, rows)


def write_aspect_list(path: Path, task: str, queries: Sequence[QueryRecord]) -> int:
    """The same as a JSON list."""
    names = (*ASPECT_COLUMNS, *SUBTOPIC_COLUMNS)
    rows = (dict(zip(names, row, strict=True)) for row in _aspects(task, queries))
    kept = ({k: v for k, v in row.items() if v or k in ASPECT_COLUMNS} for row in rows)
    return write_list(path, kept)


def _aspects(split: str, queries: Sequence[QueryRecord]) -> Iterator[tuple[Any, ...]]:
    for query in queries:
        for aspect in query.aspects:
            name = aspect_id(split, query.qid, aspect.k)
            weight = published_weight(aspect.weight, aspect.scale)
            own = (name, aspect.content, weight, aspect.passages, aspect.scale)
            labels = {
                each.passage: each.subtopics[aspect.subtopic]
                for each in query.labels
                if each.subtopics and aspect.subtopic in each.subtopics
            }
            yield *own, aspect.subtopic, aspect.listed, list(labels), list(labels.values())
