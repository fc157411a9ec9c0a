"""Counts of a run, read from its debates so that they are right after any reload.

What a run has used so far, and what it will have used at its end.

How many pairs were proposed before the filter: the first column of DREAM's Table 8."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.core.cache import cache
from django.db.models import Count, F, Max
from django.urls import reverse
from django.utils import timezone

from corpus.models import Pool, Query
from debate.models import DebateRun, DebateStatus, RunKind
from kit.stats.proportions import Proportion, proportion
from llm.ledger.reading import Spending, spending, spending_by
from llm.models import Call

# Over how much of the past the pace is measured.
_PACE = timedelta(minutes=2)
# Outcomes that have a number of their own on screens; a run of another kind may have others.
_KNOWN = {
    DebateStatus.WAITING,
    DebateStatus.AGREED,
    DebateStatus.ESCALATED,
    DebateStatus.UNREADABLE,
    DebateStatus.FAILED,
    DebateStatus.SKIPPED_NO_ANSWER,
}


# Those without a verdict, for which somebody or something is to blame.
BROKEN_STATUSES = (DebateStatus.UNREADABLE, DebateStatus.REFUSED, DebateStatus.FAILED)


@dataclass
class Outcomes:
    """Counts of a run or of one domain: by status, agreements by round, relevant ones found."""

    name: str = ""
    by_status: dict[str, int] = field(default_factory=dict)
    agreed: dict[int, int] = field(default_factory=dict)
    relevant: int = 0

    def add(self, status: str, round: int | None, label: int | None, count: int) -> None:
        """Count `count` more debates that ended so."""
        self.by_status[status] = self.by_status.get(status, 0) + count
        if status == DebateStatus.AGREED and round:
            self.agreed[round] = self.agreed.get(round, 0) + count
        if label == 1:
            self.relevant += count

    def open_after(self, round: int) -> int:
        """Pairs without agreement after that round: agreed later, disputed, or ruled on."""
        later = sum(count for number, count in self.agreed.items() if number > round)
        lasting = (DebateStatus.ESCALATED, DebateStatus.ADJUDICATED)
        return later + sum(self.by_status.get(status, 0) for status in lasting)

    @property
    def total(self) -> int:
        """All pairs."""
        return sum(self.by_status.values())

    @property
    def others(self) -> list[tuple[str, int]]:
        """(status, pairs) of outcomes that only other kinds of runs have."""
        return sorted((each, n) for each, n in self.by_status.items() if each not in _KNOWN)

    @property
    def finished(self) -> int:
        """Debates with an outcome."""
        return self.total - self.by_status.get(DebateStatus.WAITING, 0)

    @property
    def escalation(self) -> Proportion:
        """Disputed pairs of those that ended in agreement or dispute (docs/protocol.md 6.9)."""
        escalated = self.by_status.get(DebateStatus.ESCALATED, 0)
        return proportion(escalated, sum(self.agreed.values()) + escalated)

    def figures(self) -> dict[str, int]:
        """The counts by the names that the screen, the API and the command use."""
        first, count = self.agreed.get(1, 0), self.by_status.get
        return {
            "total": self.total,
            "agreed_1": first,
            "agreed_later": sum(self.agreed.values()) - first,
            "escalated": count(DebateStatus.ESCALATED, 0),
            "unreadable": count(DebateStatus.UNREADABLE, 0),
            "failed": count(DebateStatus.FAILED, 0),
            "skipped": count(DebateStatus.SKIPPED_NO_ANSWER, 0),
            "waiting": count(DebateStatus.WAITING, 0),
        }


def figures(run: DebateRun) -> dict[str, int]:
    """The run's counts in one query, which an index answers without the rows."""
    counted = run.debates.order_by().values_list("status", "round", "label")
    found = Outcomes()
    for row in counted.annotate(count=Count("pk")):
        found.add(*row)
    return found.figures()


def outcomes(run: DebateRun) -> tuple[Outcomes, list[Outcomes]]:
    """The counts of the run and of each domain (the shape of DREAM's Table 8).

    Grouped by query, in the order of the index that holds all of it: joining 120,000 pairs to
    their domains in the database costs three times as much as joining their queries here.
    """
    columns = ("status", "round", "label", "query_id")
    domains = dict(
        Query.objects.filter(domain__benchmark=run.benchmark_id)
        .order_by()
        .values_list("pk", "domain__name")
    )
    whole, by_domain = Outcomes(), dict[str, Outcomes]()
    counted = run.debates.order_by().values_list(*columns).annotate(count=Count("pk"))
    for status, round, label, query, count in counted:
        name = domains[query]
        whole.add(status, round, label, count)
        by_domain.setdefault(name, Outcomes(name)).add(status, round, label, count)
    return whole, [by_domain[name] for name in sorted(by_domain)]


def failure_classes(run: DebateRun) -> list[dict[str, Any]]:
    """Unreadable, refused and failed debates by their error, the most frequent first.

    Rows {"status", "name", "words", "count"}; `words` are those of one of them.
    """
    broken = run.debates.filter(status__in=BROKEN_STATUSES)
    counted = (
        broken.order_by()
        .values("status", name=F("error_class"))
        .annotate(words=Max("error"), count=Count("pk"))
    )
    return [dict(row) for row in counted.order_by("-count", "status", "name")[:50]]


def seconds_left(run: DebateRun, waiting: int) -> float | None:
    """How long the waiting pairs take at the pace of the last two minutes.

    None while nothing ended in that time, or where nothing goes on.
    """
    if run.status != "running" or not waiting:
        return None
    now = timezone.now()
    began = max(now - _PACE, run.started_at or now - _PACE)
    ended = run.debates.filter(ended_at__gte=began).count()
    return waiting * (now - began).total_seconds() / ended if ended else None


def flag_counts(run: DebateRun) -> list[tuple[str, int]]:
    """(flag, debates with a turn that carries it), the most frequent first."""
    counted = run.flags.order_by().values_list("flag").annotate(count=Count("pk"))
    return list(counted.order_by("-count", "flag"))


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
    account, last = run.account, run.calls.order_by("-pk").values_list("pk", flat=True).first()
    money = (account.spent_units, account.reserved_units) if account else ()
    mark = (run.done, run.total, run.budget_usd, last, *money)
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


def candidates(pool: Pool) -> tuple[Pool, dict[str, int]] | None:
    """The pool that this one was filtered out of, and its pairs by domain; None without a filter.

    Where filters followed each other, the pool before the first. Pools do not change, so the
    counts are kept.
    """
    first = pool
    seen = {pool.pk}
    while first.provenance.get("kind") == RunKind.FILTER:
        earlier = Pool.objects.filter(
            benchmark=pool.benchmark_id, pk=first.provenance.get("pool")
        ).first()
        if earlier is None or earlier.pk in seen:
            break
        first = earlier
        seen.add(first.pk)
    if first == pool:
        return None
    key = f"pool-domains:{first.pk}:{first.created_at.timestamp()}"
    counts: dict[str, int] | None = cache.get(key)
    if counts is None:
        counts = _by_domain(first)
        cache.set(key, counts, timeout=24 * 3600)
    return first, counts


def _by_domain(pool: Pool) -> dict[str, int]:
    """Grouped by query as the index has them, and joined to the few domains here."""
    names = dict(
        Query.objects.filter(domain__benchmark=pool.benchmark_id)
        .order_by()
        .values_list("pk", "domain__name")
    )
    counts: dict[str, int] = {}
    for query, count in pool.entries.order_by().values_list("query").annotate(Count("pk")):
        counts[names[query]] = counts.get(names[query], 0) + count
    return counts


Address = Callable[..., str]


def pairs_url(run: DebateRun) -> Address:
    """Addresses of the run's pairs, narrowed as the list can."""
    base = reverse("debates", args=[run.benchmark.slug, run.pk])

    def address(**params: str | int) -> str:
        return f"{base}?{'&'.join(f'{name}={value}' for name, value in params.items())}"

    return address
