"""Votes on cases. A vote fills a place of its case (slots.py): however many people press
at once, no case gets more votes than it has places, and nobody fills two of them.

What a person says of a pair, and what it lacks.

Commit, then reveal: what a voter says from the passage alone, before they see the positions.

First judgments whose givers never came back: they count as they were given.

The vote says so (`abandoned`): nobody knows what its giver would have said after the positions.
Where it may not become a vote any more, its place goes back to others; the judgment stays in its
event."""

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
    EscalationCase,
    GoldPassage,
    Guideline,
    Reveal,
    Vote,
    VoteSlot,
    VoteStatus,
    VotingPlan,
)
from annotate.panels.settling import settle_reference
from annotate.rights import require_annotator
from annotate.voting.cases import note, settle, take_back_spare_places
from annotate.voting.eligibility import judged_in_batch_of
from annotate.voting.models import VoteSlotQuerySet
from annotate.voting.slots import take
from corpus.access import Access
from corpus.models import Benchmark
from corpus.services.judgments import hold_queries
from kit.errors import Refused
from kit.prepared import Prepared, preparing

LABELS = (0, 1, None)


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
    if answer.label not in LABELS:
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
    is_change = item.is_committed and answer.label != item.first_label
    if is_change and not answer.reason.strip():
        raise Refused("Say in a few words what changed your mind.", field="reason")


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


def commit_judgment(
    *, slot: VoteSlot, voter: User, label: int, elapsed_ms: int | None = None
) -> None:
    """Keep what the person says from the passage alone; from now on they see the positions.

    Never changed afterwards. Raises Refused where it was given already or the place is lost.
    """
    if label not in (0, 1):
        raise Refused("Choose relevant or not relevant.", field="label")
    if slot.arm != Reveal.AFTER:
        raise Refused("There is nothing to show after a first judgment here.")
    need_exam(slot.case, voter)
    now = timezone.now()
    with transaction.atomic():
        held = VoteSlot.objects.held_by(voter.pk).filter(pk=slot.pk, committed_at=None)
        rows = held.update(committed_at=now, first_label=label, first_ms=elapsed_ms)
        if not rows:
            raise Refused("Your first judgment was given already, or your place is taken.")
        note("first judgment", slot, voter, slot.case, case=slot.case_id, label=label)
    slot.committed_at, slot.first_label, slot.first_ms = now, label, elapsed_ms


_AT_ONCE = 50


def finish_abandoned(plan: VotingPlan) -> int:
    """Make votes of first judgments that were left for longer than the lease; how many."""
    left = _left().filter(benchmark=plan.benchmark_id).order_by("expires_at")
    related = left.select_related("case__query__domain__benchmark", "case__passage", "voter")
    return sum(_finish(slot, plan) for slot in related[:_AT_ONCE])


def sweep_abandoned() -> int:
    """The same in every benchmark; the worker does it every minute."""
    benchmarks = Benchmark.objects.filter(pk__in=_left().values("benchmark"))
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
        _let_go(slot, str(why))
        return False
    return True


def _let_go(slot: VoteSlot, why: str) -> None:
    with transaction.atomic():
        same = {"pk": slot.pk, "voter": slot.voter_id, "committed_at": slot.committed_at}
        if _left().filter(**same).give_back():
            data = {"case": slot.case_id, "person": slot.voter_id, "label": slot.first_label}
            note("let go of abandoned judgment", slot, None, slot.case, why=why, **data)
