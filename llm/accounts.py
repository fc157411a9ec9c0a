"""Keeping an account inside its limit: reserve before a call, settle what it came to.

These functions belong inside the ledger's transactions, beside the rows they count.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Final, TypeAlias

from django.db.models import F, Q

from llm.models import Account, Call, to_units
from llm.records import Intent

# Statuses of calls that may have cost something, as long as nobody knows what.
OPEN: Final = (Call.Status.INTENT, Call.Status.POSSIBLY_PAID, Call.Status.ANSWERED)

Position: TypeAlias = tuple[int, int]
"""Units that calls put on an account: known cost, and upper bounds of unknown ones."""


class Moves:
    """What a group of settlements changes on accounts; written when `moving` ends."""

    def __init__(self) -> None:
        self._by_account: dict[int, Position] = defaultdict(lambda: (0, 0))

    def add(self, account_id: int | None, before: Position, after: Position) -> None:
        """One call moved from one position to another."""
        if account_id is not None and before != after:
            spent, reserved = self._by_account[account_id]
            moved = after[0] - before[0], after[1] - before[1]
            self._by_account[account_id] = spent + moved[0], reserved + moved[1]

    def write(self) -> None:
        """In the order of keys, so that nobody waits in a circle."""
        for pk, (spent, reserved) in sorted(self._by_account.items()):
            Account.objects.filter(pk=pk).update(
                spent_units=F("spent_units") + spent, reserved_units=F("reserved_units") + reserved
            )


@contextmanager
def moving() -> Iterator[Moves]:
    """Collect what changes on accounts, and write it at the end."""
    moves = Moves()
    yield moves
    moves.write()


def position(status: str, usd: Decimal | None, bound: Decimal | None) -> Position:
    """What one call puts on its account."""
    if usd is not None:
        return to_units(usd), 0
    return 0, to_units(bound) if status in OPEN and bound is not None else 0


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
        bounds = [intents[place].charge.bound for place in by_account[pk]]
        for place, does in zip(by_account[pk], _reserve(pk, bounds), strict=True):
            fits[place] = does
    return fits


def audit(account: Account) -> Position:
    """What the account should show, told from its calls one by one."""
    rows = account.calls.values_list("status", "usd", "bound_usd").iterator()
    positions = [position(*row) for row in rows]
    return sum(spent for spent, _ in positions), sum(reserved for _, reserved in positions)


def _reserve(pk: int, bounds: Sequence[Decimal | None]) -> Iterable[bool]:
    units = [None if bound is None else to_units(bound) for bound in bounds]
    known, rows = sum(each or 0 for each in units), Account.objects.filter(pk=pk)
    fits = Q(limit_units=None)
    if None not in units:
        fits |= Q(limit_units__gte=F("spent_units") + F("reserved_units") + known)
    if rows.filter(fits).update(reserved_units=F("reserved_units") + known):
        return [True] * len(units)
    account = rows.select_for_update().get()
    room = (account.limit_units or 0) - account.spent_units - account.reserved_units
    verdicts, taken = [], 0
    for each in units:
        does = each is not None and taken + each <= room
        taken += each or 0 if does else 0
        verdicts.append(does)
    rows.update(reserved_units=F("reserved_units") + taken)
    return verdicts
