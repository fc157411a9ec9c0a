"""Reading a whole benchmark as it was at one moment, while people go on working."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def frozen() -> Iterator[None]:
    """Every read inside sees the same moment; nothing can be written inside.

    Inside a transaction of the caller that transaction is the frozen view.
    """
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "sqlite":
        with _sqlite_snapshot():
            yield
    else:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield


@contextmanager
def _sqlite_snapshot() -> Iterator[None]:
    # atomic() would begin IMMEDIATE here and keep everybody from saving until we have read all;
    # a deferred transaction holds a WAL snapshot and no lock.
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ROLLBACK")
