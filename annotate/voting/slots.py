"""Handing out places: every one to one person at a time, under a lease that comes back."""

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, OuterRef, Subquery
from django.utils import timezone

from annotate.models import Batch, EscalationCase, VoteSlot, VotingPlan
from annotate.plans.services import arm_of_case
from annotate.voting.eligibility import judgeable_by, voting_domains
from annotate.voting.majority import CAP
from annotate.voting.models import VoteSlotQuerySet
from corpus.access import Access
from kit.prepared import Prepared, preparing

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
                held, free = _look(access, plan, after)
                if held is not None:
                    return _renewed(held, plan)
                if not free:
                    return None
                taken = _take_first(free, access.user.pk, plan)
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
            free = _free_for(access, plan).filter(case=case).order_by("place")
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
    with preparing(connection):
        if not VoteSlot.objects.free(now).filter(pk=slot.pk).update(**values, **said):
            return None
    for name, value in (values | said).items():
        setattr(slot, name, value)
    slot.case = case
    return slot


def free_cases(access: Access, plan: VotingPlan, most: int) -> Sequence[VoteSlot]:
    """Up to so many free places of different cases, in the person's order; locked until the end
    of the transaction where the database can."""
    found: dict[int, VoteSlot] = {}
    free = _free_for(access, plan)
    for queue in (free.after_last_of(access.user.pk, access.benchmark.pk), free):
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


def _take_first(free: Sequence[VoteSlot], voter_id: int, plan: VotingPlan) -> VoteSlot | None:
    for slot in free:
        case = _CASE.first(pk=slot.case_id)
        taken = take(slot, voter_id, plan, case) if case is not None else None
        if taken is not None:
            return taken
    return None


def _reading() -> AbstractContextManager[Any]:
    """A transaction where places are locked while they are looked for. Elsewhere the conditional
    UPDATE is enough, and a lock held while reading would only make the others wait."""
    return transaction.atomic() if connection.features.has_select_for_update else nullcontext()


def _free_for(access: Access, plan: VotingPlan) -> VoteSlotQuerySet:
    domains = voting_domains(access, plan)
    return _free(access.user.pk, access.benchmark.pk, domains, timezone.now())


def _free(voter: int, benchmark: int, domains: Collection[int], now: datetime) -> VoteSlotQuerySet:
    """Free places of these domains that this person may take, in everybody's order.

    Of the one table: joins would tempt a database to sort every place there is.
    """
    mine = VoteSlot.objects.filter(case=OuterRef("case"), voter=voter)
    cases = judgeable_by(voter, domains).filter(pk=OuterRef("case"))
    free = VoteSlot.objects.free(now).filter(benchmark=benchmark)
    return free.filter(~Exists(mine), Exists(cases)).order_by("turn")


def _held(voter: int, benchmark: int, own: Collection[int], left: int) -> VoteSlotQuerySet:
    """Places that the person holds in their own domains, outside batches; none of the case left."""
    held = VoteSlot.objects.held_by(voter).filter(benchmark=benchmark, batch=None)
    cases = EscalationCase.objects.open().of_voters().filter(query__domain__id__in=own)
    return held.exclude(case=left).filter(Exists(cases.filter(pk=OuterRef("case")))).order_by()


def _queue(domains: Collection[int], now: datetime, **who: Any) -> VoteSlotQuerySet:
    """Free places, and beside each what the person holds: one query tells both."""
    free = _free(who["voter"], who["benchmark"], domains, now)
    free = free.annotate(held=Subquery(_held(**who).values("pk")[:1]))
    return free.select_for_update(skip_locked=True)


def _ahead(**values: Any) -> VoteSlotQuerySet:
    return _queue(**values).after_last_of(values["voter"], values["benchmark"])[: _most()]


def _behind(turn: int, **values: Any) -> VoteSlotQuerySet:
    return _queue(**values).after(turn)[: _most()]


def _most() -> int:
    """Where nothing is locked, others may take the first a moment before; then it is the second."""
    return 1 if connection.features.has_select_for_update else 2 * CAP


# Asked with every vote.
_AHEAD, _BEHIND = Prepared(_ahead), Prepared(_behind)
_HELD = Prepared(lambda **who: _held(**who)[:1])
_SLOT = Prepared(
    lambda pk: VoteSlot.objects.filter(pk=pk).select_related("case__query__domain", "case__passage")
)
_CASE = Prepared(
    lambda pk: EscalationCase.objects.filter(pk=pk).select_related("query__domain", "passage")
)


def _look(
    access: Access, plan: VotingPlan, after: EscalationCase | None
) -> tuple[VoteSlot | None, list[VoteSlot]]:
    """The place that they hold, with its case; without one the free places to go to, in order."""
    who: dict[str, Any] = {"voter": access.user.pk, "benchmark": access.benchmark.pk}
    who |= {"own": access.domain_ids, "left": after.pk if after else 0}
    asked = who | {"domains": voting_domains(access, plan), "now": timezone.now()}
    if after is None:
        free = _AHEAD.rows(**asked)
    else:
        turn = VoteSlot.objects.filter(case=after).values_list("turn", flat=True).first()
        free = _BEHIND.rows(**asked, turn=-1 if turn is None else turn)
    free = free or _BEHIND.rows(**asked, turn=-1)
    if not free:
        held = _HELD.first(**who)
        return held and _SLOT.first(pk=held.pk), []
    pk: int | None = free[0].held  # type: ignore[attr-defined]
    return (_SLOT.first(pk=pk), []) if pk else (None, free)


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
