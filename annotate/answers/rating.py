"""Rating a person's and a model's answer blind (docs/protocol.md 3.1 step 8; Bright-Pro 3.2).

A rater sees two answers in an order of their own, keyed by a server secret, and gives both points
for completeness and quality. Nobody learns which answer is whose before the comparison closes.
"""

from collections.abc import Mapping
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.crypto import salted_hmac

from annotate.models import (
    AnswerPair,
    AnswerRating,
    Assignment,
    Guideline,
    Preferred,
    ReferenceAnswer,
)
from corpus.access import Access
from corpus.judgments.services import hold_queries
from kit import audit
from kit.errors import Refused

POINTS: Final = range(1, 6)
FIRST, SECOND, NEITHER = "first", "second", "neither"


MEASURES: Final = {"completeness": "Completeness", "quality": "Overall quality"}
FIELDS: Final = tuple(f"{place}_{what}" for place in (FIRST, SECOND) for what in MEASURES)


def rateable(access: Access) -> QuerySet[AnswerPair]:
    """Complete open pairs that this person may rate: of their domains, and never their own."""
    if not access.is_reviewer:
        return AnswerPair.objects.none()
    wrote = ReferenceAnswer.objects.by_people().filter(created_by=access.user)
    held = Assignment.objects.standing().filter(holder=access.user)
    own = {"query": OuterRef("query")}
    return (
        AnswerPair.objects.filter(
            comparison__benchmark=access.benchmark,
            comparison__closed_at=None,
            query__domain_id__in=access.domain_ids,
            human__isnull=False,
            model__isnull=False,
        )
        .exclude(Exists(wrote.filter(**own)) | Exists(held.filter(**own)))
        .select_related("query__domain__benchmark", "comparison", "human", "model")
        .order_by("comparison", "place")
    )


def to_rate(access: Access) -> QuerySet[AnswerPair]:
    """Of these, those without a rating by this person."""
    mine = AnswerRating.objects.standing().filter(pair=OuterRef("pk"), rater=access.user)
    return rateable(access).exclude(Exists(mine))


def shown_to(pair: AnswerPair, rater: User) -> tuple[str, str]:
    """Both texts in this rater's order, and nothing that says whose they are."""
    assert pair.human is not None  # rateable pairs are complete
    assert pair.model is not None
    human, model = _plain(pair.human.text), _plain(pair.model.text)
    return (human, model) if human_is_first(pair, rater) else (model, human)


def human_is_first(pair: AnswerPair, rater: User) -> bool:
    """The order in which this rater sees the pair, foreseeable with the server's key alone."""
    code = salted_hmac("assay.answers", f"{pair.pk}:{rater.pk}", algorithm="sha256")
    return code.digest()[0] % 2 == 0


def split_points(given: Mapping[str, Any]) -> dict[str, Any]:
    """What a form or a request gives, as `rate_pair` takes it: `points` by FIELDS, and the rest."""
    rest = {name: value for name, value in given.items() if name not in FIELDS}
    return {"points": {name: given[name] for name in FIELDS}, **rest}


def rate_pair(
    *,
    pair: AnswerPair,
    access: Access,
    points: Mapping[str, int],
    preferred: str,
    note: str = "",
    reason: str = "",
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
        hold_queries([pair.query_id])
        found = rateable(access).filter(pk=pair.pk).first()
        if found is None:
            raise Refused("This pair does not wait for you any more.")
        mine = AnswerRating.objects.standing().filter(pair=found, rater=rater)
        earlier = mine.first()
        if earlier is not None and not reason:
            raise Refused("You have rated this pair. Say why you change it.", field="reason")
        mine.update(stands=False)
        human_first = human_is_first(found, rater)
        sides = dict(zip(_sides(human_first), (FIRST, SECOND), strict=True))
        given = AnswerRating.objects.create(
            pair=found,
            rater=rater,
            human_first=human_first,
            preferred=next((side for side in sides if sides[side] == preferred), Preferred.NEITHER),
            note=note.strip(),
            reason=reason,
            guideline=Guideline.objects.current_version(found.comparison.benchmark_id),
            **{
                f"{side}_{what}": points[f"{place}_{what}"]
                for side, place in sides.items()
                for what in MEASURES
            },
        )
        if earlier is not None:
            AnswerRating.objects.filter(pk=earlier.pk).update(superseded_by=given)
        # Not among what members read of the benchmark: who looks there must learn nothing.
        scope = f"{access.benchmark.slug}#answers"
        data: dict[str, Any] = {"pair": found.pk, "reason": reason, "preferred": preferred}
        for place in (FIRST, SECOND):
            data[place] = {what: points[f"{place}_{what}"] for what in MEASURES}
        audit.record(actor=rater, verb="rate answers", target=given, scope=scope, data=data)
    return given


def as_shown(rating: AnswerRating) -> dict[str, int | str]:
    """A rating in the words of its rater: first and second instead of whose they are."""
    places = dict(zip(_sides(rating.human_first), (FIRST, SECOND), strict=True))
    given: dict[str, int | str] = {
        f"{place}_{what}": getattr(rating, f"{side}_{what}")
        for side, place in places.items()
        for what in MEASURES
    }
    return given | {"preferred": places.get(rating.preferred, NEITHER), "note": rating.note}


def _sides(human_first: bool) -> tuple[str, str]:
    sides = (Preferred.HUMAN.value, Preferred.MODEL.value)
    return sides if human_first else sides[::-1]


def _plain(text: str) -> str:
    """The text without what an editor or a model alone leaves behind: blanks at ends of lines."""
    lines = [line.strip() for line in text.strip().splitlines()]
    return "\n".join(lines)
