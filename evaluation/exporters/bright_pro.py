"""Bright-Pro's three configurations as parquet (docs/protocol.md 3.2 and the dataset card)."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from evaluation.exporters.files import write_rows
from evaluation.exporters.names import aspect_id
from evaluation.exporters.records import QueryRecord, ReleaseSchema

STRINGS = pa.list_(pa.string())
ASPECTS = pa.schema(
    [
        ("id", pa.string()),
        ("content", pa.string()),
        ("weight", pa.int64()),
        ("supporting_docs", STRINGS),
        ("scale", pa.string()),
    ]
)
DOCUMENTS = pa.schema([("id", pa.string()), ("content", pa.string())])


def examples_schema(shape: ReleaseSchema) -> pa.Schema:
    """The published columns, and `answers` where any query of the benchmark has some."""
    fields = [
        ("id", pa.int64() if shape.integer_ids else pa.string()),
        ("query", pa.string()),
        ("gold_ids", STRINGS),
        ("reference_answer", pa.string()),
    ]
    return pa.schema([*fields, ("answers", STRINGS)] if shape.with_answers else fields)


def schemas(shape: ReleaseSchema) -> dict[str, pa.Schema]:
    """The columns of all configurations."""
    return {"examples": examples_schema(shape), "aspects": ASPECTS, "documents": DOCUMENTS}


def write_examples(path: Path, queries: Sequence[QueryRecord], shape: ReleaseSchema) -> int:
    """One row per query, in the order they were loaded."""
    rows = (
        (
            int(query.qid) if shape.integer_ids else query.qid,
            query.text,
            query.gold_ids,
            query.reference_answer,
            *((query.answers,) if shape.with_answers else ()),
        )
        for query in queries
    )
    return write_rows(path, examples_schema(shape), rows)


def write_aspects(path: Path, split: str, queries: Sequence[QueryRecord]) -> int:
    """One row per aspect with its raw weight; no file where the split has none."""
    rows = (
        (
            aspect_id(split, query.qid, aspect.k),
            aspect.content,
            aspect.weight,
            aspect.passages,
            aspect.scale,
        )
        for query in queries
        for aspect in query.aspects
    )
    return write_rows(path, ASPECTS, rows)
