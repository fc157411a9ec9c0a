"""Lines of plain text files, blank ones too and byte for byte, for formats that are not JSON."""

import gzip
import zlib
from collections.abc import Iterator
from io import BufferedReader
from typing import cast

from corpus.importers import reading
from corpus.importers.files import DataFile, Meter
from corpus.importers.reading import Unreadable, check_growth
from corpus.importers.rows import Place, Problem

BOM = b"\xef\xbb\xbf"
_LOOK_EVERY = 64
NOT_UTF8 = "This is not UTF-8 text (byte {} of the line). Convert the file to UTF-8 first."


def byte_lines(file: DataFile, meter: Meter) -> Iterator[tuple[int, bytes]]:
    """Numbered lines with their line ends, without a byte order mark; raises Unreadable."""
    number = 1
    try:
        with file.path.open("rb") as raw:
            stream = unzipped(file, raw)
            limit = reading.LINE_LIMIT
            while line := stream.readline(limit + 1):
                if len(line) > limit:
                    raise Unreadable(f"The line is longer than {limit // 2**20} MB.", number)
                if number % _LOOK_EVERY == 0:
                    meter.at(raw.tell())
                    check_growth(stream, raw, meter, number)
                yield number, line.removeprefix(BOM) if number == 1 else line
                number += 1
            check_growth(stream, raw, meter, number)
    except EOFError as error:
        raise Unreadable("The gzip file ends too early; fetch it again.", number) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise Unreadable("This is not a readable gzip file; fetch it again.", number) from error


def text_lines(file: DataFile, meter: Meter) -> Iterator[tuple[int, str]]:
    """The same as text; raises Unreadable at the first line that is not UTF-8."""
    for number, line in byte_lines(file, meter):
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as fault:
            raise Unreadable(NOT_UTF8.format(fault.start + 1), number) from fault


def column_lines(file: DataFile, meter: Meter) -> Iterator[tuple[Place, str] | Problem]:
    """Lines that hold something, without their ends; every bad one is a problem by itself."""
    try:
        for number, line in byte_lines(file, meter):
            place = Place(file.name, number)
            try:
                text = line.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError as fault:
                yield Problem(place, NOT_UTF8.format(fault.start + 1))
                continue
            if text.strip():
                yield place, text
    except Unreadable as fault:
        yield Problem(Place(file.name, fault.line), fault.message)


def first_bytes(file: DataFile) -> bytes:
    """How the file begins, white space left out; nothing where it cannot be read."""
    try:
        with file.path.open("rb") as raw:
            head = unzipped(file, raw).read(65536)
    except (OSError, EOFError, zlib.error):
        return b""
    return head.removeprefix(BOM).lstrip()


def unzipped(file: DataFile, raw: BufferedReader) -> BufferedReader:
    """What the file holds, unpacked on the way where its name ends in .gz."""
    if file.path.suffix.lower() != ".gz":
        return raw
    return cast(BufferedReader, gzip.GzipFile(fileobj=raw))
