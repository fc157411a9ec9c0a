"""Holding the upper bounds of calls on accounts, within their limits and those of a benchmark.

What reserves and moves sums belongs inside the transactions of `writing`, with the rows it counts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from django.db.models import F, QuerySet, Sum

from kit.models import Quota
from llm.models import LOST_AFTER, Account, Call, to_units


def move(changes: Iterable[tuple[int | None, int, int, int]]) -> None:
    """Add each (account, spent, reserved, calls made) to its account; in this order nobody waits in
    a circle."""
    sums: dict[int, tuple[int, ...]] = {}
    for pk, *change in changes:
        if pk is not None:
            sums[pk] = tuple(map(sum, zip(sums.get(pk, (0, 0, 0)), change, strict=True)))
    for pk, (spent, reserved, made) in sorted(sums.items()):
        if spent or reserved or made:
            Account.objects.filter(pk=pk).update(
                spent_units=F("spent_units") + spent,
                reserved_units=F("reserved_units") + reserved,
                made=F("made") + made,
            )


def reserve(charges: Sequence[tuple[int | None, Decimal | None]]) -> list[bool | None]:
    """Hold the upper bound of each (account, bound) on its account; False where it does not fit,
    None where it will once calls of the benchmark that are in flight are answered.

    A call without a known bound fits only where neither the account nor its quota has a limit.
    """
    ids = {pk for pk, _ in charges if pk is not None}
    rows = Account.objects.select_for_update().order_by("pk").in_bulk(ids)
    own = {pk: _Room(row.left_units) for pk, row in rows.items()}
    shared = {quota.pk: _left(quota, keeps_month=True) for quota in _locked(rows.values())}
    changes: list[tuple[int, int, int, int]] = []
    fits: list[bool | None] = []
    for pk, bound in charges:
        if (account := rows.get(pk or 0)) is None:
            fits.append(True)
            continue
        quota, units = account.quota_id, to_units(bound or Decimal(0))
        rooms = [own[account.pk], *([shared[quota]] if quota else [])]
        does_fit: bool | None = all(room.fits(bound) for room in rooms)
        if does_fit and any(room.places == 0 for room in rooms):
            does_fit = None
        if does_fit:
            for room in rooms:
                room.take(units)
            changes.append((account.pk, 0, units, int(quota is not None)))
        fits.append(does_fit)
    move(changes)
    return fits


@dataclass
class _Room:
    """What is left of a limit: units of money, calls, places in flight; None is no limit."""

    units: int | None
    calls: int | None = None
    places: int | None = None

    def fits(self, bound: Decimal | None) -> bool:
        """Whether one more call of this upper bound, None where it is not known, may be made."""
        if self.calls is not None and self.calls < 1:
            return False
        return self.units is None or (bound is not None and to_units(bound) <= self.units)

    def take(self, units: int, calls: int = 1) -> None:
        """Less is left from now on."""
        self.units = None if self.units is None else self.units - units
        self.calls = None if self.calls is None else self.calls - calls
        self.places = None if self.places is None else max(0, self.places - calls)


def _locked(accounts: Iterable[Account]) -> QuerySet[Quota]:
    """Their quotas, behind one another: accounts are locked before, here as everywhere."""
    ids = {each.quota_id for each in accounts if each.quota_id}
    rows = Quota.objects.select_for_update().filter(pk__in=ids).order_by("pk")
    return rows if ids else rows.none()


def _left(quota: Quota, *, keeps_month: bool = False) -> _Room:
    """By what all its accounts have spent, hold and made.

    The first to look in a month, under the lock of the row, notes where it begins.
    """
    sums = quota.accounts.aggregate(
        units=Sum(F("spent_units") + F("reserved_units")), calls=Sum("made")
    )
    taken, room = int(sums["units"] or 0), _Room(limit_of(quota.usd), quota.calls)
    room.take(taken, calls=int(sums["calls"] or 0))
    under_way = Call.objects.under_way().filter(account__quota=quota)
    if quota.in_flight is not None:
        # Nobody waits for older ones, whether or not somebody listed them as lost already.
        since = datetime.now(UTC) - LOST_AFTER
        room.places = max(0, quota.in_flight - under_way.filter(created_at__gte=since).count())
    if quota.usd_month is not None:
        month = this_month().date()
        if quota.month != month:
            # A call under way counts in the month in which it is known what it cost.
            held = under_way.aggregate(all=Sum("bound_usd"))["all"] or Decimal(0)
            quota.month, quota.units_before = month, taken - to_units(held)
            if keeps_month:
                quota.save(update_fields=["month", "units_before"])
        left = to_units(quota.usd_month) - (taken - quota.units_before)
        room.units = left if room.units is None else min(room.units, left)
    return room


def this_month() -> datetime:
    """When the month began, by UTC."""
    return datetime.now(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def units_of_month(ids: Sequence[int]) -> int:
    """What the calls of this month put on these accounts, those of unknown cost by their bounds."""
    begun = Call.objects.filter(account__in=ids, created_at__gte=this_month()).order_by()
    unknown = begun.filter(usd=None).exclude(status=Call.Status.FAILED)
    sums = (begun.aggregate(all=Sum("usd")), unknown.aggregate(all=Sum("bound_usd")))
    return sum(to_units(each["all"] or Decimal(0)) for each in sums)


def quota_words(account: Account, quota: Quota) -> str:
    """Which limit of the benchmark is reached; "" where the run's own is nearer."""
    left = _left(quota)
    if left.calls is not None and left.calls < 1:
        return f"The benchmark's quota of {quota.calls:,} calls to models is used up."
    own = account.left_units
    if left.units is None or (own is not None and own <= left.units):
        return ""
    in_all = _left(Quota(pk=quota.pk, usd=quota.usd)).units
    usd, words = quota.usd, "for models"
    if in_all is None or left.units < in_all:
        usd, words = quota.usd_month, "a month for models"
    return (
        f"The benchmark's quota of ${usd:,.2f} {words} has no room for the next call, or what that "
        "costs is not known."
    )


def limit_of(usd: Decimal | None) -> int | None:
    """The amount in units of an account; None is no limit."""
    return None if usd is None else to_units(usd)
