"""Records of `.I` with their fields, as the collections of the SMART system are written."""

import re
from collections.abc import Iterator
from typing import TypeAlias

from corpus.importers import reading
from corpus.importers.fields import PID_LIMIT, text_fault
from corpus.importers.files import DataFile, Meter
from corpus.importers.reading import Unreadable
from corpus.importers.rows import Oddity, Place, Problem
from corpus.importers.streams import text_lines

# Letter of the field -> its lines; "I" is the record's own number as it stands.
Fields: TypeAlias = dict[str, str]
_MARK = re.compile(r"\.([ITABWKCX])(?:[ \t]++(\S(?:.*[^ \t])?))?[ \t]*+$")
AGAIN = "fields given twice in a record, joined"
EMPTY = "records without a number and content, passed over"


def read_records(file: DataFile, meter: Meter) -> Iterator[tuple[Place, Fields | Problem | Oddity]]:
    """Each record with its place; lines of a field are joined by a newline."""
    try:
        for place, lines in _grouped(file, meter):
            yield from ((place, each) for each in _record(place, lines))
    except Unreadable as fault:
        place = Place(file.name, fault.line)
        yield place, Problem(place, fault.message)


def _grouped(file: DataFile, meter: Meter) -> Iterator[tuple[Place, list[str]]]:
    """The lines of each record, its `.I` line first, without their ends."""
    held: list[str] = []
    start = size = 0
    for number, whole in text_lines(file, meter):
        line = whole.rstrip("\r\n")
        if (mark := _MARK.match(line)) and mark.group(1) == "I":
            if held:
                yield Place(file.name, start), held
            start, size, held = number, 0, []
        size += len(line)
        if size > reading.LINE_LIMIT:
            raise Unreadable("This is too long to be one record.", start)
        if held or start or line.strip():
            start = start or number
            held.append(line)
    if held:
        yield Place(file.name, start), held


def _record(place: Place, lines: list[str]) -> Iterator[Fields | Problem | Oddity]:
    first = _MARK.match(lines[0])
    number = first.group(2) if first and first.group(1) == "I" else None
    if number is None:
        is_empty = first is not None and not any(line.strip() for line in lines[1:])
        wrong = Problem(place, "A record begins with a line like .I 12.")
        yield Oddity(EMPTY, str(place)) if is_empty else wrong
        return
    if fault := text_fault(number, PID_LIMIT):
        yield Problem(place.at(".I"), fault)
        return
    parts: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in lines[1:]:
        mark = _MARK.match(line)
        if mark and mark.group(2) is None:
            if mark.group(1) in parts:
                yield Oddity(AGAIN, f"{number}: .{mark.group(1)}")
            current = parts.setdefault(mark.group(1), [])
        elif current is not None:
            current.append(line)
        elif line.strip():
            yield Problem(place, "Text before the first field of a record (.T, .A, .B or .W).")
            return
    yield {"I": number, **{name: "\n".join(held) for name, held in parts.items()}}
