"""Records out of JSON lists, JSON lines, either gzipped, and parquet; UTF-8, strictly."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

import orjson

from corpus.importers.blocks import BLOCK_BYTES, BLOCK_ROWS, Block
from corpus.importers.fields import Record
from corpus.importers.files import KINDS_OF_FILE, DataFile, Meter
from corpus.importers.growth import TOO_DENSE, TOO_MUCH, is_bomb
from corpus.importers.parquet import parquet_blocks
from corpus.importers.rows import Place, Problem

# Bounds on what one hostile line or list may make us hold in memory.
LINE_LIMIT = 64 * 1024 * 1024
LIST_LIMIT = 256 * 1024 * 1024
# Small objects take twenty times the room of their bytes.
MOST_OBJECTS = 2_500_000
TOO_LONG_A_LIST = (
    "The list is too large to be read at once. Use JSON lines: one object a line, in a .jsonl file."
)
_BOM = b"\xef\xbb\xbf"
# Its number in the file, its length there in bytes (0 if unknown), and what it holds.
Item: TypeAlias = tuple[int, int, dict[str, Any]]


class Unreadable(Exception):
    """The rest of this file makes no sense."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def records(file: DataFile, meter: Meter) -> Iterator[Record | Problem]:
    """Every record of the file in order, a Problem in place of each that cannot be read."""
    for block in blocks(file, meter):
        if isinstance(block, Problem):
            yield block
        else:
            yield from block.records()


def blocks(file: DataFile, meter: Meter) -> Iterator[Block | Problem]:
    """The same in blocks, for what may come by the half million."""
    if file.path.suffix.lower() == ".parquet":
        yield from parquet_blocks(file, meter)
    else:
        yield from _grouped(file, _json(file, meter))
    meter.end(file)


def lines(file: DataFile, meter: Meter) -> Iterator[tuple[int, bytes]]:
    """Numbered lines that are not blank, with their line ends; raises Unreadable."""
    with file.path.open("rb") as raw:
        stream = _unzipped(file, raw)
        for number, line in _numbered(stream):
            if number % 64 == 0:
                meter.at(raw.tell())
                check_growth(stream, raw, meter, number)
            if line.strip():
                yield number, line
        check_growth(stream, raw, meter, 0)


def check_growth(stream: IO[bytes], raw: IO[bytes], meter: Meter, line: int) -> None:
    """Raise Unreadable for a compressed stream that grows as only bombs do, or beyond the bound."""
    if stream is raw:
        return
    if is_bomb(packed=raw.tell(), unpacked=stream.tell()):
        raise Unreadable(TOO_DENSE, line)
    if not meter.unpacks(stream.tell()):
        raise Unreadable(TOO_MUCH, line)


def nothing_here(path: Path, wanted: str) -> Problem:
    """What to say where a path holds nothing to read."""
    if not path.exists():
        return Problem(Place(path.name), "There is no such file or folder.")
    return Problem(Place(path.name), f"Nothing to load here: {wanted} ({KINDS_OF_FILE}) is needed.")


def _grouped(file: DataFile, items: Iterator[Item | Problem]) -> Iterator[Block | Problem]:
    """Blocks of the objects between two problems."""
    numbers: list[int] = []
    values: list[dict[str, Any]] = []
    size = 0
    for item in items:
        if not isinstance(item, Problem):
            number, length, value = item
            numbers.append(number)
            values.append(value)
            size += length
            if len(values) < BLOCK_ROWS and size < BLOCK_BYTES:
                continue
        if values:
            yield Block.of(file.name, numbers, values)
            numbers, values, size = [], [], 0
        if isinstance(item, Problem):
            yield item
    if values:
        yield Block.of(file.name, numbers, values)


def _json(file: DataFile, meter: Meter) -> Iterator[Item | Problem]:
    try:
        yield from _json_list(file, meter) if _is_list(file) else _json_lines(file, meter)
    except Unreadable as fault:
        yield Problem(Place(file.name, fault.line), fault.message)


def _json_lines(file: DataFile, meter: Meter) -> Iterator[Item | Problem]:
    for number, line in lines(file, meter):
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            yield Problem(Place(file.name, number), _json_fault(line, error))
        else:
            yield _item(file, number, len(line), value)


def _json_list(file: DataFile, meter: Meter) -> Iterator[Item | Problem]:
    with file.path.open("rb") as raw, _readable():
        stream = _unzipped(file, raw)
        content = stream.read(LIST_LIMIT + 1)
        check_growth(stream, raw, meter, 0)
    if len(content) > LIST_LIMIT or content.count(b"{") > MOST_OBJECTS:
        raise Unreadable(TOO_LONG_A_LIST)
    try:
        values = orjson.loads(content.removeprefix(_BOM))
    except orjson.JSONDecodeError as error:
        raise Unreadable(_json_fault(content, error), error.lineno) from error
    del content
    for number, value in enumerate(values, start=1):
        yield _item(file, number, 0, value)


def _item(file: DataFile, number: int, length: int, value: Any) -> Item | Problem:
    if isinstance(value, dict):
        return number, length, value
    return Problem(Place(file.name, number), 'A JSON object is needed here: {"id": ..., ...}.')


def _is_list(file: DataFile) -> bool:
    """Whether a .json file is one list (Bright-Pro's mirror) and not lines under another name."""
    if ".jsonl" in file.path.suffixes[-2:]:
        return False
    with file.path.open("rb") as raw, _readable():
        head = _unzipped(file, raw).read(4096)
    return head.removeprefix(_BOM).lstrip().startswith(b"[")


def _unzipped(file: DataFile, raw: BufferedReader) -> BufferedReader:
    if file.path.suffix.lower() != ".gz":
        return raw
    return cast(BufferedReader, gzip.GzipFile(fileobj=raw))


def _numbered(stream: BufferedReader) -> Iterator[tuple[int, bytes]]:
    number, limit = 1, LINE_LIMIT
    with _readable(lambda: number):
        while line := stream.readline(limit + 1):
            if len(line) > limit:
                raise Unreadable(f"The line is longer than {limit // 2**20} MB.", number)
            yield number, line.removeprefix(_BOM) if number == 1 else line
            number += 1


@contextmanager
def _readable(line: Callable[[], int] = lambda: 0) -> Iterator[None]:
    """Say what is wrong with a file in words for people, and at which line."""
    try:
        yield
    except EOFError as error:
        raise Unreadable("The gzip file ends too early; fetch it again.", line()) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise Unreadable("This is not a readable gzip file; fetch it again.", line()) from error
    except OSError as error:
        raise Unreadable("The file cannot be read.", line()) from error


def _json_fault(content: bytes, error: orjson.JSONDecodeError) -> str:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as fault:
        return f"This is not UTF-8 text (byte {fault.start + 1} of it)."
    return f"This is not valid JSON ({error.msg}, column {error.colno})."
