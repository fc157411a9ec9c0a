"""TREC documents: marked up (TRECTEXT), as JSON lines, or as `docid<tab>text`.

Marked-up records are blocks between a tag and its end, with elements in them. Large files are read
in pieces, each cut behind the end of a record: looking at every line of half a million documents
would take longer than storing them.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from corpus.importers import reading
from corpus.importers.blocks import BLOCK_BYTES, BLOCK_ROWS, Layout, are_sound
from corpus.importers.fields import PID_LIMIT, TITLE_LIMIT, faults_at
from corpus.importers.files import DataFile, Meter
from corpus.importers.reading import (
    BOM,
    NOT_UTF8,
    Unreadable,
    check_growth,
    each_line,
    opened,
    text_lines,
)
from corpus.importers.records import read_passages
from corpus.importers.rows import Location, PassageBatch, PassageRow, Problem, Row

_TAG = re.compile(r"<(/?)([a-z]{1,20})\b[^<>\n]{0,200}>", re.ASCII | re.IGNORECASE)
_PADDING = " \t\n\r"


class Found(NamedTuple):
    """A passage of a file that is no JSON, its id and text not looked at yet."""

    line: int
    pid: str
    title: str | None
    text: str


class Element(NamedTuple):
    """What stands behind a tag, and whether its end is given."""

    name: str
    content: str
    is_closed: bool = False


def blocks(file: DataFile, meter: Meter, name: str) -> Iterator[tuple[Location, str] | Problem]:
    """What stands between each line that begins with `<name>` and the next `</name>`.

    Lines keep their ends, but where the tag's own line ends in CR LF that is how the file ends
    lines, and they are read as LF.
    """
    try:
        yield from blocks_of(text_lines(file, meter), file.name, name)
    except Unreadable as fault:
        yield Problem(Location(file.name, fault.line), fault.message)


def blocks_of(
    lines: Iterable[tuple[int, str]], file: str, name: str
) -> Iterator[tuple[Location, str] | Problem]:
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
                yield Problem(Location(file, number), f"A line outside of <{name}>.")
            continue
        size += len(line)
        if size > reading.LINE_LIMIT:
            raise Unreadable(f"This <{name}> is too long to be one record.", start)
        end = closing.search(line)
        held.append(line[: end.start()] if end else line)
        if end:
            yield _block(Location(file, start), "".join(held), name, ends_in_cr)
            start = 0
    if start:
        yield _unclosed(file, start, name)


def _block(
    location: Location, text: str, name: str, ends_in_cr: bool
) -> tuple[Location, str] | Problem:
    if f"</{name}>" in text:
        return Problem(location, f"More than one <{name}> on a line.")
    return location, text.replace("\r\n" if ends_in_cr else "\n", "\n")


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
    return Problem(Location(file, line), f"This <{name}> is never closed.")


_TITLES = {"title", "headline", "hl", "head"}
_HEADERS = {"docno", "docid", "docoldno", "dochdr"}
_NAMES = {*_TITLES, *_HEADERS, "text"}
_RECORD = Layout(
    ids=("docno", "doc_id", "docid", "id", "_id"), texts=("contents", "content", "text", "body")
)
# A document as most files write it, without its end; any other is taken line by line.
_HEAD = (
    r"\s*<DOC>\s*<DOCNO>([^<]*)</DOCNO>\s*"
    r"(?:<(TITLE|HEADLINE|HL|HEAD)>([^<]*)</\2>\s*)?<TEXT>"
)
# What stands between two texts where tags end their lines; as a group, what is of the second.
_END = "</TEXT>\n</DOC>\n"
_LINES_OF_END = _END.count("\n")
_BETWEEN = (
    rf"{_END}(\n*<DOC>\n<DOCNO>([^<]*)</DOCNO>\n"
    r"(?:<(TITLE|HEADLINE|HL|HEAD)>([^<]*)</\3>\n)?<TEXT>)"
)


class _Usual(NamedTuple):
    """How documents look that end in one way (case counts: that is faster)."""

    head: re.Pattern[str]
    end_of_text: str
    end_of_document: str
    end: str
    between: re.Pattern[str]


_UPPER = _Usual(re.compile(_HEAD, re.ASCII), "</TEXT>", "</DOC>\n", _END, re.compile(_BETWEEN))
_LOWER = _Usual(
    re.compile(_HEAD.lower(), re.ASCII),
    "</text>",
    "</doc>\n",
    _END.lower(),
    re.compile(_BETWEEN.lower()),
)
_USUAL = {each.end_of_document: each for each in (_UPPER, _LOWER)}
_INNER = re.compile(r"</?(?:doc|text)\b", re.ASCII | re.IGNORECASE)


def read_documents(file: DataFile, meter: Meter, head: bytes) -> Iterator[Row]:
    """Passages of a file that begins with `head`."""
    if head[:1] in {b"{", b"["} or file.path.suffix.lower() == ".parquet":
        yield from read_passages(file, meter, _RECORD)
        return
    is_marked = head[:1] == b"<"
    found = _from_markup(file, meter) if is_marked else each_line(file, meter, _columns)
    # Passages of a file that is no JSON, in groups as large as blocks of records.
    waiting: list[Found | Problem] = []
    size = 0
    for each in found:
        waiting.append(each)
        size += len(each.text) if isinstance(each, Found) else 0
        if len(waiting) >= BLOCK_ROWS or size >= BLOCK_BYTES:
            yield from _group(file, waiting)
            waiting, size = [], 0
    yield from _group(file, waiting)
    meter.end(file)


def _columns(location: Location, line: str) -> Found | Problem:
    pid, tab, text = line.partition("\t")
    if not tab or not pid:
        return Problem(location, "Two columns are needed: document id, a tab, and the text.")
    return Found(location.line, pid, None, text)


def _from_markup(file: DataFile, meter: Meter) -> Iterator[Found | Problem]:
    try:
        for number, piece in pieces(file, meter, "DOC"):
            yield from _documents(file.name, number, piece)
    except Unreadable as fault:
        yield Problem(Location(file.name, fault.line), fault.message)


def _documents(file: str, number: int, piece: bytes) -> Iterator[Found | Problem]:
    """The documents of a piece, which begins at a line of this number."""
    end = next((each for each in _USUAL if piece.endswith(each.encode())), "")
    try:
        text = piece.decode()
    except UnicodeDecodeError:
        text = "\r"
    if not end or "\r" in text:
        yield from _line_by_line(file, number, piece)
        return
    usual = _USUAL[end]
    if text.endswith(usual.end) and len(text) <= reading.LINE_LIMIT:
        yield from _taken_apart(file, number, text, usual)
    else:
        yield from _one_by_one(file, number, text, usual)


def _taken_apart(file: str, number: int, text: str, usual: _Usual) -> Iterator[Found | Problem]:
    """The documents of a piece that ends with `usual.end`, found by what stands between texts.

    What is not of that shape ends up before the first or within a text, and is read as it stands.
    """
    before, *parts = usual.between.split(usual.end + text.removesuffix(usual.end))
    if before:
        before = before.removeprefix(usual.end) + usual.end
        yield from _one_by_one(file, number, before, usual)
        number += before.count("\n")
    each = iter(parts)
    for head, pid, _, title, content in zip(each, each, each, each, each, strict=True):
        name = pid.strip()
        line = number if head[0] == "<" else number + head.index("<")
        if not name or ("<" in content and _INNER.search(content)):
            whole = f"{head}{content}{usual.end}"
            yield from _one_by_one(file, number, whole, usual)
        elif title is None:
            yield Found(line, name, None, unpadded(content))
        else:
            yield Found(line, name, unpadded(title), unpadded(content))
        number += head.count("\n") + content.count("\n") + _LINES_OF_END


def _one_by_one(file: str, number: int, text: str, usual: _Usual) -> Iterator[Found | Problem]:
    end = usual.end_of_document
    for part in text.removesuffix(end).split(end):
        if plain := _plain(part, number, usual):
            yield plain
        else:
            yield from _line_by_line(file, number, (part + end).encode())
        number += part.count("\n") + 1


def _plain(part: str, number: int, usual: _Usual) -> Found | None:
    """A document without its end, if it can be read at a glance; what is read is the same."""
    head = usual.head.match(part)
    end = part.find(usual.end_of_text, head.end()) if head else -1
    if head is None or end < 0 or len(part) > reading.LINE_LIMIT:
        return None
    pid, title, text = head[1].strip(), head[3], part[head.end() : end]
    is_odd = part[end + len(usual.end_of_text) :].strip() or ("<" in text and _INNER.search(text))
    if is_odd or not pid:
        return None
    blank = 0 if part[0] == "<" else len(part) - len(part.lstrip())
    line = number + part.count("\n", 0, blank)
    return Found(line, pid, None if title is None else unpadded(title), unpadded(text))


def _line_by_line(file: str, number: int, piece: bytes) -> Iterator[Found | Problem]:
    for each in blocks_of(_lines(number, piece), file, "DOC"):
        yield each if isinstance(each, Problem) else _document(*each)


def _lines(number: int, piece: bytes) -> Iterator[tuple[int, str]]:
    for line in piece.split(b"\n"):
        if len(line) >= reading.LINE_LIMIT:
            message = f"The line is longer than {reading.LINE_LIMIT // 2**20} MB."
            raise Unreadable(message, number)
        try:
            yield number, line.decode() + "\n"
        except UnicodeDecodeError as fault:
            raise Unreadable(NOT_UTF8.format(fault.start + 1), number) from fault
        number += 1


def _document(location: Location, block: str) -> Found | Problem:
    """What stands in <TEXT>, as it stands; all but the head where there is no <TEXT>."""
    found, outside = elements(block, _NAMES, must_close=True)
    pid = next((each.content.strip() for each in found if each.name == "docno"), "")
    if not pid:
        return Problem(location.at("DOCNO"), "This document has no <DOCNO>.")
    texts = [each.content for each in found if each.name == "text"]
    title = next((each.content for each in found if each.name in _TITLES), None)
    return Found(location.line, pid, title, "\n".join(texts) if texts else outside.strip("\n"))


def _group(file: DataFile, group: list[Found | Problem]) -> Iterator[Row]:
    passages = [each for each in group if isinstance(each, Found)]
    if passages and len(passages) == len(group):
        lines, pids, titles, texts = map(list, zip(*passages, strict=True))
        given = [each for each in titles if each is not None]
        fits = are_sound(pids, PID_LIMIT) and are_sound(texts)
        if fits and "" not in pids and (not given or are_sound(given, TITLE_LIMIT)):
            kept = titles if given else []
            yield PassageBatch(file.domain, file.name, lines, pids, texts, kept, text_field="")
            return
    for each in group:
        yield from [each] if isinstance(each, Problem) else _one(file, each)


def _one(file: DataFile, found: Found) -> list[Row]:
    location, title = Location(file.name, found.line), found.title
    faults = faults_at(
        location,
        ("id", found.pid, PID_LIMIT),
        ("title", title or "", TITLE_LIMIT),
        ("text", found.text, 0),
    )
    return [*faults] or [PassageRow(file.domain, found.pid, found.text, location, title=title)]


# Bytes of the file that are looked at together: what a processor keeps at hand.
PIECE = 256 * 1024
_LINE_END = ord("\n")
TOO_LONG = "More than {} MB without a line that ends with </{}>."


def pieces(file: DataFile, meter: Meter, name: str) -> Iterator[tuple[int, bytes]]:
    """The file without a byte order mark, as (number of the first line, bytes).

    Each piece but the last ends with a line that ends with `</name>`. Raises Unreadable; what was
    read before has been yielded then.
    """
    number, held, is_first = 1, bytearray(), True
    with opened(file, lambda: number + held.count(b"\n")) as (stream, raw):
        while block := stream.read(max(PIECE, len(held))):
            block, is_first = block.removeprefix(BOM) if is_first else block, False
            held += block
            meter.at(raw.tell())
            if cut := _last_end(held, name, len(held) - len(block)):
                yield number, bytes(held[:cut])
                # How many stand before `cut`, which is not 0; three times as fast as
                # `bytearray.count`.
                number += int(np.count_nonzero(np.frombuffer(held, np.uint8, cut) == _LINE_END))
                del held[:cut]
            elif len(held) > reading.LINE_LIMIT:
                raise Unreadable(TOO_LONG.format(reading.LINE_LIMIT // 2**20, name), number)
            check_growth(stream, raw, meter, number)
    if held:
        yield number, bytes(held)


def _last_end(held: bytearray, name: str, before: int) -> int:
    """Where the last line that ends with `</name>` is over, 0 if there is none.

    What stands `before` was searched already, but for an end that was cut apart.
    """
    start = max(0, before - 256)
    usual = (f"</{each}>\n".encode() for each in (name.upper(), name.lower()))
    for end in usual:
        if (found := held.rfind(end, start)) >= 0:
            return found + len(end)
    pattern = re.compile(rf"</{name}>\s*?\n".encode(), re.IGNORECASE)
    return max((each.end() for each in pattern.finditer(held, start)), default=0)
