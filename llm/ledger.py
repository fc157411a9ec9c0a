"""Writing down what is paid for: the intent before a call, its outcome after it.

Every verb is synchronous and owns one short transaction; none spans a call. Two workers that
ask the same at the same time are both written down, and one answer stands.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Final, TypeVar

from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import Max

from kit.failpoints import reach
from kit.updates import update_rows
from llm import accounts
from llm.accounts import Position, position
from llm.models import Call
from llm.opening import insert_calls
from llm.records import SETTLED_FIELDS, Found, Intent, Outcome, apply_outcome, reply_from
from llm.requests import Reply
from llm.settling import Unusual, settle_usual

_Result = TypeVar("_Result")
_TRIES: Final = 4
_TRY_AGAIN_S: Final = 0.2


def replies_for(keys: Collection[str]) -> dict[str, Reply]:
    """The answers already paid for, by request key; keys without one are absent."""
    return {key: reply_from(row, replayed=True) for key, row in _standing(set(keys)).items()}


def look_up(keys: Sequence[str]) -> list[Found]:
    """What is known of each request, in the same order."""
    replies, attempts = replies_for(keys), _last_attempts(set(keys))
    return [Found(replies.get(key), attempts.get(key, 0)) for key in keys]


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
        fits = accounts.reserve(intents)
        written = [intent for intent, does in zip(intents, fits, strict=True) if does]
        ids = iter(_insert(written, owner=owner, trusting=trusts))
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
        replies = _in_transaction(lambda: settle_usual(outcomes), mending=OperationalError)
    except (Unusual, IntegrityError):
        replies = _in_transaction(lambda: _settle_with_care(outcomes))
    reach("after-settle")
    return replies


def is_awaiting(account_id: int, *, since: datetime) -> bool:
    """Whether a call begun since then may still give back a part of what it reserved."""
    awaited = Call.objects.filter(status=Call.Status.INTENT, account=account_id)
    return awaited.filter(created_at__gte=since).exists()


def _insert(intents: Sequence[Intent], *, owner: str, trusting: bool) -> list[int]:
    """New rows, each numbered after the attempts that the caller saw, or that there are."""
    numbers: dict[str, int] = {}
    if trusting:
        numbers = {i.request.key: i.attempts for i in intents if i.attempts is not None}
    unknown = {intent.request.key for intent in intents} - numbers.keys()
    numbers |= _last_attempts(unknown) if unknown else {}
    numbered = []
    for intent in intents:
        number = numbers[intent.request.key] = numbers.get(intent.request.key, 0) + 1
        numbered.append((intent, number))
    return insert_calls(numbered, owner=owner)


def _settle_with_care(outcomes: Sequence[Outcome]) -> list[Reply | None]:
    """Settle whatever there is: late answers, rivals, and what was settled before."""
    rows = _locked_rows([outcome.call_id for outcome in outcomes])
    before = {pk: _position(row) for pk, row in rows.items()}
    standing = _standing({row.key for row in rows.values()})
    # The row that stands must be the very one at hand, to be known again below.
    standing |= {row.key: row for row in rows.values() if row.status == Call.Status.ANSWERED}
    for outcome in outcomes:
        row = rows[outcome.call_id]
        apply_outcome(outcome, row, standing)
        if row.status == Call.Status.ANSWERED:
            standing[row.key] = row
    update_rows(list(rows.values()), SETTLED_FIELDS)
    changes: dict[int, Position] = defaultdict(Position)
    for pk, row in rows.items():
        if row.account_id is not None:
            changes[row.account_id] += _position(row) - before[pk]
    accounts.move(changes)
    return [_outcome_reply(rows[outcome.call_id], standing) for outcome in outcomes]


def _position(row: Call) -> Position:
    return position(row.status, row.usd, row.bound_usd)


def _standing(keys: set[str]) -> dict[str, Call]:
    rows = Call.objects.answered().filter(key__in=keys).defer("request")
    return {row.key: row for row in rows}


def _last_attempts(keys: set[str]) -> dict[str, int]:
    rows = Call.objects.filter(key__in=keys).values("key").annotate(last=Max("attempt"))
    return {row["key"]: row["last"] for row in rows}


def _locked_rows(call_ids: Collection[int]) -> dict[int, Call]:
    rows = Call.objects.select_for_update().filter(pk__in=call_ids).defer("request")
    return {row.pk: row for row in rows}


def _outcome_reply(row: Call, standing: dict[str, Call]) -> Reply | None:
    """The answer that stands beside a row that brought one; a failed row has no text."""
    stands = standing.get(row.key)
    if row.text is None or stands is None:
        return None
    return reply_from(stands, replayed=stands is not row)


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
