"""Reading the frozen snapshot of a debate as the vote page shows it. Pure and total.

Shape, written by what opened the case:
{"question", "answers": [str], "practice": bool, "rounds": int, "positions": [{"agent", "stance",
"response": "yes"|"no"|"", "round", "reason", "references": [{"text", "start", "end"}],
"earlier": [{"round", "response"}]}]}
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotate.services.marking import anchor

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
