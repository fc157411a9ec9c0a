"""Weights scored blind, in reviews and for samples of queries (docs/protocol.md 3.1, 6 and 7)."""

from collections import defaultdict
from collections.abc import Mapping

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from annotate.models import (
    Aspect,
    Guideline,
    RescoreSample,
    RescoreTask,
    Review,
    WeightScore,
)
from annotate.review.authorship import author_of, is_written_by, may_score_blind
from annotate.rights import require_admin
from annotate.workspace.models import SCALE_TOP
from corpus.access import Access
from corpus.judgments.services import lock_queries
from corpus.models import Benchmark, Query
from kit import audit
from kit.errors import Refused
from kit.stats.sampling import draw

CHANGED = "The aspects were changed meanwhile. Look at them again, then score."
SIZE, SEED = 50, 1
MAX_SIZE, MAX_SEED = 10_000, 2**31 - 1


def unscored(query: Query, person: User) -> list[Aspect]:
    """Present aspects that this person has not scored yet."""
    scored = WeightScore.objects.standing().by(person).values("aspect")
    return list(Aspect.objects.filter(query=query).present().exclude(pk__in=scored))


def store_scores(
    *,
    query: Query,
    scorer: User,
    weights: Mapping[int, int],
    review: Review | None = None,
    task: RescoreTask | None = None,
) -> list[WeightScore]:
    """Keep one weight for every aspect that is still to be scored, or none.

    For a caller that locked the query and has checked that the scorer may. Raises Refused where an
    aspect is missing, unknown or its weight off the scale.
    """
    aspects = unscored(query, scorer)
    if not set(weights) <= {each.pk for each in aspects}:
        raise Refused(CHANGED, field="weight")
    if missing := [f"a{each.k}" for each in aspects if each.pk not in weights]:
        names = ", ".join(missing)
        raise Refused(f"Give every aspect a weight; {names} has none yet.", field="weight")
    for each in aspects:
        top = SCALE_TOP[each.scale]
        if not 1 <= weights[each.pk] <= top:
            raise Refused(f"Choose a weight from 1 to {top} for a{each.k}.", field="weight")
    guideline = Guideline.objects.current_version(query.domain.benchmark_id)
    rows = [
        WeightScore(
            aspect=each,
            scorer=scorer,
            author=author_of(query),
            weight=weights[each.pk],
            author_weight=each.weight,
            author_weighed=each.weighed,
            scale=each.scale,
            review=review,
            task=task,
            guideline=guideline,
        )
        for each in aspects
    ]
    try:
        with transaction.atomic():
            return WeightScore.objects.bulk_create(rows)
    except IntegrityError:
        raise Refused(CHANGED, field="weight") from None


def draw_queries(queries: QuerySet[Query], *, size: int, seed: int) -> list[int]:
    """Keys of queries, drawn by domain in proportion; the same seed draws the same.

    Raises Refused for numbers out of range.
    """
    if not 1 <= size <= MAX_SIZE:
        raise Refused(f"Draw 1 to {MAX_SIZE:,} queries.", field="size")
    if not 0 <= seed <= MAX_SEED:
        raise Refused(f"The seed is a number from 0 to {MAX_SEED:,}.", field="seed")
    strata: defaultdict[str, list[int]] = defaultdict(list)
    for domain, pk in queries.order_by("pk").values_list("domain__name", "pk"):
        strata[domain].append(pk)
    return draw(strata, size, seed)


def draw_sample(
    *, benchmark: Benchmark, actor: User, size: int = SIZE, seed: int = SEED
) -> RescoreSample:
    """Draw queries with aspects, by domain in proportion; the same seed draws the same.

    Raises PermissionDenied for everybody but admins, and Refused where there is nothing to draw.
    """
    require_admin(benchmark, actor, "Samples are drawn by admins.")
    with transaction.atomic():
        present = Aspect.objects.filter(query=OuterRef("pk"), removed_at=None)
        # A weight that nobody chose is nothing to compare with.
        rows = Query.objects.in_benchmark(benchmark).filter(Exists(present))
        rows = rows.exclude(Exists(present.filter(weighed=False)))
        drawn = draw_queries(rows, size=size, seed=seed)
        if not drawn:
            raise Refused("No query has aspects with weights yet.")
        sample = RescoreSample.objects.create(
            benchmark=benchmark, seed=seed, size=size, created_by=actor
        )
        RescoreTask.objects.bulk_create(
            RescoreTask(sample=sample, query_id=pk, place=place) for place, pk in enumerate(drawn)
        )
        data = {"seed": seed, "size": size, "drawn": len(drawn)}
        audit.record(actor, "draw sample", sample, benchmark.slug, data)
    return sample


def waiting_tasks(access: Access) -> QuerySet[RescoreTask]:
    """Tasks that this reviewer may still do: of their domains, on queries of others.

    Whoever reviewed a query has seen its weights, and whoever scored it scores it once.
    """
    if not access.is_reviewer:
        return RescoreTask.objects.none()
    scored = WeightScore.objects.filter(aspect__query=OuterRef("query"), scorer=access.user)
    part = Review.objects.filter(query=OuterRef("query"))
    present = Aspect.objects.filter(query=OuterRef("query"), removed_at=None)
    return (
        RescoreTask.objects.filter(
            sample__benchmark=access.benchmark,
            query__domain_id__in=access.domain_ids,
            done_at=None,
        )
        .filter(Exists(present))
        .exclude(is_written_by(access.user, "query"))
        .exclude(Exists(scored))
        .exclude(Exists(part.filter(Q(reviewer=access.user) | Q(third=access.user))))
        .select_related("query__domain__benchmark", "sample")
        .order_by("sample", "place")
    )


def next_task(access: Access) -> RescoreTask | None:
    """The first task whose scores by this person would be blind."""
    for task in waiting_tasks(access)[:MAX_SIZE]:
        if may_score_blind(task.query, access.user):
            return task
    return None


def score_task(*, task: RescoreTask, actor: User, weights: Mapping[int, int]) -> None:
    """Give every aspect of the task's query a weight; what is given cannot be changed.

    Raises PermissionDenied for somebody whose score would not be blind, and Refused where another
    was quicker.
    """
    if not may_score_blind(task.query, actor):
        raise PermissionDenied("Your score of this query would not be blind.")
    with transaction.atomic():
        lock_queries([task.query_id])
        rows = RescoreTask.objects.filter(pk=task.pk, done_at=None)
        if not rows.update(done_at=timezone.now(), scorer=actor):
            raise Refused("Somebody else scored this query meanwhile.")
        scores = store_scores(query=task.query, scorer=actor, weights=weights, task=task)
        if not scores:
            raise Refused("You have scored this query before.")
        scope = f"{task.query.domain.benchmark.slug}#reviews"
        given = {str(each.aspect_id): each.weight for each in scores}
        data = {"query": task.query_id, "weights": given}
        audit.record(actor=actor, verb="score blind", target=task, scope=scope, data=data)
