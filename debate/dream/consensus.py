"""When a round has settled a pair."""

from __future__ import annotations

from collections.abc import Iterable

from .types import Label, Turn


def unanimous(labels: Iterable[Label | None]) -> Label | None:
    """The label that all agents gave, or None. A missing label agrees with nothing."""
    distinct = set(labels)
    return distinct.pop() if len(distinct) == 1 else None


def round_label(turns: Iterable[Turn], round: int) -> Label | None:
    """The label on which the agents agreed in a round, or None."""
    return unanimous(turn.label for turn in turns if turn.round == round)
