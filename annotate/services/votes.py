"""Votes on cases. A vote fills a place of its case (services/slots.py): however many people press
at once, no case gets more votes than it has places, and nobody fills two of them."""

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, F, OuterRef, QuerySet, Subquery

from annotate.models import (
    Batch,
    CaseKind,
    EscalationCase,
    GoldPassage,
    Guideline,
    Reveal,
    Vote,
    VoteSlot,
    VoteStatus,
    VotingPlan,
)
from annotate.services.answers import Answer, check_answer, check_change
from annotate.services.deciding import settle, take_back_spare_places
from annotate.services.eligibility import judged_in_batch_of
from annotate.services.panel_settling import settle_reference
from annotate.services.qualification import qualified_for
from annotate.services.rights import require_annotator
from annotate.services.slots import take
from annotate.services.vote_events import note
from corpus.access import Access
from corpus.services.judgments import hold_queries
from kit.errors import Refused
from kit.prepared import Prepared, preparing

CLOSED = "This case was decided meanwhile. Nothing is left to do here."
FULL = "Enough people are judging this case just now. Take the next one."
OWN = "You brought this passage in yourself, so others judge it."
BATCHED = "You judged this case in a batch before."


class AlreadyVoted(Refused):
    """The person has voted on the case, in another tab or before; carries that vote."""

    def __init__(self, vote: Vote) -> None:
        super().__init__("You have voted on this case already.")
        self.vote = vote


def cast_vote(
    *,
    case: EscalationCase,
    voter: User,
    label: int | None,
    reason: str = "",
    elapsed_ms: int | None = None,
    span: tuple[int, int] | None = None,
    access: Access | None = None,
    plan: VotingPlan | None = None,
    replaces: int | None = None,
) -> Vote:
    """Give one vote; label None says that the pair cannot be judged, and needs a reason.

    It fills the place that the person holds, or a free one. The vote that decides the case closes
    it and records the people's label. `replaces` names the person's own vote that this one
    corrects while the case is open; without it a second vote is AlreadyVoted. Raises Refused for
    a case that is over or full, one's own passage, a missing reason or span, and PermissionDenied
    for everybody but annotators of the query's domain. `access` and `plan`, where the caller has
    them, spare their queries.
    """
    benchmark = case.query.domain.benchmark
    if access is None:
        require_annotator(case.query, voter)
    elif not _is_theirs(access, voter, case):
        raise PermissionDenied("Only annotators of this domain may change this.")
    plan = plan or VotingPlan.objects.current(benchmark)
    if plan.has_batches:
        raise Refused("Here people vote in batches. Take one first.")
    if plan.asks_exam:
        need_exam(case, voter)
    answer = Answer(label, reason.strip(), elapsed_ms, span)
    check_answer(answer, plan, case.passage.text)
    try:
        return _give(case, voter, plan, answer, replaces)
    except IntegrityError:
        # Another tab took a place of this case for them just now; now that is known.
        return _give(case, voter, plan, answer, replaces)


def _give(
    case: EscalationCase, voter: User, plan: VotingPlan, answer: Answer, replaces: int | None
) -> Vote:
    with transaction.atomic():
        # Before the case, as everywhere: this vote may be the one that writes a label.
        hold_queries([case.query_id])
        is_open = _count(case, 0 if replaces else 1)
        places = _places(case, voter)
        mine = next((each for each in places if each.voter_id == voter.pk), None)
        earlier = _earlier(mine, replaces)
        if not is_open:
            raise Refused(CLOSED)
        mine = mine or _take_free(places, voter, plan, case)
        check_change(mine, answer)
        if earlier is not None:
            _step_down(earlier)
        guideline: int | None = places[0].guideline_now  # type: ignore[attr-defined]
        vote = fill(mine, mine, answer, guideline or 0, None)
        if earlier is not None:
            Vote.objects.filter(pk=earlier.pk).update(superseded_by=vote)
        data = {"instead_of": earlier.pk} if earlier is not None else {}
        note("vote", vote, voter, case, case=case.pk, label=answer.label, **data)
        if case.kind == CaseKind.REFERENCE:
            settle_reference(case)
            return vote
        votes = [each.vote for each in places if each.vote and each.pk != mine.pk]
        settle(case, votes=sorted([*votes, vote], key=lambda each: each.pk), places=len(places))
    return vote


def withdraw_vote(*, vote: Vote, actor: User) -> None:
    """Take one's own vote back; only while the case is open and in no batch, else Refused."""
    if vote.voter_id != actor.pk:
        raise Refused("Only your own vote can be taken back.")
    if vote.batch_id is not None:
        raise Refused("This vote was handed in with its batch; it stays as it is.")
    with transaction.atomic():
        rows = EscalationCase.objects.open().filter(pk=vote.case_id)
        if not rows.update(votes_in=F("votes_in") - 1):
            raise Refused("This case was decided meanwhile; its votes stay as they are.")
        VoteSlot.objects.filter(vote=vote).give_back()
        standing = Vote.objects.standing().filter(pk=vote.pk)
        if not standing.update(status=VoteStatus.WITHDRAWN):
            raise Refused("This vote was taken back already.")
        take_back_spare_places(vote.case)
        note("withdraw vote", vote, actor, vote.case, case=vote.case_id)


def fill(slot: VoteSlot, item: Any, answer: Answer, guideline: int, batch: Batch | None) -> Vote:
    """Store the vote of a place that its voter holds; `item` says what was said and seen before.

    Raises Refused where the place is not theirs any more. For a caller that holds the case.
    """
    is_after = item.arm == Reveal.AFTER
    start, end = answer.span or (None, None)
    vote = Vote(
        case_id=slot.case_id,
        voter_id=slot.voter_id or 0,
        label=answer.label,
        reason=answer.reason,
        elapsed_ms=answer.elapsed_ms,
        arm=item.arm,
        saw_positions=item.arm == Reveal.START or (is_after and item.is_committed),
        # Who sends a vote at once has judged from the passage alone.
        first_label=(item.first_label if item.is_committed else answer.label) if is_after else None,
        first_ms=item.first_ms if item.is_committed else None,
        span_start=start,
        span_end=end,
        batch=batch,
        guideline=guideline,
    )
    with preparing(connection):
        vote.save()
        mine = VoteSlot.objects.held_by(slot.voter_id or 0).filter(pk=slot.pk)
        if not mine.update(vote=vote, expires_at=None):
            raise Refused(FULL)
    return vote


def _is_theirs(access: Access, voter: User, case: EscalationCase) -> bool:
    """Whether this access is the voter's own, as an annotator of the case's domain."""
    return (
        access.user.pk == voter.pk
        and access.is_annotator
        and case.query.domain_id in access.domain_ids
    )


def _count(case: EscalationCase, more: int) -> bool:
    # The UPDATE comes first: its row lock makes the voters of one case take turns, and what is
    # read after it is the truth until this transaction ends.
    rows = EscalationCase.objects.open().filter(pk=case.pk)
    with preparing(connection):
        return bool(rows.update(votes_in=F("votes_in") + more))


def _places_of(case: int, query: int, passage: int, voter: int) -> QuerySet[VoteSlot]:
    newest = Guideline.objects.filter(benchmark=OuterRef("benchmark")).order_by("-version")
    own = GoldPassage.objects.filter(query=query, passage=passage, created_by=voter)
    places = VoteSlot.objects.filter(case=case).select_related("vote").order_by("place")
    return places.annotate(
        guideline_now=Subquery(newest.values("version")[:1]),
        is_own=Exists(own),
        is_over=judged_in_batch_of(voter, "case"),
    )


_PLACES = Prepared(_places_of)


def _places(case: EscalationCase, voter: User) -> Sequence[VoteSlot]:
    """Every place of the case with its vote; Refused for whom it is not."""
    places = _PLACES.rows(
        case=case.pk, query=case.query_id, passage=case.passage_id, voter=voter.pk
    )
    for each in places[:1]:
        if each.is_own:  # type: ignore[attr-defined]
            raise Refused(OWN)
        if each.is_over:  # type: ignore[attr-defined]
            raise Refused(BATCHED)
    return places


def _earlier(mine: VoteSlot | None, replaces: int | None) -> Vote | None:
    """The person's vote that may be replaced; AlreadyVoted where they do not know of it."""
    given = mine.vote if mine else None
    if given is not None and given.pk != replaces:
        raise AlreadyVoted(given)
    if replaces and given is None:
        raise Refused("That vote was taken back meanwhile. Judge this case again.")
    if given is not None and given.batch_id is not None:
        raise Refused("This vote was handed in with its batch; it stays as it is.")
    return given


def _take_free(
    places: Sequence[VoteSlot], voter: User, plan: VotingPlan, case: EscalationCase
) -> VoteSlot:
    for each in places:
        if each.vote_id is None:
            taken = take(each, voter.pk, plan, case)
            if taken is not None:
                return taken
    raise Refused(FULL)


def _step_down(earlier: Vote) -> None:
    standing = Vote.objects.standing().filter(pk=earlier.pk)
    if not standing.update(status=VoteStatus.SUPERSEDED):
        raise Refused("That vote was taken back meanwhile. Judge this case again.")
    VoteSlot.objects.filter(vote=earlier).update(vote=None)


def need_exam(case: EscalationCase, voter: User) -> None:
    """Refused where an exam of this domain is required that the person has not passed."""
    if not qualified_for(voter, case.query.domain):
        raise Refused("Before you vote in this domain, pass its exam under Qualification.")
