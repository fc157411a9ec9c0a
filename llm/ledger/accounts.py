"""Who pays for calls: an account's hard limit, and the runs whose budget it keeps.

What reserves and moves sums belongs inside the transactions of `writing`, with the rows it counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar, Final, TypeVar

from django import forms
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User
from django.db import models, transaction
from django.db.models import Count, F, QuerySet, Sum

from kit import audit
from kit.errors import Refused
from kit.models import Quota
from kit.runs.models import TrackedRun, begin
from kit.runs.moves import note
from kit.runs.turns import Priority
from llm import endpoints
from llm.endpoints import Endpoint, SettingsError
from llm.models import LOST_AFTER, Account, Call, CallQuerySet, to_units
from llm.prices import table
from llm.requests import EFFORTS

_MOST_USD: Final = Decimal(1_000_000)


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
    own = {pk: _Room(row.limit_units) for pk, row in rows.items()}
    for pk, row in rows.items():
        own[pk].take(row.spent_units + row.reserved_units, calls=0)
    shared = {quota.pk: _left(quota, keeps_month=True) for quota in _locked(rows.values())}
    changes: list[tuple[int, int, int, int]] = []
    fits: list[bool | None] = []
    for pk, bound in charges:
        account, does_fit = rows.get(pk or 0), True
        if account is not None:
            units = to_units(bound or Decimal(0))
            rooms = [own[account.pk]]
            if account.quota_id:
                rooms.append(shared[account.quota_id])
            does_fit = all(room.fits(bound) for room in rooms)
            if does_fit and any(room.places == 0 for room in rooms):
                fits.append(None)
                continue
            if does_fit:
                for room in rooms:
                    room.take(units)
                changes.append((account.pk, 0, units, int(account.quota_id is not None)))
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
    taken, room = int(sums["units"] or 0), _Room(_limit(quota.usd), quota.calls)
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


def share_quota(scope: str, limits: Mapping[str, Any]) -> Quota:
    """Set the limits of a scope, and let all its runs look at them, or none where there are none.

    In the caller's transaction.
    """
    ids = [run.account_id for run in paying_runs(scope) if run.account_id]
    # Before the quota, as `reserve` does: else each would wait for the other.
    accounts = list(Account.objects.select_for_update().filter(pk__in=ids).order_by("pk"))
    quota, _ = Quota.objects.update_or_create(scope=scope, defaults=limits)
    calls = Call.objects.filter(account__in=ids).order_by().values_list("account")
    made = dict(calls.annotate(Count("pk"))) if quota.limits_calls else {}
    if quota.usd_month is not None:
        held = sum(each.spent_units + each.reserved_units for each in accounts)
        quota.month, quota.units_before = this_month().date(), held - units_of_month(ids)
        quota.save(update_fields=["month", "units_before"])
    for account in accounts:
        account.quota = quota if quota.limits_calls else None
        account.made = made.get(account.pk, 0)
    Account.objects.bulk_update(accounts, ["quota", "made"])
    return quota


class PayingRun(TrackedRun):
    """Base of runs that ask models.

    `budget_usd` is what a person allows to be spent, null for no limit. The account holds the same
    number, for the reservation that goes with every call; `set_budget` writes both.
    """

    of_benchmark = "benchmark"

    budget_usd = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True)
    account = models.OneToOneField(Account, null=True, on_delete=models.PROTECT, related_name="+")

    class Meta:
        abstract = True

    @property
    def asked(self) -> list[tuple[str, str]]:
        """Everybody whose answers it pays for, as (endpoint, model)."""
        raise NotImplementedError

    @property
    def calls(self) -> CallQuerySet:
        """The calls that it pays for, also those whose answer nobody could use."""
        found = Call.objects.filter(account=self.account_id)
        return found if self.account_id else found.none()

    @property
    def spent_usd(self) -> Decimal:
        """What its answered calls have cost: the sum of `reading.spending`, as it is kept."""
        return self.account.spent_usd if self.account else Decimal(0)

    @property
    def reserved_usd(self) -> Decimal:
        """What its calls of unknown cost may come to at most."""
        return self.account.reserved_usd if self.account else Decimal(0)


class AskingRun(PayingRun):
    """Base of runs that ask one endpoint at least, many calls at a time, and may pause for it."""

    # Endpoints are chosen by name; neither address nor key is stored or shown.
    endpoint = models.CharField(max_length=60)
    model = models.CharField(max_length=120)
    practice = models.BooleanField(default=False)
    calls_in_flight = models.PositiveSmallIntegerField(default=16)
    # Why a worker paused the run by itself, and what to do; for people.
    pause_reason = models.TextField(blank=True, default="")
    # What a person said of it; null: by its size (kit/runs/turns.py).
    priority = models.PositiveSmallIntegerField(null=True, choices=Priority.choices)
    # What it works on: rows with a `state`.
    items_name: ClassVar[str] = "items"

    class Meta:
        abstract = True
        ordering = ["-pk"]

    def waiting_items(self) -> QuerySet[Any]:
        """Those that have no outcome yet."""
        rows: QuerySet[Any] = getattr(self, self.items_name).filter(state="waiting")
        return rows

    @property
    def asked(self) -> list[tuple[str, str]]:
        """The one endpoint with its model; runs that ask several say so."""
        return [(self.endpoint, self.model)]

    @property
    def level(self) -> str:
        """Its priority in a word, by its size where nobody said one."""
        weight = self.weigh(self.priority, self.total)
        return str(Priority(weight).label) if weight in Priority else "at the screen"


RunT = TypeVar("RunT", bound=AskingRun)


def paying_runs(slug: str) -> list[PayingRun]:
    """The runs of every kind that pay for calls in a benchmark, the latest of each kind first."""
    found: list[PayingRun] = []
    for kind in apps.get_models():
        if issubclass(kind, PayingRun):
            own = {f"{kind.of_benchmark}__slug": slug}
            runs = kind.objects.filter(account__isnull=False, **own)  # type: ignore[attr-defined]
            found += runs.select_related("account").order_by("-pk")
    return found


def budget_of(given: str | None) -> Decimal | None:
    """A budget as it was typed for a command; none where nothing was. Raises Refused."""
    try:
        return Decimal(given) if given else None
    except InvalidOperation:
        raise Refused("--budget is an amount in dollars, such as 2.50.") from None


def asked_of(endpoint: Endpoint, role: str = "") -> dict[str, Any]:
    """The fields of an AskingRun that ask an endpoint's default model, or the role's there."""
    endpoint = endpoints.in_role(endpoint, role)
    return {
        "endpoint": endpoint.name,
        "model": endpoint.default_model,
        "practice": endpoint.is_practice,
        "calls_in_flight": settings.ASSAY_CALLS_IN_FLIGHT,
    }


def check_sampling(temperature: float, reasoning_effort: str) -> None:
    """Raises Refused for what no model takes."""
    if not 0 <= temperature <= 2:
        raise Refused("The temperature is a number from 0 to 2.", field="temperature")
    if reasoning_effort not in ("", *EFFORTS):
        words = f"The reasoning effort is one of {', '.join(EFFORTS)}, or left to the model."
        raise Refused(words, field="reasoning_effort")


def check_budget(usd: Decimal | None, choices: Iterable[tuple[str, str]]) -> None:
    """Raises Refused for an amount that is none, and for a model whose price nobody knows.

    `choices`: (endpoint, model) of everybody who is asked. No limit needs no price.
    """
    if usd is None:
        return
    if not usd.is_finite() or not 0 <= usd <= _MOST_USD or usd != round(usd, 2):
        raise Refused("Give the budget in dollars and cents, 0 or more.", field="budget_usd")
    try:
        for name, model in set(choices):
            table().demand(endpoints.get(name), model, on=datetime.now(UTC).date())
    except SettingsError as error:
        raise Refused(str(error), field="budget_usd") from None


def open_account(run: PayingRun) -> Account:
    """The account that the run's calls are charged to, made when it is first needed."""
    with transaction.atomic():
        rows = type(run).objects
        row = rows.select_for_update().only("account_id", "budget_usd").get(pk=run.pk)
        if row.account_id is None:
            quota = Quota.objects.filter(scope=run.scope).first()
            row.account = Account.objects.create(
                name=f"{run._meta.verbose_name} {run.pk}",
                limit_units=_limit(row.budget_usd),
                quota=quota if quota and quota.limits_calls else None,
            )
            rows.filter(pk=run.pk).update(account=row.account)
    run.account = row.account
    assert run.account is not None  # it was there or was made above
    return run.account


def start_asking(
    run: RunT,
    items: Iterable[models.Model] = (),
    *,
    actor: User | None,
    verb: str,
    claimed: bool,
    **said: object,
) -> RunT:
    """Store a new run with the items that wait in it, and wake a worker, or keep it for the calling
    process where it is `claimed`; its account is there where it asks anybody. The event of `verb`
    holds what is `said`.

    Raises Refused as `check_budget` does.
    """
    check_budget(run.budget_usd, run.asked)
    run.created_by = actor
    with transaction.atomic():
        run.save()
        if rows := list(items):
            type(rows[0])._default_manager.bulk_create(rows, batch_size=1000)
        if run.asked:
            open_account(run)
        note(run, actor, verb, **said)
        begin(run, claimed=claimed)
    return run


def set_budget(run: PayingRun, usd: Decimal | None, *, actor: User | None, scope: str) -> None:
    """Limit what the run may spend, from its next call on; None lifts the limit.

    What is spent already counts. A paused run has to be resumed by itself. Raises Refused as
    `check_budget` does.
    """
    check_budget(usd, run.asked)
    with transaction.atomic():
        account = open_account(run)
        Account.objects.filter(pk=account.pk).update(limit_units=_limit(usd))
        type(run).objects.filter(pk=run.pk).update(budget_usd=usd)
        run.budget_usd = usd
        run.account = Account.objects.get(pk=account.pk)
        audit.record(
            actor=actor,
            verb=f"set budget of {run._meta.verbose_name}",
            target=run,
            scope=scope,
            data={"usd": None if usd is None else str(usd)},
        )


def set_priority(*, run: AskingRun, priority: int | None, actor: User | None) -> None:
    """Say which of the runs that wait for the same goes first; None leaves it to the run's size.

    From its next turn on (kit/runs/turns.py). Raises Refused for `high` by who is no staff:
    it goes before the runs of other benchmarks, whose admins share the workers.
    """
    if priority == Priority.HIGH and actor is not None and not actor.is_staff:
        raise Refused("Staff of the site alone put a run before all others.", field="priority")
    with transaction.atomic():
        type(run).objects.filter(pk=run.pk).update(priority=priority)
        level = None if priority is None else Priority(priority).label
        note(run, actor, f"set priority of {run.noun}", priority=level)
    run.priority = priority


def budget_words(run: PayingRun, *, waiting: str) -> str:
    """Why a run paused for its budget, and what to do; `waiting` says what, such as "3 pairs"."""
    account = open_account(run)
    if account.quota and (words := _quota_words(account, account.quota)):
        return f"{words} {waiting} keep waiting. Whoever runs the site may raise it; then resume."
    reserved = ""
    if account.reserved_units:
        reserved = (
            f" and ${_cents(account.reserved_usd)} held for calls that were not answered, or "
            "whose answer named no tokens, and may have been paid for"
        )
    return (
        f"The budget of ${account.limit_usd or Decimal(0):,.2f} has no room for the next call: "
        f"${_cents(account.spent_usd)} spent{reserved}. {waiting} keep waiting. Raise the "
        "budget, then resume the run."
    )


def _quota_words(account: Account, quota: Quota) -> str:
    """Which limit of the benchmark is reached; "" where the run's own is nearer."""
    left = _left(quota)
    if left.calls is not None and left.calls < 1:
        return f"The benchmark's quota of {quota.calls:,} calls to models is used up."
    own = account.limit_units
    own = None if own is None else own - account.spent_units - account.reserved_units
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


def effort_field() -> forms.ChoiceField:
    """The field of every form that sets how long a model may think."""
    return forms.ChoiceField(
        label="Reasoning effort",
        required=False,
        choices=[("", "the model’s own"), *((each, each) for each in EFFORTS)],
        help_text="For models that take it; others may refuse the request.",
    )


def budget_field(
    help_text: str = "Never overspent; empty for no limit. A run without room for a call pauses.",
) -> forms.DecimalField:
    """What a run may spend, in whole cents, as a field of its form; empty for no limit."""
    return forms.DecimalField(
        label="Budget in USD",
        min_value=0,
        max_digits=9,
        decimal_places=2,
        required=False,
        help_text=help_text,
    )


def _limit(usd: Decimal | None) -> int | None:
    return None if usd is None else to_units(usd)


def _cents(usd: Decimal) -> str:
    return f"{usd:,.2f}" if usd >= 1 or not usd else f"{usd:,.4f}"
