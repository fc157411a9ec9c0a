"""What a person says of a pair, and what it lacks."""

from dataclasses import dataclass
from typing import Any

from annotate.models import VotingPlan
from kit.errors import Refused

LABELS = (0, 1, None)


@dataclass(frozen=True)
class Answer:
    """What a person says of a pair; label None: it cannot be judged, which needs a reason.

    `span` holds the supporting words of the passage, code points [start, end).
    """

    label: int | None
    reason: str = ""
    elapsed_ms: int | None = None
    span: tuple[int, int] | None = None


def check_answer(answer: Answer, plan: VotingPlan, passage: str | None) -> None:
    """Refused, naming the field, where an answer lacks what it needs."""
    if answer.label not in LABELS:
        raise Refused("Choose relevant, not relevant or cannot be judged.", field="label")
    if answer.label is None and not answer.reason.strip():
        raise Refused("Say in a few words why it cannot be judged.", field="reason")
    if answer.span is not None:
        start, end = answer.span
        if not 0 <= start < end <= len(passage or ""):
            raise Refused("The marked words are not in the passage. Mark them again.", field="span")
    elif plan.needs_span and answer.label == 1 and passage:
        raise Refused("Mark the words of the passage that support it.", field="span")


def check_change(item: Any, answer: Answer) -> None:
    """Refused where a person changes their first judgment (of a slot or item) without a reason."""
    is_change = item.is_committed and answer.label != item.first_label
    if is_change and not answer.reason.strip():
        raise Refused("Say in a few words what changed your mind.", field="reason")
