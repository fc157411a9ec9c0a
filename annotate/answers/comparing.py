"""Blind comparisons of people's and models' answers (docs/protocol.md 3.1 step 8; Bright-Pro 3.2).

Queries are drawn, their pairs filled, rated and closed. A rater sees two answers in an order of
their own, keyed by a server secret, and gives both points for completeness and quality. Nobody
learns which answer is whose before the comparison closes.
"""

from typing import Any, Final

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from annotate.answers.rights import answers_here
from annotate.models import (
    AnswerComparison,
    AnswerPair,
    AnswerRating,
    GoldPassage,
    Guideline,
    Preferred,
    ReferenceAnswer,
    StartedFrom,
)
from annotate.review.rescoring import draw_queries
from corpus.access import Access
from corpus.judgments.services import lock_queries
from corpus.models import Query
from kit import audit
from kit.errors import Refused

# The paper validated 20 queries.
SIZE, SEED = 20, 1
POINTS: Final = range(1, 6)
FIRST, SECOND, NEITHER = "first", "second", "neither"
MEASURES: Final = {"completeness": "Completeness", "quality": "Overall quality"}
FIELDS: Final = tuple(f"{place}_{what}" for place in (FIRST, SECOND) for what in MEASURES)


def fill_pairs(query: Query) -> None:
    """Fill open pairs of the query with the standing answers; rated ones keep what was rated.

    The person's answer must be their own: one begun from a model's or an imported answer compares
    nothing. For a caller that locked the query.
    """
    rated = Exists(AnswerRating.objects.filter(pair=OuterRef("pk")))
    pairs = AnswerPair.objects.filter(query=query, comparison__closed_at=None).exclude(rated)
    standing = ReferenceAnswer.objects.standing().filter(query=query)
    pairs.update(human=standing.independent().first(), model=standing.by_models().first())


def draw_comparison(*, access: Access, size: int = SIZE, seed: int = SEED) -> AnswerComparison:
    """Draw queries that an answer can be written to, by domain in proportion.

    The same seed draws the same. Queries whose answer by a person was begun from another answer
    are left out. Raises PermissionDenied for everybody but admins, Refused where a comparison is
    open or nothing can be drawn.
    """
    benchmark = access.benchmark
    _require_admin(access)
    with transaction.atomic():
        gold = GoldPassage.objects.standing().filter(
            query=OuterRef("pk"), aspect__removed_at__isnull=True
        )
        started = ReferenceAnswer.objects.standing().by_people().filter(query=OuterRef("pk"))
        started = started.exclude(begun_from=StartedFrom.NOTHING)
        queries = Query.objects.in_benchmark(benchmark).filter(Exists(gold))
        drawn = draw_queries(queries.exclude(Exists(started)), size=size, seed=seed)
        if not drawn:
            raise Refused("No query has aspects with gold passages yet.")
        try:
            with transaction.atomic():
                comparison = AnswerComparison.objects.create(
                    benchmark=benchmark, seed=seed, size=size, created_by=access.user
                )
        except IntegrityError:
            raise Refused("A comparison is open already. Close it first.") from None
        lock_queries(drawn)
        AnswerPair.objects.bulk_create(
            AnswerPair(comparison=comparison, query_id=pk, place=place)
            for place, pk in enumerate(drawn)
        )
        for query in Query.objects.filter(pk__in=drawn).order_by("pk"):
            fill_pairs(query)
        data = {"seed": seed, "size": size, "drawn": len(drawn)}
        _note(access, "draw comparison", comparison, **data)
    return comparison


def close_comparison(*, comparison: AnswerComparison, access: Access) -> None:
    """End the ratings and show everybody concerned whose answers were rated; admins do."""
    _require_admin(access)
    with transaction.atomic():
        rows = AnswerComparison.objects.filter(pk=comparison.pk, closed_at=None)
        if not rows.update(closed_at=timezone.now(), closed_by=access.user):
            raise Refused("This comparison is closed already.")
        _note(access, "close comparison", comparison)


def _require_admin(access: Access) -> None:
    if not access.is_admin:
        raise PermissionDenied("Comparisons are drawn and closed by admins.")


def _note(access: Access, verb: str, comparison: AnswerComparison, **data: Any) -> None:
    scope = access.benchmark.slug
    audit.record(actor=access.user, verb=verb, target=comparison, scope=scope, data=data)


def rateable(access: Access) -> QuerySet[AnswerPair]:
    """Complete open pairs that this person may rate: of their domains, and never their own."""
    if not access.is_reviewer:
        return AnswerPair.objects.none()
    complete = AnswerPair.objects.filter(
        comparison__benchmark=access.benchmark,
        comparison__closed_at=None,
        query__domain_id__in=access.domain_ids,
        human__isnull=False,
        model__isnull=False,
    )
    pairs = complete.exclude(answers_here(access.user, "query"))
    related = ("query__domain__benchmark", "comparison", "human", "model")
    return pairs.select_related(*related).order_by("comparison", "place")


def to_rate(access: Access) -> QuerySet[AnswerPair]:
    """Of these, those without a rating by this person."""
    mine = AnswerRating.objects.standing().filter(pair=OuterRef("pk"), rater=access.user)
    return rateable(access).exclude(Exists(mine))


def human_is_first(pair: AnswerPair, rater: User) -> bool:
    """The order in which this rater sees the pair, foreseeable with the server's key alone."""
    of = f"{pair.pk}:{rater.pk}"
    code = salted_hmac("assay.answers", of, secret=settings.SEED_KEY, algorithm="sha256")
    return code.digest()[0] % 2 == 0


def shown_to(pair: AnswerPair, rater: User) -> list[str]:
    """Both texts in this rater's order, and nothing that says whose they are."""
    texts = [_plain(answer.text) for answer in (pair.human, pair.model) if answer is not None]
    return texts if human_is_first(pair, rater) else texts[::-1]


def _plain(text: str) -> str:
    """The text without what an editor or a model alone leaves behind: blanks at ends of lines."""
    return "\n".join(line.strip() for line in text.strip().splitlines())


def _places(human_first: bool) -> dict[str, str]:
    """Where each side is shown."""
    places = (FIRST, SECOND) if human_first else (SECOND, FIRST)
    return dict(zip((Preferred.HUMAN.value, Preferred.MODEL.value), places, strict=True))


def rate_pair(
    *,
    pair: AnswerPair,
    access: Access,
    preferred: str,
    note: str = "",
    reason: str = "",
    **points: int,
) -> AnswerRating:
    """Give `points` (by FIELDS) to both answers as they were shown, and say which one is better.

    A second rating corrects the first while the comparison is open, and needs a reason. Raises
    Refused for points off the scale and a pair that does not wait for this person.
    """
    rater, reason = access.user, reason.strip()
    for name in FIELDS:
        if points[name] not in POINTS:
            raise Refused(f"Give 1 to 5 points for {name.partition('_')[2]}.", field=name)
    if preferred not in (FIRST, SECOND, NEITHER):
        raise Refused("Say which answer is better, or neither.", field="preferred")
    with transaction.atomic():
        lock_queries([pair.query_id])
        found = rateable(access).filter(pk=pair.pk).first()
        if found is None:
            raise Refused("This pair does not wait for you any more.")
        mine = AnswerRating.objects.filter(pair=found, rater=rater)
        if not reason and mine.exists():
            raise Refused("You have rated this pair. Say why you change it.", field="reason")
        human_first = human_is_first(found, rater)
        places = _places(human_first)
        given = mine.supersede(
            pair=found,
            rater=rater,
            human_first=human_first,
            preferred=next((s for s in places if places[s] == preferred), Preferred.NEITHER),
            note=note.strip(),
            reason=reason,
            guideline=Guideline.objects.current_version(found.comparison.benchmark_id),
            **{f"{s}_{what}": points[f"{places[s]}_{what}"] for s in places for what in MEASURES},
        )
        # Not among what members read of the benchmark: who looks there must learn nothing.
        scope = f"{access.benchmark.slug}#answers"
        data: dict[str, Any] = {"pair": found.pk, "reason": reason, "preferred": preferred}
        for place in (FIRST, SECOND):
            data[place] = {what: points[f"{place}_{what}"] for what in MEASURES}
        audit.record(actor=rater, verb="rate answers", target=given, scope=scope, data=data)
    return given


def as_shown(rating: AnswerRating) -> dict[str, int | str]:
    """A rating in the words of its rater: first and second instead of whose they are."""
    places = _places(rating.human_first)
    given: dict[str, int | str] = {
        f"{place}_{what}": getattr(rating, f"{side}_{what}")
        for side, place in places.items()
        for what in MEASURES
    }
    return given | {"preferred": places.get(rating.preferred, NEITHER), "note": rating.note}


def standing_ratings(comparison: AnswerComparison) -> QuerySet[AnswerRating]:
    """The ratings of a comparison that count, in the order of its pairs."""
    rows = AnswerRating.objects.standing().filter(pair__comparison=comparison)
    return rows.select_related("pair__query__domain", "rater").order_by("pair__place", "pk")
