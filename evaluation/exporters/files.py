"""One way to write files of lines (UTF-8, a bare newline) and parquet tables (fixed options); their
checksums, in the format that `sha256sum -c` reads."""

import hashlib
import shutil
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from corpus.importers.blocks import ABOUT
from corpus.importers.reading import LIST_LIMIT, MAX_OBJECTS
from corpus.importers.rows import DocumentRow, PassageRow

Row = Sequence[Any]
SUMS = "SHA256SUMS"
ROWS_IN_GROUP = 10_000
# Characters of text kept before a row group is written.
TEXT_IN_GROUP = 8_000_000


def write_lines(path: Path, lines: Iterable[str]) -> int:
    """Write the lines and return their number; the file exists even without any."""
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for line in lines:
            file.write(f"{line}\n")
            count += 1
    return count


def write_jsonl(path: Path, rows: Iterable[dict[str, Any]]) -> int:
    """One JSON object a line, keys in the order given."""
    return write_lines(path, (orjson.dumps(row).decode() for row in rows))


def about(row: PassageRow | DocumentRow) -> dict[str, str]:
    """Title, address and day of fetching, under the names that readers of ours know; as far as
    they are given."""
    given = {name: getattr(row, name) for name in ABOUT}
    return {name: value for name, value in given.items() if value is not None}


def write_list(path: Path, rows: Iterable[dict[str, Any]]) -> int:
    """One JSON list, an object a line, and their number; no file without any.

    What is more than our readers take of a list is written as lines, under `.jsonl`.
    """
    lines = path.with_suffix(".jsonl")
    count = write_jsonl(lines, rows)
    is_small = lines.stat().st_size + 4 * count < LIST_LIMIT
    if is_small and lines.read_bytes().count(b"{") <= MAX_OBJECTS:
        if count:
            with lines.open(encoding="utf-8", newline="\n") as file:
                listed = ",\n".join(line.rstrip("\n") for line in file)
            write_lines(path, [f"[\n{listed}\n]"])
        lines.unlink()
    return count


def same_file(path: Path, other: Path) -> None:
    """The file under another name too; a copy where the file system has no second names."""
    other.parent.mkdir(parents=True, exist_ok=True)
    try:
        other.hardlink_to(path)
    except OSError:
        shutil.copyfile(path, other)


def write_rows(path: Path, schema: pa.Schema, rows: Iterable[Row]) -> int:
    """Write rows (values in the schema's order) and return their number.

    Without rows no file is written: `datasets` cannot open an empty split. The same rows give the
    same bytes.
    """
    count, writer, rest = 0, None, iter(rows)
    try:
        while group := list(islice(rest, ROWS_IN_GROUP)):
            writer = writer or open_writer(path, schema)
            # Rows turned into columns of the schema's types.
            columns = zip(*group, strict=True)
            arrays = [
                pa.array(list(column), type=field.type)
                for column, field in zip(columns, schema, strict=True)
            ]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
            count += len(group)
    finally:
        if writer is not None:
            writer.close()
    return count


def open_writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """A writer with every option that shapes the bytes spelled out."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return pq.ParquetWriter(
        path, schema, version="2.6", compression="zstd", compression_level=3, use_dictionary=False
    )


def file_sums(folder: Path, known: Mapping[str, str] | None = None) -> dict[str, str]:
    """SHA-256 of every file under the folder by its path there, sorted.

    Files of `known` are not read again.
    """
    files = [path for path in folder.rglob("*") if path.is_file()]
    paths = sorted(path.relative_to(folder).as_posix() for path in files)
    # Digests leave the interpreter to others: every processor takes a file.
    with ThreadPoolExecutor() as pool:
        sums = pool.map(lambda path: (known or {}).get(path) or file_sum(folder / path), paths)
        return dict(zip(paths, sums, strict=True))


def file_sum(path: Path) -> str:
    """SHA-256 of one file in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_sums(folder: Path, known: Mapping[str, str] | None = None) -> dict[str, str]:
    """Write SHA256SUMS over all other files and return every sum, its own included."""
    (folder / SUMS).unlink(missing_ok=True)
    sums = file_sums(folder, known)
    lines = "".join(f"{digest}  {path}\n" for path, digest in sums.items())
    (folder / SUMS).write_bytes(lines.encode())
    return {**sums, SUMS: file_sum(folder / SUMS)}
