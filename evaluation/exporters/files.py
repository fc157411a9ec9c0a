"""One way to write files of lines (UTF-8, a bare newline) and parquet tables (fixed options)."""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

Row = Sequence[Any]
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


def write_rows(path: Path, schema: pa.Schema, rows: Iterable[Row]) -> int:
    """Write rows (values in the schema's order) and return their number.

    Without rows no file is written: `datasets` cannot open an empty split. The same rows give the
    same bytes.
    """
    count, writer, rest = 0, None, iter(rows)
    try:
        while group := list(islice(rest, ROWS_IN_GROUP)):
            writer = writer or open_writer(path, schema)
            writer.write_batch(to_batch(group, schema))
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


def to_batch(rows: Sequence[Row], schema: pa.Schema) -> pa.RecordBatch:
    """Rows turned into columns of the schema's types."""
    columns = zip(*rows, strict=True)
    arrays = [
        pa.array(list(column), type=field.type)
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
