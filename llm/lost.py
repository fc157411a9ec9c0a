"""Open calls whose worker is gone: those handed over are possibly paid, others were never sent."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from llm import accounts, handover
from llm.accounts import Position, position
from llm.handover import Marks
from llm.models import Call

_LOST = "Never answered: the worker stopped before an answer was written down."
UNSENT = "Never sent: the worker stopped before it handed the request over."


@dataclass(frozen=True)
class Settled:
    """Calls listed as possibly paid, and calls that were never sent."""

    listed: int = 0
    unsent: int = 0

    def __add__(self, other: "Settled") -> "Settled":
        return Settled(self.listed + other.listed, self.unsent + other.unsent)


def settle_lost(*, older_than: datetime) -> Settled:
    """Settle the open calls that nobody waits for any more; what became of them.

    Those of a worker that is known to be dead at once: what it handed to the transport is listed
    as possibly paid, the rest was never sent, costs nothing and may be asked again. Of all others
    those begun before that moment, as possibly paid; not what a living worker has yet to send.
    An answer that still arrives settles a listed call all the same.
    """
    open_calls = Call.objects.filter(status=Call.Status.INTENT)
    owners = list(open_calls.order_by().values_list("owner", flat=True).distinct())
    settled = Settled()
    for owner in owners:
        with handover.reading(handover.token_of(owner)) as marks:
            settled += _settle(owner, marks, older_than)
    _forget({handover.token_of(owner) for owner in owners}, older_than)
    return settled


def _settle(owner: str, marks: Marks | None, older_than: datetime) -> Settled:
    rows = Call.objects.filter(status=Call.Status.INTENT, owner=owner)
    if marks is None or marks.is_alive:
        rows = rows.filter(created_at__lt=older_than)
    pks = list(rows.values_list("pk", flat=True))
    if marks is None:
        return Settled(listed=_list(pks))
    handed = _list([pk for pk in pks if pk in marks.call_ids])
    if marks.is_alive:
        return Settled(listed=handed)
    return Settled(handed, _take_back([pk for pk in pks if pk not in marks.call_ids]))


def _list(pks: Collection[int]) -> int:
    """What they may have cost stays reserved."""
    rows = Call.objects.filter(pk__in=pks, status=Call.Status.INTENT)
    status = Call.Status.POSSIBLY_PAID
    return rows.update(status=status, error=_LOST, settled_at=timezone.now())


def _take_back(pks: Collection[int]) -> int:
    """What was reserved for them is free again."""
    with transaction.atomic():
        rows = Call.objects.select_for_update().filter(pk__in=pks, status=Call.Status.INTENT)
        changes: dict[int, Position] = defaultdict(Position)
        found = list(rows.values_list("pk", "account_id", "bound_usd"))
        for _, account, bound in found:
            if account is not None:
                before = position(Call.Status.INTENT, None, bound)
                changes[account] += position(Call.Status.FAILED, None, bound) - before
        Call.objects.filter(pk__in=[pk for pk, *_ in found]).update(
            status=Call.Status.FAILED, error=UNSENT, settled_at=timezone.now()
        )
        accounts.move(changes)
    return len(found)


def _forget(open_tokens: Collection[str], older_than: datetime) -> None:
    """Remove the files of dead workers without an open call.

    Only after a while: what a worker committed with its last breath may not be visible yet.
    """
    for token in handover.tokens():
        if token in open_tokens or not handover.is_older(token, older_than.timestamp()):
            continue
        with handover.reading(token) as marks:
            if marks is None or not marks.is_alive:
                handover.forget(token)
