"""Settling what went as expected: one UPDATE a call, no row read again.

Nearly every call is such a one. Where anything else is found out, nothing is written and the
ledger settles the group with care instead.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Any

from django.db import connection
from django.utils import timezone

from llm import accounts
from llm.accounts import Position, position
from llm.errors import LLMError
from llm.models import Call
from llm.records import SETTLED_FIELDS, Intent, Outcome, answer_fields, fresh_reply, status_of_error
from llm.requests import Reply


class Unusual(Exception):
    """Not every call was still awaited as its worker left it."""


def settle_usual(outcomes: Sequence[Outcome]) -> list[Reply | None]:
    """Settle calls that are all still awaited; the answers, None for a failed attempt.

    For use inside a transaction, which must be rolled back if it raises: Unusual, or
    IntegrityError where another attempt was answered first.
    """
    rows, changes = [], defaultdict[int, Position](Position)
    for outcome in outcomes:
        if outcome.intent is None:
            raise Unusual
        fields = _fields(outcome, outcome.intent)
        charge = outcome.intent.charge
        if charge.account_id is not None:
            before = position(Call.Status.INTENT, None, charge.bound)
            after = position(fields["status"], fields["usd"], charge.bound)
            changes[charge.account_id] += after - before
        rows.append([*_prepared(fields), outcome.call_id])
    with connection.cursor() as cursor:
        cursor.executemany(_statement(connection.vendor), rows)
        if cursor.rowcount != len(rows):
            raise Unusual
    accounts.move(changes)
    return [
        None if isinstance(each.result, LLMError) else fresh_reply(each.result, each.call_id)
        for each in outcomes
    ]


def _fields(outcome: Outcome, intent: Intent) -> dict[str, Any]:
    fields: dict[str, Any] = dict.fromkeys(SETTLED_FIELDS)
    fields |= {"finish_reason": "", "error": "", "settled_at": timezone.now()}
    if isinstance(outcome.result, LLMError):
        return fields | {"status": status_of_error(outcome.result), "error": str(outcome.result)}
    answer = answer_fields(outcome.result, intent.charge.price)
    return fields | answer | {"status": Call.Status.ANSWERED}


def _prepared(fields: dict[str, Any]) -> list[Any]:
    return [
        # None is SQL's null in every column, of JSON too.
        None if fields[name] is None else field.get_db_prep_save(fields[name], connection)
        for name, field in _columns()
    ]


@cache
def _columns() -> list[tuple[str, Any]]:
    return [(name, Call._meta.get_field(name)) for name in SETTLED_FIELDS]


@cache
def _statement(_vendor: str) -> str:
    quote = connection.ops.quote_name
    assignments = ", ".join(f"{quote(str(field.column))} = %s" for _, field in _columns())
    # Names come from the model, values go through the driver.
    table, status = quote(Call._meta.db_table), Call.Status.INTENT.value
    return f"UPDATE {table} SET {assignments} WHERE id = %s AND status = '{status}'"  # noqa: S608
