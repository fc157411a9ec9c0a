"""One debate as people read it: rounds side by side, its quotes marked in the passage."""

import json
from dataclasses import dataclass
from typing import Any

from annotate.voting.snapshot import Segment, anchor, segments
from debate.models import Debate, Turn

# How a turn's quotes are marked: by what the agent began for, as everywhere in the house.
SIDES = {"relevant": "a", "irrelevant": "b"}


@dataclass(frozen=True)
class Quoted:
    """A quote; `anchor` is the mark where it begins, "" where it is not in the passage."""

    text: str
    anchor: str = ""


@dataclass(frozen=True)
class Said:
    """A turn with its quotes looked up again in the passage as it stands."""

    turn: Turn
    side: str
    quotes: tuple[Quoted, ...]
    spans: tuple[tuple[int, int, str], ...]

    @property
    def request(self) -> str:
        """What was sent, for people; "" where nothing was."""
        if self.turn.call is None:
            return ""
        return json.dumps(self.turn.call.request, indent=2, ensure_ascii=False)


@dataclass(frozen=True)
class Transcript:
    """Rounds in order, and the passage cut at the edges of every quote."""

    rounds: list[tuple[int, list[Said]]]
    segments: list[Segment]

    @property
    def not_found(self) -> list[tuple[int, str, str]]:
        """(round, agent, text) of every quote that is not in the passage."""
        return [
            (number, said.turn.agent, quote.text)
            for number, turns in self.rounds
            for said in turns
            for quote in said.quotes
            if not quote.anchor
        ]


def read_transcript(debate: Debate) -> Transcript:
    """The debate with its turns and calls, in one query."""
    text = debate.passage.text or ""
    rounds: dict[int, list[Said]] = {}
    for turn in debate.turns.select_related("call").order_by("round", "agent"):
        rounds.setdefault(turn.round, []).append(_said(turn, text))
    spans = [span for turns in rounds.values() for said in turns for span in said.spans]
    return Transcript(sorted(rounds.items()), segments(text, spans))


def _said(turn: Turn, passage: str) -> Said:
    side = SIDES.get(turn.stance, "a")
    placed = [(row, _place(row, passage)) for row in turn.references if isinstance(row, dict)]
    return Said(
        turn=turn,
        side=side,
        quotes=tuple(
            Quoted(str(row.get("text", "")), anchor(place[0]) if place else "")
            for row, place in placed
        ),
        spans=tuple((*place, side) for _, place in placed if place),
    )


def _place(row: dict[str, Any], passage: str) -> tuple[int, int] | None:
    """Where the quote stands, if it does: white space is forgiven, letters are not."""
    start, end = row.get("start"), row.get("end")
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(passage)):
        return None
    return (start, end) if passage[start:end].split() == str(row.get("text", "")).split() else None
