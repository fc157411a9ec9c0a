"""What a prompt gives the practice model to read: the fenced blocks of its messages. Pure."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_TAG = r"(query|answer|chunk|history|page|aspect|passage|reference|document)-([0-9a-f]{16})"
_OPENING = re.compile(rf"<{_TAG}>\n")
_CLOSING = re.compile(rf"\n</{_TAG}>")
_NUMBER = re.compile(r"^\(\d+\)[ \t]*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Material:
    """The blocks of one prompt; `history` is "" where there is none."""

    query: str
    answers: tuple[str, ...]
    chunk: str
    history: str
    page: str = ""
    # Aspects and passages with the line that stands before each, which names it.
    named: tuple[tuple[str, str, str], ...] = ()
    # By how much the coverage is misread: a temperature above 0 shakes it.
    misread: float = 0.0


def find_material(messages: Sequence[Mapping[str, object]]) -> Material | None:
    """The blocks of the last user message that gives something to work on; a repair gives none."""
    for message in reversed(messages):
        text = message.get("content")
        if message.get("role") != "user" or not isinstance(text, str):
            continue
        blocks = read_blocks(text)
        chunk = blocks.get("chunk", "")
        if blocks.keys() & {"chunk", "page", "passage", "reference"}:
            # Of a debate on an aspect its text is what the chunk may support.
            supported = blocks.get("answer") or (blocks.get("aspect", "") if chunk else "")
            return Material(
                query=blocks.get("query", ""),
                answers=numbered(supported),
                chunk=chunk,
                history=blocks.get("history", ""),
                page=blocks.get("page", ""),
                named=tuple(read_named(text)),
            )
    return None


def numbered(text: str) -> tuple[str, ...]:
    """The parts of a text that "(1)", "(2)" and so on begin."""
    return tuple(part for each in _NUMBER.split(text) if (part := each.strip()))


def read_blocks(text: str) -> dict[str, str]:
    """The fenced blocks by tag, the first of each; what looks like a block inside one is text."""
    blocks: dict[str, str] = {}
    for tag, _, inside in _blocks(text):
        blocks.setdefault(tag, inside)
    return blocks


def read_named(text: str) -> Iterator[tuple[str, str, str]]:
    """Every (tag, line before it, text) of the blocks that come in numbers."""
    for tag, start, inside in _blocks(text):
        if tag in ("aspect", "passage", "document"):
            while start and text[start - 1] == "\n":
                start -= 1
            yield tag, text[text.rfind("\n", 0, start) + 1 : start], inside


def _blocks(text: str) -> Iterator[tuple[str, int, str]]:
    """(tag, where it opens, text) of every block, in order."""
    ends: dict[tuple[str, str], list[int]] = {}
    for closing in _CLOSING.finditer(text):
        ends.setdefault((closing[1], closing[2]), []).append(closing.start())
    position = 0
    while opening := _OPENING.search(text, position):
        position = opening.end()
        own = ends.get((opening[1], opening[2]), [])
        at = bisect_left(own, position - 1)
        if at < len(own):
            yield opening[1], opening.start(), text[position : own[at]]
            position = own[at] + 1
