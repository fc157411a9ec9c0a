"""Votes on cases. A vote's slot is taken by one conditional UPDATE of the case, so that no case
gets more votes than its rule asks for, however many people press at once."""

from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from annotate.models import CaseStatus, EscalationCase, Guideline, Vote, VoteStatus
from annotate.services.majority import CAP, RULE, Decision, decide
from annotate.services.rights import require_annotator
from corpus.models import Judgment, Source
from corpus.services.judgments import hold_queries, record_judgment
from kit import audit
from kit.errors import Refused

LABELS = (0, 1, None)
CLOSED = "This case was decided meanwhile. Nothing is left to do here."


def cast_vote(
    *,
    case: EscalationCase,
    voter: User,
    label: int | None,
    reason: str = "",
    elapsed_ms: int | None = None,
) -> Vote:
    """Give one vote; label None says that the pair cannot be judged, and needs a reason.

    The vote that decides the case closes it and records the people's label. Raises Refused for a
    second vote, a case that is over, or an abstention without a reason, and PermissionDenied
    for everybody but annotators of the query's domain.
    """
    require_annotator(case.query, voter)
    if label not in LABELS:
        raise Refused("Choose relevant, not relevant or cannot be judged.", field="label")
    if label is None and not reason.strip():
        raise Refused("Say in a few words why it cannot be judged.", field="reason")
    with transaction.atomic():
        # Before the case, as everywhere: this vote may be the one that writes a label.
        hold_queries([case.query_id])
        _take_slot(case, voter)
        vote = _store(case, voter, label, reason.strip(), elapsed_ms)
        _note("vote", vote, voter, {"case": case.pk, "label": label})
        settle(case)
    return vote


def withdraw_vote(*, vote: Vote, actor: User) -> None:
    """Take one's own vote back; only while the case is open, else Refused."""
    if vote.voter_id != actor.pk:
        raise Refused("Only your own vote can be taken back.")
    with transaction.atomic():
        rows = EscalationCase.objects.open().filter(pk=vote.case_id)
        if not rows.update(votes_in=F("votes_in") - 1):
            raise Refused("This case was decided meanwhile; its votes stay as they are.")
        standing = Vote.objects.standing().filter(pk=vote.pk)
        if not standing.update(status=VoteStatus.WITHDRAWN):
            raise Refused("This vote was taken back already.")
        _note("withdraw vote", vote, actor, {"case": vote.case_id})


def settle(case: EscalationCase) -> None:
    """Close an open case, or send it to an expert, if its standing votes say so.

    For a caller that holds the query, in the transaction that changed the votes or the case.
    """
    votes = list(Vote.objects.standing().filter(case=case).values_list("pk", "label"))
    decision = decide([label for _, label in votes])
    if decision.state == "open":
        return
    judgment = _record(case, decision, [pk for pk, _ in votes])
    status = CaseStatus.CLOSED if decision.state == "closed" else CaseStatus.EXPERT
    EscalationCase.objects.open().filter(pk=case.pk).update(
        status=status, label=decision.label, judgment=judgment, closed_at=timezone.now()
    )
    _note("close case", case, None, {"state": decision.state, "label": decision.label})


def _take_slot(case: EscalationCase, voter: User) -> None:
    # The UPDATE comes first: its row lock makes the voters of one case take turns, and what is
    # read after it is the truth until this transaction ends. An open case always needs a vote,
    # because the vote that decides it closes it in the same transaction.
    rows = EscalationCase.objects.open().filter(pk=case.pk, votes_in__lt=CAP)
    taken = rows.update(votes_in=F("votes_in") + 1)
    if Vote.objects.standing().filter(case=case, voter=voter).exists():
        raise Refused("You have voted on this case already.")
    if not taken:
        raise Refused(CLOSED)


def _store(
    case: EscalationCase, voter: User, label: int | None, reason: str, elapsed_ms: int | None
) -> Vote:
    try:
        with transaction.atomic():
            return Vote.objects.create(
                case=case,
                voter=voter,
                label=label,
                reason=reason,
                elapsed_ms=elapsed_ms,
                guideline=Guideline.objects.current_version(case.query.domain.benchmark_id),
            )
    except IntegrityError:
        raise Refused("You have voted on this case already.") from None


def _record(case: EscalationCase, decision: Decision, vote_ids: list[int]) -> Judgment | None:
    if decision.label is None:
        return None
    return record_judgment(
        query=case.query,
        passage=case.passage,
        label=decision.label,
        source=Source.HUMAN,
        provenance={"rule": RULE, "case": case.pk, "votes": vote_ids, "origin": case.origin},
        held=True,
    )


def _note(
    verb: str, target: Vote | EscalationCase, actor: User | None, data: dict[str, Any]
) -> None:
    case = target.case if isinstance(target, Vote) else target
    # A scope of its own: lists of a benchmark's events are read by people who also vote.
    scope = f"{case.query.domain.benchmark.slug}#votes"
    audit.record(actor=actor, verb=verb, target=target, scope=scope, data=data)
