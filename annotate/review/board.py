"""What the page of a review shows: what to look at, the state of each point, what was said."""

from dataclasses import dataclass
from itertools import islice

from annotate.models import (
    PointKind,
    PointStatus,
    Review,
    ReviewPoint,
    ReviewStatus,
    ReviewTurn,
    WeightScore,
)
from annotate.review.models import ASPECT_CHECKS
from annotate.review.turns import AUTHOR, REVIEWER, THIRD, Part
from annotate.workspace.gold import DiscardReason
from annotate.workspace.views.board import Board, Card, Row, read_board

REASONS = dict(DiscardReason.choices)


@dataclass
class Entry:
    """One thing to look at. `point` is None while nobody did; `is_current` takes the keys."""

    kind: str
    name: str
    point: ReviewPoint | None
    key: str = ""
    question: str = ""
    card: Card | None = None
    score: WeightScore | None = None
    row: Row | None = None
    is_current: bool = False

    @property
    def dom_id(self) -> str:
        """Its place on the page."""
        if self.card is not None:
            return f"look-weight-{self.card.aspect.pk}"
        return f"look-passage-{self.row.passage.pk}" if self.row else f"look-{self.key}"

    @property
    def status(self) -> str:
        """The point's state, or "" before anybody looked."""
        return self.point.status if self.point else ""

    @property
    def is_asked(self) -> bool:
        """Whether the author has it to answer, or may change an answer."""
        return self.status in (PointStatus.RAISED, PointStatus.AGREED, PointStatus.OBJECTED)

    @property
    def may_unsettle(self) -> bool:
        """Whether the third person may still take their decision on it back."""
        if self.point is None or not self.point.change.get("settled"):
            return False
        is_running = self.point.review.status in (ReviewStatus.THIRD, ReviewStatus.CHECKING)
        return is_running and self.status in (PointStatus.SETTLED, PointStatus.RAISED)

    @property
    def change(self) -> str:
        """In words what the reviewer changed."""
        kept = self.point.change if self.point else {}
        if "to" in kept:
            return f"weight {kept['from']} → {kept['to']}"
        if "judgment" in kept:
            return f"removed: {str(REASONS.get(kept.get('reason', ''), 'no gold')).lower()}"
        return ""


@dataclass
class ReviewBoard:
    """A review in full, for somebody who may see all of it."""

    board: Board
    checks: list[Entry]
    weights: list[Entry]
    passages: list[Entry]
    turns: list[ReviewTurn]

    @property
    def entries(self) -> list[Entry]:
        """Everything to look at, in the order of the review."""
        return self.checks + self.weights + self.passages


def read_review(review: Review, part: Part | None) -> ReviewBoard:
    """Everything about the review, with the entry that waits for this part as the current one."""
    board = read_board(review.query)
    points = list(review.points.select_related("aspect", "passage"))
    by_key = {point.key: point for point in points if point.kind == PointKind.ASPECTS}
    by_aspect = {point.aspect_id: point for point in points if point.aspect_id}
    by_passage = {point.passage_id: point for point in points if point.passage_id}
    blind = WeightScore.objects.standing().by(review.reviewer)
    scores = {each.aspect_id: each for each in blind.filter(aspect__query=review.query_id)}
    checks = [
        Entry("aspects", key.capitalize(), by_key.get(key), key=key, question=question)
        for key, question in ASPECT_CHECKS.items()
    ]
    weights = [
        Entry(
            "weight",
            f"Weight of a{card.aspect.k}",
            by_aspect.get(card.aspect.pk),
            card=card,
            score=scores.get(card.aspect.pk),
        )
        for card in board.cards
    ]
    passages = [
        Entry("passage", row.passage.pid, by_passage.get(row.passage.pk), row=row)
        for row in board.rows
        if row.aspect is not None or row.passage.pk in by_passage
    ]
    turns = list(review.turns.select_related("actor", "point__aspect", "point__passage"))
    found = ReviewBoard(board, checks, weights, passages, turns)
    waiting = {REVIEWER: "", AUTHOR: PointStatus.RAISED, THIRD: PointStatus.OBJECTED}
    current = (entry for entry in found.entries if part and entry.status == waiting[part])
    for entry in islice(current, 1):
        entry.is_current = True
    return found
