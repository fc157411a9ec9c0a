"""What a benchmark uses and may use: bytes of pages and imported files, calls to models, money.

The row is `kit.models.Quota`; money and calls are held by llm/ledger/accounts.py, at every call.
"""

from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Sum
from django.template.defaultfilters import filesizeformat

from corpus.models import Benchmark, CollectedPage, ImportRun
from kit import audit
from kit.errors import Refused
from kit.models import Quota
from kit.runs.models import RunStatus, TrackedRun
from kit.runs.polling import run_models
from kit.runs.turns import level_of
from llm.ledger.accounts import AskingRun, paying_runs, share_quota
from llm.ledger.reserving import units_of_month
from llm.models import Call, to_usd

LIMITS = ("bytes", "calls", "usd", "usd_month", "in_flight")
# What they brought was taken away again.
_LEFT_NOTHING = (RunStatus.FAILED, RunStatus.CANCELLED)


def set_quota(
    *,
    benchmark: Benchmark,
    actor: User | None,
    bytes: int | None,
    calls: int | None,
    usd: Decimal | None,
    usd_month: Decimal | None = None,
    in_flight: int | None = None,
    priority: int | None = None,
) -> Quota:
    """Limit what the benchmark may use from now on; None is no limit.

    Less than is used already stops what comes next. `priority` is that of its runs of every kind
    about which nobody said anything; None leaves it to the size of each. Who may is asked by the
    caller.
    """
    with transaction.atomic():
        most = {"bytes": bytes, "calls": calls, "usd": usd}
        most |= {"usd_month": usd_month, "in_flight": in_flight, "priority": priority}
        quota = share_quota(benchmark.slug, most)
        data = {k: str(v) if isinstance(v, Decimal) else v for k, v in most.items()}
        data["priority"] = level_of(priority)
        audit.record(actor, "set quota", benchmark, benchmark.slug, data)
    return quota


def set_common_priority(*, benchmark: Benchmark, priority: int | None, actor: User | None) -> None:
    """Set the priority of the benchmark alone; its limits stay. Who may is asked by the caller."""
    quota = quota_of(benchmark)
    kept = {name: getattr(quota, name) for name in LIMITS} | {"priority": priority}
    set_quota(benchmark=benchmark, actor=actor, **kept)


def quota_of(benchmark: Benchmark) -> Quota:
    """Its limits; none where nobody has set any."""
    return Quota.objects.filter(scope=benchmark.slug).first() or Quota(scope=benchmark.slug)


def used_by(benchmark: Benchmark) -> dict[str, Any]:
    """What it has used; money with what calls of unknown cost may come to."""
    accounts = [run.account for run in paying_runs(benchmark.slug) if run.account]
    units = sum(each.spent_units + each.reserved_units for each in accounts)
    calls = Call.objects.filter(account__in=accounts)
    month = to_usd(units_of_month([each.pk for each in accounts]))
    return {
        "bytes": _bytes_of(benchmark),
        "calls": calls.count(),
        "usd": to_usd(units),
        "usd_month": month,
        "in_flight": calls.under_way().count(),
    }


def sharing_runs(benchmark: Benchmark) -> list[TrackedRun]:
    """Its runs of every kind that wait for workers or are at work, the weightiest first."""
    open_ = (RunStatus.QUEUED, RunStatus.RUNNING)
    found = [
        run
        for kind in run_models()
        for run in kind.objects.filter(status__in=open_, **_of(kind, benchmark))
        .select_related(kind.of_benchmark)
        .order_by("pk")
    ]
    return sorted(found, key=lambda run: -run.claimant.weight)


def asking_run(benchmark: Benchmark, kind: str, pk: int) -> AskingRun | None:
    """The run of that kind (its task's name, such as debate.run) and id."""
    kinds = (k for k in run_models() if k.task_name == kind and issubclass(k, AskingRun))
    rows = (each.objects.filter(pk=pk, **_of(each, benchmark)).first() for each in kinds)
    return next(rows, None)


def _of(kind: type[TrackedRun], benchmark: Benchmark) -> dict[str, Any]:
    return {kind.of_benchmark: benchmark}


def check_room(benchmark: Benchmark, size: int, *, is_taking: bool = False) -> None:
    """Raises Refused where so many bytes more would be beyond the quota.

    `is_taking`: in the transaction that writes them down, one after the other.
    """
    rows = Quota.objects.filter(scope=benchmark.slug).exclude(bytes=None)
    quota = rows.select_for_update().first() if is_taking else rows.first()
    if quota is None or not size:
        return
    used, most = _bytes_of(benchmark), quota.bytes or 0
    if used + size > most:
        raise Refused(
            f"This benchmark may keep {filesizeformat(most)} of pages and imported files "
            f"and has {filesizeformat(used)}. Whoever runs the site may raise its quota."
        )


def _bytes_of(benchmark: Benchmark) -> int:
    pages = CollectedPage.objects.filter(benchmark=benchmark)
    imports = ImportRun.objects.filter(benchmark=benchmark).exclude(status__in=_LEFT_NOTHING)
    sums = [rows.order_by().aggregate(all=Sum("size"))["all"] or 0 for rows in (pages, imports)]
    return sum(sums)
