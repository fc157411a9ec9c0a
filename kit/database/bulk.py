"""Many rows at once, inserted or updated at driver speed: the one place that knows how each
database likes it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import repeat
from typing import Any, cast

from django.db import DatabaseError, OperationalError, connection, models

# Pages of 4 KB in SQLite's log before they are moved into the database file: 64 MB, because
# index pages that change with every chunk are then moved once and not each time.
_BULK_CHECKPOINT, _CHECKPOINT = 16_000, 1_000
# Rows that are sent to PostgreSQL at once: it works on some while the next are written out.
_COPY_ROWS = 250
# Rows of an index that SQLite counts: enough to tell a domain from an id, in a tenth of a second.
_ANALYSIS_LIMIT = 100_000


def copy_rows(
    model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> int:
    """Insert rows (values in the order of `columns`, database types) and return their number.

    SQLite: executemany; PostgreSQL: COPY. Model defaults and save() are not applied, so every
    column without a database default must be given. Runs in the caller's transaction; raises
    IntegrityError as any insert does.
    """
    return copy_into(model._meta.db_table, columns, rows)


def copy_into(table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
    """The same for a table by its name."""
    if connection.vendor == "postgresql":
        return _copy(table, columns, rows)
    marks = ", ".join(["?"] * len(columns))
    # Names come from the model, values go through the driver.
    return _many(f"INSERT INTO {_target(table, columns)} VALUES ({marks})", rows)  # noqa: S608


def reserve_keys(model: type[models.Model], count: int) -> list[int]:
    """Primary keys for rows about to be copied that others shall point to, ascending.

    In SQLite they are only the caller's as long as its transaction lasts.
    """
    table = model._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            sequence = (
                "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)"
            )
            cursor.execute(sequence, [connection.ops.quote_name(table), count])
            return [key for (key,) in cursor.fetchall()]
        cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
        last = (cursor.fetchone() or (0,))[0]
    return list(range(last + 1, last + 1 + count))


def reserve_block(model: type[models.Model], count: int) -> int:
    """The first of so many keys in a row that nobody else gets, from the commit on for good."""
    table, first = connection.ops.quote_name(model._meta.db_table), 0
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            (first,) = reserve_keys(model, 1)
            cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [model._meta.db_table])
            values: list[str | int] = [model._meta.db_table, first + count - 1]
            cursor.execute("INSERT INTO sqlite_sequence VALUES (%s, %s)", values)
            return first
        while True:  # others may draw numbers in between; those between are lost, which is no harm
            cursor.execute(
                "SELECT min(key), max(key) FROM (SELECT nextval(pg_get_serial_sequence(%s, %s)) key"
                " FROM generate_series(1, %s)) drawn",
                [table, model._meta.pk.column, count],  # type: ignore[union-attr]
            )
            first, last = cursor.fetchone()
            if last - first == count - 1:
                return int(first)


def copy_columns(
    model: type[models.Model],
    *,
    fixed: Mapping[str, int],
    columns: Mapping[str, Sequence[str | None]],
) -> int:
    """The same for columns of texts without NUL (None is null), all of one length.

    `fixed` stands in every row.
    """
    if connection.vendor != "postgresql":
        values = [*map(repeat, fixed.values()), *columns.values()]
        return copy_rows(model, [*fixed, *columns], zip(*values, strict=False))
    count = len(next(iter(columns.values())))
    with _copying(model._meta.db_table, [*fixed, *columns]) as copy:
        for start in range(0, count, _COPY_ROWS):
            part = slice(start, start + _COPY_ROWS)
            copy.write(_copy_text(fixed.values(), [each[part] for each in columns.values()]))
    return count


@contextmanager
def bulk_loading() -> Iterator[None]:
    """While many chunks are written: SQLite moves its log into the database less often."""
    if connection.vendor != "sqlite":
        yield
        return
    _pragma("wal_autocheckpoint", _BULK_CHECKPOINT)
    try:
        yield
    finally:
        _pragma("wal_autocheckpoint", _CHECKPOINT)


def one_writer_at_a_time() -> bool:
    """Whether everybody else waits to save while a transaction of ours writes."""
    return connection.vendor == "sqlite"


def commit_without_waiting() -> None:
    """Let the present transaction's commit not wait for the disk.

    For rows that a later, ordinary commit makes visible: that one makes them durable too.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit TO OFF")


def analyze(*kinds: type[models.Model]) -> None:
    """Let the planner learn of a large load; without it the first hours' plans are poor.

    Best effort: a busy database keeps the plans it has.
    """
    try:
        with connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                cursor.execute(f"PRAGMA analysis_limit = {_ANALYSIS_LIMIT}")
            for kind in kinds:
                cursor.execute(f"ANALYZE {connection.ops.quote_name(kind._meta.db_table)}")
    except OperationalError:
        return


def vacuum(*kinds: type[models.Model]) -> None:
    """Let PostgreSQL answer from indexes alone after a large load, sooner than it would by itself.

    Best effort, outside of transactions only; SQLite needs no such thing.
    """
    if connection.vendor != "postgresql" or connection.in_atomic_block:
        return
    try:
        with connection.cursor() as cursor:
            for kind in kinds:
                table = connection.ops.quote_name(kind._meta.db_table)
                cursor.execute(f"VACUUM (ANALYZE, SKIP_LOCKED) {table}")
    except DatabaseError:
        return


def _target(table: str, columns: Iterable[str]) -> str:
    names = ", ".join(connection.ops.quote_name(name) for name in columns)
    return f"{connection.ops.quote_name(table)} ({names})"


@contextmanager
def _copying(table: str, columns: Iterable[str]) -> Iterator[Any]:
    """COPY through psycopg's own cursor, its errors turned into Django's."""
    with (
        connection.cursor() as cursor,
        connection.wrap_database_errors,
        cursor.cursor.copy(f"COPY {_target(table, columns)} FROM STDIN") as copy,
    ):
        yield copy


def _copy(table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
    count = 0
    with _copying(table, columns) as copy:
        for row in rows:
            copy.write_row(row)
            count += 1
    return count


def _many(sql: str, rows: Iterable[Sequence[Any]]) -> int:
    """Through the driver's own cursor: Django's would keep every row until the last is in."""
    with connection.cursor() as cursor, connection.wrap_database_errors:
        own = cursor.connection.cursor()
        try:
            return max(0, own.executemany(sql, rows).rowcount)
        finally:
            own.close()


def _copy_text(fixed: Iterable[int], columns: Iterable[Sequence[str | None]]) -> str:
    """Rows in COPY's text format, made by a few passes over joined columns."""
    start = "".join(f"{value}\t" for value in fixed)
    escaped = [_copy_column(values) for values in columns]
    return start + f"\n{start}".join(map("\t".join, zip(*escaped, strict=True))) + "\n"


def _copy_column(values: Sequence[str | None]) -> list[str]:
    given = [value or "" for value in values] if None in values else cast(Sequence[str], values)
    escaped = _escaped("\x00".join(given)).split("\x00")
    if given is values:
        return escaped
    return ["\\N" if value is None else text for value, text in zip(values, escaped, strict=True)]


def _escaped(text: str) -> str:
    for raw, written in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(raw, written)
    return text


def _pragma(name: str, value: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA {name} = {value}")


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
