"""The third person of a review whose points stay open: stepping in, and taking a decision back."""

from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction

from annotate.models import Aspect, PointStatus, Review, ReviewPoint, ReviewStatus
from annotate.review.authorship import authors_of, may_review
from annotate.review.turns import THIRD, move, say
from annotate.workspace.aspects import write_weight
from annotate.workspace.gold import discard_passage, standing_gold
from corpus.access import Access
from corpus.services.judgments import hold_queries
from kit.errors import Refused

GONE = "The review has gone on meanwhile. Look at it again."


def step_in(*, review: Review, access: Access) -> Review:
    """Settle what author and reviewer cannot, without being asked by the reviewer.

    For reviewers of the domain and admins who had no part in it; an admin also in place of a
    third person who has settled nothing yet. Raises PermissionDenied for everybody else and
    Refused where nothing is open.
    """
    person = access.user
    with transaction.atomic():
        hold_queries([review.query_id])
        current = Review.objects.select_related("query__domain__benchmark").get(pk=review.pk)
        if current.status == ReviewStatus.THIRD and current.third_id == person.pk:
            return current
        if not _may(current, access):
            raise PermissionDenied("Somebody without a part in this review settles it.")
        points = current.points
        if not points.filter(status=PointStatus.OBJECTED).exists():
            raise Refused("Author and reviewer do not disagree about anything any more.")
        if current.status == ReviewStatus.THIRD:
            _replace(current, person)
        elif current.status == ReviewStatus.CHECKING:
            current.third = person
            move(current, ReviewStatus.THIRD)
        else:
            raise Refused(GONE)
        say(current, person, THIRD, "step in")
    return current


def unsettle_point(
    *, review: Review, point: ReviewPoint, actor: User, text: str = ""
) -> ReviewPoint:
    """Take one's own decision on a point back: it is open again, and what was changed as before.

    Only until the reviewer goes on. Raises PermissionDenied for everybody but the third person,
    and Refused where the point is not settled, or somebody went on from the decision.
    """
    with transaction.atomic():
        hold_queries([review.query_id])
        current = Review.objects.select_related("query__domain__benchmark").get(pk=review.pk)
        if current.third_id != actor.pk:
            raise PermissionDenied("Who settled a point takes that back.")
        if current.status not in (ReviewStatus.THIRD, ReviewStatus.CHECKING):
            raise Refused(GONE)
        found = current.points.select_related("aspect", "passage", "review__query").get(pk=point.pk)
        is_fresh = found.status in (PointStatus.SETTLED, PointStatus.RAISED)
        if not (is_fresh and found.change.get("settled")):
            raise Refused("This point is not settled, or was answered since.")
        if current.status == ReviewStatus.CHECKING:
            move(current, ReviewStatus.THIRD)
        found.change = _as_objected(found, actor)
        found.status = PointStatus.OBJECTED
        found.save(update_fields=["status", "change"])
        say(current, actor, THIRD, "take back", point=found, text=text.strip())
    return found


def _as_objected(point: ReviewPoint, actor: User) -> dict[str, Any]:
    """What the point changed, done again where the decision had undone it."""
    was = dict(point.change.get("was", {}))
    if not was:  # the change stood, or there was none
        return {key: value for key, value in point.change.items() if key != "settled"}
    if point.change.get("restored") != "yes":
        return was
    if point.aspect is not None:
        aspect = Aspect.objects.select_related("query__domain__benchmark").get(pk=point.aspect.pk)
        if aspect.weight != was["from"]:
            raise Refused("The weight was changed since, and stays as it is.")
        write_weight(aspect, actor, int(was["to"]))
        return was
    assert point.passage is not None  # only weights and passages are changed
    query, passage = point.review.query, point.passage
    if standing_gold(query, passage) is None:
        raise Refused("Somebody gave another verdict on this passage since.")
    verdict = discard_passage(
        query=query, passage=passage, reason=was["reason"], note=point.note, actor=actor
    )
    return {**was, "judgment": verdict.pk}


def _may(review: Review, access: Access) -> bool:
    person = access.user
    if person.pk in {review.reviewer_id, review.author_id} | authors_of(review.query):
        return False
    if review.status == ReviewStatus.THIRD:
        return access.is_admin
    return access.is_admin or may_review(review.query, person)


def _replace(review: Review, person: User) -> None:
    if review.points.filter(change__has_key="settled").exists():
        raise Refused("The third person has begun to settle this review.")
    rows = Review.objects.filter(pk=review.pk, status=ReviewStatus.THIRD, third=review.third_id)
    if not rows.update(third=person):
        raise Refused(GONE)
    review.third = person
