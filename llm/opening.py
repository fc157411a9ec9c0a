"""New rows of the ledger at driver speed: every call waits for its own, with its place taken.

A model instance and bulk_create cost more here than all else that happens to a call.
"""

from collections.abc import Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Any, Final

from django.db import connection
from django.utils import timezone

from llm.completions import encode
from llm.models import Call
from llm.profiles import Profile
from llm.records import Intent

_COLUMNS: Final = (
    "key",
    "attempt",
    "role",
    "model",
    "endpoint",
    "practice",
    "subject",
    "owner",
    "status",
    "finish_reason",
    "error",
    "account_id",
    "bound_usd",
    "price_input",
    "price_cached",
    "price_output",
    "price_date",
    "request",
    "created_at",
)


def insert_calls(intents: Sequence[tuple[Intent, int]], *, owner: str) -> list[int]:
    """Write (intent, number of the attempt) rows; their ids in the same order.

    Runs in the caller's transaction. Raises IntegrityError where an attempt of that number is
    there already.
    """
    if not intents:
        return []
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    values: list[Any] = []
    for intent, attempt in intents:
        values += _values(intent, attempt, owner)
        values.append(now)
    with connection.cursor() as cursor:
        cursor.execute(_statement(len(intents)), values)
        return [pk for (pk,) in cursor.fetchall()]


def _values(intent: Intent, attempt: int, owner: str) -> list[Any]:
    """All but the time, in the order of the columns."""
    request, charge = intent.request, intent.charge
    price = charge.price
    prices = [price.input, price.cached, price.output] if price else [None] * 3
    return [
        request.key,
        attempt,
        request.role,
        request.model,
        request.endpoint,
        intent.practice,
        intent.subject,
        owner,
        Call.Status.INTENT.value,
        "",
        "",
        charge.account_id,
        _decimal(charge.bound, 18, 12),
        *(_decimal(each, 12, 6) for each in prices),
        connection.ops.adapt_datefield_value(price.valid_from) if price else None,
        encode(_stored(intent)).decode(),
    ]


def _stored(intent: Intent) -> dict[str, Any]:
    """The request, and in what it was sent otherwise: a label shows how its model was asked."""
    profile = intent.profile
    if profile is None or profile == Profile():
        return intent.request.stored
    asked_as = {**asdict(profile), "without": sorted(profile.without)}
    return {**intent.request.stored, "asked_as": asked_as}


def _decimal(value: Decimal | None, digits: int, places: int) -> Any:
    return connection.ops.adapt_decimalfield_value(value, digits, places)


def _statement(rows: int) -> str:
    quote = connection.ops.quote_name
    json = "%s::jsonb" if connection.vendor == "postgresql" else "%s"
    row = ", ".join(json if name == "request" else "%s" for name in _COLUMNS)
    columns = ", ".join(quote(name) for name in _COLUMNS)
    # Names are the constants above, values go through the driver.
    return (
        f"INSERT INTO {quote(Call._meta.db_table)} ({columns}) "  # noqa: S608
        f"VALUES {', '.join([f'({row})'] * rows)} RETURNING id"
    )
