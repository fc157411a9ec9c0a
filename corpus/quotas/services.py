"""What a benchmark uses and may use: bytes of pages and imported files, calls to models, money.

The row is `kit.models.Quota`; money and calls are held by llm/ledger/accounts.py, at every call.
"""

from dataclasses import dataclass
from decimal import Decimal

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Sum
from django.template.defaultfilters import filesizeformat

from corpus.models import Benchmark, CollectedPage, ImportRun
from kit import audit
from kit.errors import Refused
from kit.models import Quota
from kit.runs.models import RunStatus
from llm.ledger.accounts import paying_runs, share_quota
from llm.models import Call, to_usd

# What they brought was taken away again.
_LEFT_NOTHING = (RunStatus.FAILED, RunStatus.CANCELLED)


@dataclass(frozen=True)
class Used:
    """What a benchmark has used so far."""

    bytes: int
    calls: int
    usd: Decimal


def set_quota(
    *,
    benchmark: Benchmark,
    actor: User | None,
    bytes: int | None,
    calls: int | None,
    usd: Decimal | None,
) -> Quota:
    """Limit what the benchmark may use from now on; None is no limit.

    Less than is used already stops what comes next. Who may is asked by the caller.
    """
    with transaction.atomic():
        most = {"bytes": bytes, "calls": calls, "usd": usd}
        quota, _ = Quota.objects.update_or_create(scope=benchmark.slug, defaults=most)
        share_quota(quota)
        data = {"bytes": bytes, "calls": calls, "usd": None if usd is None else str(usd)}
        audit.record(
            actor=actor, verb="set quota", target=benchmark, scope=benchmark.slug, data=data
        )
    return quota


def quota_of(benchmark: Benchmark) -> Quota:
    """Its limits; none where nobody has set any."""
    return Quota.objects.filter(scope=benchmark.slug).first() or Quota(scope=benchmark.slug)


def used_by(benchmark: Benchmark) -> Used:
    """What it has used; money with what calls of unknown cost may come to."""
    accounts = [run.account for run in paying_runs(benchmark.slug) if run.account]
    units = sum(each.spent_units + each.reserved_units for each in accounts)
    calls = Call.objects.filter(account__in=accounts).count()
    return Used(_bytes_of(benchmark), calls, to_usd(units))


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
