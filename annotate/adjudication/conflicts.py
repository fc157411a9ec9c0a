"""What experts see differently for good: verdicts on one pair, and weights scored blind.

A verdict is in conflict where the current one reversed another expert's, and no review dealt
with it: not what an author agreed to, or a third person settled there. A weight is in conflict
where a blind score of an accepted review, or of a sample, lies as many points from the current
weight as the benchmark says (two, unless an admin chose otherwise).
"""

from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotate.models import (
    Adjudication,
    Aspect,
    GoldPassage,
    PointStatus,
    ReviewPoint,
    ReviewStatus,
    WeightScore,
)
from annotate.voting.majority import ADJUDICATED, REMADE
from annotate.workspace.models import Scale
from annotate.workspace.scales import scale_of_benchmark
from corpus.judgments.services import assessors, first_row
from corpus.models import Benchmark, Judgment, Query, Source, Status


def conflicting_verdicts(
    benchmark: Benchmark, *, query: Query | None = None
) -> dict[tuple[int, int], datetime]:
    """Pairs (query, passage) whose experts differ, and since when."""
    earlier, found = _verdicts(benchmark, query)
    assessed = assessors([*found.values(), *earlier.values()])
    given_by = {pk: each["person"] for pk, each in assessed.items()}
    # Those that a review gave and answers for; not one that was given up over an objection.
    rows = ReviewPoint.objects.filter(change__judgment__in=list(found))
    left = Q(status=PointStatus.OBJECTED, review__status=ReviewStatus.DROPPED)
    reviewed = {point.change["judgment"] for point in rows.exclude(left)}
    return {
        (each.query_id, each.passage_id): each.created_at
        for first, each in found.items()
        if first not in reviewed
        and each.provenance.get("rule") not in (ADJUDICATED, REMADE)
        and (earlier[first].label > 0) != (each.label > 0)
        and None not in (given_by[earlier[first].pk], given_by[each.pk])
        and given_by[earlier[first].pk] != given_by[each.pk]
    }


def final_scores() -> QuerySet[WeightScore]:
    """Blind scores that no review can answer any more: of samples, and of accepted reviews."""
    is_over = Q(task__isnull=False) | Q(review__status=ReviewStatus.ACCEPTED)
    return WeightScore.objects.standing().filter(is_over)


def _apart(points: int) -> Q:
    """Of scores of an outer aspect: those that differ from its weight by so many points."""
    return Q(weight__gte=OuterRef("weight") + points) | Q(weight__lte=OuterRef("weight") - points)


def conflicting_weights(benchmark: Benchmark) -> QuerySet[Aspect]:
    """Present aspects with a weight that somebody chose and a blind score contradicts."""
    points = scale_of_benchmark(benchmark).far
    scores = final_scores().filter(aspect=OuterRef("pk"), scale=OuterRef("scale"))
    far = scores.filter(
        ~Q(scale=Scale.SHARES) & _apart(points) | Q(scale=Scale.SHARES) & _apart(10 * points)
    )
    settled = Adjudication.objects.standing().filter(
        aspect=OuterRef("aspect"), created_at__gt=OuterRef("created_at")
    )
    present = Aspect.objects.filter(
        query__domain__benchmark=benchmark, weighed=True, removed_at=None
    )
    return present.filter(Exists(far.exclude(Exists(settled))))


def _verdicts(
    benchmark: Benchmark, query: Query | None
) -> tuple[dict[int, Judgment], dict[int, Judgment]]:
    """The label that a verdict superseded, and the current verdict, both by its first row.

    Read in the queries that have assignments, for labels may be millions.
    """
    labels = Judgment.objects.filter(source=Source.EXPERT)
    if query is None:
        gold = GoldPassage.objects.filter(query__domain__benchmark=benchmark)
        labels = labels.filter(query__in=gold.values("query"))
    else:
        labels = labels.filter(query=query)
    rows = labels.filter(superseded_by__source=Source.EXPERT).order_by("pk")
    earlier = {each.superseded_by_id or 0: each for each in rows}
    standing = {first_row(each): each for each in labels.filter(status=Status.STANDING)}
    return earlier, {first: each for first, each in standing.items() if first in earlier}
