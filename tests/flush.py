"""An empty database again, quickly: rows are deleted where there are any."""

from django.core.management.color import no_style
from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper

# Rows that follow from the code alone: every test may rely on them, and none changes them.
_CONSTANT_TABLES = {"django_content_type", "auth_permission"}
# From so many rows of one table on, each with keys to be looked for elsewhere, TRUNCATE is quicker.
_MANY = 500


def empty(connection: BaseDatabaseWrapper) -> None:
    """Empty every table of a model; keys go on counting."""
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    tables = [name for name in names if name not in _CONSTANT_TABLES]
    if connection.vendor != "postgresql":
        connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), tables))
        return
    # A TRUNCATE gives each of a hundred tables and their indexes new files, empty or not.
    counts = " UNION ALL ".join(
        f"SELECT '{table}', (SELECT count(*) FROM (SELECT 1 FROM \"{table}\" LIMIT {_MANY}) AS few)"
        for table in tables
    )
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute(counts)
        found = {table: rows for table, rows in cursor.fetchall() if rows}
        if max(found.values(), default=0) < _MANY:
            # Keys are checked at the end of the transaction, so the order does not matter.
            for table in found:
                cursor.execute(f'DELETE FROM "{table}"')
            return
    connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), tables))
