"""BRIDGE's JSONL: one line per query with its relevant ids (docs/protocol.md 1.2 and 2.7)."""

from collections.abc import Sequence
from pathlib import Path

from evaluation.exporters.files import write_jsonl
from evaluation.exporters.records import QueryRecord


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
