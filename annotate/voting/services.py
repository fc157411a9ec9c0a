"""Votes on cases: give one, withdraw one, and the first judgments before them.

A vote fills a slot of its case (slots.py): however many people vote at once, no case gets more
votes than it has slots, and nobody fills two of them. A first judgment, given from the passage
alone, is followed by the positions and the final vote. Where its voter never comes back it
becomes the vote (`abandoned`): nobody knows what they would have said after the positions. Where
it may not become a vote any more, its slot goes to others, and the judgment stays in its event.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, F, OuterRef, QuerySet, Subquery
from django.utils import timezone

from annotate.exams.qualification import qualified_for
from annotate.models import (
    Batch,
    CaseKind,
    CaseStatus,
    Condition,
    EscalationCase,
    GoldPassage,
    Guideline,
    Vote,
    VoteSlot,
    VoteStatus,
    VotingPlan,
)
from annotate.plans.services import begins_alone
from annotate.rights import require_annotator
from annotate.voting.cases import note, remove_spare_slots, settle
from annotate.voting.eligibility import judged_in_batch_of
from annotate.voting.models import VoteSlotQuerySet
from annotate.voting.slots import take
from corpus.access import Access
from corpus.judgments.services import lock_queries
from corpus.models import Benchmark, Membership
from kit.database.prepared import Prepared, preparing
from kit.errors import Refused

CLOSED = "This case was decided meanwhile. Nothing is left to do here."
FULL = "Enough people are judging this case just now. Take the next one."
OWN = "You brought this passage in yourself, so others judge it."
BATCHED = "You judged this case in a batch before."
WITHDRAWN = "That vote was taken back meanwhile. Judge this case again."
IN_BATCH = "This vote was submitted with its batch; it stays as it is."
_AT_ONCE = 50  # abandoned judgments


@dataclass(frozen=True)
class Answer:
    """What a person says of a pair; label None: it cannot be judged, which needs a reason.

    `span` holds the supporting words of the passage, code points [start, end).
    """

    label: int | None
    reason: str = ""
    elapsed_ms: int | None = None
    span: tuple[int, int] | None = None


def check_answer(answer: Answer, plan: VotingPlan, passage: str | None) -> None:
    """Refused, naming the field, where an answer lacks what it needs."""
    if answer.label not in (0, 1, None):
        raise Refused("Choose relevant, not relevant or cannot be judged.", field="label")
    if answer.label is None and not answer.reason.strip():
        raise Refused("Say in a few words why it cannot be judged.", field="reason")
    if answer.span is not None:
        start, end = answer.span
        if not 0 <= start < end <= len(passage or ""):
            raise Refused("The marked words are not in the passage. Mark them again.", field="span")
    elif plan.needs_span and answer.label == 1 and passage:
        raise Refused("Mark the words of the passage that support it.", field="span")


def check_change(item: Any, answer: Answer) -> None:
    """Refused where a person changes their first judgment (of a slot or item) without a reason."""
    is_changed = item.is_committed and answer.label != item.first_label
    if is_changed and not answer.reason.strip():
        raise Refused("Say in a few words what changed your mind.", field="reason")


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
    made_up: bool = False,
) -> Vote:
    """Give one vote; label None says that the pair cannot be judged, and needs a reason.

    It fills the person's slot, or a free one. The vote that decides the case closes
    it and records the people's label. `replaces` names the person's own vote that this one
    corrects while the case is open; without it a second vote is AlreadyVoted. Raises Refused for
    a case that is over or full, one's own passage, a missing reason or span, and PermissionDenied
    for everybody but annotators of the query's domain, and for admins where the pair is audited.
    `access` and `plan`, where the caller has them, spare their queries. `made_up`: nobody judged,
    as in a demo; the label that it decides is marked as one of the practice model is, so that no
    release becomes final with it.
    """
    _check_voter(case, voter, access)
    plan = plan or VotingPlan.objects.current(case.query.domain.benchmark)
    if plan.has_batches:
        raise Refused("Here people vote in batches. Take one first.")
    if plan.asks_exam:
        need_exam(case, voter)
    answer = Answer(label, reason.strip(), elapsed_ms, span)
    check_answer(answer, plan, case.passage.text)
    try:
        return _give(case, voter, plan, answer, replaces, made_up)
    except IntegrityError:
        # Another tab took a slot of this case for them just now; now that is known.
        return _give(case, voter, plan, answer, replaces, made_up)


def _check_voter(case: EscalationCase, voter: User, access: Access | None) -> None:
    """Raises PermissionDenied for whoever may not vote on this case."""
    if access is None:
        require_annotator(case.query, voter)
        benchmark = case.query.domain.benchmark
        place = Membership.objects.get(benchmark=benchmark, user=voter)
        access = Access(voter, benchmark, place)
    elif not (
        access.user.pk == voter.pk
        and access.is_annotator
        and case.query.domain_id in access.domain_ids
    ):
        raise PermissionDenied("Only annotators of this domain may change this.")
    if case.kind == CaseKind.AUDIT and access.is_unblinded:
        raise PermissionDenied("Admins, who may read what machines said, judge no audited pair.")


def _give(
    case: EscalationCase,
    voter: User,
    plan: VotingPlan,
    answer: Answer,
    replaces: int | None,
    made_up: bool,
) -> Vote:
    with transaction.atomic():
        # Before the case, as everywhere: this vote may be the one that writes a label.
        lock_queries([case.query_id])
        is_open = count_vote(case, 0 if replaces else 1)
        slots = _slots(case, voter)
        mine = next((each for each in slots if each.voter_id == voter.pk), None)
        earlier = _earlier(mine, replaces)
        if not is_open:
            raise Refused(CLOSED)
        if mine is None:
            free = (each for each in slots if each.vote_id is None)
            mine = next(filter(None, (take(each, voter.pk, plan, case) for each in free)), None)
        if mine is None:
            raise Refused(FULL)
        check_change(mine, answer)
        data = {}
        if earlier is not None:
            data["instead_of"] = earlier.pk
            standing = Vote.objects.standing().filter(pk=earlier.pk)
            if not standing.update(status=VoteStatus.SUPERSEDED):
                raise Refused(WITHDRAWN)
            VoteSlot.objects.filter(vote=earlier).update(vote=None)
        guideline: int | None = slots[0].guideline_now  # type: ignore[attr-defined]
        vote = fill(mine, mine, answer, guideline or 0, None, after=slots[0].last_link)  # type: ignore[attr-defined]
        if earlier is not None:
            Vote.objects.filter(pk=earlier.pk).update(superseded_by=vote)
        note("vote", vote, voter, case, case=case.pk, label=answer.label, **data)
        if case.kind == CaseKind.REFERENCE:
            return vote  # which its panel counts
        votes = [each.vote for each in slots if each.vote and each.pk != mine.pk]
        votes = sorted([*votes, vote], key=lambda each: each.pk)
        settle(case, votes=votes, slots=len(slots), practice=made_up)
    return vote


def withdraw_vote(*, vote: Vote, actor: User) -> None:
    """Take one's own vote back; only while the case is open and in no batch, else Refused."""
    if vote.voter_id != actor.pk:
        raise Refused("Only your own vote can be taken back.")
    if vote.batch_id is not None:
        raise Refused(IN_BATCH)
    with transaction.atomic():
        rows = EscalationCase.objects.open().filter(pk=vote.case_id)
        if not rows.update(votes_in=F("votes_in") - 1):
            raise Refused("This case was decided meanwhile; its votes stay as they are.")
        VoteSlot.objects.filter(vote=vote).give_back()
        standing = Vote.objects.standing().filter(pk=vote.pk)
        if not standing.update(status=VoteStatus.WITHDRAWN):
            raise Refused("This vote was taken back already.")
        remove_spare_slots(vote.case)
        note("withdraw vote", vote, actor, vote.case, case=vote.case_id)


def fill(
    slot: VoteSlot,
    item: Any,
    answer: Answer,
    guideline: int,
    batch: Batch | None,
    *,
    after: str | None,
) -> Vote:
    """Store the vote of a slot; `item` (it, or a batch's) has the first judgment and condition.

    `after` is the link of the case's newest vote, None where it has none. Raises Refused where the
    slot is not the voter's any more. For a caller that holds the query.
    """
    is_after = item.arm == Condition.AFTER
    start, end = answer.span or (None, None)
    vote = Vote(
        case_id=slot.case_id,
        voter_id=slot.voter_id or 0,
        label=answer.label,
        reason=answer.reason,
        elapsed_ms=answer.elapsed_ms,
        arm=item.arm,
        saw_positions=item.arm == Condition.START or (is_after and item.is_committed),
        # Who sends a vote at once has judged from the passage alone.
        first_label=item.first_label if item.is_committed else answer.label if is_after else None,
        first_ms=item.first_ms if item.is_committed else None,
        span_start=start,
        span_end=end,
        batch=batch,
        guideline=guideline,
    )
    vote.link = vote.link_after(after)
    with preparing(connection):
        vote.save()
        mine = VoteSlot.objects.held_by(slot.voter_id or 0).filter(pk=slot.pk)
        if not mine.update(vote=vote, expires_at=None):
            raise Refused(FULL)
    return vote


def count_vote(case: EscalationCase, more: int = 1) -> bool:
    """Count so many more votes of the case; False where it is not open.

    For a transaction that does this first: the row lock makes the voters of one case take turns,
    and what is read after it is the truth until the transaction ends.
    """
    rows = EscalationCase.objects.open().filter(pk=case.pk)
    with preparing(connection):
        return bool(rows.update(votes_in=F("votes_in") + more))


def _slots_of(case: int, query: int, passage: int, voter: int) -> QuerySet[VoteSlot]:
    newest = Guideline.objects.filter(benchmark=OuterRef("benchmark")).order_by("-version")
    own = GoldPassage.objects.filter(query=query, passage=passage, created_by=voter)
    slots = VoteSlot.objects.filter(case=case).select_related("vote").order_by("place")
    return slots.annotate(
        guideline_now=Subquery(newest.values("version")[:1]),
        last_link=last_link(case),
        is_own=Exists(own),
        is_over=judged_in_batch_of(voter, "case"),
    )


def last_link(case: int | OuterRef) -> Subquery:
    """The link of the newest vote of a case, taken back or not. Read where its query is locked."""
    return Subquery(Vote.objects.filter(case=case).links()[:1])


_SLOTS = Prepared(_slots_of)


def _slots(case: EscalationCase, voter: User) -> Sequence[VoteSlot]:
    """Every slot of the case with its vote; Refused for whom it is not."""
    slots = _SLOTS.rows(case=case.pk, query=case.query_id, passage=case.passage_id, voter=voter.pk)
    if slots and slots[0].is_own:  # type: ignore[attr-defined]
        raise Refused(OWN)
    if slots and slots[0].is_over:  # type: ignore[attr-defined]
        raise Refused(BATCHED)
    return slots


def _earlier(mine: VoteSlot | None, replaces: int | None) -> Vote | None:
    """The person's vote that may be replaced; AlreadyVoted where they do not know of it."""
    given = mine.vote if mine else None
    if given is not None and given.pk != replaces:
        raise AlreadyVoted(given)
    if replaces and given is None:
        raise Refused(WITHDRAWN)
    if given is not None and given.batch_id is not None:
        raise Refused(IN_BATCH)
    return given


def need_exam(case: EscalationCase, voter: User) -> None:
    """Refused where an exam of this domain is required that the person has not passed."""
    if not qualified_for(voter, case.query.domain):
        raise Refused("Before you vote in this domain, pass its exam under Qualification.")


def commit_judgment(
    *, slot: VoteSlot, plan: VotingPlan, voter: User, label: int, elapsed_ms: int | None = None
) -> None:
    """Store the first judgment, from the passage alone; from now on the voter sees the positions,
    where there are any that the plan shows.

    Never changed afterwards. Raises Refused where it was given already or the slot is lost.
    """
    if label not in (0, 1):
        raise Refused("Choose relevant or not relevant.", field="label")
    if not begins_alone(plan, slot.arm):
        raise Refused("There is nothing to show after a first judgment here.")
    need_exam(slot.case, voter)
    now = timezone.now()
    with transaction.atomic():
        held = VoteSlot.objects.held_by(voter.pk).filter(pk=slot.pk, committed_at=None)
        if not held.update(committed_at=now, first_label=label, first_ms=elapsed_ms):
            raise Refused("Your first judgment was given already, or your place is taken.")
        note("first judgment", slot, voter, slot.case, case=slot.case_id, label=label)
    slot.committed_at, slot.first_label, slot.first_ms = now, label, elapsed_ms


def finish_abandoned(plan: VotingPlan) -> int:
    """Make votes of first judgments that were left for longer than the lease; how many."""
    left = _left().filter(benchmark=plan.benchmark_id).order_by("expires_at")
    slots = left.select_related("case__query__domain__benchmark", "case__passage", "voter")
    return sum(_finish(slot, plan) for slot in slots[:_AT_ONCE])


def finish_all_abandoned() -> int:
    """The same in every benchmark: a periodic task."""
    benchmarks = Benchmark.objects.live().filter(pk__in=_left().values("benchmark"))
    return sum(finish_abandoned(VotingPlan.objects.current(each)) for each in benchmarks)


def _left() -> VoteSlotQuerySet:
    return VoteSlot.objects.filter(
        vote=None,
        batch=None,
        committed_at__isnull=False,
        expires_at__lt=timezone.now(),
        case__status=CaseStatus.OPEN,
    )


def _finish(slot: VoteSlot, plan: VotingPlan) -> bool:
    try:
        with transaction.atomic():
            vote = cast_vote(
                case=slot.case,
                voter=slot.voter,  # type: ignore[arg-type]
                label=slot.first_label,
                elapsed_ms=slot.first_ms,
                # What needs marked words or a batch now did not when it was said.
                plan=VotingPlan(benchmark=plan.benchmark, reveal=plan.reveal),
            )
            Vote.objects.filter(pk=vote.pk).update(abandoned=True)
            note("count abandoned judgment", vote, None, slot.case, case=slot.case_id)
    except (Refused, PermissionDenied) as why:
        with transaction.atomic():
            same = {"pk": slot.pk, "voter": slot.voter_id, "committed_at": slot.committed_at}
            if _left().filter(**same).give_back():
                data = {"case": slot.case_id, "person": slot.voter_id, "label": slot.first_label}
                about = slot.case
                note("let go of abandoned judgment", slot, None, about, why=str(why), **data)
        return False
    return True
