"""A third person settles what others left open: a label of a pair, or the weight of an aspect.

(docs/protocol.md 2.4 and 3.1 steps 6 and 7.) A decision on a pair is an expert's label with the
rule "adjudicated", and closes its case; those it was settled between cannot turn it round.
"""

from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from annotate.adjudication.conflicts import conflicting_verdicts, conflicting_weights
from annotate.adjudication.items import read_item
from annotate.adjudication.queue import OpenItem
from annotate.adjudication.third_persons import parts_in_pair, parts_in_weight, require_third
from annotate.models import (
    Adjudication,
    Aspect,
    CaseKind,
    CaseStatus,
    EscalationCase,
    GoldPassage,
    OpenKind,
    Review,
    Vote,
)
from annotate.review.services import step_in
from annotate.support.services import experts_support, record_support
from annotate.voting.cases import close_by_verdict, take_support_back
from annotate.voting.majority import ADJUDICATED, named
from annotate.workspace.aspects import write_weight
from annotate.workspace.gold import (
    record_verdict,
    standing_gold,
    standing_verdict,
    take_verdict_back,
)
from annotate.workspace.models import SCALE_TOP
from corpus.access import Access
from corpus.judgments.services import first_row, lock_queries
from corpus.models import Passage, Query, Source
from kit import audit
from kit.errors import Refused

GONE = "This was settled meanwhile. Nothing is left to do here."


def settle(
    item: OpenItem,
    *,
    access: Access,
    label: int | None = None,
    weight: int | None = None,
    reason: str = "",
) -> Adjudication | Review:
    """Settle any open item: a pair by its `label`, an aspect by its `weight`; of a review, step in.

    Raises Refused where what it needs was not given, and what the verb of its kind raises.
    """
    shown = read_item(item)
    given: dict[str, Any] = {"access": access, "reason": reason}
    if "review" in shown:
        step_in(review=shown["review"], access=access)
        return shown["review"]
    if "aspect" in shown:
        if weight is None:
            raise Refused("Choose a weight.", field="weight")
        return settle_weight(aspect=shown["aspect"], weight=weight, **given)
    if label is None:
        raise Refused("Choose relevant or not relevant.", field="label")
    if "case" in shown:
        return settle_case(case=shown["case"], label=label, **given)
    return settle_verdicts(query=shown["query"], passage=shown["passage"], label=label, **given)


def settle_case(*, case: EscalationCase, access: Access, label: int, reason: str) -> Adjudication:
    """Decide a case that found no majority, or that an unreadable answer brought before people.

    Raises PermissionDenied for who had a part in it, and Refused without a reason and for a case
    that is decided.
    """
    _check(label, reason)
    with transaction.atomic():
        lock_queries([case.query_id])
        current = EscalationCase.objects.select_related("query__domain__benchmark", "passage")
        found = current.get(pk=case.pk)
        kind = kind_of(found)
        if kind is None:
            raise Refused(GONE)
        require_third(access, found.query, parts_in_pair(found.query_id, found.passage_id))
        votes = list(Vote.objects.standing().filter(case=found).values_list("pk", flat=True))
        about = {"case": found.pk, "origin": found.origin, "votes": votes}
        if found.aspect is not None:
            return _settle_support(found, found.aspect, access.user, label, reason, about, kind)
        return _settle_pair(
            found.query, found.passage, access.user, label, reason, about, kind=kind, case=found
        )


def settle_verdicts(
    *, query: Query, passage: Passage, access: Access, label: int, reason: str
) -> Adjudication:
    """Decide a pair on which the verdicts of two experts differ; raises as `settle_case`."""
    _check(label, reason)
    with transaction.atomic():
        lock_queries([query.pk])
        require_third(access, query, parts_in_pair(query.pk, passage.pk))
        if (query.pk, passage.pk) not in conflicting_verdicts(access.benchmark, query=query):
            raise Refused(GONE)
        return _settle_pair(query, passage, access.user, label, reason, {}, kind=OpenKind.VERDICTS)


def settle_weight(*, aspect: Aspect, access: Access, weight: int, reason: str) -> Adjudication:
    """Decide the weight of an aspect that blind scorers see quite otherwise; for admins.

    Raises PermissionDenied for everybody else and for who had a part in it, Refused as
    `settle_case`, and Conflict where the aspect was saved at the same moment.
    """
    if not access.is_admin:
        raise PermissionDenied("Weights are settled by admins: reviewers may still score them.")
    _check_reason(reason)
    with transaction.atomic():
        lock_queries([aspect.query_id])
        found = Aspect.objects.select_related("query__domain__benchmark").get(pk=aspect.pk)
        weights = conflicting_weights(found.query.domain.benchmark)
        if not weights.filter(pk=found.pk).exists():
            raise Refused(GONE)
        require_third(access, found.query, parts_in_weight(found))
        top = SCALE_TOP[found.scale]
        if not 1 <= weight <= top:
            raise Refused(f"Choose a weight from 1 to {top}.", field="weight")
        before = found.weight
        write_weight(found, access.user, weight)
        about = {"aspect": found, "weight": weight, "before": before}
        return _decide(found.query, access.user, reason, OpenKind.WEIGHTS, about)


def undo_decision(*, decision: Adjudication, access: Access) -> None:
    """Undo one's own decision, or any for admins: what applied before applies again.

    Raises Refused where it was undone already and where others went on from it.
    """
    if decision.adjudicator_id != access.user.pk and not access.is_admin:
        raise PermissionDenied("Who decided, or an admin, takes a decision back.")
    with transaction.atomic():
        lock_queries([decision.query_id])
        rows = Adjudication.objects.standing().filter(pk=decision.pk)
        if not rows.update(undone_at=timezone.now(), undone_by=access.user):
            raise Refused("This decision was taken back already.")
        if decision.aspect is not None:
            _undo_weight(decision, access.user)
        else:
            _undo_label(decision, access.user)
        _note(decision, access.user, "undo settling", reason=decision.reason)


def kind_of(case: EscalationCase) -> OpenKind | None:
    """As what the case waits for a third person; None where it does not."""
    if case.status == CaseStatus.EXPERT:
        return OpenKind.MAJORITY
    is_open = case.status == CaseStatus.OPEN and case.kind == CaseKind.UNREADABLE
    return OpenKind.UNREADABLE if is_open else None


def _settle_pair(
    query: Query,
    passage: Passage,
    actor: User,
    label: int,
    reason: str,
    about: dict[str, Any],
    *,
    kind: OpenKind,
    case: EscalationCase | None = None,
) -> Adjudication:
    gold = _gold_to_keep(query, passage) if label else None
    provenance = named(ADJUDICATED) | {"kind": kind.value, "reason": reason.strip(), **about}
    judgment = record_verdict(query, passage, label, provenance, actor)
    if gold is not None:
        # Still who assigned it: the third person says that it is gold, not of which aspect.
        GoldPassage.objects.create(
            aspect_id=gold.aspect_id,
            query=query,
            passage=passage,
            judgment=judgment,
            created_by_id=gold.created_by_id,
        )
    what = {"label": label, "judgment": judgment, "passage": passage}
    return _decide(query, actor, reason, kind, what, case)


def _settle_support(
    case: EscalationCase,
    aspect: Aspect,
    actor: User,
    label: int,
    reason: str,
    about: dict[str, Any],
    kind: OpenKind,
) -> Adjudication:
    """The same of a case about an aspect: no gold is assigned, and the pair has no label of it."""
    support = record_support(
        aspect=aspect,
        passage=case.passage,
        label=label,
        source=Source.EXPERT,
        provenance=named(ADJUDICATED) | {"kind": kind.value, "reason": reason.strip(), **about},
        actor=actor,
        aspect_version=case.asked_version,
    )
    close_by_verdict(verdict=support, actor=actor)
    what = {"label": label, "support": support, "passage": case.passage}
    return _decide(case.query, actor, reason, kind, what, case)


def _decide(
    query: Query,
    actor: User,
    reason: str,
    kind: OpenKind,
    what: dict[str, Any],
    case: EscalationCase | None = None,
) -> Adjudication:
    """Keep the decision and its event, which says `what` was decided."""
    made = Adjudication.objects.create(
        kind=kind, query=query, case=case, reason=reason.strip(), adjudicator=actor, **what
    )
    _note(made, actor, "settle", **{name: getattr(of, "pk", of) for name, of in what.items()})
    return made


def _gold_to_keep(query: Query, passage: Passage) -> GoldPassage | None:
    """The current assignment, or the one that the current verdict ended."""
    standing = standing_gold(query, passage)
    verdict = standing_verdict(query, passage)
    if standing is not None or verdict is None:
        return standing
    return GoldPassage.objects.filter(ended_by=first_row(verdict)).order_by("pk").last()


def _undo_label(decision: Adjudication, actor: User) -> None:
    assert decision.passage is not None  # a constraint says so
    if decision.support is not None:
        stands = experts_support(decision.support.aspect, decision.passage)
        if stands is None or first_row(stands) != decision.support.pk:  # type: ignore[arg-type]
            raise Refused("Somebody said otherwise of this aspect since. Take that back first.")
        take_support_back(label=stands, actor=actor)
        return
    assert decision.judgment is not None
    verdict = standing_verdict(decision.query, decision.passage)
    if verdict is None or first_row(verdict) != decision.judgment.pk:
        raise Refused("Somebody gave another verdict on this pair since. Take that back first.")
    take_verdict_back(query=decision.query, passage=decision.passage, actor=actor)


def _undo_weight(decision: Adjudication, actor: User) -> None:
    rows = Aspect.objects.select_related("query__domain__benchmark")
    aspect = rows.get(pk=decision.aspect_id or 0)
    if aspect.weight != decision.weight:
        raise Refused("The weight was changed since, and stays as it is.")
    write_weight(aspect, actor, int(decision.before or 0))


def _check(label: int, reason: str) -> None:
    if label not in (0, 1):
        raise Refused("Choose relevant or not relevant.", field="label")
    _check_reason(reason)


def _check_reason(reason: str) -> None:
    if not reason.strip():
        raise Refused("Say why you decide so.", field="reason")


def _note(decision: Adjudication, actor: User, verb: str, **data: Any) -> None:
    # In a scope of its own: a benchmark's events are read by those it was settled between.
    scope = f"{decision.query.domain.benchmark.slug}#votes"
    kept = {"query": decision.query_id, "kind": decision.kind, **data}
    audit.record(actor=actor, verb=verb, target=decision, scope=scope, data=kept)
