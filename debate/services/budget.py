"""What a debate run may spend: the limit a person sets, and the account its calls charge."""

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from django.contrib.auth.models import User
from django.db import transaction

from debate.models import DebateRun, HintRun
from kit import audit
from kit.errors import Refused
from llm import endpoints
from llm.endpoints import EndpointError, UnknownEndpoint
from llm.models import Account, to_units
from llm.prices import PriceError, UnknownPrice, table

_MOST_USD: Final = Decimal(1_000_000)


def set_budget(*, run: DebateRun | HintRun, usd: Decimal | None, actor: User | None) -> None:
    """Limit what the run may spend, from its next call on; None lifts the limit.

    What is spent already counts. A paused run has to be resumed by itself. Raises Refused for
    an amount below 0 or with parts of a cent, and for a model without a known price.
    """
    if usd is not None:
        seats = [(each["endpoint"], each["model"]) for each in run.seats]
        check_budget(usd, seats or [(run.endpoint, run.model)])
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
            scope=run.benchmark.slug,
            data={"usd": None if usd is None else str(usd)},
        )


def open_account(run: DebateRun | HintRun) -> Account:
    """The account that the run's calls are charged to, made when it is first needed."""
    with transaction.atomic():
        rows = type(run).objects
        row = rows.select_for_update().only("account_id", "budget_usd").get(pk=run.pk)
        if row.account_id is None:
            row.account = Account.objects.create(
                name=f"{run._meta.verbose_name} {run.pk}", limit_units=_limit(row.budget_usd)
            )
            rows.filter(pk=run.pk).update(account=row.account)
    run.account = row.account
    assert run.account is not None  # it was there or was made above
    return run.account


def budget_words(run: DebateRun | HintRun, *, waiting: int) -> str:
    """Why a run paused for its budget while so many pairs wait, and what to do."""
    account = open_account(run)
    held = ""
    if account.reserved_units:
        held = (
            f" and ${_cents(account.reserved_usd)} held for calls that were not answered, or "
            "whose answer named no tokens, and may have been paid for"
        )
    return (
        f"The budget of ${_cents(account.limit_usd or Decimal(0))} has no room for the next call: "
        f"${_cents(account.spent_usd)} spent{held}. {waiting} pairs keep waiting. Raise the "
        "budget, then resume the run."
    )


def check_budget(usd: Decimal, seats: Iterable[tuple[str, str]]) -> None:
    """Raises Refused for an amount that is none, and for a seat whose price nobody knows.

    `seats`: (endpoint, model) of everybody who is asked.
    """
    if not usd.is_finite() or not 0 <= usd <= _MOST_USD or usd != round(usd, 2):
        raise Refused("Give the budget in dollars and cents, 0 or more.", field="budget_usd")
    try:
        for name, model in set(seats):
            table().demand(endpoints.get(name), model, on=datetime.now(UTC).date())
    except (UnknownEndpoint, EndpointError, UnknownPrice, PriceError) as error:
        raise Refused(str(error), field="budget_usd") from None


def _limit(usd: Decimal | None) -> int | None:
    return None if usd is None else to_units(usd)


def _cents(usd: Decimal) -> str:
    return f"{usd:,.2f}" if usd >= 1 or not usd else f"{usd:,.4f}"
