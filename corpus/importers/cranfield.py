"""The Cranfield collection in its own format: cran.all.1400, cran.qry and cranqrel.

Its oddities: judgments number queries by their order in cran.qry and not by the numbers given
there, two documents are empty, and the codes count down. Codes (cranqrel.readme): 1 is a complete
answer, 2 of a high degree of relevance, 3 useful, 4 of minimum interest, 5 of none. A label is
5 - code, so that a higher label is more relevant, as every measure expects, and 0 is not relevant.

Records of `.I` with their fields, as the collections of the SMART system are written."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import TypeAlias

from corpus.importers import reading
from corpus.importers.fields import PID_LIMIT, TITLE_LIMIT, faults_at, text_fault
from corpus.importers.files import DataFile, Meter, as_file, missing
from corpus.importers.reading import Unreadable, each_line, text_lines
from corpus.importers.rows import JudgmentRow, Location, Oddity, PassageRow, Problem, QueryRow, Row

# Letter of the field -> its lines; "I" is the record's own number as it stands.
Fields: TypeAlias = dict[str, str]
_MARK = re.compile(r"\.([ITABWKCX])(?:[ \t]++(\S(?:.*[^ \t])?))?[ \t]*+$")
AGAIN = "fields given twice in a record, joined"
EMPTY = "records without a number and content, passed over"


def each_record(
    file: DataFile, meter: Meter, read: Callable[[Location, Fields], Iterable[Row]]
) -> Iterator[Row]:
    """What `read` makes of each record; lines of a field are joined by a newline."""
    try:
        for location, lines in _grouped(file, meter):
            for each in _record(location, lines):
                yield from read(location, each) if isinstance(each, dict) else [each]
    except Unreadable as fault:
        yield Problem(Location(file.name, fault.line), fault.message)


def _grouped(file: DataFile, meter: Meter) -> Iterator[tuple[Location, list[str]]]:
    """The lines of each record, its `.I` line first, without their ends."""
    held: list[str] = []
    start = size = 0
    for number, whole in text_lines(file, meter):
        line = whole.rstrip("\r\n")
        if (mark := _MARK.match(line)) and mark.group(1) == "I":
            if held:
                yield Location(file.name, start), held
            start, size, held = number, 0, []
        size += len(line)
        if size > reading.LINE_LIMIT:
            raise Unreadable("This is too long to be one record.", start)
        if held or start or line.strip():
            start = start or number
            held.append(line)
    if held:
        yield Location(file.name, start), held


def _record(location: Location, lines: list[str]) -> Iterator[Fields | Problem | Oddity]:
    first = _MARK.match(lines[0])
    number = first.group(2) if first and first.group(1) == "I" else None
    if number is None:
        is_empty = first is not None and not any(line.strip() for line in lines[1:])
        wrong = Problem(location, "A record begins with a line like .I 12.")
        yield Oddity(EMPTY, str(location)) if is_empty else wrong
        return
    if fault := text_fault(number, PID_LIMIT):
        yield Problem(location.at(".I"), fault)
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
            yield Problem(location, "Text before the first field of a record (.T, .A, .B or .W).")
            return
    yield {"I": number, **{name: "\n".join(held) for name, held in parts.items()}}


DOMAIN = "cranfield"
LABELS = {"1": 4, "2": 3, "3": 2, "4": 1, "5": 0}
DOCUMENTS, QUERIES, GOLD = "cran.all.1400", "cran.qry", "cranqrel"


def read(path: Path, meter: Meter) -> Iterator[Row]:
    """Rows of the folder; query n is the nth of cran.qry, with its own number in `extra`."""
    parts = ((QUERIES, _queries), (GOLD, _judgments), (DOCUMENTS, _documents))
    found = [(file, read) for name, read in parts if (file := _find(path, name))]
    if not found:
        yield missing(path, f"a folder with {DOCUMENTS}, {QUERIES} and {GOLD}")
    meter.expect(file for file, _ in found)
    for file, read in found:
        yield from read(file, meter)
        meter.end(file)


def _find(path: Path, name: str) -> DataFile | None:
    places = (path / name, path / f"{name}.gz", path / f"{name}.txt")
    file = next((each for each in places if each.is_file()), None)
    if file is None and path.name.startswith(name) and path.is_file():
        file = path
    return as_file(file, path, DOMAIN) if file else None


def _queries(file: DataFile, meter: Meter) -> Iterator[Row]:
    numbers = count(1)

    def query(location: Location, fields: Fields) -> Iterable[Row]:
        number, text = next(numbers), fields.get("W", "")
        row = QueryRow(DOMAIN, str(number), text, location, extra={"number": fields["I"]})
        return faults_at(location, (".W", text, 0)) or [row]

    yield from each_record(file, meter, query)


def _documents(file: DataFile, meter: Meter) -> Iterator[Row]:
    yield from each_record(file, meter, _document)


def _document(location: Location, fields: Fields) -> Iterator[Row]:
    text, title = fields.get("W", ""), fields.get("T")
    named = {"author": fields.get("A"), "bibliography": fields.get("B")}
    extra = {name: value for name, value in named.items() if value} or None
    fault = text_fault(text) or text_fault(title or "", TITLE_LIMIT)
    row = PassageRow(DOMAIN, fields["I"], text, location, title=title, extra=extra)
    yield Problem(location, fault) if fault else row
    if not text:
        yield Oddity("documents without text", fields["I"])


def _judgments(file: DataFile, meter: Meter) -> Iterator[Row]:
    def judged(location: Location, line: str) -> JudgmentRow | Problem:
        columns = line.split()
        if len(columns) != 3 or not all(part.isascii() and part.isdigit() for part in columns[:2]):
            return Problem(
                location, "Three columns are needed: query number, document number, code."
            )
        qid, pid, code = columns
        if code not in LABELS:
            message = f"A code from 1 to 5 is needed, not {code[:40]!r}."
            return Problem(location.at("code"), message)
        return JudgmentRow(DOMAIN, qid, pid, LABELS[code], location, gold=file.name)

    yield from each_line(file, meter, judged)
