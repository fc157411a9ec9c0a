"""Lists of hundreds of thousands of rows: the page after a row, not the page of a number.

An offset is paid for row by row; a place in an index is not. The place of a row is its value in
the ordered field and its key, as text in the URL (`after=` or `before=`). Whatever stands there
is answered: a place that cannot be read is the beginning.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet

from kit.table_pages import Choices, ListPage, query_string
from kit.tables import Table, bind_column

ModelT = TypeVar("ModelT", bound=Model)
AFTER, BEFORE = "after", "before"
_SEPARATOR = "~"


@dataclass(frozen=True)
class Place:
    """Where a row stands in an order: its value in the ordered field, then its key."""

    value: Any
    pk: int


@dataclass(frozen=True, kw_only=True)
class KeysetPage(ListPage[ModelT]):
    """What kit/keyset.html reads besides: the places of its first and last row."""

    first_place: str
    last_place: str
    has_previous: bool

    @property
    def next_query(self) -> str:
        """Query string of the page after this one."""
        return query_string(self.params, **{AFTER: self.last_place})

    @property
    def previous_query(self) -> str:
        """Query string of the page before this one."""
        return query_string(self.params, **{BEFORE: self.first_place})


def read(
    table: Table,
    rows: QuerySet[ModelT],
    params: Mapping[str, str],
    *,
    choices: Mapping[str, Choices] | None = None,
) -> KeysetPage[ModelT]:
    """The page that `params` ask for.

    Columns of such a table are ordered by one field that is never null and for which an index
    carries the order; the key settles ties.
    """
    bound = table.bind(params, choices=choices)
    found = table.matches(rows, params, choices=choices)
    field, is_down = ordered_by(table, bound.sort)
    keys, has_previous, has_next = _keys(found, field, is_down, params, table.size)
    counted = found.order_by().values("pk")[: table.count_limit + 1].count()
    by_key = found.order_by().in_bulk(keys)
    shown = [by_key[key] for key in keys if key in by_key]
    return KeysetPage(
        rows=shown,
        total=min(counted, table.count_limit),
        more_than=counted > table.count_limit,
        search=bound.search,
        sort=bound.sort,
        searchable=bool(table.search),
        filters=bound.filters,
        columns=[bind_column(each, bound.sort, bound.params) for each in table.columns],
        params=bound.params,
        first_place=_written(shown[0], field) if shown else "",
        last_place=_written(shown[-1], field) if shown else "",
        has_previous=has_previous,
        has_next=has_next,
    )


def neighbours(
    table: Table,
    rows: QuerySet[ModelT],
    row: ModelT,
    params: Mapping[str, str],
    *,
    choices: Mapping[str, Choices] | None = None,
) -> tuple[int | None, int | None]:
    """Keys of the rows before and after this one in the list that `params` ask for."""
    field, is_down = ordered_by(table, table.bind(params, choices=choices).sort)
    found = table.matches(rows, params, choices=choices)
    place = Place(getattr(row, _attribute(row, field)), row.pk)
    before = _beyond(found, field, place, is_down=not is_down).values_list("pk", flat=True)
    after = _beyond(found, field, place, is_down=is_down).values_list("pk", flat=True)
    return before.first(), after.first()


def ordered_by(table: Table, sort: str) -> tuple[str, bool]:
    """The field that the list is ordered by, and whether downwards."""
    for each in table.columns:
        if each.order and each.name == sort.removeprefix("-"):
            return each.order[0], sort.startswith("-")
    return table.order[0].removeprefix("-"), table.order[0].startswith("-")


def _keys(
    rows: QuerySet[ModelT], field: str, is_down: bool, params: Mapping[str, str], size: int
) -> tuple[list[int], bool, bool]:
    """Keys of the page, and whether there is something before and after it."""
    after = _place(rows, field, params.get(AFTER, ""))
    before = None if after else _place(rows, field, params.get(BEFORE, ""))
    if before is None:
        found = _take(_beyond(rows, field, after, is_down=is_down), size)
        return found[:size], after is not None, len(found) > size
    found = _take(_beyond(rows, field, before, is_down=not is_down), size)
    if len(found) <= size:  # so near to the beginning that the page would not be full
        first = _take(_beyond(rows, field, None, is_down=is_down), size)
        return first[:size], False, len(first) > size
    return found[:size][::-1], True, True


def _take(rows: QuerySet[ModelT], size: int) -> list[int]:
    return list(rows.values_list("pk", flat=True)[: size + 1])


def _beyond(
    rows: QuerySet[ModelT], field: str, place: Place | None, *, is_down: bool
) -> QuerySet[ModelT]:
    """The rows that follow the place, in order."""
    sign, op = ("-", "lt") if is_down else ("", "gt")
    if field == "pk":
        rows = rows.order_by(f"{sign}pk")
        return rows.filter(**{f"pk__{op}": place.pk}) if place else rows
    rows = rows.order_by(f"{sign}{field}", f"{sign}pk")
    if place is None:
        return rows
    # The first condition is implied by the second: it tells the database where to begin.
    rows = rows.filter(**{f"{field}__{op}e": place.value})
    further = Q(**{f"{field}__{op}": place.value})
    return rows.filter(further | Q(**{field: place.value, f"pk__{op}": place.pk}))


def _written(row: Model, field: str) -> str:
    return f"{getattr(row, _attribute(row, field))}{_SEPARATOR}{row.pk}"


def _attribute(row: Model, field: str) -> str:
    return "pk" if field == "pk" else row._meta.get_field(field).attname  # type: ignore[union-attr]


def _place(rows: QuerySet[ModelT], field: str, text: str) -> Place | None:
    value, _, key = text.rpartition(_SEPARATOR)
    if not (key.isascii() and key.isdigit() and len(key) < 19) or "\x00" in value:
        return None
    if field == "pk":
        return Place(int(key), int(key))
    column: Any = rows.model._meta.get_field(field)
    try:
        return Place(getattr(column, "target_field", column).to_python(value), int(key))
    except ValidationError:
        return None
