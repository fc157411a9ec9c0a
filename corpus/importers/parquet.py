"""Blocks of records out of parquet files, never more at once than memory should hold.

Parquet writes a value that comes again as a number; a value of a megabyte repeated a million times
makes a small file. So the longest value of each such column is looked at first: it bounds how
many records may be unpacked at once.
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from corpus.importers.blocks import BLOCK_BYTES, BLOCK_ROWS, Block
from corpus.importers.files import TOO_DENSE, DataFile, Meter
from corpus.importers.rows import Location, Problem

# Batches that are unpacked meanwhile, while the last ones are written.
_AHEAD = 5
# Bytes that the records of one block may take, and the lists of one group of records.
MAX_AT_ONCE = 64 * 1024 * 1024
MAX_IN_LISTS = 1024 * 1024 * 1024
# Read through a buffer: column chunks are often as large as their file.
BUFFER_BYTES = 1024 * 1024
_NAMES = "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"


def parquet_blocks(file: DataFile, meter: Meter) -> Iterator[Block | Problem]:
    """The records of a file in order; a Problem where the rest of it cannot be read."""
    # Here, because it takes a third of a second that no other format should pay.
    import pyarrow as pa
    import pyarrow.parquet as pq

    done = unpacked = 0
    try:
        with pq.ParquetFile(file.path, buffer_size=BUFFER_BYTES, pre_buffer=False) as table:
            check_columns(file.path, table.metadata)
            rows = max(1, table.metadata.num_rows)
            size = rows_at_once(file.path, table.metadata, _rows_of_a_block(table.metadata))
            if size == 0:
                yield Problem(Location(file.name), TOO_DENSE)
                return
            for batch in _ahead(table.iter_batches(batch_size=size)):
                unpacked += batch.nbytes
                if fault := meter.fault(packed=file.size, unpacked=unpacked):
                    yield Problem(Location(file.name, done + 1), fault)
                    return
                yield _block(file, range(done + 1, done + 1 + batch.num_rows), batch)
                done += batch.num_rows
                meter.at(file.size * done // rows)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # names of columns, too
        reason = str(error).partition("\n")[0][:200]
        message = f"This is not a readable parquet file ({reason})."
        yield Problem(Location(file.name, done), message)


def _ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """The same in order, unpacked by another thread (which needs no interpreter lock for it)."""
    with ThreadPoolExecutor(1) as worker:
        coming = deque(worker.submit(next, batches, None) for _ in range(_AHEAD))
        while (batch := coming.popleft().result()) is not None:
            coming.append(worker.submit(next, batches, None))
            yield batch


def _block(file: DataFile, lines: range, batch: Any) -> Block:
    def column(name: str) -> list[Any]:
        found = batch.schema.get_all_field_indices(name)
        if len(found) > 1:
            raise ValueError(f"{name} is there twice")
        return batch.column(found[0]).to_pylist() if found else [None] * batch.num_rows

    names = batch.schema.names
    return Block(file.name, lines, batch.to_pylist, column, lambda: list(dict.fromkeys(names)))


def _rows_of_a_block(metadata: Any) -> int:
    """As many rows as make BLOCK_BYTES on average."""
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    size = sum(group.total_byte_size for group in groups)
    return max(1, min(BLOCK_ROWS, BLOCK_BYTES * metadata.num_rows // max(1, size)))


def check_columns(path: Path, metadata: Any) -> None:
    """Read one record of every group; ArrowException where a column's entry is damaged.

    What a damaged footer says of a column ends the process when it is asked for by
    `metadata.row_group(n).column(m)` (pyarrow 26 lets the exception of its C++ part escape there);
    reading goes through the same entries, and catches it. Texts stay numbers meanwhile, and are
    read through a buffer, so that neither a record nor a group can take much.
    """
    import pyarrow.parquet as pq

    schema = metadata.schema
    columns = (schema.column(number) for number in range(len(schema)))
    texts = [each.path for each in columns if each.physical_type in _NAMES]
    with pq.ParquetFile(
        path, read_dictionary=texts, buffer_size=BUFFER_BYTES, pre_buffer=False
    ) as table:
        for group in range(metadata.num_row_groups):
            next(table.iter_batches(1, row_groups=[group], use_threads=False), None)


def rows_at_once(path: Path, metadata: Any, most: int) -> int:
    """How many records may be unpacked at once, at most `most`; 0 where even one is too much."""
    rows = most
    for group in range(metadata.num_row_groups):
        longest = 0
        for column in _repeating(metadata, group, most):
            length = _longest_value(path, group, column.path_in_schema)
            if _is_listed(metadata, column):
                if length * column.num_values > MAX_IN_LISTS:
                    return 0
            else:
                longest += length
        rows = min(rows, MAX_AT_ONCE // max(1, longest))
    return rows


def _repeating(metadata: Any, group: int, most: int) -> Iterator[Any]:
    """Columns of texts written as numbers that could outgrow a block."""
    found = metadata.row_group(group)
    for number in range(found.num_columns):
        column = found.column(number)
        values = most if not _is_listed(metadata, column) else column.num_values
        if (
            column.has_dictionary_page
            and column.physical_type in _NAMES
            and column.total_uncompressed_size * values > MAX_AT_ONCE
        ):
            yield column


def _is_listed(metadata: Any, column: Any) -> bool:
    """Whether a record holds a list of these values."""
    schema = metadata.schema
    paths = (schema.column(number) for number in range(len(schema)))
    return any(
        each.max_repetition_level > 0 for each in paths if each.path == column.path_in_schema
    )


def _longest_value(path: Path, group: int, name: str) -> int:
    """The length of the longest value of a column's dictionary, read with one record of it."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, read_dictionary=[name], pre_buffer=False) as table:
        batch = next(table.iter_batches(batch_size=1, row_groups=[group], columns=[name]), None)
    values = batch.column(0) if batch is not None else pa.array([])
    while pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        values = values.values
    if not pa.types.is_dictionary(values.type):
        return 0
    return pc.max(pc.binary_length(values.dictionary)).as_py() or 0
