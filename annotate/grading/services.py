"""Experts score a sample of answers blind, by the rubric that a judge model has.

They see the query, its aspects, the reference answer and one answer; of a generated one the true
answers, and say whether it is right, or how much of the reference it covers. Not whose it is, not
what a model or another person said of it. Annotators of the domain are asked, and no admins:
whoever may read what machines said of answers does not score them.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from annotate import keyed
from annotate.answers.evidence import answers_in
from annotate.answers.rights import hidden_queries
from annotate.grading.models import SampleKind
from annotate.models import (
    AnswerGrade,
    AnswerPair,
    Aspect,
    GradedAnswer,
    GradingSample,
    Guideline,
    SentenceItem,
)
from annotate.review.rescoring import MAX_SEED, MAX_SIZE
from corpus.access import Access
from corpus.judgments.services import lock_queries
from corpus.models import CorpusVersion
from kit import audit
from kit.errors import Refused
from kit.stats.sampling import draw

SIZE, SEED, PEOPLE = 30, 1, 2
MOST_PEOPLE: Final = 10
SCORES: Final = (0.0, 0.5, 1.0)
POINTS: Final = range(1, 6)
_NOTHING: Final = {
    SampleKind.TRUTHS: "There is no answer here to a query with true answers.",
    SampleKind.LONG: "There is no answer here to a query with a reference answer.",
    SampleKind.ANSWERS: "There is no answer to a query with aspects yet.",
    SampleKind.SENTENCES: "No sentence cites a passage whose text is loaded.",
}


# What a sample is drawn from: rows that are not stored yet.
ItemT = TypeVar("ItemT", GradedAnswer, SentenceItem)


def open_sample(
    *,
    access: Access,
    answers: Sequence[GradedAnswer],
    size: int = SIZE,
    seed: int = SEED,
    people: int = PEOPLE,
    kind: SampleKind = SampleKind.ANSWERS,
) -> GradingSample:
    """Draw of these unsaved answers, by domain in proportion, and ask so many experts about each.

    The same seed draws the same; one text of a query is drawn once. Raises PermissionDenied for
    everybody but admins, and Refused where nothing can be drawn.
    """
    once: dict[tuple[int, str], GradedAnswer] = {}
    for each in answers:
        each.text = each.text.strip()
        if each.text:
            once.setdefault((each.query_id, each.text), each)
    with transaction.atomic():
        sample, rows = draw_items(
            access, list(once.values()), size=size, seed=seed, people=people, kind=kind
        )
        GradedAnswer.objects.bulk_create(rows)
    return sample


def draw_items(
    access: Access,
    offered: Sequence[ItemT],
    *,
    size: int,
    seed: int,
    people: int,
    kind: SampleKind = SampleKind.ANSWERS,
    **fields: Any,
) -> tuple[GradingSample, list[ItemT]]:
    """A sample of what is offered, and its rows, not stored yet, in an order that nobody foresees.

    For a caller in a transaction. Raises as `open_sample`.
    """
    require_admin(access)
    if not 1 <= size <= MAX_SIZE:
        raise Refused(f"Draw 1 to {MAX_SIZE:,} {kind.label}.", field="size")
    if not 0 <= seed <= MAX_SEED:
        raise Refused(f"The seed is a number from 0 to {MAX_SEED:,}.", field="seed")
    if not 1 <= people <= MOST_PEOPLE:
        raise Refused(f"Each one goes to 1 to {MOST_PEOPLE} people.", field="people")
    by_origin = {each.origin: each for each in offered}
    strata: defaultdict[str, list[str]] = defaultdict(list)
    for each in by_origin.values():
        strata[each.query.domain.name].append(each.origin)
    drawn = draw(strata, size, seed)
    if not drawn:
        raise Refused(_NOTHING[kind])
    sample = GradingSample.objects.create(
        benchmark=access.benchmark,
        kind=kind,
        seed=seed,
        size=size,
        people=people,
        created_by=access.user,
        **fields,
    )
    places = sorted(range(len(drawn)), key=lambda at: keyed.draw("graded", sample.pk, at))
    data = {"seed": seed, "size": size, "people": people, "drawn": len(drawn), **fields}
    record(access, f"draw {kind.label} to score", sample, **data)
    rows = [by_origin[drawn[at]] for at in places]
    for row in rows:
        row.sample = sample
    return sample, rows


def close_sample(*, sample: GradingSample, access: Access) -> None:
    """Ask nobody any more; what was given stays. Admins do."""
    require_admin(access)
    with transaction.atomic():
        rows = GradingSample.objects.filter(pk=sample.pk, closed_at=None)
        if not rows.update(closed_at=timezone.now(), closed_by=access.user):
            raise Refused("This sample is closed already.")
        record(access, f"close {sample.get_kind_display()} to score", sample)


def with_progress(rows: QuerySet[GradingSample], items: str = "answers") -> QuerySet[Any]:
    """Samples with how far they are: how many of their items were `drawn` and `judged`, and how
    many grades were `given`."""
    stands = {f"{items}__grades__stands": True}
    if items == "sentences":
        stands[f"{items}__grades__verdict__isnull"] = False
    return rows.annotate(
        drawn=Count(items, distinct=True),
        judged=Count(items, filter=Q(**stands), distinct=True),
        given=Count(f"{items}__grades", filter=Q(**stands), distinct=True),
    )


def drawn_from(origin: str, *kinds: SampleKind) -> QuerySet[Any]:
    """Samples of these kinds whose items' origins begin so, newest first, with their progress."""
    items = "sentences" if SampleKind.SENTENCES in kinds else "answers"
    rows = GradingSample.objects.filter(kind__in=kinds, **{f"{items}__origin__startswith": origin})
    return with_progress(rows, items)


def source_of(sample: GradingSample) -> int:
    """The key of what a sample was drawn from, the second part of its items' origins."""
    rows: Any = sample.sentences if sample.kind == SampleKind.SENTENCES else sample.answers
    return int(rows.values_list("origin", flat=True)[0].split(":")[1])


def gradable(access: Access) -> QuerySet[GradedAnswer]:
    """Answers of open samples that this person may score, or correct their score of.

    Not while the reference answer of the query is kept from them: they are to write or rate it.
    """
    if not access.is_voter:
        return GradedAnswer.objects.none()
    present = Aspect.objects.filter(query=OuterRef("query"), removed_at=None)
    rows = GradedAnswer.objects.filter(
        Q(Exists(present)) | ~Q(sample__kind=SampleKind.ANSWERS),
        sample__benchmark=access.benchmark,
        sample__closed_at=None,
        query__domain_id__in=access.domain_ids,
    )
    rows = rows.exclude(kept_back(access))
    return rows.select_related("query__domain__benchmark", "sample")


def kept_back(access: Access) -> Q:
    """Of an item: whether answers to its query are kept from this person."""
    awaited = AnswerPair.objects.filter(
        query=OuterRef("query"), comparison__closed_at=None, human=None
    )
    return Q(Exists(awaited)) | Q(query__in=hidden_queries(access))


def to_grade(access: Access) -> QuerySet[GradedAnswer]:
    """Of these, those that still lack people, and this person's grade."""
    mine = AnswerGrade.objects.standing().filter(answer=OuterRef("pk"), grader=access.user)
    given = Count("grades", filter=Q(grades__stands=True))
    rows = gradable(access).exclude(Exists(mine)).annotate(given=given)
    return rows.filter(given__lt=F("sample__people"))


def next_answer(access: Access) -> GradedAnswer | None:
    """The first in this person's own order, which the server's key alone foresees."""
    keys = list(to_grade(access).values_list("pk", flat=True))
    first = min(keys, key=lambda pk: keyed.draw("to grade", pk, access.user.pk), default=None)
    return None if first is None else gradable(access).get(pk=first)


def aspects_of(answer: GradedAnswer) -> list[Aspect]:
    """What the answer is scored by: the present aspects of its query; none beside true answers."""
    if answer.scale:
        return []
    return list(Aspect.objects.filter(query=answer.query_id).present().order_by("k"))


def shown_of(answer: GradedAnswer, aspects: Sequence[Aspect]) -> str:
    """What a form shows of the aspects, to be sent back with the scores: a mark for each.

    Keyed by the server's secret, for weights are kept from some who score.
    """
    marks = []
    for each in aspects:
        of = json.dumps([answer.pk, each.k, each.content, each.weight, each.scale])
        code = salted_hmac("assay.graded", of, secret=settings.SEED_KEY, algorithm="sha256")
        marks.append(f"a{each.k}:{code.hexdigest()[:12]}")
    return " ".join(marks)


def changed_since(shown: str, now: str) -> list[str]:
    """The aspects, by id, that are not as they were shown: other words or weight, new, or gone."""
    names = {each.partition(":")[0] for each in {*shown.split()} ^ {*now.split()}}
    return sorted(names, key=lambda name: (len(name), name))


def check_shown(shown: str, now: str) -> None:
    """Raises Refused, naming them, where aspects are not as they were shown."""
    if changed := changed_since(shown, now):
        message = f"Changed meanwhile: {', '.join(changed)}. Look at the aspects again, then score."
        raise Refused(message, field="shown")


def reference_of(answer: GradedAnswer) -> str:
    """The published reference answer, as a judge model is shown it; "" without one."""
    version = CorpusVersion.objects.current(answer.query.domain.benchmark)
    found = answers_in(version, answer.query.domain, only=answer.query_id)
    return found[answer.query_id].text if answer.query_id in found else ""


def own_grade(answer: GradedAnswer, access: Access) -> AnswerGrade | None:
    """What this person said of it before."""
    return AnswerGrade.objects.standing().filter(answer=answer, grader=access.user).first()


def _weights_of(
    answer: GradedAnswer, aspects: Sequence[Aspect], scores: Mapping[str, float]
) -> dict[str, float]:
    """What is scored of an answer, with its weight; raises Refused where the scores are others."""
    scale = answer.scale
    weights: dict[str, float] = {f"a{each.k}": each.weight for each in aspects}
    if scale:
        weights = {scale.name: 1}
    points = scale.points if scale else SCORES
    if unknown := set(scores) - set(weights):
        raise Refused(f"No aspect is called {min(unknown)}.", field="scores")
    if missing := [name for name in weights if scores.get(name) not in points]:
        told = f"Score {', '.join(missing)} with 0, .5 or 1."
        raise Refused(scale.told if scale else told, field="scores")
    return weights


def grade_answer(
    *,
    answer: GradedAnswer,
    access: Access,
    scores: Mapping[str, float],
    quality: int | None = None,
    shown: str = "",
    note: str = "",
    reason: str = "",
) -> AnswerGrade:
    """Score every aspect (by its id: a1, ...) 0, .5 or 1, and give 1 to 5 points for quality.

    Beside true answers score what the answer's scale is called, alone.

    `shown` (of `shown_of`) says which words the scores are for: if an aspect was changed since,
    nothing is kept. A second grade corrects the first while the sample is open, and needs a reason.
    Who opened an answer may score it, also where enough others did meanwhile. Raises Refused.
    """
    reason = reason.strip()
    if quality not in POINTS and not answer.scale:
        raise Refused("Give 1 to 5 points for quality.", field="quality")
    with transaction.atomic():
        lock_queries([answer.query_id])
        found = gradable(access).filter(pk=answer.pk).first()
        if found is None:
            raise Refused("This answer does not wait for you any more.")
        aspects = aspects_of(found)
        check_shown(shown, shown_of(found, aspects))
        weights = _weights_of(found, aspects, scores)
        mine = AnswerGrade.objects.filter(answer=found, grader=access.user)
        if not reason and mine.exists():
            raise Refused("You have scored this answer. Say why you change it.", field="reason")
        given = mine.supersede(
            answer=found,
            grader=access.user,
            scores={name: float(scores[name]) for name in weights},
            weights=weights,
            quality=None if found.scale else quality,
            note=note.strip(),
            reason=reason,
            guideline=Guideline.objects.current_version(access.benchmark.pk),
        )
        data = {"answer": found.pk, "scores": given.scores, "quality": given.quality}
        data["reason"] = reason
        record(access, "score answer", given, **data)
    return given


def require_admin(access: Access) -> None:
    if not access.is_admin:
        raise PermissionDenied("What people score is drawn and closed by admins.")


def record(access: Access, verb: str, target: Any, **data: Any) -> None:
    # Not among what members read of the benchmark: who looks there must learn nothing.
    scope = f"{access.benchmark.slug}#answers"
    audit.record(actor=access.user, verb=verb, target=target, scope=scope, data=data)
