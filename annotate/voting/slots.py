"""Vote slots: each is taken by one person at a time, under a lease."""

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, F, OuterRef, Subquery
from django.utils import timezone

from annotate.models import Batch, CaseKind, EscalationCase, VoteSlot, VotingPlan
from annotate.plans.services import condition_of
from annotate.voting.eligibility import judgeable_by, kinds_for, voting_domains
from annotate.voting.majority import CAP
from annotate.voting.models import VoteSlotQuerySet
from corpus.access import Access
from kit.database.prepared import Prepared, preparing

_TRIES = 20  # a slot that somebody else took a moment before
MOST_HELD = 5  # places that one person has outside batches: tabs, not a queue of their own


def next_slot(
    *, access: Access, plan: VotingPlan, after: EscalationCase | None = None
) -> VoteSlot | None:
    """A slot for this person, with its case: one they have already, else a free one; or None.

    `after` is the case they leave for later: its slot is free again unless they judged it already.
    """
    if after is not None:
        leave(voter_id=access.user.pk, case=after)
    for _ in range(_TRIES):
        try:
            with _reading():
                held, free = _find(access, plan, after)
                if held is not None:
                    return _renewed(held, plan)
                if not free:
                    return None
                for slot in free:
                    case = _CASE.first(pk=slot.case_id)
                    taken = take(slot, access.user.pk, plan, case) if case else None
                    if taken is not None:
                        return taken
        except IntegrityError:  # another tab of the same person took one of this case just now
            continue
    return None


def reserve(*, access: Access, plan: VotingPlan, case: EscalationCase) -> VoteSlot | None:
    """The person's slot of this case, taken now if one is free; None where there is none."""
    mine = VoteSlot.objects.filter(case=case, voter=access.user).select_related("vote").first()
    if mine is not None:
        mine.case = case
        return mine if mine.vote_id else _renewed(mine, plan)
    try:
        with transaction.atomic():
            free = _free_for(access, plan).filter(case=case)
            found = free.select_for_update(skip_locked=True).first()
            taken = None if found is None else take(found, access.user.pk, plan, case)
            if taken is not None:
                _keep_few(access)
            return taken
    except IntegrityError:
        return VoteSlot.objects.filter(case=case, voter=access.user).first()


def _keep_few(access: Access) -> None:
    """Give back the places that the person took first and did not judge in, beyond MOST_HELD."""
    held = VoteSlot.objects.held_by(access.user.pk).filter(
        benchmark=access.benchmark, batch=None, committed_at=None
    )
    held = held.exclude(case__kind=CaseKind.REFERENCE)
    over = list(held.order_by("-expires_at", "-pk").values_list("pk", flat=True)[MOST_HELD:])
    if over:
        VoteSlot.objects.held_by(access.user.pk).filter(pk__in=over, committed_at=None).give_back()


def leave(*, voter_id: int, case: EscalationCase) -> None:
    """Give the person's slot of the case back, unless they judged it already."""
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
    """Take this slot if it is still free: one conditional UPDATE; None if it is not."""
    now = timezone.now()
    values = {
        "voter_id": voter_id,
        "expires_at": batch.expires_at if batch else now + lease(plan),
        "batch": batch,
        "arm": condition_of(plan, case.snapshot, "case", case.pk),
        "committed_at": None,
        "first_label": None,
        "first_ms": None,
    }
    with preparing(connection):
        if not VoteSlot.objects.free(now).filter(pk=slot.pk).update(**values):
            return None
    for name, value in values.items():
        setattr(slot, name, value)
    slot.case = case
    return slot


def free_cases(access: Access, plan: VotingPlan, most: int) -> Sequence[VoteSlot]:
    """Up to so many free slots of different cases, in the person's order; locked until the end
    of the transaction where the database can."""
    found: dict[int, VoteSlot] = {}
    free = _free_for(access, plan)
    for queue in (free.after_last_of(access.user.pk, access.benchmark.pk), free):
        # A case has at most five slots, which are neighbours.
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
    """How long a slot is kept for one person."""
    return timedelta(minutes=plan.lease_minutes)


def _reading() -> AbstractContextManager[Any]:
    """A transaction where slots are locked while they are looked for. Elsewhere the conditional
    UPDATE is enough, and a lock held while reading would only make the others wait."""
    return transaction.atomic() if connection.features.has_select_for_update else nullcontext()


def _free_for(access: Access, plan: VotingPlan) -> VoteSlotQuerySet:
    domains = voting_domains(access, plan)
    kinds = kinds_for(access)
    return _free(access.user.pk, access.benchmark.pk, domains, kinds, timezone.now())


def _free(
    voter: int, benchmark: int, domains: Collection[int], kinds: Collection[str], now: datetime
) -> VoteSlotQuerySet:
    """Free slots of these domains that this person may take, in everybody's order.

    Of a case those first that nobody had: who left one finds it as they left it, while there are
    others. Of the one table: joins would tempt a database to sort every slot there is.
    """
    mine = VoteSlot.objects.filter(case=OuterRef("case"), voter=voter)
    cases = judgeable_by(voter, domains, kinds).filter(pk=OuterRef("case"))
    free = VoteSlot.objects.free(now).filter(benchmark=benchmark)
    free = free.filter(~Exists(mine), Exists(cases))
    return free.order_by("turn", F("voter").asc(nulls_first=True))


def _held(
    voter: int, benchmark: int, own: Collection[int], kinds: Collection[str], left: int
) -> VoteSlotQuerySet:
    """Slots that the person has in their own domains, outside batches; none of the case left."""
    held = VoteSlot.objects.held_by(voter).filter(benchmark=benchmark, batch=None)
    cases = EscalationCase.objects.open().filter(kind__in=kinds, query__domain__id__in=own)
    return held.exclude(case=left).filter(Exists(cases.filter(pk=OuterRef("case")))).order_by()


def _queue(domains: Collection[int], now: datetime, **who: Any) -> VoteSlotQuerySet:
    """Free slots, and with each the one that the person has: both in one query."""
    free = _free(who["voter"], who["benchmark"], domains, who["kinds"], now)
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


def _find(
    access: Access, plan: VotingPlan, after: EscalationCase | None
) -> tuple[VoteSlot | None, list[VoteSlot]]:
    """The slot that they have, with its case; without one the free slots to go to, in order."""
    who: dict[str, Any] = {"voter": access.user.pk, "benchmark": access.benchmark.pk}
    who |= {"own": access.domain_ids, "kinds": kinds_for(access), "left": after.pk if after else 0}
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
    """The slot with its lease prolonged, once half of it is over."""
    now = timezone.now()
    is_half_over = slot.expires_at is None or slot.expires_at - now < lease(plan) / 2
    if slot.committed_at is None and is_half_over:
        mine = VoteSlot.objects.held_by(slot.voter_id or 0).filter(pk=slot.pk)
        if mine.update(expires_at=now + lease(plan)):
            slot.expires_at = now + lease(plan)
    return slot
