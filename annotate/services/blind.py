"""Scoring weights blind: stored whole, once, beside what the author's weights were then."""

from collections.abc import Mapping

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from annotate.models import Aspect, Guideline, RescoreTask, Review, WeightScore
from annotate.models.aspects import SCALE_TOP
from annotate.services.authorship import author_of
from corpus.models import Query
from kit.errors import Refused

CHANGED = "The aspects were changed meanwhile. Look at them again, then score."


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

    For a caller that holds the query and has checked that the scorer may. Raises Refused where an
    aspect is missing, unknown or its weight off the scale.
    """
    aspects = unscored(query, scorer)
    if {each.pk for each in aspects} != set(weights):
        missing = [each for each in aspects if each.pk not in weights]
        if missing and set(weights) <= {each.pk for each in aspects}:
            names = ", ".join(f"a{each.k}" for each in missing)
            raise Refused(f"Give every aspect a weight; {names} has none yet.", field="weight")
        raise Refused(CHANGED, field="weight")
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
