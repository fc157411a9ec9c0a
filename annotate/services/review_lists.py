"""Which queries wait for a second review by this person, and which reviews are theirs."""

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotate.models import Aspect, GoldPassage, Review, ReviewStatus
from annotate.services.review_gate import ready_queries
from corpus.access import Access
from corpus.models import Query


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
