"""Worlds of rows that are made, looked at and gone again, so that two can be compared."""

from collections.abc import Callable
from typing import TypeVar

import pytest
from django.db import connection, transaction

_Seen = TypeVar("_Seen")
# All in one: a hundred and fifty statements took longer than many a world.
SET_BACK = """SELECT setval(name, coalesce(last, 1), last IS NOT NULL)
FROM unnest(%s::text[], %s::bigint[]) AS counted (name, last)"""


class _Undone(Exception):
    """Ends one world."""


def in_a_world(make: Callable[[], _Seen]) -> _Seen:
    """What `make` gives, in a world that is gone afterwards, its keys with it."""
    seen: list[_Seen] = []
    counted = _next_keys()
    with pytest.raises(_Undone), transaction.atomic():
        seen.append(make())
        raise _Undone
    if counted:
        with connection.cursor() as cursor:
            cursor.execute(SET_BACK, list(map(list, zip(*counted, strict=True))))
    return seen[0]


def _next_keys() -> list[tuple[str, int | None]]:
    """PostgreSQL counts keys outside of transactions: each sequence and how far it has come."""
    if connection.vendor != "postgresql":
        return []
    with connection.cursor() as cursor:
        cursor.execute("SELECT quote_ident(sequencename), last_value FROM pg_sequences")
        return cursor.fetchall()
