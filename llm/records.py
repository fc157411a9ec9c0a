"""Between the values of a call and its row in the ledger."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import Any, Final

from django.db import connection
from django.utils import timezone

from llm.completions import encode
from llm.endpoints import Endpoint
from llm.errors import LLMError
from llm.estimates import most_input
from llm.models import Call
from llm.prices import Price, PriceTable
from llm.profiles import Profile
from llm.requests import RawReply, Reply, Request, Usage

SETTLED_FIELDS: Final = (
    "status",
    "text",
    "tool_calls",
    "logprobs",
    "finish_reason",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "reasoning_tokens",
    "elapsed_s",
    "usd",
    "error",
    "settled_at",
)
# Those of a new row that are not at their defaults, in the order of `_opened`.
_OPENED_FIELDS: Final = (
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


@dataclass(frozen=True, slots=True)
class Charge:
    """Who pays for a call, at which price, and what it can cost at most (None: not known)."""

    account_id: int | None = None
    price: Price | None = None
    bound: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Intent:
    """A request about to be sent, and what it is for in the caller's words.

    `attempts` is how many attempts at it the caller has seen in the ledger; None is not known.
    `profile` is how the model is asked: what it does not take is not sent.
    """

    request: Request
    subject: str
    practice: bool = False
    charge: Charge = Charge()
    attempts: int | None = None
    profile: Profile | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of the attempt `call_id`: an answer, or the error that stands for it.

    With its `intent` the row needs not be read again, as long as nothing unusual happened.
    """

    call_id: int
    result: RawReply | LLMError
    intent: Intent | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What the ledger knows of a request: its answer if one was paid for, and how many tries."""

    reply: Reply | None
    attempts: int


class Charging:
    """Makes the charge of each request: its price of the day, and what it can cost at most."""

    def __init__(self, endpoint: Endpoint, prices: PriceTable, account_id: int | None) -> None:
        self._endpoint, self._prices, self._account_id = endpoint, prices, account_id
        self._known: dict[tuple[str, date], Price | None] = {}

    def charge(self, request: Request) -> Charge:
        """The charge; without a price or a longest answer nobody knows a bound."""
        price, bound = self._price(request.model), None
        if price is not None and price.is_free:
            bound = Decimal(0)
        elif price is not None and request.max_tokens is not None:
            read = most_input(request)
            bound = price.bound(input_tokens=read, output_tokens=request.max_tokens)
        return Charge(self._account_id, price, bound)

    def _price(self, model: str) -> Price | None:
        day = datetime.now(UTC).date()
        if (model, day) not in self._known:
            self._known[model, day] = self._prices.find(self._endpoint, model, on=day)
        return self._known[model, day]


def insert_calls(intents: Sequence[tuple[Intent, int]], *, owner: str) -> list[int]:
    """Write (intent, number of the attempt) rows; their ids in the same order.

    At driver speed: every call waits for its own row with its place taken, and model instances
    cost more here than all else that happens to a call. Runs in the caller's transaction. Raises
    IntegrityError where an attempt of that number is there already.
    """
    if not intents:
        return []
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    values: list[Any] = []
    for intent, attempt in intents:
        values += [*_opened(intent, attempt, owner), now]
    with connection.cursor() as cursor:
        cursor.execute(_insertion(connection.vendor, len(intents)), values)
        return [pk for (pk,) in cursor.fetchall()]


def update_awaited(outcomes: Sequence[tuple[int, dict[str, Any]]]) -> bool:
    """Write (id, settled fields) into rows that are still awaited; whether all of them were."""
    columns = _settled_columns()
    rows = [
        [
            # None is SQL's null in every column, of JSON too.
            *(
                None if fields[name] is None else field.get_db_prep_save(fields[name], connection)
                for name, field in columns
            ),
            call_id,
        ]
        for call_id, fields in outcomes
    ]
    with connection.cursor() as cursor:
        cursor.executemany(_settlement(connection.vendor), rows)
        return cursor.rowcount == len(rows)


def settled_fields(result: RawReply | LLMError, price: Price | None) -> dict[str, Any]:
    """What an outcome puts into its row, all of SETTLED_FIELDS."""
    fields: dict[str, Any] = dict.fromkeys(SETTLED_FIELDS)
    fields |= {"finish_reason": "", "error": "", "settled_at": timezone.now()}
    if isinstance(result, LLMError):
        status = Call.Status.POSSIBLY_PAID if result.maybe_paid else Call.Status.FAILED
        return fields | {"status": status, "error": str(result)}
    usage = result.usage
    fields |= {
        "status": Call.Status.ANSWERED,
        "text": result.text,
        "tool_calls": list(result.tool_calls) or None,
        "logprobs": result.logprobs,
        "finish_reason": result.finish_reason[:64],
        "elapsed_s": result.elapsed_s,
    }
    if usage:
        fields |= {
            "input_tokens": usage.input,
            "cached_tokens": usage.cached_input,
            "output_tokens": usage.output,
            "reasoning_tokens": usage.reasoning,
            "usd": price.cost(usage) if price else None,
        }
    return fields


def reply_from(row: Call, *, replayed: bool) -> Reply:
    """The answer in an answered row."""
    usage = None
    if row.input_tokens is not None:
        usage = Usage(
            input=row.input_tokens,
            cached_input=row.cached_tokens or 0,
            output=row.output_tokens or 0,
            reasoning=row.reasoning_tokens or 0,
        )
    return Reply(
        text=row.text or "",
        usage=usage,
        elapsed_s=row.elapsed_s or 0.0,
        finish_reason=row.finish_reason,
        call_id=row.pk,
        replayed=replayed,
        logprobs=row.logprobs,
        tool_calls=row.tool_calls or (),
    )


def fresh_reply(reply: RawReply, call_id: int) -> Reply:
    """The answer that an attempt brought just now."""
    return Reply(
        text=reply.text,
        usage=reply.usage,
        elapsed_s=reply.elapsed_s,
        finish_reason=reply.finish_reason,
        call_id=call_id,
        replayed=False,
        logprobs=reply.logprobs,
        tool_calls=reply.tool_calls,
    )


def price_of(row: Call) -> Price | None:
    """The price that the call was begun at."""
    if row.price_input is None or row.price_cached is None or row.price_output is None:
        return None
    return Price(row.price_input, row.price_cached, row.price_output)


def _opened(intent: Intent, attempt: int, owner: str) -> list[Any]:
    """All but the time."""
    request, charge, price = intent.request, intent.charge, intent.charge.price
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
    if intent.profile is None or intent.profile == Profile():
        return intent.request.stored
    return {**intent.request.stored, "asked_as": intent.profile.stored}


def _decimal(value: Decimal | None, digits: int, places: int) -> Any:
    return connection.ops.adapt_decimalfield_value(value, digits, places)


def _insertion(vendor: str, rows: int) -> str:
    quote = connection.ops.quote_name
    json = "%s::jsonb" if vendor == "postgresql" else "%s"
    row = ", ".join(json if name == "request" else "%s" for name in _OPENED_FIELDS)
    columns = ", ".join(quote(name) for name in _OPENED_FIELDS)
    # Names are the constants above, values go through the driver.
    return (
        f"INSERT INTO {quote(Call._meta.db_table)} ({columns}) "  # noqa: S608
        f"VALUES {', '.join([f'({row})'] * rows)} RETURNING id"
    )


@cache
def _settled_columns() -> list[tuple[str, Any]]:
    return [(name, Call._meta.get_field(name)) for name in SETTLED_FIELDS]


@cache
def _settlement(_vendor: str) -> str:
    quote = connection.ops.quote_name
    assignments = ", ".join(f"{quote(str(field.column))} = %s" for _, field in _settled_columns())
    # Names come from the model, values go through the driver.
    table, status = quote(Call._meta.db_table), Call.Status.INTENT.value
    return f"UPDATE {table} SET {assignments} WHERE id = %s AND status = '{status}'"  # noqa: S608
