"""Cases: open and withdraw them, and close them as votes and experts' verdicts say."""

from collections.abc import Collection, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import models, transaction
from django.db.models import Exists, Max, OuterRef, ProtectedError, Q
from django.utils import timezone

from annotate.models import Aspect, CaseStatus, EscalationCase, SupportLabel, Vote, VoteSlot
from annotate.support.services import experts_support, record_support, withdraw_support
from annotate.voting.majority import CAP, QUOTA, RULE, decide, named
from corpus.judgments.services import lock_queries, record_judgment
from corpus.models import Judgment, Passage, Query, Source
from kit import audit
from kit.errors import Refused


def note(
    verb: str, target: models.Model, actor: User | None, about: EscalationCase, **data: Any
) -> None:
    """Record an event in a scope of its own: a benchmark's events are read by voters too."""
    scope = f"{about.query.domain.benchmark.slug}#votes"
    audit.record(actor=actor, verb=verb, target=target, scope=scope, data=data)


def is_undecided() -> Exists:
    """Condition on an outer queryset of labels: their pair has a case that is not closed."""
    of_pair = EscalationCase.objects.about_pairs().filter(
        query=OuterRef("query_id"), passage=OuterRef("passage_id")
    )
    return Exists(of_pair.exclude(status=CaseStatus.CLOSED))


def open_case(
    *,
    origin: str,
    kind: str,
    query: Query,
    passage: Passage,
    snapshot: dict[str, Any],
    aspect: Aspect | None = None,
) -> EscalationCase:
    """Open a case, or return the one that an earlier debate of the pair opened.

    Nobody is asked twice about the same pair: a second debate of it finds the first case, open or
    closed, unchanged. A pair that an expert has decided is not voted on: its case is closed from
    the start. `snapshot` (annotate/voting/snapshot.py describes it) is frozen here: voters see it
    and nothing else of the debate. With an `aspect` it is asked whether the passage supports that.
    """
    with transaction.atomic():
        lock_queries([query.pk])
        earlier = EscalationCase.objects.about(query, passage, aspect).first()
        if earlier is not None:
            return earlier
        case = EscalationCase.objects.create(
            origin=origin,
            kind=kind,
            query=query,
            passage=passage,
            aspect=aspect,
            snapshot=snapshot,
        )
        scope = query.domain.benchmark.slug
        data = {"origin": origin, "kind": kind}
        audit.record(actor=None, verb="open case", target=case, scope=scope, data=data)
        verdict: Judgment | SupportLabel | None
        if aspect is not None:
            verdict = experts_support(aspect, passage)
        else:
            labels = Judgment.objects.standing().filter(source=Source.EXPERT)
            verdict = labels.filter(query=query, passage=passage).first()
        if verdict is not None:
            close_by_verdict(verdict=verdict, actor=None)
            fields = ["status", "label", "judgment", "support", "closed_at"]
            case.refresh_from_db(fields=fields)
    return case


def withdraw_cases(*, keys: Collection[int], actor: User | None) -> int:
    """Delete cases that nobody has voted on: all of them, or none; how many.

    A later debate of such a pair may open one again. Raises Refused where somebody has voted, or
    has one among the cases of a batch. For a caller in a transaction who let go of them.
    """
    with transaction.atomic():
        rows = EscalationCase.objects.filter(pk__in=keys)
        cases = list(rows.select_related("query__domain__benchmark"))
        lock_queries(case.query_id for case in cases)
        voted = Vote.objects.filter(case__in=cases).values("case").distinct().count()
        if voted:
            raise Refused(f"People have voted on {voted} of these cases since.")
        for case in cases:
            note("withdraw case", case, actor, case, origin=case.origin, kind=case.kind)
        try:
            rows.filter(pk__in=[case.pk for case in cases]).delete()
        except ProtectedError:
            raise Refused("Some of these cases are before somebody at this moment.") from None
    return len(cases)


def settle(
    case: EscalationCase,
    *,
    votes: Sequence[Vote] | None = None,
    slots: int | None = None,
    practice: bool = False,
) -> None:
    """Close an open case, add a vote slot, or send the case to an expert, as its votes say.

    `votes` (the standing ones, oldest first) and the number of `slots` are read where the caller
    does not know them. `practice` marks the label (`cast_vote`). For a caller that holds the
    query, in the transaction that changed them.
    """
    if votes is None:
        votes = list(Vote.objects.standing().filter(case=case).order_by("pk"))
    decision = decide([each.label for each in votes])
    if decision.state == "open":
        if len(votes) >= QUOTA:
            _add_slot(case, len(votes), slots)
        return
    about: dict[str, Any] = {}
    if decision.label is not None:
        keys = [each.pk for each in votes]
        given: dict[str, Any] = {
            "passage": case.passage,
            "label": decision.label,
            "source": Source.HUMAN,
            "practice": practice,
            "provenance": {**named(RULE), "case": case.pk, "votes": keys, "origin": case.origin},
        }
        if case.aspect is not None:
            version = case.asked_version
            about["support"] = record_support(aspect=case.aspect, aspect_version=version, **given)
        else:
            about["judgment"] = record_judgment(query=case.query, held=True, **given)
    status = CaseStatus.CLOSED if decision.state == "closed" else CaseStatus.EXPERT
    EscalationCase.objects.open().filter(pk=case.pk).update(
        status=status, label=decision.label, closed_at=timezone.now(), **about
    )
    note("close case", case, None, case, state=decision.state, label=decision.label)


def _add_slot(case: EscalationCase, votes: int, slots: int | None) -> None:
    of_case = VoteSlot.objects.filter(case=case)
    if slots is None:
        slots = of_case.count()
    if votes >= slots and slots < CAP:
        highest = of_case.aggregate(highest=Max("place"))["highest"] or 0
        case.new_slot(highest + 1).save()


def remove_spare_slots(case: EscalationCase) -> None:
    """Remove vote slots beyond the quota that no vote asks for any more and nobody has."""
    if VoteSlot.objects.filter(case=case).exclude(vote=None).count() < QUOTA:
        VoteSlot.objects.free(timezone.now()).filter(case=case, place__gt=QUOTA).delete()


def close_by_verdict(*, verdict: Judgment | SupportLabel, actor: User | None) -> None:
    """Close the case about that with an expert's label of a pair, or of support; its votes stay.

    So an expert's verdict, which everybody sees, never applies to a pair that people still vote
    on. A case that an earlier verdict closed follows the new one; one that votes closed stays as
    it is, and so does a panel's. For a caller that holds the query.
    """
    undecided = ~Q(status=CaseStatus.CLOSED) | _BY_EXPERT
    aspect = verdict.aspect if isinstance(verdict, SupportLabel) else None
    query = aspect.query if aspect else verdict.query  # type: ignore[union-attr]
    cases = EscalationCase.objects.about(query, verdict.passage, aspect)
    case = cases.filter(undecided).first()
    if case is not None:
        EscalationCase.objects.filter(pk=case.pk).update(
            status=CaseStatus.CLOSED,
            label=verdict.label,
            closed_at=timezone.now(),
            **{"support" if aspect else "judgment": verdict},
        )
        note("close case", case, actor, case, state="verdict", label=verdict.label)


_BY_EXPERT = Q(judgment__source=Source.EXPERT) | Q(support__source=Source.EXPERT)


def reopen_case(
    *, query: Query, passage: Passage, actor: User, aspect: Aspect | None = None
) -> None:
    """Give the case that a verdict closed back to the voters, or to an expert, as its votes say.

    For a caller that holds the query and has just undone the verdict.
    """
    closed = EscalationCase.objects.about(query, passage, aspect)
    case = closed.filter(_BY_EXPERT, status=CaseStatus.CLOSED).first()
    if case is not None:
        EscalationCase.objects.filter(pk=case.pk).update(
            status=CaseStatus.OPEN, label=None, judgment=None, support=None, closed_at=None
        )
        note("reopen case", case, actor, case)
        settle(case)


def take_support_back(*, label: SupportLabel, actor: User) -> None:
    """Withdraw an expert's label of support: what it displaced stands again, and its case follows.

    That is closed as the expert's label before says, or open again where there is none. For a
    caller that holds the query.
    """
    withdraw_support(label=label, actor=actor)
    aspect, passage = label.aspect, label.passage
    earlier = experts_support(aspect, passage)
    if earlier is not None:
        close_by_verdict(verdict=earlier, actor=actor)
    else:
        reopen_case(query=aspect.query, passage=passage, aspect=aspect, actor=actor)
