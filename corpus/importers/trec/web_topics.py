"""Topics as XML, in the way of TREC's Web tracks: `<topic number="1" type="faceted">`.

A topic holds `<query>` (or `<title>`, or its own text), `<description>`, `<narrative>` and
`<subtopic number="1" type="inf">`; its number may also stand in `<num>` or `<number>`. Type,
subtopics and further elements are kept with the query. No entity but XML's own is read.
"""

import re
from collections.abc import Iterator
from typing import Any
from xml.parsers import expat

from corpus.importers.fields import QID_LIMIT, faults_at, is_storable_as_extra
from corpus.importers.files import DataFile, Meter
from corpus.importers.reading import BOM, Unreadable, content_of
from corpus.importers.rows import Location, Problem, QueryRow, Row

# Deeper than any topic; each level is held while it is open.
_DEPTH = 32
_BEGINS = re.compile(rb"<topic[\s>]", re.IGNORECASE)
_NUMBERS, _QUERIES = ("num", "number"), ("query", "title")
_PARTS = {"description": "description", "desc": "description"} | dict.fromkeys(
    ("narrative", "narr"), "narrative"
)


class _Refused(Exception):
    """What no file of topics holds."""


def holds_topics(head: bytes) -> bool:
    """Whether a file that begins so is one of these."""
    return head[:1] == b"<" and bool(_BEGINS.search(head))


def read_web_topics(file: DataFile, meter: Meter) -> Iterator[Row]:
    """One QueryRow per topic; a problem where the file is no XML."""
    try:
        whole = content_of(file, meter).removeprefix(BOM)
    except Unreadable as fault:
        yield Problem(Location(file.name, fault.line), fault.message)
        return
    content = whole.lstrip()
    before = whole[: len(whole) - len(content)].count(b"\n")
    reader = _Reader()
    try:
        reader.parser.Parse(content, True)
    except expat.ExpatError as error:
        message = f"This is not valid XML ({expat.ErrorString(error.code)})."
        yield Problem(Location(file.name, before + error.lineno), message)
        return
    except _Refused as fault:
        yield Problem(Location(file.name, before + reader.parser.CurrentLineNumber), str(fault))
        return
    for line, topic in reader.topics:
        yield _row(file.domain, Location(file.name, before + line), topic)


class _Reader:
    """Collects topics: their attributes and elements, `text` what stands in them directly."""

    def __init__(self) -> None:
        self.topics: list[tuple[int, dict[str, Any]]] = []
        self._open: list[tuple[str, dict[str, Any]]] = []
        self.parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._declared

    def _declared(self, *_: Any) -> None:
        raise _Refused("Declarations of a document type are not read; take the line out.")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._open) >= _DEPTH:
            raise _Refused(f"Elements stand more than {_DEPTH} deep.")
        name = name.lower()
        if self._open or name == "topic":
            made = {**attributes, "text": ""}
            if not self._open:
                self.topics.append((self.parser.CurrentLineNumber, made))
            self._open.append((name, made))

    def _text(self, text: str) -> None:
        if self._open:
            self._open[-1][1]["text"] += text

    def _end(self, _: str) -> None:
        if self._open:
            name, made = self._open.pop()
            made["text"] = made["text"].strip()
            if self._open:
                self._open[-1][1].setdefault(f"<{name}>", []).append(made)


def _row(domain: str, location: Location, topic: dict[str, Any]) -> QueryRow | Problem:
    said = {
        name[1:-1]: "\n".join(each["text"] for each in found)
        for name, found in topic.items()
        if name.startswith("<") and name != "<subtopic>"
    }
    qid = topic.get("number") or next((said[name] for name in _NUMBERS if said.get(name)), "")
    text = next((said[name] for name in _QUERIES if said.get(name)), topic["text"])
    if not qid.strip():
        return Problem(location.at("number"), "This topic has no number.")
    if not text:
        return Problem(location.at("query"), "This topic has neither a query nor a title.")
    parts = {part: said[name] for name, part in _PARTS.items() if said.get(name)}
    known = {*_NUMBERS, *_QUERIES, *_PARTS}
    extra: dict[str, Any] = {
        name: value for name, value in said.items() if name not in known and value
    }
    if topic.get("type"):
        extra["type"] = topic["type"]
    if found := topic.get("<subtopic>"):
        extra["subtopics"] = [
            {name: value for name, value in each.items() if isinstance(value, str) and value}
            for each in found
        ]
    for name, value in extra.items():
        if not is_storable_as_extra(name, value):
            return Problem(location.at(name), "This text cannot be stored.")
    texts = (("number", qid, QID_LIMIT), ("query", text, 0), *((n, t, 0) for n, t in parts.items()))
    for fault in faults_at(location, *texts):
        return fault
    return QueryRow(
        domain,
        qid.strip(),
        text,
        location,
        description=parts.get("description"),
        narrative=parts.get("narrative"),
        extra=extra or None,
    )
