"""Blind comparisons of people's and models' answers: drawn, filled, closed (docs/protocol.md 3.1).

How they are rated stands in rating.py.
"""

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from annotate.models import (
    AnswerAuthor,
    AnswerComparison,
    AnswerPair,
    AnswerRating,
    Beginning,
    GoldPassage,
    ReferenceAnswer,
)
from annotate.review.rescoring import draw_queries
from corpus.access import Access
from corpus.judgments.services import hold_queries
from corpus.models import Query
from kit import audit
from kit.errors import Refused

# The paper validated 20 queries.
SIZE, SEED = 20, 1


def fill_pairs(query: Query) -> None:
    """Fill open pairs of the query with the standing answers; rated ones keep what was rated.

    The person's answer must be their own: one begun from a model's or an imported answer compares
    nothing. For a caller that locked the query.
    """
    rated = Exists(AnswerRating.objects.filter(pair=OuterRef("pk")))
    pairs = AnswerPair.objects.filter(query=query, comparison__closed_at=None).exclude(rated)
    standing = ReferenceAnswer.objects.standing().filter(query=query)
    human = standing.independent().first()
    model = standing.filter(author=AnswerAuthor.MODEL).first()
    pairs.update(human=human, model=model)


def draw_comparison(*, access: Access, size: int = SIZE, seed: int = SEED) -> AnswerComparison:
    """Draw queries that an answer can be written to, by domain in proportion.

    The same seed draws the same. Queries whose answer by a person was begun from another answer
    are left out. Raises PermissionDenied for everybody but admins, Refused where a comparison is
    open or nothing can be drawn.
    """
    actor, benchmark = access.user, access.benchmark
    _require_admin(access)
    with transaction.atomic():
        drawn = draw_queries(_answerable(access), size=size, seed=seed)
        if not drawn:
            raise Refused("No query has aspects with gold passages yet.")
        try:
            with transaction.atomic():
                comparison = AnswerComparison.objects.create(
                    benchmark=benchmark, seed=seed, size=size, created_by=actor
                )
        except IntegrityError:
            raise Refused("A comparison is open already. Close it first.") from None
        hold_queries(drawn)
        AnswerPair.objects.bulk_create(
            AnswerPair(comparison=comparison, query_id=pk, place=place)
            for place, pk in enumerate(drawn)
        )
        for query in Query.objects.filter(pk__in=drawn).order_by("pk"):
            fill_pairs(query)
        data = {"seed": seed, "size": size, "drawn": len(drawn)}
        audit.record(
            actor=actor, verb="draw comparison", target=comparison, scope=benchmark.slug, data=data
        )
    return comparison


def close_comparison(*, comparison: AnswerComparison, access: Access) -> None:
    """End the ratings and show everybody concerned whose answers were rated; admins do."""
    _require_admin(access)
    with transaction.atomic():
        rows = AnswerComparison.objects.open().filter(pk=comparison.pk)
        if not rows.update(closed_at=timezone.now(), closed_by=access.user):
            raise Refused("This comparison is closed already.")
        slug = access.benchmark.slug
        audit.record(actor=access.user, verb="close comparison", target=comparison, scope=slug)


def _answerable(access: Access) -> QuerySet[Query]:
    gold = GoldPassage.objects.standing().filter(
        query=OuterRef("pk"), aspect__removed_at__isnull=True
    )
    begun = ReferenceAnswer.objects.standing().by_people().filter(query=OuterRef("pk"))
    queries = Query.objects.in_benchmark(access.benchmark).filter(Exists(gold))
    return queries.exclude(Exists(begun.exclude(begun_from=Beginning.NOTHING)))


def _require_admin(access: Access) -> None:
    if not access.is_admin:
        raise PermissionDenied("Comparisons are drawn and closed by admins.")
