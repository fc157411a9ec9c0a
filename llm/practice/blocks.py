"""What a prompt gives the practice model to read: tagged blocks, numbered answers, a history."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_TAG = r"(query|answer|chunk|history|page|aspect|passage)-([0-9a-f]{16})"
_OPENING = re.compile(rf"<{_TAG}>\n")
_CLOSING = re.compile(rf"\n</{_TAG}>")
_NUMBER = re.compile(r"^\(\d+\)[ \t]*", re.MULTILINE)
_OWN = re.compile(
    r"^(Agent \S+) \(You\), (?:opening position|round (?P<round>\d+)):[ \t]*(?P<said>.*)",
    re.MULTILINE,
)
_OTHER = re.compile(r"^(Agent \S+), (?:opening position|round \d+):[ \t]*(.*)", re.MULTILINE)
_SAID_NO = re.compile(r"No\b|.*\bnot covered\b", re.DOTALL)


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


@dataclass(frozen=True, slots=True)
class Position:
    """Where the reader stands: the round it is in, its own last answer, who else debates.

    `stance` is None where the history has no entry of its own; `agreed` says that all others
    answered last as the reader did.
    """

    round: int
    stance: bool | None
    others: tuple[str, ...]
    agreed: bool = False


def find_material(messages: Sequence[Mapping[str, object]]) -> Material | None:
    """The blocks of the last user message that gives something to work on; a repair gives none."""
    for message in reversed(messages):
        text = message.get("content")
        if message.get("role") != "user" or not isinstance(text, str):
            continue
        blocks = read_blocks(text)
        if blocks.keys() & {"chunk", "page", "passage"}:
            answers = (part.strip() for part in _NUMBER.split(blocks.get("answer", "")))
            return Material(
                query=blocks.get("query", ""),
                answers=tuple(filter(None, answers)),
                chunk=blocks.get("chunk", ""),
                history=blocks.get("history", ""),
                page=blocks.get("page", ""),
                named=tuple(read_named(text)),
            )
    return None


def read_blocks(text: str) -> dict[str, str]:
    """The fenced blocks by tag, the first of each; what looks like a block inside one is text."""
    blocks: dict[str, str] = {}
    for tag, _, inside in _blocks(text):
        blocks.setdefault(tag, inside)
    return blocks


def read_named(text: str) -> Iterator[tuple[str, str, str]]:
    """Every (tag, line before it, text) of the blocks that come in numbers."""
    for tag, start, inside in _blocks(text):
        if tag in ("aspect", "passage"):
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


def read_position(history: str) -> Position:
    """The reader's place in the debate, from the line marked (You)."""
    others = dict(_OTHER.findall(history))
    own = _OWN.search(history)
    if own is None:
        return Position(round=1, stance=None, others=tuple(others))
    stance = _said_yes(own["said"])
    return Position(
        round=int(own["round"] or 0) + 1,
        stance=stance,
        others=tuple(others),
        agreed=all(_said_yes(said) == stance for said in others.values()),
    )


def _said_yes(said: str) -> bool:
    return not _SAID_NO.match(said)
