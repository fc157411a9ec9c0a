"""What a run has used so far, and what it will have used at its end."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.core.cache import cache
from django.utils import timezone

from debate.models import DebateRun
from llm.ledger.reading import Spending, spending, spending_by
from llm.models import Call

# Half a million calls are not added up at every look at a run that goes on.
_FRESH = timedelta(seconds=15)


@dataclass(frozen=True, kw_only=True)
class RunSpending(Spending):
    """All calls that the run has paid for, its trials' too, and how far the run is.

    A turn that was answered from the ledger was paid for by the run that asked first.
    """

    at: datetime
    finished: int
    total: int
    # By who was asked: (endpoint, model, role).
    parts: tuple[tuple[tuple[str, ...], Spending], ...] = ()
    budget: Decimal | None = None
    # What the run's account showed when the sums were taken.
    mark: tuple[Any, ...] = ()

    @property
    def share(self) -> float | None:
        """How much of the run is done."""
        return self.finished / self.total if self.finished and self.total else None

    @property
    def forecast_usd(self) -> float | None:
        """What the whole run will have cost if the rest is like what is done."""
        usd = self.known_usd
        return float(usd) / self.share if self.share and usd is not None else None

    @property
    def forecast_output(self) -> int | None:
        """Output tokens of the whole run, reckoned the same way."""
        return round(self.output_tokens / self.share) if self.share else None

    @property
    def forecast_input(self) -> int | None:
        """Input tokens of the whole run, reckoned the same way."""
        return round(self.input_tokens / self.share) if self.share else None


def run_spending(run: DebateRun) -> RunSpending:
    """Added up anew when a call was settled since; of a run under way, every fifteen seconds."""
    # Databases of tests and of restored copies give keys again: the moment tells runs apart.
    key = f"debate-spending:{run.pk}:{run.created_at.timestamp()}"
    known: RunSpending | None = cache.get(key)
    mark = _mark(run)
    if known and known.mark == mark:
        return known
    if known and not run.is_over and timezone.now() - known.at < _FRESH:
        return known
    found = RunSpending(
        at=timezone.now(),
        finished=run.done,
        total=run.total,
        **vars(spending(run.calls)),
        parts=tuple(spending_by(run.calls, "endpoint", "model", "role")),
        budget=run.budget_usd,
        mark=mark,
    )
    # What is still awaited may be settled at no cost, which the account does not show.
    if not found.by_state[Call.Status.INTENT] or not run.is_over:
        cache.set(key, found, timeout=24 * 3600)
    return found


def _mark(run: DebateRun) -> tuple[Any, ...]:
    account, last = run.account, run.calls.order_by("-pk").values_list("pk", flat=True).first()
    money = (account.spent_units, account.reserved_units) if account else ()
    return (run.done, run.total, run.budget_usd, last, *money)
