"""One debate as people read it: rounds side by side, its quotes marked in the passage."""

import json
from typing import Any

from annotate.voting.snapshot import anchor, segments
from debate.models import Debate

# How a turn's quotes are marked: by what the agent began for, as on every screen.
SIDES = {"relevant": "a", "irrelevant": "b"}


def read_transcript(debate: Debate) -> dict[str, Any]:
    """The debate with its turns and calls, in one query, for its page.

    `rounds` holds the turns, each with its quotes: text, and the anchor of the mark where it
    begins, "" where it is not in the passage (`not_found`). `segments` is the passage, cut at the
    edges of every quote.
    """
    text = debate.passage.text or ""
    rounds: dict[int, list[dict[str, Any]]] = {}
    spans: list[tuple[int, int, str]] = []
    not_found: list[tuple[int, str, str]] = []
    for turn in debate.turns.select_related("call").order_by("round", "agent"):
        side, quotes = SIDES.get(turn.stance, "a"), []
        for row in turn.references:
            if not isinstance(row, dict):
                continue
            place, words = _place(row, text), str(row.get("text", ""))
            quotes.append({"text": words, "anchor": anchor(place[0]) if place else ""})
            if place:
                spans.append((*place, side))
            else:
                not_found.append((turn.round, turn.agent, words))
        asked = json.dumps(turn.call.request, indent=2, ensure_ascii=False) if turn.call else ""
        shown = {"turn": turn, "side": side, "quotes": quotes, "request": asked}
        rounds.setdefault(turn.round, []).append(shown)
    return {
        "rounds": sorted(rounds.items()),
        "segments": segments(text, spans),
        "not_found": not_found,
    }


def _place(row: dict[str, Any], passage: str) -> tuple[int, int] | None:
    """Where the quote stands, if it does: white space is forgiven, letters are not."""
    start, end = row.get("start"), row.get("end")
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(passage)):
        return None
    return (start, end) if passage[start:end].split() == str(row.get("text", "")).split() else None
