"""The second review of a query: taking it, scoring blind, asking, answering, settling, accepting.

What the reviewer finds about single points is in review_points.py.

Where the second review meets the work on a query: when it may begin, and what goes back.

A query that somebody holds is ready once it is submitted. One that nobody holds is read from what
stands on it: every original decided, every aspect with a passage.

Which queries wait for a second review by this person, and which reviews are theirs."""

from collections.abc import Mapping

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
from annotate.review.authorship import author_of, authors_of, may_review, may_score_blind
from annotate.review.points import missing_points, take_back
from annotate.review.rescoring import store_scores, unscored
from annotate.review.turns import AUTHOR, REVIEWER, THIRD, move, say, turn
from annotate.rights import assignment_of
from annotate.workspace import checklist
from corpus.access import Access
from corpus.models import Judgment, Membership, Query, Role, Source
from corpus.services.judgments import hold_queries
from kit import audit
from kit.errors import Refused


def ready_for_review(query: Query) -> bool:
    """Whether the work on the query is complete, so that somebody else can look at it."""
    return ready_queries(Query.objects.filter(pk=query.pk)).exists()


def ready_queries(queries: QuerySet[Query]) -> QuerySet[Query]:
    """Those whose aspects all have passages, and whose old gold is decided; submitted, if held."""
    held = Assignment.objects.standing().filter(query=OuterRef("pk"))
    unsubmitted = held.exclude(state=WorkState.SUBMITTED)
    gold = GoldPassage.objects.standing()
    present = Aspect.objects.filter(query=OuterRef("pk"), removed_at=None)
    supported = Exists(gold.filter(aspect=OuterRef("pk")))
    pair = {"query": OuterRef("query"), "passage": OuterRef("passage")}
    discarded = Judgment.objects.standing().filter(source=Source.EXPERT, label=0)
    originals = Judgment.objects.original().filter(query=OuterRef("pk"), label__gt=0)
    undecided = originals.exclude(Exists(gold.filter(**pair))).exclude(
        Exists(discarded.filter(**pair))
    )
    stale = GoldPassage.objects.unlisted().filter(query=OuterRef("pk"))
    return (
        queries.filter(Exists(present))
        .exclude(Exists(present.exclude(supported)))
        .exclude(Exists(undecided))
        .exclude(Exists(stale))
        .exclude(Exists(unsubmitted))
    )


def take_up(query: Query, by: User) -> None:
    """The review of the query begins, or goes on after the author answered.

    Raises Refused while something is missing that stands in the way of submitting.
    """
    assignment = assignment_of(query)
    if assignment is not None and assignment.state == WorkState.CHANGES_REQUESTED:
        gaps = [item.text for item in checklist.missing(query=query) if item.blocking]
        if gaps:
            raise Refused(f"Still missing: {'; '.join(gaps)}.")
    _move(query, by, WorkState.IN_REVIEW, "take query up")


def hand_back(query: Query, by: User, *, accepted: bool = False) -> None:
    """The review gives the query back to its author, with changes asked for or accepted."""
    state = WorkState.ACCEPTED if accepted else WorkState.CHANGES_REQUESTED
    _move(query, by, state, "accept query" if accepted else "hand back query")


def let_go(query: Query, by: User) -> None:
    """A review is given up: what its author had handed in waits for another one."""
    _move(query, by, WorkState.SUBMITTED, "let go of query")


def _move(query: Query, by: User, state: WorkState, verb: str) -> None:
    """Move the assignment along, where somebody holds the query, in the review's transaction."""
    assignment = assignment_of(query)
    moved = assignment is not None and Assignment.objects.move(assignment.pk, state)
    data = {"state": state.value} if moved else {}
    scope = f"{query.domain.benchmark.slug}#reviews"
    audit.record(actor=by, verb=verb, target=query, scope=scope, data=data)


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


def waiting_for_review(access: Access) -> QuerySet[Query]:
    """Complete queries of the person's domains that nobody reviews, written by others."""
    if not access.is_reviewer:
        return Query.objects.none()
    reviewed = Review.objects.filter(query=OuterRef("pk")).exclude(status=ReviewStatus.DROPPED)
    mine = {"query": OuterRef("pk"), "created_by": access.user}
    queries = Query.objects.in_benchmark(access.benchmark).in_domains(access.domain_ids)
    return (
        ready_queries(queries)
        .exclude(Exists(reviewed))
        .exclude(Exists(Aspect.objects.filter(**mine)))
        .exclude(Exists(GoldPassage.objects.filter(**mine)))
        .order_by("domain__name", "pk")
    )


def reviews_of(access: Access) -> QuerySet[Review]:
    """Every review for admins; else those in which the person has a part."""
    rows = Review.objects.in_benchmark(access.benchmark)
    rows = rows.select_related("query__domain", "reviewer", "author", "third")
    return rows if access.is_admin else rows.filter(_part(access.user))


def my_turn(access: Access) -> QuerySet[Review]:
    """Open reviews in which this person has to act next."""
    me = access.user
    acts = (
        Q(reviewer=me, status__in=(ReviewStatus.BLIND, ReviewStatus.CHECKING))
        | Q(author=me, status=ReviewStatus.CHANGES)
        | Q(third=me, status=ReviewStatus.THIRD)
    )
    return reviews_of(access).filter(acts)


def _part(person: User) -> Q:
    return Q(reviewer=person) | Q(author=person) | Q(third=person)
