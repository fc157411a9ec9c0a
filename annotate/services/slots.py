"""Handing out places: every one to one person at a time, under a lease that comes back."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, OuterRef, Subquery
from django.utils import timezone

from annotate.models import Batch, EscalationCase, VoteSlot, VotingPlan
from annotate.models.slots import VoteSlotQuerySet
from annotate.services.arms import arm_of_case
from annotate.services.eligibility import judgeable_cases
from annotate.services.majority import CAP
from corpus.access import Access

_TRIES = 20  # a place that somebody else took a moment before


def next_slot(
    *, access: Access, plan: VotingPlan, after: EscalationCase | None = None
) -> VoteSlot | None:
    """A place for this person, with its case: one they hold already, else a free one; or None.

    `after` is the case they leave for later: its place goes back unless they judged it already.
    """
    if after is not None:
        leave(voter_id=access.user.pk, case=after)
    for _ in range(_TRIES):
        try:
            with _reading():
                found = _look(access, after)
                if found is None:
                    return None
                if found.voter_id == access.user.pk:
                    return _renewed(found, plan)
                taken = take(found, access.user.pk, plan, found.case)
        except IntegrityError:  # another tab of the same person took one of this case just now
            continue
        if taken is not None:
            return taken
    return None


def hold(*, access: Access, plan: VotingPlan, case: EscalationCase) -> VoteSlot | None:
    """The person's place of this case, taken now if one is free; None where there is none."""
    mine = VoteSlot.objects.filter(case=case, voter=access.user).select_related("vote").first()
    if mine is not None:
        mine.case = case
        return mine if mine.vote_id else _renewed(mine, plan)
    try:
        with transaction.atomic():
            free = _free(access).filter(case=case).order_by("place")
            found = free.select_for_update(skip_locked=True).first()
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
    ahead = _free(access).after_last_of(access.user.pk, access.benchmark)
    for queue in (ahead, _free(access)):
        # A case has at most five places, which stand together.
        for slot in queue.select_for_update(skip_locked=True)[: most * CAP]:
            if len(found) < most:
                found.setdefault(slot.case_id, slot)
        if len(found) >= most:
            break
    cases = EscalationCase.objects.select_related("query__domain", "passage").in_bulk(found)
    for slot in found.values():
        slot.case = cases[slot.case_id]
    return list(found.values())


def lease(plan: VotingPlan) -> timedelta:
    """How long a place is kept for one person."""
    return timedelta(minutes=plan.lease_minutes)


def _reading() -> AbstractContextManager[Any]:
    """A transaction where places are locked while they are looked for. Elsewhere the conditional
    UPDATE is enough, and a lock held while reading would only make the others wait."""
    return transaction.atomic() if connection.features.has_select_for_update else nullcontext()


def _free(access: Access) -> VoteSlotQuerySet:
    """Free places that this person may take, in everybody's order.

    Of the one table: joins would tempt a database to sort every place there is.
    """
    mine = VoteSlot.objects.filter(case=OuterRef("case"), voter=access.user)
    cases = judgeable_cases(access).filter(pk=OuterRef("case"))
    free = VoteSlot.objects.free(timezone.now()).filter(benchmark=access.benchmark)
    return free.filter(~Exists(mine), Exists(cases)).order_by("turn")


def _held(access: Access) -> VoteSlotQuerySet:
    """Places that the person holds, outside batches."""
    held = VoteSlot.objects.held_by(access.user.pk)
    held = held.filter(benchmark=access.benchmark, batch=None)
    cases = EscalationCase.objects.open().filter(query__domain__in=access.domain_ids)
    return held.filter(Exists(cases.filter(pk=OuterRef("case")))).order_by()


def _look(access: Access, after: EscalationCase | None) -> VoteSlot | None:
    """The place to go to, with its case: held already, else the next that is free."""
    held = _held(access)
    if after is not None:
        held = held.exclude(case=after.pk)
        turn = VoteSlot.objects.filter(case=after).values_list("turn", flat=True).first()
    free = _free(access).annotate(held=Subquery(held.values("pk")[:1]))
    free = free.select_for_update(skip_locked=True)
    if after is None:
        ahead = free.after_last_of(access.user.pk, access.benchmark)
    else:
        ahead = free.after(turn)
    found = ahead.first() or free.first()
    # One query tells both where something is free; else what is held is asked for alone.
    pk = (found.held or found.pk) if found else held.values_list("pk", flat=True).first()  # type: ignore[attr-defined]
    related = ("case__query__domain", "case__passage")
    return VoteSlot.objects.select_related(*related).filter(pk=pk).first() if pk else None


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
