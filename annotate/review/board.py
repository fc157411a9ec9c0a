"""What the page of a review shows: what to look at, the state of each point, what was said."""

from dataclasses import dataclass
from itertools import pairwise
from statistics import median

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

ONE_SITTING = 600  # seconds; who does nothing for longer was away
REASONS = dict(DiscardReason.choices)


@dataclass
class Entry:
    """One thing to look at. `point` is None while nobody did; the page begins at `is_current`."""

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
    def short_name(self) -> str:
        """The last part of a passage's id, which fits beside the page."""
        return self.name.rpartition("/")[2]

    @property
    def is_open(self) -> bool:
        """Whether a change is asked for, or objected to."""
        return self.status in (PointStatus.RAISED, PointStatus.OBJECTED)

    @property
    def needs_look(self) -> bool:
        """Whether the reviewer accepts only after it was in view: undecided, or answered since."""
        return self.status in ("", PointStatus.AGREED)

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
    def pairs(self) -> list[tuple[Entry, list[Entry]]]:
        """Each weight with the passages that support its aspect."""
        return [
            (each, [entry for entry in self.passages if _aspect_of(entry) == each.card.aspect.pk])
            for each in self.weights
            if each.card is not None
        ]

    @property
    def loose(self) -> list[Entry]:
        """Passages under no aspect any more, such as those that were removed."""
        present = {each.card.aspect.pk for each in self.weights if each.card is not None}
        return [entry for entry in self.passages if _aspect_of(entry) not in present]

    @property
    def seconds_a_look(self) -> float | None:
        """The median time between two of the reviewer's moves at one sitting; None before three."""
        at = [each.created_at for each in self.turns if each.part == REVIEWER]
        gaps = [(after - before).total_seconds() for before, after in pairwise(at)]
        known = [each for each in gaps if each < ONE_SITTING]
        return median(known) if len(known) >= 3 else None

    @property
    def entries(self) -> list[Entry]:
        """Everything to look at, in reading order."""
        paired = [entry for weight, passages in self.pairs for entry in (weight, *passages)]
        return paired + self.loose + self.checks


def _aspect_of(entry: Entry) -> int | None:
    return entry.row.aspect.pk if entry.row and entry.row.aspect else None


def read_review(review: Review, part: Part | None, after: ReviewPoint | None = None) -> ReviewBoard:
    """Everything about the review, with the entry that waits for this part as the current one.

    Of several it is the next in reading order behind the point `after`, else the first.
    """
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
    if part is not None:
        _mark_current(found.entries, part, after)
    return found


def _mark_current(entries: list[Entry], part: Part, after: ReviewPoint | None) -> None:
    statuses = {
        REVIEWER: ("", PointStatus.AGREED),
        AUTHOR: (PointStatus.RAISED,),
        THIRD: (PointStatus.OBJECTED,),
    }[part]
    waiting = ([place for place, each in enumerate(entries) if each.status == status]
               for status in statuses)  # fmt: skip
    places = next(filter(None, waiting), [])
    here = next((place for place, each in enumerate(entries) if after and each.point == after), -1)
    if places:
        place = next((each for each in places if each > here), places[0])
        entries[place].is_current = True
