"""The second review of a query: which wait, whose turn it is, and from taking it to accepting it;
findings are in points.py."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotate.models import (
    Aspect,
    Assignment,
    GoldPassage,
    PointStatus,
    Review,
    ReviewPoint,
    ReviewStatus,
    WorkState,
)
from annotate.review.authorship import (
    author_of,
    authors_of,
    is_written_by,
    may_review,
    may_score_blind,
)
from annotate.review.points import missing_points, undo_point
from annotate.review.rescoring import store_scores, unscored
from annotate.review.turns import AUTHOR, GONE, REVIEWER, THIRD, locked, move, say, turn
from annotate.rights import assignment_of, require_admin
from annotate.workspace import checklist
from annotate.workspace.aspects import write_weight
from annotate.workspace.checklist import undecided_originals
from annotate.workspace.gold import discard_passage, standing_gold
from corpus.access import Access
from corpus.judgments.services import lock_queries
from corpus.models import Query
from kit import audit
from kit.errors import Refused


def ready_queries(queries: QuerySet[Query]) -> QuerySet[Query]:
    """Those whose aspects all have passages, and whose old gold is decided.

    One that is assigned has to be submitted as well.
    """
    unsubmitted = (
        Assignment.objects.standing()
        .filter(query=OuterRef("pk"))
        .exclude(state=WorkState.SUBMITTED)
    )
    gold = GoldPassage.objects.standing()
    present = Aspect.objects.filter(query=OuterRef("pk"), removed_at=None)
    supported = Exists(gold.filter(aspect=OuterRef("pk")))
    stale = GoldPassage.objects.unlisted().filter(query=OuterRef("pk"))
    return (
        queries.filter(Exists(present))
        .exclude(Exists(present.exclude(supported)))
        .exclude(Exists(undecided_originals().filter(query=OuterRef("pk"))))
        .exclude(Exists(stale))
        .exclude(Exists(unsubmitted))
    )


def waiting_for_review(access: Access) -> QuerySet[Query]:
    """Complete queries of the person's domains that nobody reviews, written by others."""
    if not access.is_reviewer:
        return Query.objects.none()
    reviewed = Review.objects.filter(query=OuterRef("pk")).exclude(status=ReviewStatus.DROPPED)
    queries = Query.objects.in_benchmark(access.benchmark).in_domains(access.domain_ids)
    return (
        ready_queries(queries)
        .exclude(Exists(reviewed))
        .exclude(is_written_by(access.user))
        .order_by("domain__name", "pk")
    )


def reviews_of(access: Access) -> QuerySet[Review]:
    """Every review for admins; else those in which the person has a part."""
    me = access.user
    rows = Review.objects.in_benchmark(access.benchmark).with_people()
    if access.is_admin:
        return rows
    return rows.filter(Q(reviewer=me) | Q(author=me) | Q(third=me))


def my_turn(access: Access) -> QuerySet[Review]:
    """Open reviews in which this person has to act next."""
    me = access.user
    return reviews_of(access).filter(
        Q(reviewer=me, status__in=(ReviewStatus.BLIND, ReviewStatus.CHECKING))
        | Q(author=me, status=ReviewStatus.CHANGES)
        | Q(third=me, status=ReviewStatus.THIRD)
    )


def start_review(*, query: Query, reviewer: User) -> Review:
    """Take a query for review; its weights are scored blind first.

    Raises PermissionDenied for everybody but reviewers of its domain who did not write on it, and
    Refused where the work is not complete, somebody reviews it already, or the weights were seen.
    """
    if not may_review(query, reviewer):
        raise PermissionDenied("Another reviewer of this domain has to look at this query.")
    with transaction.atomic():
        lock_queries([query.pk])
        if not ready_queries(Query.objects.filter(pk=query.pk)).exists():
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
        _move_work(query, reviewer, WorkState.IN_REVIEW, "take query up")
        if not unscored(query, reviewer):
            move(review, ReviewStatus.CHECKING)  # scored blind in an earlier review
    return review


def _move_work(query: Query, by: User, state: WorkState, verb: str) -> None:
    """The assignment of the query, where it has one, follows its review."""
    assignment = assignment_of(query)
    moved = assignment is not None and Assignment.objects.move(assignment.pk, state)
    data = {"state": state.value} if moved else {}
    scope = f"{query.domain.benchmark.slug}#reviews"
    audit.record(actor=by, verb=verb, target=query, scope=scope, data=data)


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
        say(current, actor, REVIEWER, "ask for changes", text=text)
        move(current, ReviewStatus.CHANGES)
        _move_work(current.query, actor, WorkState.CHANGES_REQUESTED, "hand back query")
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
        say(current, actor, AUTHOR, "agree" if agree else "object", point=found, text=text)
    return found


def send_back(*, review: Review, actor: User, text: str = "") -> Review:
    """The author has answered every point; the reviewer looks again.

    Raises Refused while an answer is missing, or something without which nobody may submit.
    """
    with turn(review, actor, ReviewStatus.CHANGES) as current:
        if current.points.filter(status=PointStatus.RAISED).exists():
            raise Refused("Answer every point first: agree, or object with a reason.")
        assignment = assignment_of(current.query)
        if assignment is not None and assignment.state == WorkState.CHANGES_REQUESTED:
            gaps = [item.text for item in checklist.missing(query=current.query) if item.blocking]
            if gaps:
                raise Refused(f"Still missing: {'; '.join(gaps)}.")
        _move_work(current.query, actor, WorkState.IN_REVIEW, "take query up")
        say(current, actor, AUTHOR, "answer", text=text)
        move(current, ReviewStatus.CHECKING)
    return current


def yield_point(*, review: Review, point: ReviewPoint, actor: User, text: str = "") -> ReviewPoint:
    """The reviewer follows the author's objection: what was changed is as it was before."""
    with turn(review, actor, ReviewStatus.CHECKING) as current:
        found = current.points.get(pk=point.pk)
        if found.status != PointStatus.OBJECTED:
            raise Refused("The author did not object to this.")
        restored = undo_point(found, actor)
        found.status = PointStatus.FINE
        found.save(update_fields=["status", "change"])
        say(current, actor, REVIEWER, "yield", point=found, text=text, restored=restored)
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
        say(current, actor, REVIEWER, "accept", text=text)
        move(current, ReviewStatus.ACCEPTED)
        _move_work(current.query, actor, WorkState.ACCEPTED, "accept query")
    return current


def drop_review(*, review: Review, actor: User) -> Review:
    """Give a review up, so that somebody else can take the query; by its reviewer or an admin.

    What was scored and changed stays as it is.
    """
    with locked(review) as current:
        if current.reviewer_id != actor.pk:
            benchmark = current.query.domain.benchmark
            require_admin(benchmark, actor, "A review is given up by its reviewer or an admin.")
        # What was handed back stays with its author, who submits it anew.
        is_with_author = current.status == ReviewStatus.CHANGES
        say(current, actor, REVIEWER, "give up")
        move(current, ReviewStatus.DROPPED)
        if not is_with_author:
            _move_work(current.query, actor, WorkState.SUBMITTED, "let go of query")
    return current


def ask_third(*, review: Review, actor: User, third: User, text: str = "") -> Review:
    """Let another reviewer of the domain settle what stays open between the two.

    Raises Refused where nothing is open, and for somebody who wrote on the query or has a part
    in this review.
    """
    with turn(review, actor, ReviewStatus.CHECKING) as current:
        if not _has_objections(current):
            raise Refused("Author and reviewer do not disagree about anything.")
        taken = {current.reviewer_id, current.author_id} | authors_of(current.query)
        if third.pk in taken or not may_review(current.query, third):
            raise Refused("Choose another reviewer of this domain.", field="third")
        current.third = third
        say(current, actor, REVIEWER, "ask a third person", text=text, third=third.pk)
        move(current, ReviewStatus.THIRD)
    return current


def step_in(*, review: Review, access: Access) -> Review:
    """Settle what author and reviewer cannot, without being asked by the reviewer.

    For reviewers of the domain and admins who had no part in it; an admin also in place of a
    third person who has settled nothing yet. Raises PermissionDenied for everybody else and
    Refused where nothing is open.
    """
    person = access.user
    with locked(review) as current:
        is_running = current.status == ReviewStatus.THIRD
        if is_running and current.third_id == person.pk:
            return current
        has_part = {current.reviewer_id, current.author_id} | authors_of(current.query)
        may_replace = access.is_admin or (not is_running and may_review(current.query, person))
        if person.pk in has_part or not may_replace:
            raise PermissionDenied("Somebody without a part in this review settles it.")
        if not _has_objections(current):
            raise Refused("Author and reviewer do not disagree about anything any more.")
        if is_running:
            if current.points.filter(change__has_key="settled").exists():
                raise Refused("The third person has begun to settle this review.")
            same = Review.objects.filter(pk=current.pk, status=current.status, third=current.third)
            if not same.update(third=person):
                raise Refused(GONE)
            current.third = person
        elif current.status == ReviewStatus.CHECKING:
            current.third = person
            move(current, ReviewStatus.THIRD)
        else:
            raise Refused(GONE)
        say(current, person, THIRD, "step in")
    return current


def _has_objections(review: Review) -> bool:
    return review.points.filter(status=PointStatus.OBJECTED).exists()


def settle_point(
    *, review: Review, point: ReviewPoint, actor: User, uphold: bool, text: str
) -> ReviewPoint:
    """The third person decides one point, with a reason; after the last the reviewer goes on.

    Upheld, the change stands (what the author has to write goes back as asked for); else
    everything is as it was before. Until the reviewer went on, `unsettle_point` takes it back.
    """
    with turn(review, actor, ReviewStatus.THIRD) as current:
        found = current.points.get(pk=point.pk)
        if found.status != PointStatus.OBJECTED:
            raise Refused("This point is settled already.")
        if not text.strip():
            raise Refused("Say why you decide so.", field="text")
        was = found.change
        restored = "" if uphold else undo_point(found, actor)
        by_hand = uphold and not found.change
        found.change = {**found.change, "settled": "uphold" if uphold else "author"}
        if was and not uphold:  # what `unsettle_point` gives back
            found.change |= {"was": was, "restored": restored}
        found.status = PointStatus.RAISED if by_hand else PointStatus.SETTLED
        found.save(update_fields=["status", "change"])
        verb = "uphold" if uphold else "decide for the author"
        say(current, actor, THIRD, verb, point=found, text=text, restored=restored)
        if not _has_objections(current):
            move(current, ReviewStatus.CHECKING)
    return found


def unsettle_point(
    *, review: Review, point: ReviewPoint, actor: User, text: str = ""
) -> ReviewPoint:
    """Take one's own decision on a point back: it is open again, and what was changed as before.

    Only until the reviewer goes on. Raises PermissionDenied for everybody but the third person,
    and Refused where the point is not settled, or somebody went on from the decision.
    """
    with locked(review) as current:
        if current.third_id != actor.pk:
            raise PermissionDenied("Who settled a point takes that back.")
        if current.status not in (ReviewStatus.THIRD, ReviewStatus.CHECKING):
            raise Refused(GONE)
        found = current.points.get(pk=point.pk)
        is_fresh = found.status in (PointStatus.SETTLED, PointStatus.RAISED)
        if not (is_fresh and found.change.get("settled")):
            raise Refused("This point is not settled, or was answered since.")
        if current.status == ReviewStatus.CHECKING:
            move(current, ReviewStatus.THIRD)
        found.change = _as_objected(found, actor)
        found.status = PointStatus.OBJECTED
        found.save(update_fields=["status", "change"])
        say(current, actor, THIRD, "take back", point=found, text=text)
    return found


def _as_objected(point: ReviewPoint, actor: User) -> dict[str, Any]:
    """What the point changed, done again where the decision had undone it."""
    was = dict(point.change.get("was", {}))
    if not was:  # the change was kept, or there was none
        return {key: value for key, value in point.change.items() if key != "settled"}
    if point.change.get("restored") != "yes":
        return was
    query, passage = point.review.query, point.passage
    if point.aspect_id is not None:
        aspect = Aspect.objects.select_related("query__domain__benchmark").get(pk=point.aspect_id)
        if aspect.weight != was["from"]:
            raise Refused("The weight was changed since, and stays as it is.")
        write_weight(aspect, actor, int(was["to"]))
        return was
    assert passage is not None  # only weights and passages are changed
    if standing_gold(query, passage) is None:
        raise Refused("Somebody gave another verdict on this passage since.")
    verdict = discard_passage(
        query=query, passage=passage, reason=was["reason"], note=point.note, actor=actor
    )
    return {**was, "judgment": verdict.pk}
