"""Writing down what is paid for: the intent before a call, its outcome after it.

Every verb is synchronous and owns one short transaction; none spans a call. Two workers that
ask the same at the same time are both written down, and one answer stands.
"""

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import Max
from django.utils import timezone

from kit.failpoints import reach
from kit.updates import update_rows
from llm.accounts import moving, position, reserve
from llm.errors import LLMError
from llm.models import Call
from llm.records import (
    SETTLED_FIELDS,
    Found,
    Intent,
    Outcome,
    fresh_reply,
    insert_calls,
    price_of,
    reply_from,
    settled_fields,
    update_awaited,
)
from llm.requests import Message, RawReply, Reply

logger = logging.getLogger(__name__)
_Result = TypeVar("_Result")
_TRIES: Final = 4
_TRY_AGAIN_S: Final = 0.2
_ANOTHER_STANDS: Final = "Answered twice: the answer of another attempt stands."
LOST: Final = "Never answered: the worker stopped before an answer was written down."
# How long a run waits for one answer. Later nobody alive waits for it any more; the margin is for
# writing the outcome down.
CALL_DEADLINE_S: Final = 120.0
LOST_AFTER: Final = timedelta(seconds=CALL_DEADLINE_S + 60)


def replies_for(keys: Collection[str]) -> dict[str, Reply]:
    """The answers already paid for, by request key; keys without one are absent."""
    return {key: reply_from(row, replayed=True) for key, row in _standing(set(keys)).items()}


def look_up(keys: Sequence[str]) -> list[Found]:
    """What is known of each request, in the same order."""
    replies, attempts = replies_for(keys), _last_attempts(set(keys))
    return [Found(replies.get(key), attempts.get(key, 0)) for key in keys]


def transcript(call: Call) -> list[Message]:
    """All messages of the call's request, with those that earlier requests of it hold."""
    messages: list[Message] = []
    request: Mapping[str, Any] | None = call.request
    while request is not None:
        messages = [*request["messages"], *messages]
        earlier = Call.objects.filter(key=request.get("earlier", ""))
        request = earlier.values_list("request", flat=True).first()
    return messages


def intend(intents: Sequence[Intent], *, owner: str) -> list[int | None]:
    """Write down attempts that are about to be sent; their call ids, in the same order.

    All in one transaction, with the reservation of what each can cost at most. None stands for
    an attempt that does not fit its account's limit now: it was not written, and must not be
    sent. Each is the next attempt at its key.
    """
    trusting = True

    def write() -> list[int | None]:
        nonlocal trusting
        # Should it fail, somebody else was faster: the next time attempts are counted again.
        trusts, trusting = trusting, False
        fits = reserve(intents)
        written = [intent for intent, does in zip(intents, fits, strict=True) if does]
        ids = iter(insert_calls(_numbered(written, trusting=trusts), owner=owner))
        reach("before-intent-commit")
        return [next(ids) if does else None for does in fits]

    call_ids = _in_transaction(write)
    reach("after-intent-commit")
    return call_ids


def settle(outcomes: Sequence[Outcome]) -> list[Reply | None]:
    """Write down what came of attempts, all in one transaction.

    In the same order, the answer that stands for each: its own, or the earlier one of another
    worker; None for a failed attempt. Settling the same again changes nothing.
    """
    try:
        replies = _in_transaction(lambda: _settle_awaited(outcomes), mending=OperationalError)
    except (_Unusual, IntegrityError):
        replies = _in_transaction(lambda: _settle_with_care(outcomes))
    reach("after-settle")
    return replies


def is_awaiting(account_id: int, *, since: datetime) -> bool:
    """Whether a call begun since then may still give back a part of what it reserved."""
    awaited = Call.objects.filter(status=Call.Status.INTENT, account=account_id)
    return awaited.filter(created_at__gte=since).exists()


def list_lost_calls(*, older_than: timedelta = LOST_AFTER) -> int:
    """List calls that nobody waits for any more as possibly paid; how many there were.

    Their worker died after it wrote their intent: whether it had sent them cannot be known. What
    they can have cost stays reserved; an answer that still arrives settles them all the same.
    """
    rows = Call.objects.filter(
        status=Call.Status.INTENT, created_at__lt=timezone.now() - older_than
    )
    listed = rows.update(status=Call.Status.POSSIBLY_PAID, error=LOST, settled_at=timezone.now())
    if listed:
        logger.warning("%s calls were never answered and are listed as possibly paid", listed)
    return listed


class _Unusual(Exception):
    """Not every call was still awaited as its worker left it."""


def _settle_awaited(outcomes: Sequence[Outcome]) -> list[Reply | None]:
    """Nearly always: all calls are still awaited. One UPDATE each, and no row is read again.

    The transaction is rolled back if it raises: _Unusual, or IntegrityError where another attempt
    was answered first.
    """
    rows = []
    with moving() as moves:
        for outcome in outcomes:
            if outcome.intent is None:
                raise _Unusual
            charge = outcome.intent.charge
            fields = settled_fields(outcome.result, charge.price)
            before = position(Call.Status.INTENT, None, charge.bound)
            after = position(fields["status"], fields["usd"], charge.bound)
            moves.add(charge.account_id, before, after)
            rows.append((outcome.call_id, fields))
        if not update_awaited(rows):
            raise _Unusual
    return [
        fresh_reply(each.result, each.call_id) if isinstance(each.result, RawReply) else None
        for each in outcomes
    ]


def _settle_with_care(outcomes: Sequence[Outcome]) -> list[Reply | None]:
    """Settle whatever there is: late answers, rivals, and what was settled before."""
    pks = [outcome.call_id for outcome in outcomes]
    found = Call.objects.select_for_update().filter(pk__in=pks).defer("request")
    rows = {row.pk: row for row in found}
    before = {pk: _position(row) for pk, row in rows.items()}
    standing = _standing({row.key for row in rows.values()})
    # The row that stands must be the very one at hand, to be known again below.
    standing |= {row.key: row for row in rows.values() if row.status == Call.Status.ANSWERED}
    for outcome in outcomes:
        row = rows[outcome.call_id]
        _apply(outcome, row, standing.get(row.key))
        if row.status == Call.Status.ANSWERED:
            standing[row.key] = row
    update_rows(list(rows.values()), SETTLED_FIELDS)
    with moving() as moves:
        for pk, row in rows.items():
            moves.add(row.account_id, before[pk], _position(row))
    return [_stands(rows[outcome.call_id], standing) for outcome in outcomes]


def _apply(outcome: Outcome, row: Call, rival: Call | None) -> None:
    """Move the row to what came of it, where that is a legal move.

    An answer beside one that stands was paid all the same, so it is kept, but under another status
    than answered.
    """
    fields = settled_fields(outcome.result, price_of(row))
    if rival and isinstance(outcome.result, RawReply):
        fields |= {"status": Call.Status.POSSIBLY_PAID, "error": _ANOTHER_STANDS}
    status = fields["status"]
    if row is rival or not (status == row.status or status in Call.MOVES[row.status]):
        return
    if isinstance(outcome.result, LLMError):
        fields = {name: fields[name] for name in ("status", "error", "settled_at")}
    for name, value in fields.items():
        setattr(row, name, value)


def _position(row: Call) -> tuple[int, int]:
    return position(row.status, row.usd, row.bound_usd)


def _stands(row: Call, standing: Mapping[str, Call]) -> Reply | None:
    """The answer that stands beside a row that brought one; a failed row has no text."""
    stands = standing.get(row.key)
    if row.text is None or stands is None:
        return None
    return reply_from(stands, replayed=stands is not row)


def _numbered(intents: Sequence[Intent], *, trusting: bool) -> list[tuple[Intent, int]]:
    """Each numbered after the attempts that the caller saw, or that there are."""
    numbers: dict[str, int] = {}
    if trusting:
        numbers = {i.request.key: i.attempts for i in intents if i.attempts is not None}
    unknown = {intent.request.key for intent in intents} - numbers.keys()
    numbers |= _last_attempts(unknown) if unknown else {}
    numbered = []
    for intent in intents:
        number = numbers[intent.request.key] = numbers.get(intent.request.key, 0) + 1
        numbered.append((intent, number))
    return numbered


def _standing(keys: set[str]) -> dict[str, Call]:
    rows = Call.objects.answered().filter(key__in=keys).defer("request")
    return {row.key: row for row in rows}


def _last_attempts(keys: set[str]) -> dict[str, int]:
    rows = Call.objects.filter(key__in=keys).values("key").annotate(last=Max("attempt"))
    return {row["key"]: row["last"] for row in rows}


def _in_transaction(
    work: Callable[[], _Result],
    *,
    mending: type[Exception] | tuple[type[Exception], ...] = (IntegrityError, OperationalError),
) -> _Result:
    """Run the work in a transaction, again where it met another worker or a busy database.

    What was paid for must be written down, so a passing fault is not passed on at once.
    """
    for _ in range(_TRIES - 1):
        try:
            with transaction.atomic():
                return work()
        except mending:
            if connection.in_atomic_block:
                raise
        connection.close_if_unusable_or_obsolete()
        time.sleep(_TRY_AGAIN_S)
    with transaction.atomic():
        return work()
