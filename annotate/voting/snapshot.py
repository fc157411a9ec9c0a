"""Reading the frozen snapshot of a debate as the vote page shows it. Pure and total.

Shape, written by what opened the case:
{"question", "answers": [str], "practice": bool, "rounds": int, "positions": [{"agent", "stance",
"response": "yes"|"no"|"", "round", "reason", "references": [{"text", "start", "end"}],
"earlier": [{"round", "response"}]}]}

Cutting a text at the edges of the quotes marked in it. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Span = tuple[int, int, str]


@dataclass(frozen=True)
class Segment:
    """A stretch of text that is marked the same way throughout; joined they give the text.

    `a` and `b` say whose quotes cover it; `anchor` is set where a quote begins.
    """

    text: str
    a: bool = False
    b: bool = False
    anchor: str = ""

    @property
    def css(self) -> str:
        """The classes of the mark around it; "" for plain text."""
        return " ".join(side for side in ("a", "b") if getattr(self, side))


def segments(text: str, spans: Iterable[Span]) -> list[Segment]:
    """Cut `text` by spans (start, end, side) in code points; spans may overlap in any way.

    A span that does not lie in the text is left out: marking may never change what is read.
    """
    steps: dict[int, Counter[str]] = {0: Counter(), len(text): Counter()}
    begins = set()
    for start, end, side in spans:
        if 0 <= start < end <= len(text):
            steps.setdefault(start, Counter())[side] += 1
            steps.setdefault(end, Counter())[side] -= 1
            begins.add(start)
    # One walk along the edges, counting what covers each place: a thousand quotes of a talkative
    # model must not cost a thousand times a thousand looks.
    covering: Counter[str] = Counter()
    parts = []
    for start, end in pairwise(sorted(steps)):
        covering.update(steps[start])
        parts.append(
            Segment(
                text=text[start:end],
                a=covering["a"] > 0,
                b=covering["b"] > 0,
                anchor=anchor(start) if start in begins else "",
            )
        )
    return parts


def anchor(start: int) -> str:
    """DOM id of the mark where a quote begins."""
    return f"mark-{start}"


SIDES = ("a", "b")


@dataclass(frozen=True)
class Quote:
    """Quoted evidence; offsets are code points of the passage, None where it is not in it."""

    text: str
    start: int | None
    end: int | None
    anchor: str = ""

    @property
    def found(self) -> bool:
        """Whether the quote really stands in the passage."""
        return self.start is not None


@dataclass(frozen=True)
class Position:
    """One agent's side: what it answered last, why, and what it had answered before."""

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
    positions: tuple[Position, ...]

    @property
    def is_broken(self) -> bool:
        """Whether an answer could not be read."""
        return any(not each.response for each in self.positions)

    @property
    def spans(self) -> list[tuple[int, int, str]]:
        """(start, end, side) of every quote that stands in the passage."""
        quotes = [(quote, each.side) for each in self.positions for quote in each.quotes]
        return [
            (quote.start, quote.end, side)
            for quote, side in quotes
            if quote.start is not None and quote.end is not None
        ]


def read_snapshot(data: Mapping[str, Any], passage: str) -> Snapshot:
    """The snapshot with every quote checked again against the passage's text."""
    positions = [each for each in _list(data.get("positions")) if isinstance(each, Mapping)]
    return Snapshot(
        question=str(data.get("question", "")),
        answers=tuple(str(answer) for answer in _list(data.get("answers"))),
        practice=bool(data.get("practice")),
        rounds=_number(data.get("rounds")),
        positions=tuple(
            _position(each, SIDES[place % 2], passage, has_key=place < len(SIDES))
            for place, each in enumerate(positions)
        ),
    )


def _position(data: Mapping[str, Any], side: str, passage: str, *, has_key: bool) -> Position:
    references = [each for each in _list(data.get("references")) if isinstance(each, Mapping)]
    earlier = [each for each in _list(data.get("earlier")) if isinstance(each, Mapping)]
    return Position(
        agent=str(data.get("agent") or side.upper()),
        side=side,
        response=_response(data.get("response")),
        round=_number(data.get("round")),
        reason=str(data.get("reason") or ""),
        quotes=tuple(_quote(each, passage) for each in references if each.get("text")),
        earlier=tuple((_number(e.get("round")), _response(e.get("response"))) for e in earlier),
        has_key=has_key,
    )


def _quote(data: Mapping[str, Any], passage: str) -> Quote:
    text, start, end = str(data["text"]), data.get("start"), data.get("end")
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(passage)):
        return Quote(text, None, None)
    # White space is forgiven, letters are not: a wrong offset must not mark a wrong place.
    is_there = passage[start:end].split() == text.split()
    return Quote(text, start, end, anchor(start)) if is_there else Quote(text, None, None)


def _response(value: object) -> str:
    return value if value in ("yes", "no") and isinstance(value, str) else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
