"""Handing out places: every one to one person at a time, under a lease that comes back."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from annotate.models import Batch, CaseStatus, EscalationCase, VoteSlot, VotingPlan
from annotate.models.slots import VoteSlotQuerySet
from annotate.services.arms import arm_of_case
from annotate.services.eligibility import brought_in_by, judged_in_batch_of, own_domains
from corpus.access import Access

_TRIES = 3


def next_slot(
    *, access: Access, plan: VotingPlan, after: EscalationCase | None = None
) -> VoteSlot | None:
    """A place for this person, with its case: one they hold already, else a free one; or None.

    `after` is the case they leave for later: its place goes back unless they judged it already.
    """
    held = _held(access).exclude(case=after) if after else _held(access)
    found = held.select_related("case__query__domain", "case__passage").first()
    if after is not None:
        leave(voter_id=access.user.pk, case=after)
    if found is not None:
        return _renewed(found, plan)
    for _ in range(_TRIES):
        try:
            with transaction.atomic():
                return _take_next(access, plan, after)
        except IntegrityError:  # another tab of the same person took one of this case just now
            again = _held(access).select_related("case__query__domain", "case__passage").first()
            if again is not None:
                return again
    return None


def hold(*, access: Access, plan: VotingPlan, case: EscalationCase) -> VoteSlot | None:
    """The person's place of this case, taken now if one is free; None where there is none."""
    mine = VoteSlot.objects.filter(case=case, voter=access.user).select_related("vote").first()
    if mine is not None:
        mine.case = case
        return mine if mine.vote_id else _renewed(mine, plan)
    try:
        with transaction.atomic():
            free = _free(access).filter(case=case)
            found = free.select_for_update(skip_locked=True, of=("self",)).first()
            return None if found is None else take(found, access.user.pk, plan, case)
    except IntegrityError:
        return VoteSlot.objects.filter(case=case, voter=access.user).first()


def leave(*, voter_id: int, case: EscalationCase) -> None:
    """Give the person's place of the case back, unless they said something already."""
    mine = VoteSlot.objects.held_by(voter_id).filter(case=case, committed_at=None, batch=None)
    mine.give_back()


def take(
    slot: VoteSlot,
    voter_id: int,
    plan: VotingPlan,
    case: EscalationCase,
    *,
    batch: Batch | None = None,
) -> VoteSlot | None:
    """Take this place if it is still free: one conditional UPDATE; None if it is not."""
    now = timezone.now()
    expires = batch.expires_at if batch else now + lease(plan)
    arm = arm_of_case(plan, case)
    values = {"voter_id": voter_id, "expires_at": expires, "batch": batch, "arm": arm}
    said: dict[str, None] = {"committed_at": None, "first_label": None, "first_ms": None}
    if not VoteSlot.objects.free(now).filter(pk=slot.pk).update(**values, **said):
        return None
    for name, value in (values | said).items():
        setattr(slot, name, value)
    slot.case = case
    return slot


def free_cases(access: Access, most: int) -> Sequence[VoteSlot]:
    """Up to so many free places of different cases, in the person's order; locked until the end
    of the transaction where the database can."""
    found: dict[int, VoteSlot] = {}
    for queue in (
        _free(access).after_last_of(access.user.pk, access.benchmark),
        _free(access),
    ):
        rows = queue.select_related("case__query__domain", "case__passage")
        # A case has at most five places, which stand together.
        for slot in rows.select_for_update(skip_locked=True, of=("self",))[: most * 5]:
            if len(found) < most:
                found.setdefault(slot.case_id, slot)
        if len(found) >= most:
            break
    return list(found.values())


def lease(plan: VotingPlan) -> timedelta:
    """How long a place is kept for one person."""
    return timedelta(minutes=plan.lease_minutes)


def _held(access: Access) -> QuerySet[VoteSlot]:
    held = VoteSlot.objects.held_by(access.user.pk).filter(
        benchmark=access.benchmark,
        batch=None,
        case__status=CaseStatus.OPEN,
        case__query__domain__in=own_domains(access),
    )
    return held.order_by("turn")


def _free(access: Access) -> VoteSlotQuerySet:
    """Free places that this person may take, in everybody's order."""
    voter = access.user.pk
    mine = VoteSlot.objects.filter(case=OuterRef("case"), voter=voter)
    return (
        VoteSlot.objects.free(timezone.now())
        .filter(
            benchmark=access.benchmark,
            case__status=CaseStatus.OPEN,
            case__query__domain__in=own_domains(access),
        )
        .exclude(Exists(mine))
        .exclude(brought_in_by(voter, "case__"))
        .exclude(judged_in_batch_of(voter, "case"))
        .order_by("turn", "place")
    )


def _take_next(access: Access, plan: VotingPlan, after: EscalationCase | None) -> VoteSlot | None:
    free = _free(access).select_related("case__query__domain", "case__passage")
    free = free.select_for_update(skip_locked=True, of=("self",))
    if after is not None:
        turn = VoteSlot.objects.filter(case=after).values_list("turn", flat=True).first()
        ahead = free.after(turn)
    else:
        ahead = free.after_last_of(access.user.pk, access.benchmark)
    for queue in (ahead, free):
        found = queue.first()
        if found is not None:
            return take(found, access.user.pk, plan, found.case)
    return None


def _renewed(slot: VoteSlot, plan: VotingPlan) -> VoteSlot:
    """The place with its lease prolonged, once half of it is over."""
    now = timezone.now()
    if slot.committed_at is None and _is_half_over(slot, plan, now):
        expires = now + lease(plan)
        mine = VoteSlot.objects.filter(pk=slot.pk, voter=slot.voter_id, vote=None)
        if mine.update(expires_at=expires):
            slot.expires_at = expires
    return slot


def _is_half_over(slot: VoteSlot, plan: VotingPlan, now: datetime) -> bool:
    return slot.expires_at is None or slot.expires_at - now < lease(plan) / 2
