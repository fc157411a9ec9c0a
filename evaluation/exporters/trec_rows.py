"""TREC qrels and runs of imported rows, by tabs, so that ids may hold blanks."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from corpus.importers.rows import JudgmentRow, RunRow
from evaluation.exporters.files import write_lines
from evaluation.exporters.names import in_columns


def write_qrels(path: Path, rows: Iterable[JudgmentRow]) -> int:
    """Judgments; one line for each subtopic where subtopics were judged.

    Raises ValueError for an id that cannot stand in a line.
    """
    return write_lines(path, (line for row in rows for line in _judgment_lines(row)))


def write_run(path: Path, rows: Iterable[RunRow]) -> int:
    """Rankings in their order; without scores each counts down from the list's length.

    Raises ValueError for an id or name that cannot stand in a line.
    """
    return write_lines(path, (line for row in rows for line in _run_lines(row)))


def _judgment_lines(row: JudgmentRow) -> Iterator[str]:
    if row.qid.startswith("#"):
        raise ValueError(f"{row.qid[:80]!r} would be read as a comment.")
    for middle, label in (row.subtopics or {"0": row.label}).items():
        yield in_columns(row.qid, middle, row.pid, str(label))


def _run_lines(row: RunRow) -> Iterator[str]:
    count = len(row.pids)
    scores = row.scores if row.scores is not None else range(count, 0, -1)
    for rank, (pid, score) in enumerate(zip(row.pids, scores, strict=True), start=1):
        yield in_columns(row.qid, "Q0", pid, str(rank), repr(score), row.tag or "run")
