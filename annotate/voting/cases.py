"""Bringing pairs before people, and what an expert's verdict on such a pair does to its case.

What the votes on a case come to: closing it, another voter, or an expert.

Events of votes, cases and batches.

Pairs that people still judge: what else was said of them is shown once they are decided."""

from collections.abc import Collection, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import models, transaction
from django.db.models import Exists, Max, OuterRef, ProtectedError, Q
from django.utils import timezone

from annotate.models import CaseStatus, EscalationCase, Vote, VoteSlot
from annotate.voting.majority import CAP, QUOTA, RULE, Decision, decide, named
from corpus.models import Judgment, Passage, Query, Source
from corpus.services.judgments import hold_queries, record_judgment
from kit import audit
from kit.errors import Refused


def note(
    verb: str, target: models.Model, actor: User | None, about: EscalationCase, **data: Any
) -> None:
    """Record an event in a scope of its own: a benchmark's events are read by voters too."""
    scope = f"{about.query.domain.benchmark.slug}#votes"
    audit.record(actor=actor, verb=verb, target=target, scope=scope, data=data)


def settle(
    case: EscalationCase, *, votes: Sequence[Vote] | None = None, places: int | None = None
) -> None:
    """Close an open case, draw another voter, or send it to an expert, as its votes say.

    `votes` (the standing ones, oldest first) and the number of `places` are read where the caller
    does not know them. For a caller that holds the query, in the transaction that changed them.
    """
    if votes is None:
        votes = list(Vote.objects.standing().filter(case=case).order_by("pk"))
    decision = decide([each.label for each in votes])
    if decision.state == "open":
        if len(votes) >= QUOTA:
            _draw_another(case, len(votes), places)
        return
    judgment = _record(case, decision, [each.pk for each in votes])
    status = CaseStatus.CLOSED if decision.state == "closed" else CaseStatus.EXPERT
    EscalationCase.objects.open().filter(pk=case.pk).update(
        status=status, label=decision.label, judgment=judgment, closed_at=timezone.now()
    )
    note("close case", case, None, case, state=decision.state, label=decision.label)


def take_back_spare_places(case: EscalationCase) -> None:
    """Remove places beyond the quota that no vote asks for any more and nobody holds."""
    filled = VoteSlot.objects.filter(case=case).exclude(vote=None).count()
    if filled < QUOTA:
        free = VoteSlot.objects.free(timezone.now()).filter(case=case, place__gt=QUOTA)
        free.delete()


def _draw_another(case: EscalationCase, votes: int, places: int | None) -> None:
    if places is None:
        places = VoteSlot.objects.filter(case=case).count()
    if votes < places or places >= CAP:
        return
    highest = VoteSlot.objects.filter(case=case).aggregate(highest=Max("place"))["highest"] or 0
    case.new_slot(highest + 1).save()


def _record(case: EscalationCase, decision: Decision, vote_ids: list[int]) -> Judgment | None:
    if decision.label is None:
        return None
    return record_judgment(
        query=case.query,
        passage=case.passage,
        label=decision.label,
        source=Source.HUMAN,
        provenance={
            **named(RULE),
            "case": case.pk,
            "votes": vote_ids,
            "origin": case.origin,
        },
        held=True,
    )


def open_case(
    *, origin: str, kind: str, query: Query, passage: Passage, snapshot: dict[str, Any]
) -> EscalationCase:
    """Open a case, or give the one that an earlier debate of the pair opened.

    Nobody is asked twice about the same pair: a debate that is held again finds the case of the
    first, open or closed, unchanged. A pair that an expert has decided is not voted on: its case
    is closed from the start. `snapshot` (annotate/voting/snapshot.py says its shape) is frozen
    here: voters see it and nothing else of the debate.
    """
    with transaction.atomic():
        hold_queries([query.pk])
        earlier = EscalationCase.objects.of_voters().filter(query=query, passage=passage).first()
        if earlier is not None:
            return earlier
        case = EscalationCase.objects.create(
            origin=origin, kind=kind, query=query, passage=passage, snapshot=snapshot
        )
        scope = query.domain.benchmark.slug
        data = {"origin": origin, "kind": kind}
        audit.record(actor=None, verb="open case", target=case, scope=scope, data=data)
        labels = Judgment.objects.standing().filter(source=Source.EXPERT)
        verdict = labels.filter(query=query, passage=passage).first()
        if verdict is not None:
            close_by_verdict(judgment=verdict, actor=None)
            case.refresh_from_db(fields=["status", "label", "judgment", "closed_at"])
    return case


def close_by_verdict(*, judgment: Judgment, actor: User | None) -> None:
    """Close the pair's case with an expert's label; its votes stay.

    So an expert's verdict, which everybody sees, never stands on a pair that people still vote
    on. A case that an earlier verdict closed follows the new one; one that votes closed stays as
    it is. For a caller that holds the query.
    """
    undecided = ~Q(status=CaseStatus.CLOSED) | Q(judgment__source=Source.EXPERT)
    case = _case(judgment.query, judgment.passage, undecided)
    if case is not None:
        EscalationCase.objects.filter(pk=case.pk).update(
            status=CaseStatus.CLOSED,
            label=judgment.label,
            judgment=judgment,
            closed_at=timezone.now(),
        )
        _note(case, "close case", actor, state="verdict", label=judgment.label)


def reopen_case(*, query: Query, passage: Passage, actor: User) -> None:
    """Give the case that a verdict closed back to the voters, or to an expert, as its votes say.

    For a caller that holds the query and has just taken the verdict back.
    """
    closed = Q(status=CaseStatus.CLOSED, judgment__source=Source.EXPERT)
    case = _case(query, passage, closed)
    if case is not None:
        EscalationCase.objects.filter(pk=case.pk).update(
            status=CaseStatus.OPEN, label=None, judgment=None, closed_at=None
        )
        _note(case, "reopen case", actor)
        settle(case)


def withdraw_cases(*, keys: Collection[int], actor: User | None) -> int:
    """Take cases back that nobody has voted on: all of them, or none; how many.

    A later debate of such a pair may open one again. Raises Refused where somebody has voted, or
    has one among the cases of a batch. For a caller in a transaction who let go of them.
    """
    with transaction.atomic():
        found = EscalationCase.objects.filter(pk__in=keys).select_related(
            "query__domain__benchmark"
        )
        cases = list(found)
        hold_queries(case.query_id for case in cases)
        voted = Vote.objects.filter(case__in=cases).values("case").distinct().count()
        if voted:
            raise Refused(f"People have voted on {voted} of these cases since.")
        for case in cases:
            _note(case, "withdraw case", actor, origin=case.origin, kind=case.kind)
        try:
            EscalationCase.objects.filter(pk__in=[case.pk for case in cases]).delete()
        except ProtectedError:
            raise Refused("Some of these cases are before somebody at this moment.") from None
    return len(cases)


def _case(query: Query, passage: Passage, state: Q) -> EscalationCase | None:
    # A panel's item keeps what the panel made of it.
    cases = EscalationCase.objects.of_voters().filter(state, query=query, passage=passage)
    return cases.first()


def _note(case: EscalationCase, verb: str, actor: User | None, **data: Any) -> None:
    # The scope of votes: lists of a benchmark's events are read by people who also vote.
    scope = f"{case.query.domain.benchmark.slug}#votes"
    audit.record(actor=actor, verb=verb, target=case, scope=scope, data=data)


def is_undecided() -> Exists:
    """Condition on an outer queryset of labels: their pair has a case that is not closed."""
    of_pair = EscalationCase.objects.filter(
        query=OuterRef("query_id"), passage=OuterRef("passage_id")
    )
    return Exists(of_pair.exclude(status=CaseStatus.CLOSED))
