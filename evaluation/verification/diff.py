"""What changed between two releases, read from their folders."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from evaluation.verification.rows import supports_of

# Rows named of each kind; counts are whole.
MAX_ROWS = 50
_DOCUMENT = ("content", "title", "source_url", "fetched_on")
Rows = Mapping[str, Any]


@dataclass(frozen=True)
class Change:
    """One kind of change in one split: how many rows, and the first of them in words."""

    split: str
    what: str
    count: int
    rows: tuple[str, ...]


def changelog(changes: Sequence[Change], older: str, newer: str) -> str:
    """The changes as a text for people, in Markdown."""
    lines = [f"# Changes from {older} to {newer}", ""]
    splits = list(dict.fromkeys(each.split for each in changes))
    for split in splits:
        lines += [f"## {split}", ""]
        for each in changes:
            if each.split == split:
                lines.append(f"- {each.count:,} {each.what}")
                lines += [f"  - {row}" for row in each.rows]
                if each.count > len(each.rows):
                    lines.append(f"  - and {each.count - len(each.rows):,} more")
        lines.append("")
    if not splits:
        lines += ["Nothing that is released has changed.", ""]
    return "\n".join(lines)


def compare(older: Path, newer: Path) -> list[Change]:
    """All changes of queries, aspects, documents and labels of three views, from the older to the
    newer folder; raises OSError for a lost folder."""
    for folder in (older, newer):
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder} is not there.")
    files = [path for folder in (older, newer) for path in (folder / "provenance").glob("*.jsonl")]
    changes: list[Change] = []
    for split in sorted({path.stem for path in files}):
        for what, name, read, words in _KINDS:
            paths = [folder / name.format(split) for folder in (older, newer)]
            before, after = (read(path) if path.is_file() else {} for path in paths)
            changes += _changes(split, what, before, after, words)
    return changes


def _changes(
    split: str, what: str, before: Rows, after: Rows, words: Callable[[str, Any, Any], str]
) -> Iterator[Change]:
    kinds = {
        "added": [key for key in after if key not in before],
        "removed": [key for key in before if key not in after],
        "changed": [
            words(key, before[key], after[key])
            for key in after
            if key in before and before[key] != after[key]
        ],
    }
    for kind, rows in kinds.items():
        if rows:
            yield Change(split, f"{what} {kind}", len(rows), tuple(rows[:MAX_ROWS]))


def _table(*columns: str) -> Callable[[Path], Rows]:
    """Reads these columns of a table by its ids."""

    def read(path: Path) -> Rows:
        # A column that a release does not have is as good as empty: `answers` may be absent.
        known = [name for name in columns if name in pq.read_schema(path).names]
        rows = pq.read_table(path, columns=["id", *known]).to_pylist()
        return {str(row["id"]): {name: row.get(name) or None for name in columns} for row in rows}

    return read


def _changed_documents(key: str, before: Sequence[int], after: Sequence[int]) -> str:
    pairs = zip(_DOCUMENT, before, after, strict=True)
    return f"{key} ({', '.join(name for name, a, b in pairs if a != b)})"


def _changed_columns(key: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    return f"{key} ({', '.join(name for name in after if before[name] != after[name])})"


def _documents(path: Path) -> Rows:
    # Texts are hashed group by group, so that few are in memory. A column that an older release
    # does not have is as good as empty.
    with pq.ParquetFile(path) as table:
        known = [name for name in _DOCUMENT if name in table.schema_arrow.names]
        return {
            row["id"]: tuple(hash(row.get(name) or None) for name in _DOCUMENT)
            for batch in table.iter_batches(columns=["id", *known])
            for row in batch.to_pylist()
        }


def _supports(path: Path) -> Rows:
    return {f"{aspect} {pid}": True for aspect, pid in supports_of(path)}


def _machine_gold(path: Path) -> Rows:
    rows = pq.read_table(path, columns=["id", "doc_id", "source"]).to_pylist()
    return {f"{row['id']} {row['doc_id']}": row["source"] for row in rows}


def _labels(path: Path) -> Rows:
    rows = (line.split(" ") for line in path.read_text("utf-8").splitlines())
    return {f"{qid} {pid}": int(label) for qid, _, pid, label in rows}


# What is compared: its name, its file in a release, how that is read, and a change in words.
_KINDS: tuple[tuple[str, str, Callable[[Path], Rows], Callable[[str, Any, Any], str]], ...] = (
    (
        "queries",
        "examples/{}.parquet",
        _table("query", "reference_answer", "answers"),
        _changed_columns,
    ),
    ("aspects", "aspects/{}.parquet", _table("content", "weight", "scale"), _changed_columns),
    ("documents", "documents/{}.parquet", _documents, _changed_documents),
    ("passages of aspects", "aspects/{}.parquet", _supports, lambda key, *_: key),
    ("machine gold", "machine_gold/{}.parquet", _machine_gold, "{}: {} to {}".format),
    *(
        (
            f"labels of the {view} view",
            f"qrels/{{}}.{view}.txt",
            _labels,
            "{}: {} to {}".format,
        )
        for view in ("base", "refined", "expert")
    ),
)
