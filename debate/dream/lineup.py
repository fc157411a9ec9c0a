"""Who sits in a debate."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase

from .types import NO_STANCE, Agent, Stance

ADJUDICATOR = "adjudicator"
OPPOSITE: dict[Stance, Stance] = {"relevant": "irrelevant", "irrelevant": "relevant"}


def line_up(seats: Sequence[tuple[str, str]], *, first: Stance = "relevant") -> tuple[Agent, ...]:
    """Agents A, B, ... for (model, endpoint) seats, stances alternating from `first`.

    `first="irrelevant"` is the other stance order of docs/protocol.md 2.8.
    """
    stances = (first, OPPOSITE[first])
    return tuple(
        Agent(name=name, stance=stances[place % 2], model=model, endpoint=endpoint)
        for place, (name, (model, endpoint)) in enumerate(zip(ascii_uppercase, seats, strict=False))
    )


def seat_adjudicator(model: str, endpoint: str) -> Agent:
    """The agent that decides what the others still dispute; it defends no stance."""
    return Agent(name=ADJUDICATOR, stance=NO_STANCE, model=model, endpoint=endpoint)
