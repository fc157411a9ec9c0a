"""Stepping in as the third person of a review whose points stay open."""

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction

from annotate.models import PointStatus, Review, ReviewStatus
from annotate.services.authorship import authors_of, may_review
from annotate.services.review_turns import THIRD, move, say
from corpus.access import Access
from corpus.services.judgments import hold_queries
from kit.errors import Refused


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
            raise Refused("The review has gone on meanwhile. Look at it again.")
        say(current, person, THIRD, "step in")
    return current


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
        raise Refused("The review has gone on meanwhile. Look at it again.")
    review.third = person
