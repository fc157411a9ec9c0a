"""Small files to import, and loading them with the product's own code."""

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from corpus.importers.formats import FORMATS
from corpus.importers.rows import JudgmentRow, Oddity, PassageBatch, Problem, Row
from corpus.imports.loading import load
from corpus.imports.services import queue_import
from corpus.models import Benchmark, ImportRun

PAGE = "Menu\nMoths turn their backs to the light.\nNobody knows why.\nShare this"
PASSAGES = {
    "light/Moth_0.txt": "Moths turn their backs to the light.",
    "light/Moth_1.txt": "Nobody knows why.",
    "light/Lamp_0.txt": "Lamps draw insects 100%27 of the time \u2014 na\u00efve, \U0001f98b.",
}


def write_lines(path: Path, rows: list[Any]) -> Path:
    """JSON lines, gzipped where the name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def example(**changes: Any) -> dict[str, Any]:
    """A query of the small Bright-Pro folder."""
    row = {
        "id": 7,
        "query": "Why do moths circle lamps?\nI saw one.",
        "gold_ids": ["light/Moth_0.txt", "light/Lamp_0.txt"],
        "reference_answer": "",
    }
    return row | changes


def aspect(k: int = 1, **changes: Any) -> dict[str, Any]:
    """An aspect of that query."""
    docs = {1: ["light/Moth_0.txt"], 2: ["light/Lamp_0.txt"]}.get(k, [])
    row = {"id": f"biology-7-a{k}", "content": f"Point {k}.", "weight": 4, "supporting_docs": docs}
    return row | changes


def bright_pro(root: Path, *, task: str = "biology", **parts: list[Any]) -> Path:
    """A small valid Bright-Pro folder; a part given by name replaces its rows."""
    default: dict[str, list[Any]] = {
        "examples": [example()],
        "aspects": [aspect(1), aspect(2)],
        "documents": [{"id": pid, "content": text} for pid, text in PASSAGES.items()],
    }
    for name, rows in (default | parts).items():
        write_lines(root / name / f"{task}.jsonl", rows)
    return root


def bright_row(**changes: Any) -> dict[str, Any]:
    """A row of BRIGHT queries."""
    row = {
        "id": "0",
        "query": "Why?",
        "reasoning": "N/A",
        "excluded_ids": ["N/A"],
        "gold_ids_long": ["a/b.txt"],
        "gold_ids": ["a/b_0.txt", "a/b_1.txt"],
        "gold_answer": "N/A",
    }
    return row | changes


def question(qid: str = "q1", **changes: Any) -> dict[str, Any]:
    """A HotpotQA-style row."""
    contexts = [
        {"id": "0", "title": "One", "paragraph_text": "Yes it is.", "is_supporting": True},
        {"id": "1", "title": "Two", "paragraph_text": "It is not.", "is_supporting": False},
    ]
    row = {
        "question_id": qid,
        "question_text": "Is it?",
        "answers_objects": [{"number": "", "date": {}, "spans": ["yes"]}],
        "contexts": contexts,
    }
    return row | changes


def read(name: str, path: Path, qrels: Path | None = None) -> list[Row]:
    """Everything a format's reader yields, batches taken apart."""
    return list(one_by_one(FORMATS[name].read(path, qrels=qrels)))


def one_by_one(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows with the passages of batches among them."""
    for row in rows:
        yield from row if isinstance(row, PassageBatch) else [row]


def of_kind(rows: list[Row], kind: type) -> list[Any]:
    """The rows of one kind."""
    return [row for row in rows if isinstance(row, kind)]


def labels(rows: list[Row]) -> list[tuple[str, str, str, int]]:
    """Judgments as (domain, query id, passage id, label)."""
    return [(row.domain, row.qid, row.pid, row.label) for row in of_kind(rows, JudgmentRow)]


def faults(rows: list[Row]) -> list[str]:
    """Each problem as people read it."""
    return [str(row) for row in of_kind(rows, Problem)]


def oddities(rows: list[Row]) -> list[tuple[str, str]]:
    """Each oddity with its example."""
    return [(row.what, row.example) for row in of_kind(rows, Oddity)]


def claimed(
    benchmark: Benchmark, path: Path, format: str = "bright_pro", qrels: Path | None = None
) -> ImportRun:
    """An import that this process has claimed."""
    return queue_import(
        benchmark=benchmark, actor=None, format=format, path=path, qrels=qrels, claim=True
    )


def imported(
    benchmark: Benchmark, path: Path, format: str = "bright_pro", qrels: Path | None = None
) -> ImportRun:
    """An import carried to its end, without the extras of other rooms."""
    run = claimed(benchmark, path, format, qrels)
    load(run)
    run.refresh_from_db()
    return run
