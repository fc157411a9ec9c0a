"""What a cleaning run may spend, and the account that its calls are charged to."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from django.db import transaction

from corpus.models import CleaningRun
from kit.errors import Refused
from llm import endpoints
from llm.endpoints import EndpointError, UnknownEndpoint
from llm.models import Account, to_units
from llm.prices import PriceError, UnknownPrice, table

_MOST_USD: Final = Decimal(1_000_000)


def check_budget(run: CleaningRun, usd: Decimal | None) -> None:
    """Raises Refused for an amount that cannot be, and for a model without a known price."""
    if usd is None:
        return
    if not usd.is_finite() or not 0 <= usd <= _MOST_USD or usd != round(usd, 2):
        raise Refused("Give the budget in dollars and cents, 0 or more.", field="budget_usd")
    try:
        endpoint = endpoints.get(run.endpoint)
        table().demand(endpoint, run.model, on=datetime.now(UTC).date())
    except (UnknownEndpoint, EndpointError, UnknownPrice, PriceError) as error:
        raise Refused(str(error), field="budget_usd") from None


def open_account(run: CleaningRun) -> Account:
    """The run's account, made when it is first needed."""
    with transaction.atomic():
        row = CleaningRun.objects.select_for_update().get(pk=run.pk)
        if row.account is None:
            limit = None if row.budget_usd is None else to_units(row.budget_usd)
            row.account = Account.objects.create(name=f"cleaning run {run.pk}", limit_units=limit)
            CleaningRun.objects.filter(pk=run.pk).update(account=row.account)
    run.account = row.account
    assert run.account is not None  # it was there or was made above
    return run.account


def set_limit(run: CleaningRun, usd: Decimal | None) -> None:
    """Write the limit into run and account; in the caller's transaction."""
    limit = None if usd is None else to_units(usd)
    Account.objects.filter(pk=open_account(run).pk).update(limit_units=limit)
    CleaningRun.objects.filter(pk=run.pk).update(budget_usd=usd)
    run.budget_usd = usd


def budget_words(run: CleaningRun, *, waiting: int, words: str) -> str:
    """Why a run paused for its budget, and what to do; `words` say what waits."""
    account = open_account(run)
    limit = account.limit_usd or Decimal(0)
    return (
        f"The budget of ${limit:,.2f} has no room for the next call: ${account.spent_usd:,.4f} "
        f"spent, ${account.reserved_usd:,.4f} held. {waiting:,} {words} keep waiting. Raise the "
        "budget, then resume the run."
    )
