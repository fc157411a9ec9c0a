"""Keeping an account inside its limit: reserve before a call, settle what it came to.

These functions belong inside the ledger's transactions, beside the rows they count.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from django.db.models import F, Q

from llm.models import Account, Call, to_units
from llm.records import Intent

# Statuses of calls that may have cost something, as long as nobody knows what.
_OPEN: Final = (Call.Status.INTENT, Call.Status.POSSIBLY_PAID, Call.Status.ANSWERED)


@dataclass(frozen=True, slots=True)
class Position:
    """Units that calls put on an account: known cost, and upper bounds of unknown ones."""

    spent: int = 0
    reserved: int = 0

    def __add__(self, other: "Position") -> "Position":
        return Position(self.spent + other.spent, self.reserved + other.reserved)

    def __sub__(self, other: "Position") -> "Position":
        return Position(self.spent - other.spent, self.reserved - other.reserved)


def position(status: str, usd: Decimal | None, bound: Decimal | None) -> Position:
    """What one call puts on its account."""
    if usd is not None:
        return Position(spent=to_units(usd))
    held = status in _OPEN and bound is not None
    return Position(reserved=to_units(bound) if held and bound is not None else 0)


def reserve(intents: Sequence[Intent]) -> list[bool]:
    """Hold the upper bound of every call on its account; False where it does not fit.

    All at once by one conditional UPDATE; where they do not all fit, one after another. A call
    without a known bound fits only where the account has no limit.
    """
    by_account: dict[int, list[int]] = defaultdict(list)
    for place, intent in enumerate(intents):
        if intent.charge.account_id is not None:
            by_account[intent.charge.account_id].append(place)
    fits = [True] * len(intents)
    for pk in sorted(by_account):  # in this order, so that nobody waits in a circle
        bounds = [_units(intents[place]) for place in by_account[pk]]
        for place, does in zip(by_account[pk], _reserve(pk, bounds), strict=True):
            fits[place] = does
    return fits


def move(changes: Mapping[int, Position]) -> None:
    """Put the changes that settled calls bring on their accounts."""
    for pk in sorted(changes):
        change = changes[pk]
        if change != Position():
            Account.objects.filter(pk=pk).update(
                spent_units=F("spent_units") + change.spent,
                reserved_units=F("reserved_units") + change.reserved,
            )


def audit(account: Account) -> Position:
    """What the account should show, told from its calls one by one."""
    rows = account.calls.values_list("status", "usd", "bound_usd")
    return sum((position(*row) for row in rows.iterator()), Position())


def _units(intent: Intent) -> int | None:
    bound = intent.charge.bound
    return None if bound is None else to_units(bound)


def _reserve(pk: int, bounds: Sequence[int | None]) -> Iterable[bool]:
    known, rows = sum(bound or 0 for bound in bounds), Account.objects.filter(pk=pk)
    fits = Q(limit_units=None)
    if None not in bounds:
        fits |= Q(limit_units__gte=F("spent_units") + F("reserved_units") + known)
    if rows.filter(fits).update(reserved_units=F("reserved_units") + known):
        return [True] * len(bounds)
    account = rows.select_for_update().get()
    room = (account.limit_units or 0) - account.spent_units - account.reserved_units
    verdicts, taken = [], 0
    for bound in bounds:
        does = bound is not None and taken + bound <= room
        taken += bound or 0 if does else 0
        verdicts.append(does)
    rows.update(reserved_units=F("reserved_units") + taken)
    return verdicts
