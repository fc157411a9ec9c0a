"""The second review of a query: taking it, scoring blind, asking, answering, settling, accepting.

What the reviewer finds about single points is in review_points.py.
"""

from collections.abc import Mapping

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction

from annotate.models import PointStatus, Review, ReviewPoint, ReviewStatus
from annotate.services.authorship import author_of, authors_of, may_review, may_score_blind
from annotate.services.blind import store_scores, unscored
from annotate.services.review_gate import hand_back, let_go, ready_for_review, take_up
from annotate.services.review_points import missing_points, take_back
from annotate.services.review_turns import AUTHOR, REVIEWER, THIRD, move, say, turn
from corpus.models import Membership, Query, Role
from corpus.services.judgments import hold_queries
from kit.errors import Refused


def start_review(*, query: Query, reviewer: User) -> Review:
    """Take a query for review; its weights are scored blind first.

    Raises PermissionDenied for everybody but reviewers of its domain who did not write on it, and
    Refused where the work is not complete, somebody reviews it already, or the weights were seen.
    """
    if not may_review(query, reviewer):
        raise PermissionDenied("Another reviewer of this domain has to look at this query.")
    with transaction.atomic():
        hold_queries([query.pk])
        if not ready_for_review(query):
            raise Refused("The work on this query is not complete yet.")
        if not may_score_blind(query, reviewer):
            raise Refused(
                "You may have seen these weights already, so that your scores would not be blind. "
                "Somebody else has to review this query."
            )
        try:
            with transaction.atomic():
                review = Review.objects.create(
                    query=query, reviewer=reviewer, author=author_of(query)
                )
        except IntegrityError:
            raise Refused("Somebody is reviewing this query already.") from None
        say(review, reviewer, REVIEWER, "take")
        take_up(query, reviewer)
        if not unscored(query, reviewer):
            move(review, ReviewStatus.CHECKING)  # scored blind in an earlier review
    return review


def score_weights(*, review: Review, actor: User, weights: Mapping[int, int]) -> Review:
    """Give every aspect a weight without seeing the author's; only then both are shown.

    `weights` maps aspect keys to raw weights. What is given cannot be changed.
    """
    with turn(review, actor, ReviewStatus.BLIND) as current:
        scores = store_scores(query=current.query, scorer=actor, weights=weights, review=current)
        given = {str(each.aspect_id): each.weight for each in scores}
        say(current, actor, REVIEWER, "score blind", weights=given)
        move(current, ReviewStatus.CHECKING)
    return current


def ask_changes(*, review: Review, actor: User, text: str = "") -> Review:
    """Hand the query back to its author; Refused while nothing waits for an answer."""
    with turn(review, actor, ReviewStatus.CHECKING) as current:
        if not current.points.filter(status=PointStatus.RAISED).exists():
            raise Refused("Nothing is asked for yet. Mark what should change, then hand it back.")
        say(current, actor, REVIEWER, "ask for changes", text=text.strip())
        move(current, ReviewStatus.CHANGES)
        hand_back(current.query, actor)
    return current


def answer_point(
    *, review: Review, point: ReviewPoint, actor: User, agree: bool, text: str = ""
) -> ReviewPoint:
    """The author says that a point is right (and done), or objects with a reason."""
    with turn(review, actor, ReviewStatus.CHANGES) as current:
        found = current.points.get(pk=point.pk)
        if found.status not in (PointStatus.RAISED, PointStatus.AGREED, PointStatus.OBJECTED):
            raise Refused("This point is not open.")
        if not agree and not text.strip():
            raise Refused("Say why you object.", field="text")
        if not agree and found.change.get("settled"):
            raise Refused("A third person settled this point; it has to be done.")
        found.status = PointStatus.AGREED if agree else PointStatus.OBJECTED
        found.save(update_fields=["status"])
        say(current, actor, AUTHOR, "agree" if agree else "object", point=found, text=text.strip())
    return found


def send_back(*, review: Review, actor: User, text: str = "") -> Review:
    """The author has answered every point; the reviewer looks again."""
    with turn(review, actor, ReviewStatus.CHANGES) as current:
        if current.points.filter(status=PointStatus.RAISED).exists():
            raise Refused("Answer every point first: agree, or object with a reason.")
        take_up(current.query, actor)
        say(current, actor, AUTHOR, "answer", text=text.strip())
        move(current, ReviewStatus.CHECKING)
    return current


def yield_point(*, review: Review, point: ReviewPoint, actor: User, text: str = "") -> ReviewPoint:
    """The reviewer follows the author's objection: what was changed is as it was before."""
    with turn(review, actor, ReviewStatus.CHECKING) as current:
        found = current.points.get(pk=point.pk)
        if found.status != PointStatus.OBJECTED:
            raise Refused("The author did not object to this.")
        restored = take_back(found, actor)
        found.status = PointStatus.FINE
        found.save(update_fields=["status", "change"])
        say(current, actor, REVIEWER, "yield", point=found, text=text.strip(), restored=restored)
    return found


def ask_third(*, review: Review, actor: User, third: User, text: str = "") -> Review:
    """Let another reviewer of the domain settle what stays open between the two.

    Raises Refused where nothing is open, and for somebody who wrote on the query or has a part
    in this review.
    """
    with turn(review, actor, ReviewStatus.CHECKING) as current:
        if not current.points.filter(status=PointStatus.OBJECTED).exists():
            raise Refused("Author and reviewer do not disagree about anything.")
        taken = {current.reviewer_id, current.author_id} | authors_of(current.query)
        if third.pk in taken or not may_review(current.query, third):
            raise Refused("Choose another reviewer of this domain.", field="third")
        current.third = third
        say(current, actor, REVIEWER, "ask a third person", text=text.strip(), third=third.pk)
        move(current, ReviewStatus.THIRD)
    return current


def settle_point(
    *, review: Review, point: ReviewPoint, actor: User, uphold: bool, text: str
) -> ReviewPoint:
    """The third person decides one point, with a reason; after the last the reviewer goes on.
    Until the reviewer did, `unsettle_point` (review_third.py) takes it back.

    Upheld, the change stands (what the author has to write goes back as asked for); else
    everything is as it was before.
    """
    with turn(review, actor, ReviewStatus.THIRD) as current:
        found = current.points.get(pk=point.pk)
        if found.status != PointStatus.OBJECTED:
            raise Refused("This point is settled already.")
        if not text.strip():
            raise Refused("Say why you decide so.", field="text")
        was = found.change
        restored = "" if uphold else take_back(found, actor)
        by_hand = uphold and not found.change
        found.change = {**found.change, "settled": "uphold" if uphold else "author"}
        if was and not uphold:  # what unsettling gives back (review_third.py)
            found.change |= {"was": was, "restored": restored}
        found.status = PointStatus.RAISED if by_hand else PointStatus.SETTLED
        found.save(update_fields=["status", "change"])
        verb = "uphold" if uphold else "decide for the author"
        say(current, actor, THIRD, verb, point=found, text=text.strip(), restored=restored)
        if not current.points.filter(status=PointStatus.OBJECTED).exists():
            move(current, ReviewStatus.CHECKING)
    return found


def accept_review(*, review: Review, actor: User, text: str = "") -> Review:
    """Everything was looked at and nothing is open: the query is accepted.

    Where there is an author, what was changed must have been answered by them.
    """
    with turn(review, actor, ReviewStatus.CHECKING) as current:
        missing = missing_points(current)
        if missing:
            raise Refused(f"Still to look at: {', '.join(missing)}.")
        open_states = [PointStatus.OBJECTED]
        if current.author_id is not None:
            open_states.append(PointStatus.RAISED)
        waiting = current.points.filter(status__in=open_states).count()
        if waiting:
            raise Refused(
                f"{waiting} point{'s' if waiting > 1 else ''} still open between you and the "
                "author. Hand the query back, or let a third person settle it."
            )
        say(current, actor, REVIEWER, "accept", text=text.strip())
        move(current, ReviewStatus.ACCEPTED)
        hand_back(current.query, actor, accepted=True)
    return current


def drop_review(*, review: Review, actor: User) -> Review:
    """Give a review up, so that somebody else can take the query; by its reviewer or an admin.

    What was scored and changed stays as it is.
    """
    with transaction.atomic():
        hold_queries([review.query_id])
        current = Review.objects.select_related("query__domain__benchmark").get(pk=review.pk)
        if current.reviewer_id != actor.pk and not _is_admin(current, actor):
            raise PermissionDenied("A review is given up by its reviewer or an admin.")
        # What was handed back stays with its author, who submits it anew.
        is_with_reviewer = current.status != ReviewStatus.CHANGES
        say(current, actor, REVIEWER, "give up")
        move(current, ReviewStatus.DROPPED)
        if is_with_reviewer:
            let_go(current.query, actor)
    return current


def _is_admin(review: Review, person: User) -> bool:
    places = Membership.objects.filter(user=person, benchmark=review.query.domain.benchmark_id)
    return any(Role.ADMIN in place.roles for place in places)
