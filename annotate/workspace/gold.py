"""Verdicts on passages: which aspect a passage supports, or why it is discarded.

docs/protocol.md 3.1. An assignment writes its GoldPassage and its expert label in one transaction,
so that Judgment is the only gold that corpus work needs to know.

Undoing a verdict brings back what it displaced, as new rows: history is never edited. A restored
verdict remembers the row it began as, so that undoing it goes one verdict further.
"""

from typing import Any, Final

from django.contrib.auth.models import User
from django.db import models
from django.utils import timezone

from annotate.models import (
    Adjudication,
    Aspect,
    EscalationCase,
    GoldPassage,
    Guideline,
    SupportLabel,
)
from annotate.rights import lock_for_verdict, lock_for_writing, record
from annotate.support.services import experts_support, record_support
from annotate.voting.cases import close_by_verdict, reopen_case, take_support_back
from annotate.voting.majority import ADJUDICATED, ASSIGNED, DISCARDED, REMADE, named
from corpus.judgments.services import (
    first_row,
    record_judgment,
    restore_judgment,
    strongest,
    withdraw_judgment,
)
from corpus.models import Judgment, Passage, Query, Source, Status
from corpus.versions.excluded import excluded_in
from kit.errors import Refused

SETTLED: Final = (
    "A third person settled this pair. Who did, or an admin, can take that back under Adjudication."
)


class DiscardReason(models.TextChoices):
    """Why a passage is no gold (docs/protocol.md 3.1 step 3)."""

    TOPIC_ONLY = "topic_only", "Topic only"
    IRRELEVANT = "irrelevant", "Irrelevant"
    NOISE = "noise", "Noise"
    FRAGMENT = "fragment", "Fragment"


def assign_passage(*, query: Query, passage: Passage, aspect: Aspect, actor: User) -> GoldPassage:
    """Let a passage support one aspect; standing on another one, it moves.

    An assignment that an import brought is confirmed by the same press. Where an expert's
    assignment to this aspect stands already, nothing changes. Raises Refused for a removed or
    foreign aspect and for a passage of another domain.
    """
    _check(query, passage)
    with lock_for_writing(query, actor):
        # Locked, so that it cannot be removed between this check and the assignment.
        present = Aspect.objects.select_for_update(of=("self",)).filter(query=query).present()
        if not present.filter(pk=aspect.pk).exists():
            raise Refused("This aspect is gone. Choose another one.", field="aspect")
        _check_settled(query, passage, 1, aspect)
        standing, label = standing_gold(query, passage), standing_verdict(query, passage)
        is_ours = label is not None and label.label > 0
        if is_ours and standing is not None and standing.aspect_id == aspect.pk:
            return standing
        provenance = named(ASSIGNED) | {"aspect": aspect.aspect_id}
        verdict = record_verdict(query, passage, 1, provenance, actor)
        gold = GoldPassage.objects.create(
            aspect=aspect, query=query, passage=passage, judgment=verdict, created_by=actor
        )
        _support_by(gold, actor)
        record(query, actor, "assign passage", gold, **_pair(query, passage), aspect=aspect.k)
    return gold


def discard_passage(
    *, query: Query, passage: Passage, reason: str, note: str = "", actor: User
) -> Judgment:
    """Say that a passage is no gold, and why; ends its assignment. Refused without a reason."""
    _check(query, passage)
    if reason not in DiscardReason.values:
        raise Refused("Choose why the passage is discarded.", field="reason")
    with lock_for_verdict(query, actor):
        _check_settled(query, passage, 0)
        provenance = named(DISCARDED) | {"reason": reason, "note": note}
        verdict = record_verdict(query, passage, 0, provenance, actor)
        data = {**_pair(query, passage), "reason": reason, "note": note}
        record(query, actor, "discard passage", verdict, **data)
    return verdict


def replace_passage(*, query: Query, passage: Passage, into: Passage, actor: User) -> Judgment:
    """Say that a passage is gold no more because it is part of another one now; its text stays.

    For a caller that made `into` a gold passage in the same transaction.
    """
    _check(query, passage)
    with lock_for_writing(query, actor):
        provenance = named(REMADE) | {"into": into.pid, "into_key": into.pk}
        verdict = record_verdict(query, passage, 0, provenance, actor)
        record(query, actor, "replace passage", verdict, **_pair(query, passage), into=into.pk)
    return verdict


def undo_verdict(*, query: Query, passage: Passage, actor: User) -> None:
    """Take the experts' last verdict back, and with it what it did.

    The label and the assignment that it displaced stand again as new rows, and a dispute that it
    closed goes back to the voters. Raises Refused when there is no verdict, and for the label of
    a reference panel, which a senior overrides there.
    """
    _check(query, passage)
    with lock_for_verdict(query, actor):
        verdict = standing_verdict(query, passage)
        if verdict is not None and verdict.provenance.get("rule") == ADJUDICATED:
            raise Refused(SETTLED)
        if verdict is not None and "panel" in verdict.provenance:
            raise Refused("A panel of experts gave this label; a senior can override it there.")
        take_verdict_back(query=query, passage=passage, actor=actor)


def take_verdict_back(*, query: Query, passage: Passage, actor: User) -> None:
    """The same without asking who may; for a caller that locked the query."""
    gold, verdict = standing_gold(query, passage), standing_verdict(query, passage)
    target = gold or verdict
    if target is None:
        raise Refused("There is no verdict to take back.")
    _end(gold, by=None, actor=actor)
    if verdict is not None:
        withdraw_verdict(verdict=verdict, actor=actor)
    record(query, actor, "undo verdict", target, **_pair(query, passage))


def withdraw_verdict(*, verdict: Judgment, actor: User) -> None:
    """Withdraw an expert's label: what it displaced stands again, a case it closed reopens.

    For a caller that locked the query.
    """
    withdraw_judgment(judgment=verdict, actor=actor, held=True)
    earlier = _restore_displaced(verdict, actor)
    if earlier is not None:
        close_by_verdict(verdict=earlier, actor=actor)
    else:
        reopen_case(query=verdict.query, passage=verdict.passage, actor=actor)


def _restore_displaced(verdict: Judgment, actor: User) -> Judgment | None:
    """Restore the label and the assignment that a withdrawn verdict displaced.

    Returns the earlier verdict if an expert's label stands now, else None. An assignment to an
    aspect that is gone meanwhile is restored too, and asks for a new one.
    """
    displaced = Judgment.objects.filter(superseded_by=first_row(verdict), source=Source.EXPERT)
    earlier = displaced.order_by("pk").last()
    label = earlier or strongest(_superseded_by_experts(verdict))
    restored = restore_judgment(judgment=label, actor=actor, held=True) if label else None
    own = restored if earlier else None
    gold = GoldPassage.objects.filter(ended_by=first_row(verdict)).order_by("pk").last()
    if gold is not None:
        again = GoldPassage.objects.create(
            aspect_id=gold.aspect_id,
            query_id=gold.query_id,
            passage_id=gold.passage_id,
            judgment=own if gold.judgment_id else None,
            created_by_id=gold.created_by_id,
        )
        _support_by(again, actor)
    return own


def _superseded_by_experts(verdict: Judgment) -> list[Judgment]:
    """Labels of machines and voters that stood before any verdict, or came while one stood."""
    rows = Judgment.objects.filter(
        query=verdict.query_id,
        passage=verdict.passage_id,
        status=Status.SUPERSEDED,
        superseded_by__source=Source.EXPERT,
    )
    return list(rows.exclude(source__in=(Source.EXPERT, Source.ORIGINAL)))


def record_verdict(
    query: Query, passage: Passage, label: int, provenance: dict[str, Any], actor: User
) -> Judgment:
    """Record the verdict, end the assignment that stood, close the dispute about the pair.

    For a caller that locked the query. Raises Refused for gold that the query excludes.
    """
    if label > 0:
        _check_excluded(query, passage)
    provenance["guideline_version"] = Guideline.objects.current_version(query.domain.benchmark_id)
    verdict = record_judgment(
        query=query,
        passage=passage,
        label=label,
        source=Source.EXPERT,
        provenance=provenance,
        actor=actor,
        held=True,
    )
    _end(standing_gold(query, passage), by=verdict, actor=actor)
    close_by_verdict(verdict=verdict, actor=actor)
    return verdict


def _check(query: Query, passage: Passage) -> None:
    if passage.domain_id != query.domain_id:
        raise Refused("This passage belongs to another domain than the query.")


def _check_excluded(query: Query, passage: Passage) -> None:
    """What rankings leave out cannot be found: as gold it would count as missed by all."""
    if passage.pid in excluded_in(passage.version, [query]).get(query.pk, ()):
        raise Refused("This query's rankings leave this passage out, so that it cannot be gold.")


def _check_settled(
    query: Query, passage: Passage, label: int, aspect: Aspect | None = None
) -> None:
    """What a third person settled is not turned round by those it was settled between."""
    standing = Adjudication.objects.standing().filter(query=query, passage=passage)
    of_aspect = standing.filter(support__aspect=aspect, label=0) if aspect else standing.none()
    if standing.filter(support=None).exclude(label=label).exists() or of_aspect.exists():
        raise Refused(SETTLED)


def standing_gold(query: Query, passage: Passage) -> GoldPassage | None:
    """The assignment that stands on the pair, if any."""
    return GoldPassage.objects.standing().filter(query=query, passage=passage).first()


def standing_verdict(query: Query, passage: Passage) -> Judgment | None:
    """The experts' label that stands on the pair, if any."""
    labels = Judgment.objects.standing().filter(source=Source.EXPERT)
    return labels.filter(query=query, passage=passage).first()


def _end(gold: GoldPassage | None, *, by: Judgment | None, actor: User) -> None:
    if gold is not None:
        rows = GoldPassage.objects.standing().filter(pk=gold.pk)
        rows.update(ended_at=timezone.now(), ended_by=by)
        label = experts_support(gold.aspect, gold.passage)
        if label is not None and label.provenance.get("rule") == ASSIGNED:
            take_support_back(label=label, actor=actor)


def _support_by(gold: GoldPassage, actor: User) -> None:
    """An assignment says that the passage supports the aspect: where that was asked of machines or
    voters it is the expert's label of it, and nobody votes on it any more."""
    asked = (SupportLabel.objects, EscalationCase.objects)
    about = {"aspect": gold.aspect_id, "passage": gold.passage_id}
    if any(rows.filter(**about).exists() for rows in asked):
        label = record_support(
            aspect=gold.aspect,
            passage=gold.passage,
            label=1,
            source=Source.EXPERT,
            provenance=named(ASSIGNED),
            actor=actor,
        )
        close_by_verdict(verdict=label, actor=actor)


def _pair(query: Query, passage: Passage) -> dict[str, Any]:
    return {"query": query.pk, "passage": passage.pk}
