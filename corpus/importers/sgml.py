"""Marked-up records of TREC files: blocks between a tag and its end, and the elements in them."""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from corpus.importers import reading
from corpus.importers.files import DataFile, Meter
from corpus.importers.reading import Unreadable
from corpus.importers.rows import Place, Problem
from corpus.importers.streams import text_lines

_TAG = re.compile(r"<(/?)([a-z]{1,20})\b[^<>\n]{0,200}>", re.ASCII | re.IGNORECASE)
_PADDING = " \t\n\r"


class Element(NamedTuple):
    """What stands behind a tag, and whether its end is given."""

    name: str
    content: str
    is_closed: bool = False


def blocks(file: DataFile, meter: Meter, name: str) -> Iterator[tuple[Place, str] | Problem]:
    """What stands between each line that begins with `<name>` and the next `</name>`.

    Lines keep their ends, but where the tag's own line ends in CR LF that is how the file ends
    lines, and they are read as LF.
    """
    try:
        yield from blocks_of(text_lines(file, meter), file.name, name)
    except Unreadable as fault:
        yield Problem(Place(file.name, fault.line), fault.message)


def blocks_of(
    lines: Iterable[tuple[int, str]], file: str, name: str
) -> Iterator[tuple[Place, str] | Problem]:
    """The same of numbered lines; raises Unreadable for a record that is too long."""
    opening = re.compile(rf"\s*<{name}>", re.ASCII | re.IGNORECASE)
    closing = re.compile(rf"</{name}>\s*$", re.ASCII | re.IGNORECASE)
    held: list[str] = []
    start = size = 0
    ends_in_cr = False
    for number, line in lines:
        if begin := opening.match(line):
            if start:
                yield _unclosed(file, start, name)
            start, size, held = number, 0, []
            ends_in_cr = line.endswith("\r\n")
            line = line[begin.end() :]
        elif not start:
            if line.strip():
                yield Problem(Place(file, number), f"A line outside of <{name}>.")
            continue
        size += len(line)
        if size > reading.LINE_LIMIT:
            raise Unreadable(f"This <{name}> is too long to be one record.", start)
        end = closing.search(line)
        held.append(line[: end.start()] if end else line)
        if end:
            yield _block(Place(file, start), "".join(held), name, ends_in_cr)
            start = 0
    if start:
        yield _unclosed(file, start, name)


def _block(place: Place, text: str, name: str, ends_in_cr: bool) -> tuple[Place, str] | Problem:
    if f"</{name}>" in text:
        return Problem(place, f"More than one <{name}> on a line.")
    return place, text.replace("\r\n" if ends_in_cr else "\n", "\n")


def elements(block: str, names: Collection[str], *, must_close: bool) -> tuple[list[Element], str]:
    """Elements of these names, and what stands outside of them.

    Where `must_close`, an element holds everything up to its own end; else it also ends where the
    next one begins. Content that is closed loses one white space on either side if both are there;
    other content loses all around it.
    """
    found: list[Element] = []
    outside: list[str] = []
    name, start = "", 0
    for tag in _TAG.finditer(block):
        seen = tag.group(2).lower()
        if seen not in names:
            continue
        is_end = bool(tag.group(1))
        if name and is_end and seen == name:
            found.append(Element(name, unpadded(block[start : tag.start()]), is_closed=True))
        elif name and (must_close or is_end):
            continue
        elif name:
            found.append(Element(name, block[start : tag.start()].strip(_PADDING)))
        else:
            outside.append(block[start : tag.start()])
        name, start = ("" if is_end else seen), tag.end()
    if name:
        found.append(Element(name, block[start:].strip(_PADDING)))
    else:
        outside.append(block[start:])
    return found, "".join(outside)


def unpadded(text: str) -> str:
    """The text without one white space on either side, if both are there."""
    is_padded = len(text) >= 2 and text[0] in _PADDING and text[-1] in _PADDING
    return text[1:-1] if is_padded else text


def _unclosed(file: str, line: int, name: str) -> Problem:
    return Problem(Place(file, line), f"This <{name}> is never closed.")
