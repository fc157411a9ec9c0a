"""Writing down what is paid for: the intent before a call, its outcome after it.

Every verb is synchronous and owns one short transaction; none spans a call. Two workers that
ask the same at the same time are both written down, and one answer stands.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final, TypeVar

from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import Max
from django.utils import timezone

from kit.database.bulk import update_rows
from kit.failpoints import reach
from kit.runs.models import worker_id
from llm.errors import LLMError
from llm.ledger.reserving import move, reserve
from llm.models import LOST_AFTER, Call
from llm.prices import Price
from llm.profiles import Profile
from llm.requests import Reply, Request, Usage
from llm.wire import encode

logger = logging.getLogger(__name__)
_Result = TypeVar("_Result")
_TRIES: Final = 4
_TRY_AGAIN_S: Final = 0.2
_ANOTHER_STANDS: Final = "Answered twice: the answer of another attempt stands."
# In place of a call's id.
NOT_NOW: Final = 0
LOST: Final = "Never answered: the worker stopped before an answer was written down."
# Those of a new row that are not null, in the order of `_insert`.
_OPENED: Final = (
    *("key", "attempt", "role", "model", "endpoint", "practice", "subject", "owner", "status"),
    *("finish_reason", "error", "account_id", "bound_usd", "price_input", "price_cached"),
    *("price_output", "price_date", "request", "created_at"),
)
_SETTLED: Final = (
    *("status", "text", "tool_calls", "logprobs", "finish_reason", "input_tokens"),
    *("cached_tokens", "output_tokens", "reasoning_tokens", "elapsed_s", "usd", "error"),
    "settled_at",
)


@dataclass(frozen=True, slots=True)
class Intent:
    """A request about to be sent, and what it is for in the caller's words.

    `account_id` pays for it, at `price`, at most `bound` (None: not known); `profile` is how the
    model is asked.
    """

    request: Request
    subject: str
    practice: bool = False
    account_id: int | None = None
    price: Price | None = None
    bound: Decimal | None = None
    profile: Profile | None = None


Outcome = tuple[int, Reply | LLMError]
"""What came of the attempt of that call id: an answer, or the error that stands for it."""


def look_up(keys: Sequence[str]) -> list[Reply | None]:
    """The answer that was paid for already to each request, in the same order."""
    standing = _standing(keys)
    return [_reply(standing[key], replayed=True) if key in standing else None for key in keys]


def intend(intents: Sequence[Intent]) -> list[int | None]:
    """Write down attempts that are about to be sent; their call ids, in the same order.

    All in one transaction, with the reservation of what each can cost at most. What was not written
    must not be sent: None stands for an attempt that does not fit its account's limit now, NOT_NOW
    for one beyond the calls that its benchmark may have in flight.
    """

    def write() -> list[int | None]:
        fits = reserve([(each.account_id, each.bound) for each in intents])
        written = [intent for intent, does in zip(intents, fits, strict=True) if does]
        ids = iter(_insert(written) if written else [])
        reach("before-intent-commit")
        return [next(ids) if does else NOT_NOW if does is None else None for does in fits]

    call_ids = _in_transaction(write)
    reach("after-intent-commit")
    return call_ids


def settle(outcomes: Sequence[Outcome]) -> list[Reply | None]:
    """Write down what came of attempts, all in one transaction.

    In the same order, the answer that stands for each: its own, or the earlier one of another
    worker; None for a failed attempt. Settling the same again changes nothing.
    """
    replies = _in_transaction(lambda: _settle(outcomes))
    reach("after-settle")
    return replies


def is_awaiting(account_id: int | None, *, since: datetime) -> bool:
    """Whether a call begun since then may still give back a part of what it reserved."""
    awaited = Call.objects.filter(status=Call.Status.INTENT, account=account_id)
    return awaited.filter(created_at__gte=since).exists()


def list_lost_calls(*, older_than: timedelta = LOST_AFTER) -> int:
    """List calls that nobody waits for any more as possibly paid; how many there were.

    Their worker died, perhaps before it sent them. What they can have cost stays reserved; an
    answer that still arrives settles them all the same.
    """
    now = timezone.now()
    rows = Call.objects.under_way().filter(created_at__lt=now - older_than)
    listed = rows.update(status=Call.Status.POSSIBLY_PAID, error=LOST, settled_at=now)
    if listed:
        logger.warning("%s calls were never answered and are listed as possibly paid", listed)
    return listed


def _insert(intents: Sequence[Intent]) -> list[int]:
    """Write their rows, each the next attempt at its key; their ids in the same order.

    At driver speed: every call waits for its own row with its place taken, and bulk_create takes
    three times as long, a fourteenth of a call's processor time (`make bench`).
    """
    now, owner = connection.ops.adapt_datetimefield_value(timezone.now()), worker_id()
    keys = {intent.request.key for intent in intents}
    tried = Call.objects.filter(key__in=keys).values_list("key").annotate(Max("attempt"))
    attempts, values = defaultdict[str, int](int, tried), list[Any]()
    for intent in intents:
        request, price, stored = intent.request, intent.price, intent.request.stored
        attempts[request.key] += 1
        if intent.profile is not None and intent.profile != Profile():
            # A label shows how its model was asked.
            stored["asked_as"] = intent.profile.stored
        values += [request.key, attempts[request.key], request.role, request.model]
        values += [request.endpoint, intent.practice, intent.subject, owner]
        values += [Call.Status.INTENT.value, "", "", intent.account_id, intent.bound]
        values += [price.input, price.cached, price.output] if price else [None] * 3
        values += [price and price.valid_from, encode(stored).decode(), now]
    quote = connection.ops.quote_name
    json = "%s::jsonb" if connection.vendor == "postgresql" else "%s"
    row = ", ".join(json if name == "request" else "%s" for name in _OPENED)
    with connection.cursor() as cursor:
        # Names are constants, values go through the driver.
        cursor.execute(
            f"INSERT INTO {quote(Call._meta.db_table)} ({', '.join(map(quote, _OPENED))}) "  # noqa: S608
            f"VALUES {', '.join([f'({row})'] * len(intents))} RETURNING id",
            values,
        )
        return [pk for (pk,) in cursor.fetchall()]


def _settle(outcomes: Sequence[Outcome]) -> list[Reply | None]:
    """Nearly always all are still awaited; there may be late answers, rivals, what is settled."""
    found = Call.objects.select_for_update().filter(pk__in=[pk for pk, _ in outcomes])
    rows = {row.pk: row for row in found.defer("request")}
    standing = _standing({row.key for row in rows.values()})
    # The row that stands must be the very one at hand, to be known again below.
    standing |= {row.key: row for row in rows.values() if row.status == Call.Status.ANSWERED}
    moves = []
    for pk, result in outcomes:
        row = rows[pk]
        spent, reserved = row.units
        _apply(result, row, standing.get(row.key))
        if row.status == Call.Status.ANSWERED:
            standing[row.key] = row
        moves.append((row.account_id, row.units[0] - spent, row.units[1] - reserved, 0))
    update_rows(list(rows.values()), _SETTLED)
    move(moves)
    # The answer that counts for each row that has one; a failed row has no text.
    pairs = ((rows[pk], standing.get(rows[pk].key)) for pk, _ in outcomes)
    return [
        None if row.text is None or stands is None else _reply(stands, replayed=stands is not row)
        for row, stands in pairs
    ]


def _apply(result: Reply | LLMError, row: Call, rival: Call | None) -> None:
    """Move the row to what came of it, where that is a legal move.

    A second answer was paid all the same: it is kept, but does not stand as answered.
    """
    status, error = Call.Status.ANSWERED, ""
    if isinstance(result, LLMError):
        status = Call.Status.POSSIBLY_PAID if result.maybe_paid else Call.Status.FAILED
        error = result.message
    elif rival:
        status, error = Call.Status.POSSIBLY_PAID, _ANOTHER_STANDS
    if row is rival or not (status == row.status or status in Call.MOVES[row.status]):
        return
    row.status, row.error, row.settled_at = status, error, timezone.now()
    if isinstance(result, LLMError):
        return
    row.text, row.logprobs = result.text, result.logprobs
    row.tool_calls = list(result.tool_calls) or None
    row.finish_reason, row.elapsed_s = result.finish_reason[:64], result.elapsed_s
    if usage := result.usage:
        row.input_tokens, row.cached_tokens = usage.input, usage.cached_input
        row.output_tokens, row.reasoning_tokens = usage.output, usage.reasoning
        if price := row.price:
            row.usd = price.cost(usage)


def _reply(row: Call, *, replayed: bool) -> Reply:
    """The answer in an answered row."""
    usage = None
    if row.input_tokens is not None:
        told = row.cached_tokens or 0, row.output_tokens or 0, row.reasoning_tokens or 0
        usage = Usage(row.input_tokens, *told)
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


def _standing(keys: Collection[str]) -> dict[str, Call]:
    rows = Call.objects.answered().filter(key__in=set(keys)).defer("request")
    return {row.key: row for row in rows}


def _in_transaction(work: Callable[[], _Result]) -> _Result:
    """Run the work in a transaction, again where it met another worker or a busy database.

    What was paid for must be written down, so a passing fault is not passed on at once.
    """
    for _ in range(_TRIES - 1):
        try:
            with transaction.atomic():
                return work()
        except (IntegrityError, OperationalError):
            if connection.in_atomic_block:
                raise
        connection.close_if_unusable_or_obsolete()
        time.sleep(_TRY_AGAIN_S)
    with transaction.atomic():
        return work()
