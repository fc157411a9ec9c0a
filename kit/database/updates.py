"""Updating many rows, each to values of its own, at driver speed."""

from collections.abc import Sequence
from typing import Any

from django.db import connection, models


def update_rows(rows: Sequence[models.Model], names: Sequence[str]) -> None:
    """Write the named fields of rows of one model, in one executemany.

    bulk_update's CASE for every field and row costs ten times as much. Like it, this calls no
    save() and asks for no version. Runs in the caller's transaction.
    """
    if not rows:
        return
    fields = [rows[0]._meta.get_field(name) for name in names]
    values = [[_prepared(row, field) for field in fields] + [row.pk] for row in rows]
    with connection.cursor() as cursor:
        cursor.executemany(_statement(rows[0], fields), values)


def _prepared(row: models.Model, field: Any) -> Any:
    value = field.value_from_object(row)
    # None is SQL's null in every column, of JSON too.
    return None if value is None else field.get_db_prep_save(value, connection)


def _statement(row: models.Model, fields: Sequence[Any]) -> str:
    quote = connection.ops.quote_name
    assignments = ", ".join(f"{quote(field.column)} = %s" for field in fields)
    key = quote(str(row._meta.pk.column))  # type: ignore[union-attr]
    # Names come from the model, values go through the driver.
    return f"UPDATE {quote(row._meta.db_table)} SET {assignments} WHERE {key} = %s"  # noqa: S608
