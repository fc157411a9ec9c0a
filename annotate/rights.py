"""Who may write on a query, and the event of what they wrote.

Asked by every verb, whatever screen or route it came from.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model
from django.utils import timezone

from annotate.models import Assignment, Review, ReviewStatus, WorkState
from corpus.access import Access
from corpus.judgments.services import lock_queries
from corpus.models import Benchmark, Membership, Query, Role
from kit import audit
from kit.account.tokens import may_administer
from kit.errors import Refused


def may_annotate(query: Query, actor: User) -> bool:
    """Whether the person is an annotator of the query's domain; being an admin is not enough."""
    members = Membership.objects.filter(user=actor, benchmark=query.domain.benchmark_id)
    found = members.with_domains().first()
    if found is None or Role.ANNOTATOR not in found.roles:
        return False
    return query.domain_id in found.domain_ids()


def require_annotator(query: Query, actor: User) -> None:
    """Raise PermissionDenied unless the person is an annotator of the query's domain.

    Enough for a vote. What writes in the query asks `require_expert` or `lock_for_writing`.
    """
    if not may_annotate(query, actor):
        raise PermissionDenied("Only annotators of this domain may change this.")


def require_admin(benchmark: Benchmark, actor: User, message: str) -> None:
    """Raise PermissionDenied with the message unless the person is an admin of the benchmark."""
    found = Membership.objects.filter(user=actor, benchmark=benchmark).first()
    if found is None or Role.ADMIN not in found.roles or not may_administer(actor):
        raise PermissionDenied(message)


def named_admin(benchmark: Benchmark, name: str) -> Access:
    """The place of the admin whom a command names; Refused for anybody else."""
    found = Membership.objects.filter(user__username=name, benchmark=benchmark)
    place = found.select_related("user").first()
    if place is None or Role.ADMIN not in place.roles:
        raise Refused("Say who does it: --as with the name of an admin.")
    return Access(place.user, benchmark, place)


def assignment_of(query: Query) -> Assignment | None:
    """The assignment that counts now; None for an unassigned query."""
    return Assignment.objects.standing().select_related("holder").filter(query=query).first()


def why_not(assignment: Assignment | None, actor: User) -> str:
    """Why an annotator of the domain may not write in the query; "" if they may.

    An unassigned query is open to every annotator of its domain.
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
    """Raise PermissionDenied unless the person may write in this query now; its assignment.

    For a check before work that has no transaction; verbs that write call `lock_for_writing`.
    """
    require_annotator(query, actor)
    assignment = assignment_of(query)
    if reason := why_not(assignment, actor):
        raise PermissionDenied(reason)
    return assignment


@contextmanager
def lock_for_verdict(query: Query, actor: User) -> Iterator[None]:
    """As `lock_for_writing`, also for those who review the query now.

    What a review removes is removed by its reviewer, or by the third person whom it asked.
    """
    with transaction.atomic():
        reviews = Review.objects.filter(query=query)
        checking = reviews.filter(reviewer=actor, status=ReviewStatus.CHECKING)
        settling = reviews.filter(third=actor, status=ReviewStatus.THIRD)
        if checking.exists() or settling.exists():
            lock_queries([query.pk])
        else:
            _begin_writing(query, actor)
        yield


@contextmanager
def lock_for_writing(query: Query, actor: User) -> Iterator[None]:
    """A transaction with the query locked to its end, for an expert who may write in it.

    So that it cannot be submitted or reassigned between this check and the write. The first write
    begins an assignment. Raises PermissionDenied as `require_expert`.
    """
    with transaction.atomic():
        _begin_writing(query, actor)
        yield


def _begin_writing(query: Query, actor: User) -> None:
    lock_queries([query.pk])
    assignment = require_expert(query, actor)
    if assignment is None or assignment.state != WorkState.NOT_STARTED:
        return
    if Assignment.objects.move(assignment.pk, WorkState.IN_PROGRESS, started_at=timezone.now()):
        record(query, actor, "begin query", assignment)


def record(query: Query, actor: User, verb: str, target: Model, /, **data: Any) -> None:
    """The event of a change on the query, in the transaction of the change."""
    scope = query.domain.benchmark.slug
    audit.record(actor=actor, verb=verb, target=target, scope=scope, data=data)
