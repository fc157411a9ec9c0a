"""Every list: search, filters, ordering and pages of a queryset from GET parameters.

A list is declared once and read per request::

    QUERIES = Table(search=("text", "external_id"), filters=(Filter("domain", "Domain"),))
    table = QUERIES.read(queryset, request.GET, choices={"domain": [("biology", "biology")]})

Whatever stands in the URL is answered: unknown names and values are ignored, a page that does
not exist is the last one, and a place that cannot be read is the beginning.

Pages have numbers (`page=`), or, in a table that is `by_place`, begin behind a row: an offset is
paid for row by row, a place in an index is not. The place of a row is its value in the ordered
field and its key, as text in the URL (`after=` or `before=`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet

from kit.numbers import is_number

PAGE_SIZE = 50
# Counting stops here: a big table answers "more than 10,000" at once instead of counting on.
COUNT_LIMIT = 10_000
# SQLite and PostgreSQL refuse offsets beyond 64 bits.
MAX_PAGE = 10**9
MAX_WORDS = 8
AFTER, BEFORE = "after", "before"

T = TypeVar("T")
ModelT = TypeVar("ModelT", bound=Model)
Choices = Sequence[tuple[str, str]]
Search = Sequence[str] | Callable[[QuerySet[Any], str], QuerySet[Any]]


@dataclass(frozen=True)
class Filter:
    """One drop-down. `lookup` (default: the name) or `apply` narrows the queryset.

    `value` is what a request has chosen, "" where it is nothing.
    """

    name: str
    label: str
    choices: Choices = ()
    lookup: str = ""
    apply: Callable[[QuerySet[Any], str], QuerySet[Any]] | None = None
    value: str = ""

    def narrow(self, queryset: QuerySet[ModelT], value: str) -> QuerySet[ModelT]:
        """The rows of `queryset` that this filter lets through at `value`."""
        if self.apply is not None:
            return self.apply(queryset, value)
        return queryset.filter(**{self.lookup or self.name: value})


@dataclass(frozen=True)
class Column:
    """One table head; sortable where `order` names the fields to order by.

    In a page `query` is the query string that sorts by it, and `sorted` is "", ascending or
    descending.
    """

    name: str
    label: str
    order: tuple[str, ...] = ()
    numeric: bool = False
    query: str = ""
    sorted: str = ""


@dataclass(frozen=True, kw_only=True)
class ListPage(Generic[T]):
    """What kit/filters.html, kit/table_head.html and kit/paging.html read as `table`.

    `total` is exact unless `more_than` says it is a lower bound. `following` and `previous` are the
    parameters that lead to the pages beside this one, empty where there is none.
    """

    rows: list[T]
    total: int
    more_than: bool = False
    # None where pages have no numbers.
    number: int | None = None
    size: int = PAGE_SIZE
    following: dict[str, str] = field(default_factory=dict)
    previous: dict[str, str] = field(default_factory=dict)
    search: str = ""
    sort: str = ""
    searchable: bool = False
    filters: Sequence[Filter] = ()
    columns: Sequence[Column] = ()
    params: Mapping[str, str] = field(default_factory=dict)

    @property
    def first(self) -> int:
        """Place of the first row shown, counted from 1; 0 in an empty list."""
        return ((self.number or 1) - 1) * self.size + 1 if self.rows else 0

    @property
    def last(self) -> int:
        """Place of the last row shown; 0 in an empty list."""
        return self.first + len(self.rows) - 1 if self.rows else 0

    @property
    def has_next(self) -> bool:
        """Whether a later page exists."""
        return bool(self.following)

    @property
    def has_previous(self) -> bool:
        """Whether an earlier page exists."""
        return bool(self.previous)

    @property
    def next_query(self) -> str:
        """Query string of the page after this one."""
        return query_string({**self.params, **self.following})

    @property
    def previous_query(self) -> str:
        """Query string of the page before this one."""
        return query_string({**self.params, **self.previous})

    @property
    def is_filtered(self) -> bool:
        """An empty list then means "nothing matches", not "nothing here yet"."""
        return any(name != "sort" for name in self.params)

    @property
    def query(self) -> str:
        """Query string of this view without its place, to carry into links ("" or "?...")."""
        return query_string(self.params)


@dataclass(frozen=True)
class Table:
    """A list as declared: searched fields (or a function), filters, columns, default order."""

    search: Search = ()
    filters: tuple[Filter, ...] = ()
    columns: tuple[Column, ...] = ()
    order: tuple[str, ...] = ("pk",)
    # Fields that no two rows share: what is ordered by them needs no key behind it, which an
    # index may not carry.
    unique: tuple[str, ...] = ("pk",)
    # Every order is then by one field that is never null, of which an index carries the order;
    # the key settles ties.
    by_place: bool = False
    size: int = PAGE_SIZE
    count_limit: int = COUNT_LIMIT

    def read(
        self,
        queryset: QuerySet[ModelT],
        params: Mapping[str, str],
        *,
        choices: Mapping[str, Choices] | None = None,
        total: int | None = None,
    ) -> ListPage[ModelT]:
        """The page that `params` ask for; `choices` fills drop-downs known only per request.

        A drop-down without choices is not shown. `total` is how many rows there are, where the
        caller knows: then nothing is counted.
        """
        asked, sort = self.asked(params, choices=choices), self._sort(params)
        found = self.matches(queryset, params, choices=choices)
        page = (
            self._by_place(found, params)
            if self.by_place
            else self._by_number(found, page_number(params.get("page", "1")), total)
        )
        return replace(
            page,
            size=self.size,
            search=asked.get("q", ""),
            sort=sort,
            searchable=bool(self.search),
            filters=[each for each in self.chosen(params, choices) if each.choices],
            columns=[_with_links(each, sort, asked) for each in self.columns],
            params=asked,
        )

    def matches(
        self,
        queryset: QuerySet[ModelT],
        params: Mapping[str, str],
        *,
        choices: Mapping[str, Choices] | None = None,
    ) -> QuerySet[ModelT]:
        """All rows that `params` ask for, in order: for files, and callers with pages of theirs."""
        found = self._found(queryset, params, choices)
        order = self._order(self._sort(params))
        settled = set(self.unique) <= {name.removeprefix("-") for name in order}
        return found.order_by(*order, *(() if settled else ("pk",)))

    def asked(
        self, params: Mapping[str, str], *, choices: Mapping[str, Choices] | None = None
    ) -> dict[str, str]:
        """What `params` ask for, without what this table does not offer."""
        kept = {"q": self._words(params), "sort": self._sort(params)}
        kept |= {each.name: each.value for each in self.chosen(params, choices)}
        return {name: each for name, each in kept.items() if each}

    def not_offered(
        self, params: Mapping[str, str], *, choices: Mapping[str, Choices] | None = None
    ) -> list[str]:
        """Filters that `params` give a value which is none of theirs; lists ignore it."""
        filters = self.chosen(params, choices)
        return [each.name for each in filters if params.get(each.name) and not each.value]

    def neighbours(
        self,
        queryset: QuerySet[ModelT],
        row: ModelT,
        params: Mapping[str, str],
        *,
        choices: Mapping[str, Choices] | None = None,
    ) -> tuple[int | None, int | None]:
        """Keys of the rows before and after this one in the list that `params` ask for."""
        found, order = self._found(queryset, params, choices), self._order(self._sort(params))[0]
        place = (getattr(row, _attribute(row, order)), row.pk)
        before = _beyond(found, flipped(order), place).values_list("pk", flat=True)
        after = _beyond(found, order, place).values_list("pk", flat=True)
        return before.first(), after.first()

    def _words(self, params: Mapping[str, str]) -> str:
        return clean(params.get("q", "")) if self.search else ""

    def chosen(
        self, params: Mapping[str, str], choices: Mapping[str, Choices] | None
    ) -> list[Filter]:
        """The filters with the choices and the value of a request."""
        found = []
        for each in self.filters:
            offered = list((choices or {}).get(each.name, each.choices))
            value = params.get(each.name, "")
            known = any(value == offer for offer, _ in offered)
            found.append(replace(each, choices=offered, value=value if known else ""))
        return found

    def _found(
        self,
        queryset: QuerySet[ModelT],
        params: Mapping[str, str],
        choices: Mapping[str, Choices] | None,
    ) -> QuerySet[ModelT]:
        """What is searched and filtered for, in no order."""
        words = self._words(params)
        if callable(self.search):
            queryset = self.search(queryset, words) if words else queryset
        else:
            for word in words.split()[:MAX_WORDS]:
                anywhere = [Q(**{f"{name}__icontains": word}) for name in self.search]
                queryset = queryset.filter(reduce(or_, anywhere))
        for each in self.chosen(params, choices):
            queryset = each.narrow(queryset, each.value) if each.value else queryset
        return queryset

    def _sort(self, params: Mapping[str, str]) -> str:
        sort = params.get("sort", "")
        known = any(each.order and each.name == sort.removeprefix("-") for each in self.columns)
        return sort if known else ""

    def _order(self, sort: str) -> tuple[str, ...]:
        for each in self.columns:
            if each.order and each.name == sort.removeprefix("-"):
                return tuple(map(flipped, each.order)) if sort.startswith("-") else each.order
        return self.order

    def _by_number(
        self, found: QuerySet[ModelT], number: int, known: int | None
    ) -> ListPage[ModelT]:
        """One page in three queries, in two where the total is known; past the end the last one."""
        total, more_than = (known, False) if known is not None else self._count(found)
        last = max(1, -(-total // self.size))
        number = number if more_than else min(number, last)
        rows = self._take(found, number, known)
        if not rows and number > last:
            number, rows = last, self._take(found, last, known)
        following = {"page": str(number + 1)} if len(rows) > self.size else {}
        previous = {"page": str(number - 1)} if number > 1 else {}
        return ListPage(
            rows=rows[: self.size],
            total=total,
            more_than=more_than,
            number=number,
            following=following,
            previous=previous,
        )

    def _take(self, found: QuerySet[ModelT], number: int, known: int | None) -> list[ModelT]:
        """One row more than the page holds: its presence says that there is a next page."""
        start = (number - 1) * self.size
        return keys_first(found, start, start + self.size + 1, known=known)

    def _by_place(self, found: QuerySet[ModelT], params: Mapping[str, str]) -> ListPage[ModelT]:
        """The page behind or before the row that `params` name."""
        order = self._order(self._sort(params))[0]
        after = _place(found, order, params.get(AFTER, ""))
        before = None if after else _place(found, order, params.get(BEFORE, ""))
        towards, place = (flipped(order), before) if before else (order, after)
        keys = self._keys(found, towards, place)
        if before and len(keys) <= self.size:  # so near to the beginning that it would not be full
            before, keys = None, self._keys(found, order, None)
        is_more, keys = len(keys) > self.size, keys[: self.size]
        total, more_than = self._count(found)
        by_key = found.order_by().in_bulk(keys)
        rows = [by_key[key] for key in (keys[::-1] if before else keys) if key in by_key]
        return ListPage(
            rows=rows,
            total=total,
            more_than=more_than,
            following={AFTER: _written(rows[-1], order)} if rows and (before or is_more) else {},
            previous={BEFORE: _written(rows[0], order) if rows else ""} if before or after else {},
        )

    def _keys(
        self, found: QuerySet[ModelT], order: str, place: tuple[Any, int] | None
    ) -> list[int]:
        keys = _beyond(found, order, place).values_list("pk", flat=True)
        return list(keys[: self.size + 1])

    def _count(self, found: QuerySet[ModelT]) -> tuple[int, bool]:
        """How many rows there are, counted no further than need be; True where there are more."""
        counted = found.order_by().values("pk")[: self.count_limit + 1].count()
        return min(counted, self.count_limit), counted > self.count_limit


def page_of(
    rows: Sequence[T], params: Mapping[str, str], *, filters: Sequence[Filter] = (), size: int
) -> ListPage[T]:
    """The page that `params` ask for, of a list that no queryset gives; all of them are kept."""
    last = max(1, -(-len(rows) // size))
    number = min(page_number(params.get("page", "1")), last)
    return ListPage(
        rows=list(rows[(number - 1) * size : number * size]),
        total=len(rows),
        number=number,
        size=size,
        following={"page": str(number + 1)} if number < last else {},
        previous={"page": str(number - 1)} if number > 1 else {},
        filters=filters,
        params={name: value for name, value in params.items() if value and name != "page"},
    )


def keys_first(
    queryset: QuerySet[ModelT], start: int, end: int, *, known: int | None = None
) -> list[ModelT]:
    """Rows [start, end) of an ordered queryset.

    Keys first, then the rows: what is skipped is skipped in an index where one carries the order,
    and nothing is computed for it. Where it is `known` how many rows there are, it is skipped from
    the nearer end.
    """
    keys = queryset.values_list("pk", flat=True)
    if known is not None and start > known // 2:
        pks = list(keys.reverse()[max(0, known - end) : max(0, known - start)])[::-1]
    else:
        pks = list(keys[start:end])
    found = queryset.order_by().in_bulk(pks)
    return [found[pk] for pk in pks if pk in found]


def query_string(params: Mapping[str, str]) -> str:
    """`params` as "?..."; a bare "?" leads to the plain list."""
    return f"?{encoded}" if (encoded := urlencode(params)) else "?"


def flipped(order: str) -> str:
    """The same ordering the other way round."""
    return order[1:] if order.startswith("-") else f"-{order}"


def clean(text: str) -> str:
    """Search words as a database can take them (PostgreSQL refuses NUL)."""
    return " ".join(text.replace("\x00", " ").split())[:200]


def page_number(text: str) -> int:
    """The page that a URL asks for; what is no number lies past the end."""
    try:
        return min(max(int(text), 1), MAX_PAGE)
    except ValueError:
        return MAX_PAGE if text.strip() else 1


def _with_links(column: Column, sort: str, params: Mapping[str, str]) -> Column:
    """A click sorts upwards first, and turns the order round when it is already sorted."""
    if not column.order:
        return column
    state = {column.name: "ascending", f"-{column.name}": "descending"}.get(sort, "")
    wanted = f"-{column.name}" if state == "ascending" else column.name
    return replace(column, query=query_string({**params, "sort": wanted}), sorted=state)


def _beyond(rows: QuerySet[ModelT], order: str, place: tuple[Any, int] | None) -> QuerySet[ModelT]:
    """The rows that follow the place (a value of the ordered field, and a key), in order."""
    name = order.removeprefix("-")
    sign, op = ("-", "lt") if order.startswith("-") else ("", "gt")
    if name == "pk":
        rows = rows.order_by(order)
        return rows.filter(**{f"pk__{op}": place[1]}) if place else rows
    rows = rows.order_by(order, f"{sign}pk")
    if place is None:
        return rows
    value, key = place
    # The first condition is implied by the second: it tells the database where to begin.
    rows = rows.filter(**{f"{name}__{op}e": value})
    return rows.filter(Q(**{f"{name}__{op}": value}) | Q(**{name: value, f"pk__{op}": key}))


def _written(row: Model, order: str) -> str:
    return f"{getattr(row, _attribute(row, order))}~{row.pk}"


def _attribute(row: Model, order: str) -> str:
    name = order.removeprefix("-")
    return "pk" if name == "pk" else row._meta.get_field(name).attname  # type: ignore[union-attr]


def _place(rows: QuerySet[ModelT], order: str, text: str) -> tuple[Any, int] | None:
    value, _, key = text.rpartition("~")
    if not is_number(key) or "\x00" in value:
        return None
    name = order.removeprefix("-")
    if name == "pk":
        return int(key), int(key)
    column: Any = rows.model._meta.get_field(name)
    try:
        return getattr(column, "target_field", column).to_python(value), int(key)
    except ValidationError:
        return None
