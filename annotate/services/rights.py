"""Who may write people's judgment; asked by every verb, whatever screen or route it came from."""

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied

from annotate.models import Review, ReviewStatus
from corpus.models import Membership, Query, Role


def may_annotate(query: Query, actor: User) -> bool:
    """Whether the person is an annotator of the query's domain; being an admin is not enough."""
    found = Membership.objects.filter(user=actor, benchmark=query.domain.benchmark_id).first()
    if found is None or Role.ANNOTATOR not in found.roles:
        return False
    return query.domain_id in found.domain_ids()


def require_annotator(query: Query, actor: User) -> None:
    """Raise PermissionDenied unless the person may annotate this query."""
    if not may_annotate(query, actor):
        raise PermissionDenied("Only annotators of this domain may change this.")


def require_hand(query: Query, actor: User) -> None:
    """Raise PermissionDenied unless the person annotates this query or is reviewing it now.

    What a review changes is written by those who hold it: its reviewer, and the third person
    whom it asked.
    """
    holds = Review.objects.filter(query=query)
    reviewing = holds.filter(reviewer=actor, status=ReviewStatus.CHECKING)
    settling = holds.filter(third=actor, status=ReviewStatus.THIRD)
    if not (may_annotate(query, actor) or reviewing.exists() or settling.exists()):
        raise PermissionDenied("Only annotators of this domain may change this.")
