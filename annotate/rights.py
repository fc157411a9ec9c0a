"""Who may write people's judgment; asked by every verb, whatever screen or route it came from."""

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.utils import timezone

from annotate.models import Assignment, Review, ReviewStatus, WorkState
from corpus.models import Membership, Query, Role
from corpus.services.judgments import hold_queries
from kit import audit


def may_annotate(query: Query, actor: User) -> bool:
    """Whether the person is an annotator of the query's domain; being an admin is not enough."""
    found = Membership.objects.filter(user=actor, benchmark=query.domain.benchmark_id).first()
    if found is None or Role.ANNOTATOR not in found.roles:
        return False
    return query.domain_id in found.domain_ids()


def require_annotator(query: Query, actor: User) -> None:
    """Raise PermissionDenied unless the person is an annotator of the query's domain.

    Enough for a vote. What writes in the query asks `require_expert` or `hold_for_writing`.
    """
    if not may_annotate(query, actor):
        raise PermissionDenied("Only annotators of this domain may change this.")


def is_reviewing(query: Query, person: User) -> bool:
    """Whether a running review of the query waits for this person, as reviewer or as the third."""
    reviews = Review.objects.filter(query=query)
    checking = reviews.filter(reviewer=person, status=ReviewStatus.CHECKING)
    settling = reviews.filter(third=person, status=ReviewStatus.THIRD)
    return checking.exists() or settling.exists()


def assignment_of(query: Query) -> Assignment | None:
    """Who holds the query, if it is assigned."""
    return Assignment.objects.standing().select_related("holder").filter(query=query).first()


def why_not(assignment: Assignment | None, actor: User) -> str:
    """Why an annotator of the domain may not write in the query; "" if they may.

    A query that nobody holds is open to every annotator of its domain.
    """
    if assignment is None:
        return ""
    if assignment.holder_id != actor.pk:
        return f"{assignment.holder} works on this query. You can read it."
    if assignment.is_writable:
        return ""
    if assignment.state == WorkState.SUBMITTED:
        return "You submitted this query. Take it back to go on writing."
    return f"This query is {assignment.state_words}; nothing in it can be changed."


def require_expert(query: Query, actor: User) -> Assignment | None:
    """Raise PermissionDenied unless the person may write in this query now; who holds it.

    For a look before work that has no transaction; verbs that write call `hold_for_writing`.
    """
    require_annotator(query, actor)
    assignment = assignment_of(query)
    if reason := why_not(assignment, actor):
        raise PermissionDenied(reason)
    return assignment


def hold_for_verdict(query: Query, actor: User) -> None:
    """As `hold_for_writing`, also for those who review the query now.

    What a review removes is removed by its reviewer, or the third person whom it asked.
    """
    if is_reviewing(query, actor):
        hold_queries([query.pk])
    else:
        hold_for_writing(query, actor)


def hold_for_writing(query: Query, actor: User) -> None:
    """Hold the query until the caller's transaction ends, for an expert who may write in it.

    So that it cannot be submitted or passed on between this look and the write. The first write
    begins an assignment. Raises PermissionDenied as `require_expert`.
    """
    hold_queries([query.pk])
    assignment = require_expert(query, actor)
    if assignment is None or assignment.holder_id != actor.pk:
        return
    if assignment.state != WorkState.NOT_STARTED:
        return
    if Assignment.objects.move(assignment.pk, WorkState.IN_PROGRESS, started_at=timezone.now()):
        slug = query.domain.benchmark.slug
        audit.record(actor=actor, verb="begin query", target=assignment, scope=slug)
