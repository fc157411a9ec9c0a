"""What changed between two releases, told from their folders."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

# Rows named of each kind; counts are whole.
MOST_ROWS = 50


@dataclass(frozen=True)
class Change:
    """One kind of change in one split: how many rows, and the first of them in words."""

    split: str
    what: str
    count: int
    rows: tuple[str, ...]


@dataclass(frozen=True)
class Diff:
    """All changes from the older to the newer folder; empty where both hold the same."""

    changes: list[Change] = field(default_factory=list)

    def changelog(self, older: str, newer: str) -> str:
        """The changes as a text for people, in Markdown."""
        lines = [f"# Changes from {older} to {newer}", ""]
        splits = list(dict.fromkeys(each.split for each in self.changes))
        for split in splits:
            lines += [f"## {split}", ""]
            for each in self.changes:
                if each.split == split:
                    lines.append(f"- {each.count:,} {each.what}")
                    lines += [f"  - {row}" for row in each.rows]
                    if each.count > len(each.rows):
                        lines.append(f"  - and {each.count - len(each.rows):,} more")
            lines.append("")
        if not splits:
            lines += ["Nothing that is released has changed.", ""]
        return "\n".join(lines)


def compare(older: Path, newer: Path) -> Diff:
    """Queries, aspects, documents and labels of three views; raises OSError for a lost folder."""
    for folder in (older, newer):
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder} is not there.")
    splits = sorted({path.stem for folder in (older, newer) for path in _parts(folder)})
    return Diff([change for split in splits for change in _split(older, newer, split)])


def _parts(folder: Path) -> Iterator[Path]:
    yield from (folder / "provenance").glob("*.jsonl")


def _split(older: Path, newer: Path, split: str) -> Iterator[Change]:
    texts = ("query", "reference_answer", "answers")
    yield from _table(older, newer, split, "examples", "queries", texts)
    yield from _table(older, newer, split, "aspects", "aspects", ("content", "weight", "scale"))
    yield from _documents(older, newer, split)
    yield from _supports(older, newer, split)
    for view in ("base", "refined", "expert"):
        yield from _labels(older, newer, split, view)


def _table(
    older: Path, newer: Path, split: str, name: str, what: str, columns: Sequence[str]
) -> Iterator[Change]:
    def read(folder: Path) -> dict[str, tuple[Any, ...]]:
        path = folder / name / f"{split}.parquet"
        if not path.is_file():
            return {}
        # A column that a release does not have is as good as empty: `answers` may be absent.
        known = [name for name in columns if name in pq.read_schema(path).names]
        rows = pq.read_table(path, columns=["id", *known]).to_pylist()
        return {str(row["id"]): tuple(row.get(c) or None for c in columns) for row in rows}

    def words(key: str, before: tuple[Any, ...], after: tuple[Any, ...]) -> str:
        changed = [c for c, one, two in zip(columns, before, after, strict=True) if one != two]
        return f"{key} ({', '.join(changed)})"

    yield from _changes(split, what, read(older), read(newer), words)


def _documents(older: Path, newer: Path, split: str) -> Iterator[Change]:
    def read(folder: Path) -> dict[str, int]:
        path = folder / "documents" / f"{split}.parquet"
        if not path.is_file():
            return {}
        found: dict[str, int] = {}
        # Texts are hashed group by group: none is held.
        for batch in pq.ParquetFile(path).iter_batches(columns=["id", "content"]):
            for row in batch.to_pylist():
                found[row["id"]] = hash(row["content"])
        return found

    yield from _changes(split, "documents", read(older), read(newer), lambda key, *_: key)


def _supports(older: Path, newer: Path, split: str) -> Iterator[Change]:
    def read(folder: Path) -> dict[str, bool]:
        path = folder / "aspects" / f"{split}.parquet"
        if not path.is_file():
            return {}
        rows = pq.read_table(path, columns=["id", "supporting_docs"]).to_pylist()
        return {f"{row['id']} {pid}": True for row in rows for pid in row["supporting_docs"] or ()}

    yield from _changes(split, "passages of aspects", read(older), read(newer), lambda key, *_: key)


def _labels(older: Path, newer: Path, split: str, view: str) -> Iterator[Change]:
    def read(folder: Path) -> dict[str, int]:
        path = folder / "qrels" / f"{split}.{view}.txt"
        if not path.is_file():
            return {}
        rows = (line.split(" ") for line in path.read_text("utf-8").splitlines())
        return {f"{qid} {pid}": int(label) for qid, _, pid, label in rows}

    def words(key: str, before: int, after: int) -> str:
        return f"{key}: {before} to {after}"

    yield from _changes(split, f"labels of the {view} view", read(older), read(newer), words)


def _changes(
    split: str,
    what: str,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    words: Callable[[str, Any, Any], str],
) -> Iterator[Change]:
    added = [key for key in after if key not in before]
    removed = [key for key in before if key not in after]
    changed = [key for key in after if key in before and before[key] != after[key]]
    kinds = (
        ("added", added),
        ("removed", removed),
        ("changed", [words(key, before[key], after[key]) for key in changed]),
    )
    for kind, rows in kinds:
        if rows:
            yield Change(split, f"{what} {kind}", len(rows), tuple(rows[:MOST_ROWS]))
