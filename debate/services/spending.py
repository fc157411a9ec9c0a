"""What a run has used so far, and what it will have used at its end."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Q, Sum
from django.utils import timezone

from debate.models import DebateRun, Turn
from llm.models import Call

# Half a million calls are not added up at every look at a run that goes on.
_FRESH = timedelta(seconds=15)
HAS_PRICES = any(each.name == "usd" for each in Call._meta.get_fields())


@dataclass(frozen=True)
class Spending:
    """Calls behind the stored turns; `usd` is None where calls have no price.

    `untold` calls brought no token counts, so that the sums are lower bounds.
    """

    at: datetime
    finished: int
    total: int
    calls: int = 0
    untold: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    usd: float | None = None
    budget: Decimal | None = None

    @property
    def share(self) -> float | None:
        """How much of the run is done."""
        return self.finished / self.total if self.finished and self.total else None

    @property
    def forecast_usd(self) -> float | None:
        """What the whole run will have cost if the rest is like what is done."""
        return self.usd / self.share if self.share and self.usd is not None else None

    @property
    def forecast_output(self) -> int | None:
        """Output tokens of the whole run, reckoned the same way."""
        return round(self.output_tokens / self.share) if self.share else None

    @property
    def forecast_input(self) -> int | None:
        """Input tokens of the whole run, reckoned the same way."""
        return round(self.input_tokens / self.share) if self.share else None


def spending(run: DebateRun) -> Spending:
    """Added up anew when something was stored since, at most every fifteen seconds."""
    # Databases of tests and of restored copies give keys again: the moment tells runs apart.
    key = f"debate-spending:{run.pk}:{run.created_at.timestamp()}"
    known: Spending | None = cache.get(key)
    if known and known.finished == run.done:
        return known
    if known and not run.is_over and timezone.now() - known.at < _FRESH:
        return known
    found = _add_up(run)
    cache.set(key, found, timeout=24 * 3600)
    return found


def _add_up(run: DebateRun) -> Spending:
    sums: dict[str, Any] = {
        "calls": Count("call"),
        "untold": Count("call", filter=Q(call__input_tokens=None)),
        "input_tokens": Sum("call__input_tokens"),
        "cached_tokens": Sum("call__cached_tokens"),
        "output_tokens": Sum("call__output_tokens"),
        "seconds": Sum("call__elapsed_s"),
    }
    if HAS_PRICES:
        sums["usd"] = Sum("call__usd")
    found = Turn.objects.filter(debate__run=run, call__isnull=False).aggregate(**sums)
    usd = found.pop("usd", None)
    return Spending(
        at=timezone.now(),
        finished=run.done,
        total=run.total,
        usd=None if usd is None else float(usd),
        budget=getattr(run, "budget_usd", None),
        **{name: value or 0 for name, value in found.items()},
    )
