"""Rows as JSON arrays that are the same whatever database they come from, and back."""

import base64
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, cast
from uuid import UUID

import orjson
from django.db import DatabaseError, connection, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from kit.database.bulk import copy_into
from kit.errors import Refused

_KINDS: Final = {
    "AutoField": "int",
    "BigAutoField": "int",
    "BigIntegerField": "int",
    "BinaryField": "bytes",
    "BooleanField": "bool",
    "CharField": "text",
    "DateField": "date",
    "DateTimeField": "datetime",
    "FloatField": "float",
    "IntegerField": "int",
    "JSONField": "json",
    "PositiveBigIntegerField": "int",
    "PositiveIntegerField": "int",
    "PositiveSmallIntegerField": "int",
    "SlugField": "text",
    "SmallIntegerField": "int",
    "TextField": "text",
    "UUIDField": "uuid",
}
_OPTIONS: Final = orjson.OPT_NAIVE_UTC  # SQLite gives moments without their zone, which is UTC
_PIECE_BYTES: Final = 4 << 20
_SHORT: Final = 200
Change = Callable[[Any], Any]


@dataclass(frozen=True)
class Table:
    """A table with its primary key and its columns, each with the kind of its values."""

    name: str
    key: str
    columns: dict[str, str]

    def changes(self, by_kind: dict[str, Change]) -> list[tuple[int, Change]]:
        """Places of columns whose values are written otherwise, with what changes them."""
        kinds = enumerate(self.columns.values())
        return [(place, by_kind[kind]) for place, kind in kinds if kind in by_kind]


# Of Django REST framework, until 0.3 (kit/migrations/0003_signing_in.py).
FORMER: Final = Table(
    "authtoken_token", "key", {"key": "text", "created": "datetime", "user_id": "int"}
)


def applied(loader: MigrationLoader) -> list[tuple[str, str]]:
    """The migrations of this version that the loader's database has."""
    return sorted(key for key in loader.applied_migrations if key in loader.graph.nodes)


def tables_of(there: BaseDatabaseWrapper, loader: MigrationLoader) -> list[Table]:
    """Every table of rows, as its migrations left it: not as the models are by now."""
    state = loader.project_state(applied(loader)).apps
    kinds = [kind for kind in state.get_models(include_auto_created=True) if kind._meta.managed]
    found = [_table(kind) for kind in kinds if not kind._meta.proxy]
    found.append(_table(MigrationRecorder.Migration))
    if FORMER.name in there.introspection.table_names():
        found.append(FORMER)
    return sorted(found, key=lambda table: table.name)


def _table(kind: type[models.Model]) -> Table:
    columns = {str(each.column): kind_of(each) for each in kind._meta.concrete_fields}
    return Table(kind._meta.db_table, str(cast(Any, kind._meta.pk).column), columns)


def kind_of(field: Any) -> str:
    """The kind of a column's values, as _KINDS and `decimal.PLACES` name it."""
    if field.remote_field is not None:
        return kind_of(field.target_field)
    # Its own subclasses (EmailField) say which of Django's types they are.
    if (name := field.get_internal_type()) == "DecimalField":
        return f"decimal.{field.decimal_places}"
    return _KINDS[name]


def create_former() -> None:
    """The table that no migration of this version makes."""
    moment = connection.data_types["DateTimeField"]
    with connection.cursor() as cursor:
        cursor.execute(
            f'CREATE TABLE {FORMER.name} ("key" varchar(40) PRIMARY KEY, created {moment} NOT NULL,'
            " user_id integer NOT NULL UNIQUE)"
        )


class Digest:
    """A checksum of a table's rows in the order of their keys, the same on every database."""

    def __init__(self, table: Table) -> None:
        self._sha256 = hashlib.sha256()
        self._json = [at for at, kind in enumerate(table.columns.values()) if kind == "json"]

    def add(self, row: Sequence[Any], line: bytes) -> None:
        """Add a row, with the line that is written for it."""
        settled = {at: _settled(row[at]) for at in self._json if row[at] is not None}
        if any(row[at] != text for at, text in settled.items()):
            line = orjson.dumps([settled.get(at, v) for at, v in enumerate(row)], option=_OPTIONS)
        self._sha256.update(line + b"\n")

    def hexdigest(self) -> str:
        """What it comes to."""
        return self._sha256.hexdigest()


def rows_of(
    there: BaseDatabaseWrapper, table: Table, within: models.QuerySet[Any] | None = None
) -> Iterator[tuple[Sequence[Any], bytes]]:
    """The rows in the order of their keys, with the line of each; few are in memory at once.

    `within` holds those of the table that are wanted, by default all.
    """
    quote = there.ops.quote_name
    names = ", ".join(map(quote, table.columns))
    is_text = table.columns[table.key] == "text" and there.vendor == "postgresql"
    order = quote(table.key) + (' COLLATE "C"' if is_text else "")
    changes = table.changes(_out(there.vendor, table))
    size = 50
    where, values_of_where = "", ()
    if within is not None:
        inner, values_of_where = within.order_by().values(table.key).query.sql_with_params()
        where = f" WHERE {quote(table.key)} IN ({inner})"
    with there.chunked_cursor() as cursor:
        # Names come from the models, and the values of `within` go through the driver.
        select = f"SELECT {names} FROM {quote(table.name)}{where} ORDER BY {order}"  # noqa: S608
        cursor.execute(select, values_of_where or None)
        while found := cursor.fetchmany(size):
            length = 0
            for row in found:
                values = _changed(row, changes)
                line = orjson.dumps(values, option=_OPTIONS)
                length += len(line)
                yield values, line
            # Pages of megabytes in small steps, labels in large ones.
            size = max(1, min(2_000, _PIECE_BYTES * len(found) // length))


def pieces_of(there: BaseDatabaseWrapper, table: Table, digest: Digest) -> Iterator[list[bytes]]:
    """The lines of all rows, some megabytes at a time, added to the digest on their way."""
    lines: list[bytes] = []
    length = 0
    for row, line in rows_of(there, table):
        digest.add(row, line)
        lines.append(line)
        length += len(line)
        if length >= _PIECE_BYTES:
            yield lines
            lines, length = [], 0
    if lines:
        yield lines


def line_of(values: Sequence[Any]) -> bytes:
    """The line of a row whose values were changed."""
    return orjson.dumps(values, option=_OPTIONS)


def load_piece(table: Table, place: str, lines: list[bytes]) -> None:
    """Write rows into the default database, in the caller's transaction; raises Refused."""
    load_rows(table, place, map(orjson.loads, lines))


def load_rows(table: Table, place: str, rows: Iterable[Sequence[Any]]) -> None:
    """The same for rows that were read of their lines."""
    changes = table.changes(_into(connection.vendor))
    try:
        copy_into(table.name, list(table.columns), (_changed(row, changes) for row in rows))
    except (DatabaseError, UnicodeError) as error:
        raise Refused(f"The database does not take {place}: {error}") from error


def last_key(there: BaseDatabaseWrapper, table: Table) -> int | None:
    """The last key that the database gave to a row of the table, kept or deleted since."""
    with there.cursor() as cursor:
        if there.vendor == "sqlite":
            cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table.name])
        elif sequence := _sequence(cursor, table):
            cursor.execute(f"SELECT last_value FROM {sequence} WHERE is_called")  # noqa: S608
        else:
            return None
        found = cursor.fetchone()
    return int(found[0]) or None if found else None


def set_last_key(table: Table, last: int) -> None:
    """Let the default database give keys after this one."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [table.name])
            cursor.execute("INSERT INTO sqlite_sequence VALUES (%s, %s)", [table.name, last])
        elif sequence := _sequence(cursor, table):
            cursor.execute("SELECT setval(%s, %s)", [sequence, last])


def _sequence(cursor: Any, table: Table) -> str | None:
    name = connection.ops.quote_name(table.name)
    cursor.execute("SELECT pg_get_serial_sequence(%s, %s)", [name, table.key])
    return cast("str | None", cursor.fetchone()[0])


def _changed(row: Sequence[Any], changes: list[tuple[int, Change]]) -> Sequence[Any]:
    if not changes:
        return row
    values = list(row)
    for place, change in changes:
        if values[place] is not None:
            values[place] = change(values[place])
    return values


def _out(vendor: str, table: Table) -> dict[str, Change]:
    """How values of a kind are written where the driver gives them otherwise."""
    changes: dict[str, Change] = {"float": _float, "bytes": _base64}
    for kind in filter(lambda kind: kind.startswith("decimal"), table.columns.values()):
        changes[kind] = _decimals(int(kind.partition(".")[2]))
    if vendor == "sqlite":
        changes |= {"bool": bool, "uuid": lambda value: str(UUID(value))}
    return changes


def _into(vendor: str) -> dict[str, Change]:
    """And back."""
    if vendor != "sqlite":
        return {"bytes": base64.b64decode}
    return {
        "bytes": base64.b64decode,
        "float": float,
        "uuid": lambda value: value.replace("-", ""),
        "datetime": lambda value: f"{value[:10]} {value[11:].removesuffix('+00:00')}",
    }


def _float(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _decimals(places: int) -> Change:
    """SQLite keeps numbers of floating point, of which so many places were meant."""
    return lambda value: f"{Decimal(str(value)):.{places}f}"


def _settled(text: str) -> str:
    """JSON as the digest counts it: PostgreSQL sorts keys and writes numbers out."""
    return _short_settled(text) if len(text) < _SHORT else _sorted(text)


def _sorted(text: str) -> str:
    return json.dumps(json.loads(text, parse_float=_number), sort_keys=True)


_short_settled = lru_cache(maxsize=4_096)(_sorted)


def _number(written: str) -> int | list[str]:
    """A number by its value, as PostgreSQL has it; in a list, which no number is otherwise."""
    if "e" in written or "E" in written:
        written = f"{Decimal(written):f}"
    if "." not in written:
        return int(written)
    return [written.removeprefix("-") if not Decimal(written) else written]
