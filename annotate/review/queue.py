"""Which queries wait for a second review, and whose turn it is in those that go on."""

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotate.models import Aspect, Assignment, GoldPassage, Review, ReviewStatus, WorkState
from annotate.review.authorship import is_written_by
from annotate.workspace.checklist import undecided_originals
from corpus.access import Access
from corpus.models import Query


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
