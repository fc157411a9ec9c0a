"""The frozen snapshot of a debate, as the vote page shows it, and the marks of its quotes. Pure.

Shape, written by what opened the case:
{"question", "answers": [str], "practice": bool, "rounds": int, "positions": [{"agent", "stance",
"response": "yes"|"no"|"", "round", "reason", "references": [{"text", "start", "end"}],
"earlier": [{"round", "response"}]}]}; about an aspect, its text as "aspect" and no answers.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

Span = tuple[int, int, str]
SIDES = ("a", "b")


class Run(NamedTuple):
    """A run of a text; `css` says what it is, "" for nothing."""

    text: str
    css: str = ""
    # DOM id of what begins here, such as a heading or a quote.
    anchor: str = ""


def segments(text: str, spans: Iterable[Span]) -> list[Run]:
    """Cut `text` by spans (start, end, side) in code points; spans may overlap in any way.

    The classes of a run are the sides whose quotes cover it; joined, the runs give the text. A
    span that does not lie in the text is left out: marking may never change what is read.
    """
    steps: dict[int, Counter[str]] = {0: Counter(), len(text): Counter()}
    begins = set()
    for start, end, side in spans:
        if 0 <= start < end <= len(text):
            steps.setdefault(start, Counter())[side] += 1
            steps.setdefault(end, Counter())[side] -= 1
            begins.add(start)
    # One walk along the edges, counting what covers each part: a thousand quotes of a talkative
    # model must not cost a thousand times a thousand looks.
    covering: Counter[str] = Counter()
    parts = []
    for start, end in pairwise(sorted(steps)):
        covering.update(steps[start])
        parts.append(
            Run(
                text[start:end],
                " ".join(side for side in SIDES if covering[side] > 0),
                anchor(start) if start in begins else "",
            )
        )
    return parts


def anchor(start: int) -> str:
    """DOM id of the mark where a quote begins."""
    return f"mark-{start}"


@dataclass(frozen=True)
class Quote:
    """Quoted evidence; offsets are code points of the passage, None where it is not in it."""

    text: str
    start: int | None = None
    end: int | None = None

    @property
    def found(self) -> bool:
        """Whether the quote really is in the passage."""
        return self.start is not None

    @property
    def anchor(self) -> str:
        """DOM id of its mark."""
        return "" if self.start is None else anchor(self.start)


@dataclass(frozen=True)
class Position:
    """One agent's side: its last response and reason, and its earlier (round, response)."""

    agent: str
    side: str
    response: str
    round: int
    reason: str
    quotes: tuple[Quote, ...]
    earlier: tuple[tuple[int, str], ...]
    # A side's key belongs to its first agent, where more than two debated.
    has_key: bool = True

    @property
    def first_found(self) -> Quote | None:
        """The quote that this side's key jumps to."""
        return next((quote for quote in self.quotes if quote.found and self.has_key), None)


@dataclass(frozen=True)
class Snapshot:
    """What a voter sees of the debate."""

    question: str
    answers: tuple[str, ...]
    practice: bool
    rounds: int
    # The text of the aspect that the passage may support; "": it is asked of the answers.
    aspect: str
    positions: tuple[Position, ...]

    @property
    def is_broken(self) -> bool:
        """Whether an answer could not be read."""
        return any(not each.response for each in self.positions)

    @property
    def spans(self) -> list[Span]:
        """(start, end, side) of every quote that is in the passage."""
        return [
            (quote.start, quote.end, each.side)
            for each in self.positions
            for quote in each.quotes
            if quote.start is not None and quote.end is not None
        ]


def read_snapshot(data: Mapping[str, Any], passage: str) -> Snapshot:
    """The snapshot with every quote checked again against the passage's text."""
    return Snapshot(
        question=str(data.get("question", "")),
        answers=tuple(str(answer) for answer in _list(data.get("answers"))),
        practice=bool(data.get("practice")),
        rounds=_number(data.get("rounds")),
        aspect=str(data.get("aspect") or ""),
        positions=tuple(
            Position(
                agent=str(each.get("agent") or SIDES[n % 2].upper()),
                side=SIDES[n % 2],
                response=_response(each),
                round=_number(each.get("round")),
                reason=str(each.get("reason") or ""),
                quotes=tuple(
                    _quote(quote, passage)
                    for quote in _rows(each, "references")
                    if quote.get("text")
                ),
                earlier=tuple(
                    (_number(turn.get("round")), _response(turn)) for turn in _rows(each, "earlier")
                ),
                has_key=n < len(SIDES),
            )
            for n, each in enumerate(_rows(data, "positions"))
        ),
    )


def _quote(data: Mapping[str, Any], passage: str) -> Quote:
    text, start, end = str(data["text"]), data.get("start"), data.get("end")
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(passage)):
        return Quote(text)
    # White space is forgiven, letters are not: a wrong offset must not mark other words.
    is_there = passage[start:end].split() == text.split()
    return Quote(text, start, end) if is_there else Quote(text)


def _response(data: Mapping[str, Any]) -> str:
    value = data.get("response")
    return str(value) if value in ("yes", "no") else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _rows(data: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    return [each for each in _list(data.get(name)) if isinstance(each, Mapping)]
