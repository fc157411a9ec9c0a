"""The passages of a split, written once as parquet and once as BEIR's `corpus.jsonl`."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from evaluation.exporters.bright_pro import DOCUMENTS
from evaluation.exporters.files import ROWS_IN_GROUP, TEXT_IN_GROUP, open_writer

# Gets the number of rows that are written; may raise to stop.
Step = Callable[[int], None]
_BUFFER = 1 << 20
# Pieces of work that may wait: their rows stay in memory.
_AHEAD = 2
Document = tuple[str, str]


def write_documents(
    table: Path, corpus: Path, rows: Iterable[Document], *, step: Step = lambda _: None
) -> int:
    """Write rows (id, text) to both files, streamed, and return their number.

    Without rows there is no table (`datasets` cannot open an empty split) and an empty corpus.
    The table is made in another thread than the one that reads and writes lines. `step` gets the
    number of rows after each group and may raise.
    """
    count, writer = 0, None
    waiting: deque[Future[None]] = deque()
    corpus.parent.mkdir(parents=True, exist_ok=True)
    try:
        # Compression leaves the interpreter to others, so that two processors are busy at once.
        with corpus.open("wb", buffering=_BUFFER) as file, ThreadPoolExecutor(1) as beside:
            for ids, texts in _groups(rows):
                writer = writer or open_writer(table, DOCUMENTS)
                while len(waiting) >= _AHEAD:
                    waiting.popleft().result()
                waiting.append(beside.submit(_write_group, writer, ids, texts))
                file.writelines(map(_line, ids, texts))
                count += len(ids)
                step(count)
            for each in waiting:
                each.result()
    finally:
        if writer is not None:
            writer.close()
    return count


def _groups(rows: Iterable[Document]) -> Iterator[tuple[list[str], list[str]]]:
    """Columns of so many rows; lists of texts, because tuples by the thousand cost the collector
    of garbage a tenth of the time."""
    ids: list[str] = []
    texts: list[str] = []
    weight = 0
    for pid, text in rows:
        ids.append(pid)
        texts.append(text)
        weight += len(text)
        if len(ids) >= ROWS_IN_GROUP or weight >= TEXT_IN_GROUP:
            yield ids, texts
            ids, texts, weight = [], [], 0
    if ids:
        yield ids, texts


def _write_group(writer: pq.ParquetWriter, ids: list[str], texts: list[str]) -> None:
    columns = [pa.array(each, pa.string()) for each in (ids, texts)]
    writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=DOCUMENTS))


def _line(pid: str, text: str) -> bytes:
    line = {"_id": pid, "title": "", "text": text}
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
