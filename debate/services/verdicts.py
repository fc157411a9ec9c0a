"""A stored debate read back as the verdict it was."""

from typing import Any

from debate import dream
from debate.models import Debate, Turn


def verdict_of(debate: Debate) -> dream.Verdict:
    """The verdict with its turns, from the database's rows."""
    return dream.Verdict(
        status=debate.status,  # type: ignore[arg-type]
        label=debate.label,  # type: ignore[arg-type]
        round=debate.round,
        turns=tuple(_turn(row) for row in debate.turns.all()),
        detail=debate.error,
    )


def _turn(row: Turn) -> dream.Turn:
    return dream.Turn(
        round=row.round,
        agent=row.agent,
        stance=row.stance,  # type: ignore[arg-type]
        response=row.response or None,  # type: ignore[arg-type]
        reason=row.reason,
        references=tuple(_quote(each) for each in row.references),
        rung=row.rung,
        flags=tuple(row.flags),
        score=row.score,
    )


def _quote(data: dict[str, Any]) -> dream.Quote:
    return dream.Quote(data["text"], data["start"], data["end"])
