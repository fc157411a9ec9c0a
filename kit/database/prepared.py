"""Queries that are turned into SQL once and then asked with other values.

Building a queryset of several conditions and turning it into SQL takes Django many times as long
as a database takes to answer it from an index. Where that is asked with every vote, the queryset
is built once a process with a place for each value, in the same vocabulary as everywhere; and
PostgreSQL, which would plan it for longer than it answers, plans it once a connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from datetime import datetime
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db import connections, models
from django.db.models.expressions import Expression
from django.db.models.query import ModelIterable

M = TypeVar("M", bound=models.Model)
# The compiler, its SQL, the parameters, and what turns columns into Python by their number.
_Compiled = tuple[Any, str, tuple[Any, ...], dict[int, Any]]
_FIELDS: Final[dict[type, models.Field[Any, Any]]] = {
    int: models.BigIntegerField(),
    str: models.TextField(),
    datetime: models.DateTimeField(),
    UUID: models.UUIDField(),
}


class _Place(Expression):
    """Where a value goes; stands among the parameters of the SQL until the query is asked."""

    def __init__(self, name: str, number: int, field: models.Field[Any, Any]) -> None:
        super().__init__(output_field=field)
        self.name, self.number = name, number

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, Any]:
        return "%s", [self]


class Prepared(Generic[M]):
    """A queryset of model instances, given by a function of its values.

    The function is called once for each shape of the values with what stands for them, so it may
    put them into conditions and not look at them. A value is an int, a str, a datetime or
    a UUID, or several of one kind in a collection, whose length belongs to the shape.
    """

    def __init__(self, build: Callable[..., models.QuerySet[M]]) -> None:
        self._build = build
        self._compiled: dict[Any, _Compiled | None] = {}

    def rows(self, **values: Any) -> list[M]:
        """The instances, with what the queryset selects beside and annotates."""
        lists = {name: _as_list(value) for name, value in values.items()}
        shape = tuple((name, _shape(value)) for name, value in values.items())
        if shape not in self._compiled:
            self._compiled[shape] = self._compile(values)
        found = self._compiled[shape]
        if found is None:  # nothing can be in an empty collection
            return []
        compiler, sql, params, converters = found
        asked = copy(compiler)
        asked.connection = connection = connections[compiler.using]
        given = [
            each.output_field.get_db_prep_value(lists[each.name][each.number], connection)
            if isinstance(each, _Place)
            else each
            for each in params
        ]
        asked.as_sql = lambda *args, **kwargs: (sql, given)
        asked.get_converters = lambda expressions: converters
        with preparing(connection):
            return list(ModelIterable(_Asked(asked)))  # type: ignore[arg-type]

    def first(self, **values: Any) -> M | None:
        """The first of them, None where there is none; the queryset says in which order."""
        return next(iter(self.rows(**values)), None)

    def _compile(self, values: dict[str, Any]) -> _Compiled | None:
        queryset = self._build(**{name: _places(name, each) for name, each in values.items()})
        compiler = queryset.query.get_compiler(using=queryset.db)
        try:
            sql, params = compiler.as_sql()
        except EmptyResultSet:
            return None
        if compiler.connection.vendor == "postgresql":
            sql, params = _with_constants(sql, params, compiler.connection)
        converters = compiler.get_converters([column[0] for column in compiler.select])
        return compiler, sql, tuple(params), converters


def preparing(connection: Any) -> AbstractContextManager[None]:
    """Let the server keep the plans of what is asked inside, where it can (postgresql/)."""
    found: AbstractContextManager[None] = getattr(connection, "preparing", nullcontext)()
    return found


class _Asked:
    """What Django's iterable of instances wants of a queryset."""

    _known_related_objects: Final[dict[Any, Any]] = {}

    def __init__(self, compiler: Any) -> None:
        self.db, self.query, self._compiler = compiler.using, self, compiler

    def get_compiler(self, using: str) -> Any:
        return self._compiler


def _with_constants(sql: str, params: Iterable[Any], connection: Any) -> tuple[str, list[_Place]]:
    """The text with everything written into it but the values, and those.

    Of a kept plan the server knows the text alone: how common a status is, and that an index of
    some rows holds all that are wanted, it can tell of a constant only.
    """
    connection.ensure_connection()
    places = [each for each in params if isinstance(each, _Place)]
    texts = (
        "%s"
        if isinstance(each, _Place)
        else connection.ops.compose_sql("%s", [each]).replace("%", "%%")
        for each in params
    )
    return sql.replace("%%", "%%%%") % tuple(texts), places


def _is_many(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str)


def _as_list(value: Any) -> list[Any]:
    return list(value) if _is_many(value) else [value]


def _shape(value: Any) -> Any:
    return (len(value), *map(type, value)) if _is_many(value) else type(value)


def _places(name: str, value: Any) -> Any:
    places = [_Place(name, n, _field(each)) for n, each in enumerate(_as_list(value))]
    return places if _is_many(value) else places[0]


def _field(value: Any) -> models.Field[Any, Any]:
    for kind, field in _FIELDS.items():
        if isinstance(value, kind):
            return field
    raise TypeError(f"{value!r} cannot be a value of a prepared query")
