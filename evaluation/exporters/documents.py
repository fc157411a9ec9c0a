"""The passages of a split, written once as parquet and once as BEIR's `corpus.jsonl`."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self

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
    corpus.parent.mkdir(parents=True, exist_ok=True)
    try:
        with corpus.open("wb", buffering=_BUFFER) as file, Background() as background:
            for ids, texts in _groups(rows):
                writer = writer or open_writer(table, DOCUMENTS)
                background.do(_write_group, writer, ids, texts)
                file.writelines(map(_line, ids, texts))
                count += len(ids)
                step(count)
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


class Background:
    """Does one piece of work after the other in a thread, in the order given.

    Compression leaves the interpreter to others, so that two processors are busy at once.
    What a piece raises comes out of the next `do` or of the end. Left by an error of the caller,
    it drops what waits.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "background")
        self._waiting: deque[Future[Any]] = deque()

    def do(self, act: Callable[..., object], *given: object) -> None:
        """Have this done; returns at once unless too much waits."""
        while len(self._waiting) >= _AHEAD:
            self._waiting.popleft().result()
        self._waiting.append(self._pool.submit(act, *given))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=error is not None)
        if error is None:
            for each in self._waiting:
                each.result()
