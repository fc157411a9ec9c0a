"""An empty database again, quickly: rows are deleted where there are any."""

from functools import cache

import psycopg
from django.core.management.color import no_style
from django.db import connections, transaction

# Rows that follow from the code alone: every test may rely on them, and none changes them.
CONSTANT_TABLES = {"django_content_type", "auth_permission"}
# From so many rows of one table on, each with keys to be looked for elsewhere, TRUNCATE is quicker.
_MANY = 500


def empty(alias: str) -> None:
    """Empty every table of a model; keys go on counting."""
    connection = connections[alias]
    with transaction.atomic(using=alias), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # Planning takes longer than counting, so the server keeps the plan.
            counts = psycopg.Cursor(connection.connection).execute(_counts(alias), prepare=True)
        else:
            counts = cursor.execute(_counts(alias))
        found = {table: rows for table, rows in counts.fetchall() if rows}
        # A TRUNCATE gives each of a hundred tables and their indexes new files, empty or not.
        if connection.vendor == "postgresql" and max(found.values(), default=0) >= _MANY:
            for statement in connection.ops.sql_flush(no_style(), _tables(alias)):
                cursor.execute(statement)
            return
        # Keys are checked at the end of the transaction, so the order does not matter.
        for table in found:
            cursor.execute(f'DELETE FROM "{table}"')


@cache
def _tables(alias: str) -> list[str]:
    names = connections[alias].introspection.django_table_names(
        only_existing=True, include_views=False
    )
    return [name for name in names if name not in CONSTANT_TABLES]


@cache
def _counts(alias: str) -> str:
    return " UNION ALL ".join(
        f"SELECT '{table}', (SELECT count(*) FROM (SELECT 1 FROM \"{table}\" LIMIT {_MANY}) AS few)"
        for table in _tables(alias)
    )
