"""What every move of a review shares: whose turn it is, the turn that is kept, the event."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from annotate.models import Review, ReviewPoint, ReviewStatus, ReviewTurn
from annotate.review.models import MOVES, OVER
from annotate.rights import may_annotate
from corpus.judgments.services import lock_queries
from kit import audit
from kit.errors import Refused

Part = Literal["reviewer", "author", "third"]
REVIEWER: Part = "reviewer"
AUTHOR: Part = "author"
THIRD: Part = "third"
# Whose turn it is.
TURN: dict[str, Part] = {
    ReviewStatus.BLIND: REVIEWER,
    ReviewStatus.CHECKING: REVIEWER,
    ReviewStatus.CHANGES: AUTHOR,
    ReviewStatus.THIRD: THIRD,
}
GONE = "The review has gone on meanwhile. Look at it again."


@contextmanager
def locked(review: Review) -> Iterator[Review]:
    """The review as it is now, locked with its query until this transaction ends."""
    with transaction.atomic():
        # The query before everything that hangs on it, as everywhere.
        lock_queries([review.query_id])
        yield Review.objects.with_people().get(pk=review.pk)


@contextmanager
def turn(review: Review, actor: User, status: str) -> Iterator[Review]:
    """The review as `locked`, in this state.

    Raises PermissionDenied for somebody whose turn that state is not, and Refused in another one.
    """
    with locked(review) as current:
        if not has_part(current, actor, TURN[status]):
            raise PermissionDenied("This is not your part of the review.")
        if current.status != status:
            raise Refused(GONE)
        yield current


def has_part(review: Review, person: User, part: Part) -> bool:
    """Whether the person has this part in the review.

    Where nobody wrote on the query, or its author has left, an annotator of its domain answers.
    """
    if part == REVIEWER:
        return review.reviewer_id == person.pk
    if part == THIRD:
        return review.third_id == person.pk
    if review.author is not None and may_annotate(review.query, review.author):
        return review.author_id == person.pk
    is_other = person.pk not in (review.reviewer_id, review.third_id)
    return is_other and may_annotate(review.query, person)


def part_of(review: Review, person: User) -> Part | None:
    """The person's part in the review, if any."""
    return next(
        (part for part in (REVIEWER, AUTHOR, THIRD) if has_part(review, person, part)), None
    )


def move(review: Review, to: str) -> None:
    """Change the state, if nobody did meanwhile; inside `locked`."""
    if to not in MOVES[review.status]:
        raise Refused("The review cannot go there from here.")
    rows = Review.objects.filter(pk=review.pk, status=review.status)
    ended = timezone.now() if to in OVER else None
    if not rows.update(status=to, ended_at=ended, third=review.third):
        raise Refused(GONE)
    review.status = to


def say(
    review: Review,
    actor: User,
    part: Part,
    verb: str,
    *,
    point: ReviewPoint | None = None,
    text: str = "",
    **data: Any,
) -> None:
    """Keep the turn, and its event."""
    text = text.strip()
    ReviewTurn.objects.create(
        review=review, point=point, actor=actor, part=part, verb=verb, text=text, data=data
    )
    scope = f"{review.query.domain.benchmark.slug}#reviews"
    kept = {"query": review.query_id, "part": part, "text": text, **data}
    if point is not None:
        kept["point"] = point.pk
    audit.record(actor=actor, verb=f"review: {verb}", target=review, scope=scope, data=kept)
