"""One way to write a parquet file: explicit schema, fixed options, bounded memory."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = Sequence[Any]
Step = Callable[[int], None]

ROWS_IN_GROUP = 10_000
# Characters of text held before a row group is written.
TEXT_IN_GROUP = 8_000_000


def write_rows(
    path: Path,
    schema: pa.Schema,
    rows: Iterable[Row],
    *,
    weigh: Callable[[Row], int] = lambda _: 0,
    step: Step = lambda _: None,
) -> int:
    """Write rows (values in the schema's order) and return their number.

    Without rows no file is written: `datasets` cannot open an empty split. `weigh` tells how many
    characters a row holds; `step` gets the number of rows after each group and may raise.
    The same rows give the same bytes.
    """
    count, writer = 0, None
    try:
        for group in grouped(rows, weigh):
            writer = writer or open_writer(path, schema)
            writer.write_batch(to_batch(group, schema))
            count += len(group)
            step(count)
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


def grouped(rows: Iterable[Row], weigh: Callable[[Row], int]) -> Iterator[list[Row]]:
    """Rows in groups that stay within the two limits above."""
    group: list[Row] = []
    weight = 0
    for row in rows:
        group.append(row)
        weight += weigh(row)
        if len(group) >= ROWS_IN_GROUP or weight >= TEXT_IN_GROUP:
            yield group
            group, weight = [], 0
    if group:
        yield group
