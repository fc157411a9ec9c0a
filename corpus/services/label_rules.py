"""Which of two labels stands (docs/protocol.md 1.2).

A label weighs by who made it: everything real weighs more than everything of the practice model,
whatever its source; among those the source decides, as PRECEDENCE has it.

| a new label that weighs  | becomes                                  | the standing one |
|--------------------------|------------------------------------------|------------------|
| more                     | standing                                 | superseded by it |
| the same, of people      | standing: a person's newer word          | superseded by it |
| the same, of machines    | trial, until an admin adopts its run     | stays            |
| less                     | superseded from the start, by the other  | stays            |
"""

from collections.abc import Iterable

from corpus.models import Judgment, Status
from corpus.models.labels import PEOPLE, PRECEDENCE


def weigh(judgment: Judgment) -> tuple[bool, int]:
    """How much a label weighs: the greater stands."""
    return not judgment.practice, PRECEDENCE[judgment.source]


def status_beside(judgment: Judgment, standing: Judgment) -> Status:
    """What a new label becomes where another one stands (the table)."""
    new, old = weigh(judgment), weigh(standing)
    if new == old and judgment.source not in PEOPLE:
        return Status.TRIAL
    return Status.STANDING if new >= old else Status.SUPERSEDED


def strongest(labels: Iterable[Judgment]) -> Judgment | None:
    """The one that would stand if they had come one after the other; None without any."""

    def order(each: Judgment) -> tuple[tuple[bool, int], int]:
        return weigh(each), each.pk if each.source in PEOPLE else -each.pk

    return max(labels, key=order, default=None)
