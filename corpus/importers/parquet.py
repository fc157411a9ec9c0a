"""Blocks of records out of parquet files."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from corpus.importers.blocks import BLOCK_BYTES, BLOCK_ROWS, Block
from corpus.importers.expansion import BUFFER_BYTES, check_columns, rows_at_once
from corpus.importers.files import DataFile, Meter
from corpus.importers.growth import TOO_DENSE, TOO_MUCH, is_bomb
from corpus.importers.rows import Place, Problem

# Batches that are unpacked meanwhile, while the last ones are written.
_AHEAD = 5


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
                yield Problem(Place(file.name), TOO_DENSE)
                return
            for batch in _ahead(table.iter_batches(batch_size=size)):
                unpacked += batch.nbytes
                if fault := _growth(file, unpacked, meter):
                    yield Problem(Place(file.name, done + 1), fault)
                    return
                yield _block(file, range(done + 1, done + 1 + batch.num_rows), batch)
                done += batch.num_rows
                meter.at(file.size * done // rows)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # names of columns, too
        reason = str(error).partition("\n")[0][:200]
        message = f"This is not a readable parquet file ({reason})."
        yield Problem(Place(file.name, done), message)


def _growth(file: DataFile, unpacked: int, meter: Meter) -> str:
    """Why so much is too much for this file, or ""."""
    if is_bomb(packed=file.size, unpacked=unpacked):
        return TOO_DENSE
    return "" if meter.unpacks(unpacked) else TOO_MUCH


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
