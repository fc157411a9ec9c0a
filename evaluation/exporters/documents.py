"""The passages of a split, written once as parquet and once as BEIR's `corpus.jsonl`.

A search over title and text reads `{title}\\n{text}` where there is a title, as retrieval here does
(corpus/computing/corpus.py); lines of both files without either are searched by nobody.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeAlias

import orjson
import pyarrow as pa

from evaluation.exporters.bright_pro import DOCUMENTS
from evaluation.exporters.files import ROWS_IN_GROUP, TEXT_IN_GROUP, open_writer, same_file

# Gets the number of rows that are read; may raise to stop.
Step = Callable[[int], None]
# Row groups and pieces of lines that may wait: they stay in memory.
_GROUPS_AHEAD, _LINES_AHEAD = 2, 8
# Lines that are written at once: so few that their memory is used again.
_LINES = 1_000
# Of some rows, the values in the order of DOCUMENTS; a title or address that is not known is "",
# a date None.
Columns: TypeAlias = Sequence[Sequence[Any]]


class DocumentFiles:
    """Writes the documents of all splits, while the next ones are read: a context, at whose end
    all is written.

    One thread compresses tables, one writes lines and sums them up. Neither needs the interpreter
    for it, and the end of one split waits for nobody, so that two processors are busy throughout.
    `sums` has the SHA-256 of every file of lines.
    """

    def __init__(self) -> None:
        self.sums: dict[Path, str] = {}
        self._tables, self._lines = _Thread(_GROUPS_AHEAD), _Thread(_LINES_AHEAD)
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        with self._open:
            for thread in (self._tables, self._lines):
                self._open.callback(thread.stop)
            if error is None:
                self._tables.finish()
                self._lines.finish()

    def write(
        self,
        table: Path,
        corpus: Path,
        chunks: Iterable[Columns],
        *,
        also: Path | None = None,
        step: Step = lambda _: None,
    ) -> int:
        """Take rows for both files and return their number; the corpus is known as `also`, too.

        Without rows there is no table (`datasets` cannot open an empty split) and an empty corpus.
        `step` gets the number of rows after each group and may raise.
        """
        count, writer = 0, None
        corpus.parent.mkdir(parents=True, exist_ok=True)
        file, digest = self._open.enter_context(corpus.open("wb")), hashlib.sha256()
        for columns in _groups(chunks):
            writer = writer or self._open.enter_context(open_writer(table, DOCUMENTS))
            # Whatever needs the interpreter is done here: SQLite gives it away with every row, and
            # to hand it to and fro costs more than the work.
            self._tables.do(writer.write_batch, _batch(columns))
            for begin in range(0, len(columns[0]), _LINES):
                part = (each[begin : begin + _LINES] for each in columns)
                self._lines.do(_write, file, digest, b"".join(map(_line, *part)))
            count += len(columns[0])
            step(count)
        if writer is not None:
            self._tables.do(writer.close)
        self._lines.do(self._end_lines, file, digest, corpus, also)
        return count

    def _end_lines(self, file: BinaryIO, digest: Any, corpus: Path, also: Path | None) -> None:
        file.close()
        self.sums[corpus] = digest.hexdigest()
        if also is not None:
            same_file(corpus, also)
            self.sums[also] = self.sums[corpus]


class _Thread:
    """One that does its work in order; no more than `ahead` pieces of it wait."""

    def __init__(self, ahead: int) -> None:
        self._ahead = ahead
        self._pool = ThreadPoolExecutor(1)
        self._waiting: deque[tuple[Future[None], Any]] = deque()

    def do(self, work: Callable[..., None], *given: Any) -> None:
        """Hand over a piece of work; raises what an earlier one did."""
        while len(self._waiting) >= self._ahead:
            self._waiting.popleft()[0].result()
        # What is given is freed by the thread that made it, which gets the same memory again.
        self._waiting.append((self._pool.submit(work, *given), given))

    def finish(self) -> None:
        """Wait for all of it."""
        while self._waiting:
            self._waiting.popleft()[0].result()

    def stop(self) -> None:
        """End the thread, whatever waits."""
        self._pool.shutdown(cancel_futures=True)


def _groups(chunks: Iterable[Columns]) -> Iterator[list[list[Any]]]:
    """Columns of so many rows that they make a row group."""
    group: list[list[Any]] = [[] for _ in DOCUMENTS]
    weight = 0
    for columns in chunks:
        begin, (_, texts, titles, *_) = 0, columns
        for end, (text, title) in enumerate(zip(texts, titles, strict=True), start=1):
            weight += len(text) + len(title)
            if weight >= TEXT_IN_GROUP or len(group[0]) + end - begin >= ROWS_IN_GROUP:
                yield _with_rows(group, columns, begin, end)
                group, weight, begin = [[] for _ in DOCUMENTS], 0, end
        _with_rows(group, columns, begin, len(texts))
    if group[0]:
        yield group


def _with_rows(group: list[list[Any]], columns: Columns, begin: int, end: int) -> list[list[Any]]:
    for values, more in zip(group, columns, strict=True):
        values += more[begin:end]
    return group


def _batch(columns: Columns) -> pa.RecordBatch:
    arrays = [pa.array(each, field.type) for each, field in zip(columns, DOCUMENTS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=DOCUMENTS)


def _write(file: BinaryIO, digest: Any, lines: bytes) -> None:
    digest.update(lines)
    file.write(lines)


def _line(pid: str, text: str, title: str, url: str, day: Any) -> bytes:
    line: dict[str, Any] = {"_id": pid, "title": title, "text": text}
    if url:
        line["source_url"] = url
    if day:
        line["fetched_on"] = day
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
