"""Rating a person's and a model's answer blind (docs/protocol.md 3.1 step 8; Bright-Pro 3.2).

A rater sees two answers in an order of their own, keyed by a server secret, and gives both points
for completeness and quality. Whose answer is whose is told to nobody before the comparison closes.
"""

from dataclasses import asdict, dataclass
from typing import Final

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
from corpus.services.judgments import hold_queries
from kit import audit
from kit.errors import Refused

POINTS: Final = range(1, 6)
FIRST, SECOND, NEITHER = "first", "second", "neither"


@dataclass(frozen=True)
class Points:
    """What a rater gives one answer, each 1 to 5."""

    completeness: int
    quality: int


@dataclass(frozen=True)
class Shown:
    """A pair as its rater sees it: two texts, and nothing of whose they are."""

    pair: AnswerPair
    texts: tuple[str, str]


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


def shown_to(pair: AnswerPair, rater: User) -> Shown:
    """Both texts in this rater's order."""
    assert pair.human is not None  # rateable pairs are complete
    assert pair.model is not None
    texts = (_plain(pair.human.text), _plain(pair.model.text))
    return Shown(pair, texts if human_is_first(pair, rater) else (texts[1], texts[0]))


def human_is_first(pair: AnswerPair, rater: User) -> bool:
    """The order in which this rater sees the pair; nobody can tell it without the server's key."""
    code = salted_hmac("assay.answers", f"{pair.pk}:{rater.pk}", algorithm="sha256")
    return code.digest()[0] % 2 == 0


def rate_pair(
    *,
    pair: AnswerPair,
    access: Access,
    first: Points,
    second: Points,
    preferred: str,
    note: str = "",
    reason: str = "",
) -> AnswerRating:
    """Give points to both answers as they were shown, and say which one is better.

    A second rating corrects the first while the comparison is open, and needs a reason. Raises
    Refused for points off the scale and a pair that does not wait for this person.
    """
    rater, note, reason = access.user, note.strip(), reason.strip()
    _check(first, second, preferred)
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
        given = _store(found, rater, first, second, preferred, note, reason)
        if earlier is not None:
            AnswerRating.objects.filter(pk=earlier.pk).update(superseded_by=given)
        # Not among what members read of the benchmark: who looks there must learn nothing.
        scope = f"{access.benchmark.slug}#answers"
        points = {"first": asdict(first), "second": asdict(second), "preferred": preferred}
        data = {"pair": found.pk, "reason": reason, **points}
        audit.record(actor=rater, verb="rate answers", target=given, scope=scope, data=data)
    return given


def as_shown(rating: AnswerRating) -> dict[str, int | str]:
    """A rating in the words of its rater: first and second instead of whose they are."""
    sides = ("human", "model") if rating.human_first else ("model", "human")
    given: dict[str, int | str] = {
        f"{place}_{what}": getattr(rating, f"{side}_{what}")
        for place, side in zip((FIRST, SECOND), sides, strict=True)
        for what in ("completeness", "quality")
    }
    places = dict(zip(sides, (FIRST, SECOND), strict=True))
    return given | {"preferred": places.get(rating.preferred, NEITHER), "note": rating.note}


def _store(
    pair: AnswerPair,
    rater: User,
    first: Points,
    second: Points,
    preferred: str,
    note: str,
    reason: str,
) -> AnswerRating:
    human_first = human_is_first(pair, rater)
    human, model = (first, second) if human_first else (second, first)
    sides = {FIRST: Preferred.HUMAN, SECOND: Preferred.MODEL}
    if not human_first:
        sides = {FIRST: Preferred.MODEL, SECOND: Preferred.HUMAN}
    return AnswerRating.objects.create(
        pair=pair,
        rater=rater,
        human_completeness=human.completeness,
        human_quality=human.quality,
        model_completeness=model.completeness,
        model_quality=model.quality,
        preferred=sides.get(preferred, Preferred.NEITHER),
        human_first=human_first,
        note=note,
        reason=reason,
        guideline=Guideline.objects.current_version(pair.comparison.benchmark_id),
    )


def _check(first: Points, second: Points, preferred: str) -> None:
    for name, points in ((FIRST, first), (SECOND, second)):
        for what, value in asdict(points).items():
            if value not in POINTS:
                raise Refused(f"Give 1 to 5 points for {what}.", field=f"{name}_{what}")
    if preferred not in (FIRST, SECOND, NEITHER):
        raise Refused("Say which answer is better, or neither.", field="preferred")


def _plain(text: str) -> str:
    """The text without what an editor or a model alone leaves behind: blanks at ends of lines."""
    lines = [line.strip() for line in text.strip().splitlines()]
    return "\n".join(lines)
