"""The passages of a split, written once as parquet and once as BEIR's `corpus.jsonl`.

A search over title and text reads `{title}\\n{text}` where there is a title, as retrieval here does
(corpus/computing/corpus.py); lines of both files without either are searched by nobody.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

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
# Values in the order of DOCUMENTS; a title or address that is not known is "", a date None.
Document: TypeAlias = tuple[str, str, str, str, Any]
Columns: TypeAlias = list[list[Any]]


def write_documents(
    table: Path, corpus: Path, rows: Iterable[Document], *, step: Step = lambda _: None
) -> int:
    """Write rows to both files, streamed, and return their number.

    Without rows there is no table (`datasets` cannot open an empty split) and an empty corpus.
    The table is made in another thread than the one that reads and writes lines. `step` gets the
    number of rows after each group and may raise.
    """
    count, writer = 0, None
    waiting: deque[Future[None]] = deque()
    corpus.parent.mkdir(parents=True, exist_ok=True)
    try:
        # Compression leaves the interpreter to others, so that two processors are busy at once.
        with corpus.open("wb", buffering=_BUFFER) as file, ThreadPoolExecutor(1) as pool:
            for columns in _groups(rows):
                writer = writer or open_writer(table, DOCUMENTS)
                while len(waiting) >= _AHEAD:
                    waiting.popleft().result()
                waiting.append(pool.submit(_write_group, writer, columns))
                file.writelines(map(_line, *columns))
                count += len(columns[0])
                step(count)
            for each in waiting:
                each.result()
    finally:
        if writer is not None:
            writer.close()
    return count


def _groups(rows: Iterable[Document]) -> Iterator[Columns]:
    """Columns of so many rows; lists of values, because tuples by the thousand cost the collector
    of garbage a tenth of the time."""
    columns: Columns = [[] for _ in DOCUMENTS]
    ids, texts, titles, urls, days = columns
    weight = 0
    for pid, text, title, url, day in rows:
        ids.append(pid)
        texts.append(text)
        titles.append(title)
        urls.append(url)
        days.append(day)
        weight += len(text) + len(title)
        if len(ids) >= ROWS_IN_GROUP or weight >= TEXT_IN_GROUP:
            yield columns
            columns = [[] for _ in DOCUMENTS]
            ids, texts, titles, urls, days = columns
            weight = 0
    if ids:
        yield columns


def _write_group(writer: pq.ParquetWriter, columns: Columns) -> None:
    arrays = [pa.array(each, field.type) for each, field in zip(columns, DOCUMENTS, strict=True)]
    writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=DOCUMENTS))


def _line(pid: str, text: str, title: str, url: str, day: Any) -> bytes:
    line: dict[str, Any] = {"_id": pid, "title": title, "text": text}
    if url:
        line["source_url"] = url
    if day:
        line["fetched_on"] = day
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
