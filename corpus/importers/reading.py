"""Opening files, line by line or as JSON, gzipped or not: strict UTF-8, faults with locations."""

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import IO, Any, TypeAlias, TypeVar, cast

import orjson

from corpus.importers.blocks import BLOCK_BYTES, BLOCK_ROWS, Block
from corpus.importers.fields import Record
from corpus.importers.files import DataFile, Meter
from corpus.importers.parquet import parquet_blocks
from corpus.importers.rows import Location, Problem

# Bounds on what one hostile line, list or object may make us hold in memory.
LINE_LIMIT = 64 * 1024 * 1024
LIST_LIMIT = 256 * 1024 * 1024
SIZE_LIMIT = 256 * 1024 * 1024
# Small objects take twenty times the room of their bytes.
MAX_OBJECTS = 2_500_000
TOO_LONG_A_LIST = (
    "The list is too large to be read at once. Use JSON lines: one object a line, in a .jsonl file."
)
NOT_UTF8 = "This is not UTF-8 text (byte {} of the line). Convert the file to UTF-8 first."
BOM = b"\xef\xbb\xbf"
_LOOK_EVERY = 64
# Its number in the file, its length there in bytes (0 if unknown), and what it holds.
Item: TypeAlias = tuple[int, int, dict[str, Any]]
T = TypeVar("T")


class BadNames(ValueError):
    """What is to say how files name their fields says nothing, or two things."""


def names_of(given: Iterable[str]) -> dict[str, str]:
    """Our name of each field that files call otherwise, out of `ours=theirs`; raises BadNames."""
    names: dict[str, str] = {}
    for each in given:
        ours, _, theirs = each.partition("=")
        if not ours or not theirs:
            raise BadNames(f"{each[:80]!r} is not OURS=THEIRS, as docid=id is.")
        if names.setdefault(theirs, ours) != ours:
            raise BadNames(f"{theirs[:80]!r} cannot be both {names[theirs]!r} and {ours!r}.")
    return names


class Unreadable(Exception):
    """The rest of this file makes no sense."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


@contextmanager
def opened(
    file: DataFile, line: Callable[[], int] = lambda: 0
) -> Iterator[tuple[BufferedReader, BufferedReader]]:
    """What the file holds, unpacked where its name ends in .gz, and the file as it lies on disk.

    Whatever is wrong with it becomes Unreadable, in words for people and at that line.
    """
    try:
        raw = file.path.open("rb")
    except OSError as error:
        raise Unreadable("The file cannot be read.") from error
    is_packed = file.path.suffix.lower() == ".gz"
    try:
        with raw:
            yield cast(BufferedReader, gzip.GzipFile(fileobj=raw)) if is_packed else raw, raw
    except EOFError as error:
        raise Unreadable("The gzip file ends too early; fetch it again.", line()) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise Unreadable("This is not a readable gzip file; fetch it again.", line()) from error
    except OSError as error:
        raise Unreadable("The file cannot be read.", line()) from error


def check_growth(stream: IO[bytes], raw: IO[bytes], meter: Meter, line: int) -> None:
    """Raise Unreadable for a compressed stream that grows as only bombs do, or beyond the bound."""
    if stream is not raw and (fault := meter.fault(packed=raw.tell(), unpacked=stream.tell())):
        raise Unreadable(fault, line)


def content_of(file: DataFile, meter: Meter) -> bytes:
    """The whole file, unzipped; raises Unreadable where it is broken or larger than SIZE_LIMIT."""
    with opened(file) as (stream, raw):
        content = stream.read(SIZE_LIMIT + 1)
        check_growth(stream, raw, meter, 0)
    if len(content) > SIZE_LIMIT:
        limit = SIZE_LIMIT // 2**20
        raise Unreadable(f"The object is larger than {limit} MB; give the run in TREC's format.")
    return content


def first_bytes(file: DataFile) -> bytes:
    """How the file begins, white space left out; nothing where it cannot be read."""
    try:
        with opened(file) as (stream, _):
            return stream.read(65536).removeprefix(BOM).lstrip()
    except Unreadable:
        return b""


def byte_lines(file: DataFile, meter: Meter) -> Iterator[tuple[int, bytes]]:
    """Numbered lines with their line ends, without a byte order mark; raises Unreadable."""
    number, limit = 1, LINE_LIMIT
    with opened(file, lambda: number) as (stream, raw):
        while line := stream.readline(limit + 1):
            if len(line) > limit:
                raise Unreadable(f"The line is longer than {limit // 2**20} MB.", number)
            if number % _LOOK_EVERY == 0:
                meter.at(raw.tell())
                check_growth(stream, raw, meter, number)
            yield number, line.removeprefix(BOM) if number == 1 else line
            number += 1
        check_growth(stream, raw, meter, number)


def text_lines(file: DataFile, meter: Meter) -> Iterator[tuple[int, str]]:
    """The same as text; raises Unreadable at the first line that is not UTF-8."""
    for number, line in byte_lines(file, meter):
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as fault:
            raise Unreadable(NOT_UTF8.format(fault.start + 1), number) from fault


def column_lines(file: DataFile, meter: Meter) -> Iterator[tuple[Location, str] | Problem]:
    """Lines that hold something, without their ends; every bad one is a problem by itself."""
    try:
        for number, line in byte_lines(file, meter):
            location = Location(file.name, number)
            try:
                text = line.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError as fault:
                yield Problem(location, NOT_UTF8.format(fault.start + 1))
                continue
            if text.strip():
                yield location, text
    except Unreadable as fault:
        yield Problem(Location(file.name, fault.line), fault.message)


def each_line(
    file: DataFile, meter: Meter, read: Callable[[Location, str], T | Problem | None]
) -> Iterator[T | Problem]:
    """What `read` makes of each of these lines, None left out."""
    for each in column_lines(file, meter):
        made = each if isinstance(each, Problem) else read(*each)
        if made is not None:
            yield made


def records(file: DataFile, meter: Meter) -> Iterator[Record | Problem]:
    """Every record of the file in order, a Problem in place of each that cannot be read."""
    for block in blocks(file, meter):
        if isinstance(block, Problem):
            yield block
        else:
            yield from block.records()


def blocks(file: DataFile, meter: Meter) -> Iterator[Block | Problem]:
    """The same in blocks, for what may come by the half million."""
    is_parquet = file.path.suffix.lower() == ".parquet"
    found = parquet_blocks(file, meter) if is_parquet else _grouped(file, _json(file, meter))
    for each in found:
        yield each.renamed(meter.names) if meter.names and isinstance(each, Block) else each
    meter.end(file)


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
    """The objects of JSON lines, or of one list (Bright-Pro's mirror)."""
    try:
        is_lines = ".jsonl" in file.path.suffixes[-2:] or not _is_list(file)
        yield from _json_lines(file, meter) if is_lines else _json_list(file, meter)
    except Unreadable as fault:
        yield Problem(Location(file.name, fault.line), fault.message)


def _is_list(file: DataFile) -> bool:
    with opened(file) as (stream, _):
        return stream.read(4096).removeprefix(BOM).lstrip().startswith(b"[")


def _json_lines(file: DataFile, meter: Meter) -> Iterator[Item | Problem]:
    for number, line in byte_lines(file, meter):
        if not line.strip():
            continue
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            yield Problem(Location(file.name, number), _json_fault(line, error))
        else:
            yield _item(file, number, len(line), value)


def _json_list(file: DataFile, meter: Meter) -> Iterator[Item | Problem]:
    with opened(file) as (stream, raw):
        content = stream.read(LIST_LIMIT + 1)
        check_growth(stream, raw, meter, 0)
    if len(content) > LIST_LIMIT or content.count(b"{") > MAX_OBJECTS:
        raise Unreadable(TOO_LONG_A_LIST)
    try:
        values = orjson.loads(content.removeprefix(BOM))
    except orjson.JSONDecodeError as error:
        raise Unreadable(_json_fault(content, error), error.lineno) from error
    del content
    for number, value in enumerate(values, start=1):
        yield _item(file, number, 0, value)


def _item(file: DataFile, number: int, length: int, value: Any) -> Item | Problem:
    if isinstance(value, dict):
        return number, length, value
    return Problem(Location(file.name, number), 'A JSON object is needed here: {"id": ..., ...}.')


def _json_fault(content: bytes, error: orjson.JSONDecodeError) -> str:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as fault:
        return f"This is not UTF-8 text (byte {fault.start + 1} of it)."
    return f"This is not valid JSON ({error.msg}, column {error.colno})."
