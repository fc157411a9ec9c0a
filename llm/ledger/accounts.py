"""Who pays for calls: the runs that ask models, their accounts and budgets."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar, Final, TypeVar

from django import forms
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User
from django.db import models, transaction
from django.db.models import Count, QuerySet

from kit import audit
from kit.errors import Refused
from kit.models import Quota
from kit.runs.models import TrackedRun, begin
from kit.runs.moves import note
from kit.runs.turns import Priority, level_of
from llm import endpoints
from llm.endpoints import Endpoint, SettingsError
from llm.ledger.reserving import limit_of, quota_words, this_month, units_of_month
from llm.models import Account, Call, CallQuerySet
from llm.prices import table
from llm.requests import EFFORTS

_MOST_USD: Final = Decimal(1_000_000)


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

    `budget_usd` is what a person allows to be spent, null for no limit; the account holds the same
    number, and `set_budget` writes both.
    """

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
    # What a person said of it; null: as its benchmark's, or by its size (kit/runs/turns.py).
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
                limit_units=limit_of(row.budget_usd),
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
    process where it is `claimed`. The event of `verb` holds what is `said`.

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
        account.limit_units, run.budget_usd = limit_of(usd), usd
        account.save(update_fields=["limit_units"])
        type(run).objects.filter(pk=run.pk).update(budget_usd=usd)
        said = {"usd": None if usd is None else str(usd)}
        audit.record(actor, f"set budget of {run._meta.verbose_name}", run, scope, said)


def set_priority(*, run: AskingRun, priority: int | None, actor: User | None) -> None:
    """Say which of the runs that wait for the same goes first; None leaves it to its benchmark's
    priority, or to the run's size.

    From its next turn on (kit/runs/turns.py). Raises Refused for `high` by who is no staff:
    it goes before the runs of other benchmarks, whose admins share the workers.
    """
    if priority == Priority.HIGH and actor is not None and not actor.is_staff:
        raise Refused("Staff of the site alone put a run before all others.", field="priority")
    with transaction.atomic():
        type(run).objects.filter(pk=run.pk).update(priority=priority)
        note(run, actor, f"set priority of {run.noun}", priority=level_of(priority))
    run.priority = priority


def budget_words(run: PayingRun, *, waiting: str) -> str:
    """Why a run paused for its budget, and what to do; `waiting` says what, such as "3 pairs"."""
    account = open_account(run)
    if account.quota and (words := quota_words(account, account.quota)):
        return f"{words} {waiting} keep waiting. Whoever runs the site may raise it; then resume."
    held = (
        f" and ${_cents(account.reserved_usd)} held for calls that were not answered, or whose "
        "answer named no tokens, and may have been paid for"
    )
    reserved = held if account.reserved_units else ""
    return (
        f"The budget of ${account.limit_usd or Decimal(0):,.2f} has no room for the next call: "
        f"${_cents(account.spent_usd)} spent{reserved}. {waiting} keep waiting. Raise the "
        "budget, then resume the run."
    )


def endpoint_field(role: str, **more: Any) -> forms.ChoiceField:
    """The field of every form that chooses who is asked in that role."""
    more = {"label": "Model endpoint", **more}
    return forms.ChoiceField(choices=lambda: endpoints.endpoint_choices(role), **more)


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


def _cents(usd: Decimal) -> str:
    return f"{usd:,.2f}" if usd >= 1 or not usd else f"{usd:,.4f}"
