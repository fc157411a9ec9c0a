"""Approval of people's earlier work elsewhere, read from CSV: username, rate, approved."""

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

from django.contrib.auth.models import User
from django.db import transaction

from annotate.models import ApprovalRecord
from annotate.services.qualification import require_admin
from corpus.models import Benchmark
from kit import audit
from kit.errors import Refused

APPROVAL_COLUMNS = ("username", "rate", "approved")


def import_approvals(
    *, benchmark: Benchmark, actor: User, rows: Iterator[dict[str, str]]
) -> list[ApprovalRecord]:
    """Keep one record per row; all or none. The newest record of a person counts.

    `rate` is a percentage, `approved` a number of pieces. Raises Refused naming line and field.
    """
    require_admin(benchmark, actor)
    people = {user.username: user for user in User.objects.filter(memberships__benchmark=benchmark)}
    records, seen = [], set()
    for line, row in enumerate(rows, start=2):
        name = row.get("username", "").strip()
        if name not in people:
            raise Refused(
                f"Line {line}, username: {name!r} is no member of this benchmark.", field="file"
            )
        if name in seen:
            raise Refused(f"Line {line}, username: {name!r} stands there twice.", field="file")
        seen.add(name)
        records.append(
            ApprovalRecord(
                benchmark=benchmark,
                person=people[name],
                rate=_rate(row.get("rate", ""), line),
                approved=_number(row.get("approved", ""), line),
                imported_by=actor,
            )
        )
    if not records:
        raise Refused("The file has no line after its header.", field="file")
    with transaction.atomic():
        kept = ApprovalRecord.objects.bulk_create(records)
        data = {"people": [each.person_id for each in kept]}
        audit.record(
            actor=actor,
            verb="import approvals",
            target=benchmark,
            scope=benchmark.slug,
            data=data,
        )
    return kept


def _rate(text: str, line: int) -> Decimal:
    try:
        rate = Decimal(text.strip().removesuffix("%").strip()[:20])
    except InvalidOperation:
        rate = Decimal("NaN")
    if not rate.is_finite() or not 0 <= rate <= 100:
        raise Refused(f"Line {line}, rate: write a percentage from 0 to 100.", field="file")
    # Cut, never rounded up: 90.004 stays above 90 only if it is written with two decimals.
    return rate.quantize(Decimal("0.01"), rounding="ROUND_DOWN")


def _number(text: str, line: int) -> int:
    text = text.strip().replace(",", "")
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise Refused(f"Line {line}, approved: write a whole number.", field="file")
    return int(text)
