"""Every list view: search, filters, ordering and paging of a queryset from GET parameters.

A list is declared once and read per request::

    QUERIES = Table(search=("text", "external_id"), filters=(Filter("domain", "Domain"),))
    table = QUERIES.read(queryset, request.GET, choices={"domain": [("biology", "biology")]})

Whatever stands in the URL is answered: unknown names and values are ignored, a page that does
not exist is the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, TypeVar

from django.db.models import Model, Q, QuerySet

from kit.slices import cut
from kit.table_pages import BoundColumn, BoundFilter, Choices, TablePage, query_string

PAGE_SIZE = 50
# Counting stops here: a big table answers "more than 10,000" at once instead of counting on.
COUNT_LIMIT = 10_000
# SQLite and PostgreSQL refuse offsets beyond 64 bits.
HIGHEST_PAGE = 10**9
MOST_WORDS = 8

ModelT = TypeVar("ModelT", bound=Model)
Search = Sequence[str] | Callable[[QuerySet[Any], str], QuerySet[Any]]


@dataclass(frozen=True)
class Filter:
    """One drop-down. `lookup` (default: the name) or `apply` narrows the queryset."""

    name: str
    label: str
    choices: Choices = ()
    lookup: str = ""
    apply: Callable[[QuerySet[Any], str], QuerySet[Any]] | None = None

    def narrow(self, queryset: QuerySet[ModelT], value: str) -> QuerySet[ModelT]:
        """The rows of `queryset` that this filter lets through at `value`."""
        if self.apply is not None:
            return self.apply(queryset, value)
        return queryset.filter(**{self.lookup or self.name: value})


@dataclass(frozen=True)
class Column:
    """One table head; sortable where `order` names the fields to order by."""

    name: str
    label: str
    order: tuple[str, ...] = ()
    numeric: bool = False


@dataclass(frozen=True)
class Bound:
    """What a request asks of a table: words, order, filters, and all of it as parameters."""

    search: str
    sort: str
    filters: list[BoundFilter]
    params: dict[str, str]


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
    size: int = PAGE_SIZE
    count_limit: int = COUNT_LIMIT

    def read(
        self,
        queryset: QuerySet[ModelT],
        params: Mapping[str, str],
        *,
        choices: Mapping[str, Choices] | None = None,
        total: int | None = None,
    ) -> TablePage[ModelT]:
        """The page that `params` ask for; `choices` fills drop-downs known only per request.

        `total` is how many rows there are, where the caller knows: then nothing is counted.
        """
        bound = self.bind(params, choices=choices)
        found = cut(
            self.matches(queryset, params, choices=choices),
            page=page_number(params.get("page", "1")),
            size=self.size,
            limit=self.count_limit,
            known=total,
        )
        return TablePage(
            rows=found.rows,
            number=found.number,
            size=self.size,
            total=found.total,
            more_than=found.more_than,
            has_next=found.has_next,
            search=bound.search,
            sort=bound.sort,
            searchable=bool(self.search),
            filters=bound.filters,
            columns=[bind_column(each, bound.sort, bound.params) for each in self.columns],
            params=bound.params,
        )

    def bind(
        self, params: Mapping[str, str], *, choices: Mapping[str, Choices] | None = None
    ) -> Bound:
        """What `params` ask for, without what this table does not offer."""
        filters = [self._bind(each, params, choices or {}) for each in self.filters]
        words, sort = self._words(params), self._sort(params)
        kept = {"q": words, "sort": sort} | {each.name: each.value for each in filters}
        return Bound(words, sort, filters, {name: each for name, each in kept.items() if each})

    def matches(
        self,
        queryset: QuerySet[ModelT],
        params: Mapping[str, str],
        *,
        choices: Mapping[str, Choices] | None = None,
    ) -> QuerySet[ModelT]:
        """All rows that `params` ask for, in order: for callers that page by themselves."""
        filters = [self._bind(each, params, choices or {}) for each in self.filters]
        narrowed = self._narrow(self._find(queryset, self._words(params)), filters)
        order = self._order(self._sort(params))
        settled = set(self.unique) <= {name.removeprefix("-") for name in order}
        return narrowed.order_by(*order, *(() if settled else ("pk",)))

    def not_offered(
        self, params: Mapping[str, str], *, choices: Mapping[str, Choices] | None = None
    ) -> list[str]:
        """Filters that `params` give a value which is none of theirs; lists ignore it."""
        bound = [self._bind(each, params, choices or {}) for each in self.filters]
        return [each.name for each in bound if params.get(each.name) and not each.value]

    def _words(self, params: Mapping[str, str]) -> str:
        return clean(params.get("q", "")) if self.search else ""

    def _bind(
        self, each: Filter, params: Mapping[str, str], choices: Mapping[str, Choices]
    ) -> BoundFilter:
        offered = list(choices.get(each.name, each.choices))
        value = params.get(each.name, "")
        known = any(value == offer for offer, _ in offered)
        return BoundFilter(each.name, each.label, offered, value if known else "")

    def _find(self, queryset: QuerySet[ModelT], words: str) -> QuerySet[ModelT]:
        if not words:
            return queryset
        if callable(self.search):
            return self.search(queryset, words)
        for word in words.split()[:MOST_WORDS]:
            anywhere = [Q(**{f"{name}__icontains": word}) for name in self.search]
            queryset = queryset.filter(reduce(or_, anywhere))
        return queryset

    def _narrow(
        self, queryset: QuerySet[ModelT], filters: Sequence[BoundFilter]
    ) -> QuerySet[ModelT]:
        for each, bound in zip(self.filters, filters, strict=True):
            if bound.value:
                queryset = each.narrow(queryset, bound.value)
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


def flipped(order: str) -> str:
    """The same ordering the other way round."""
    return order[1:] if order.startswith("-") else f"-{order}"


def clean(text: str) -> str:
    """Search words as a database can take them (PostgreSQL refuses NUL)."""
    return " ".join(text.replace("\x00", " ").split())[:200]


def page_number(text: str) -> int:
    """The page that a URL asks for; what is no number lies past the end."""
    try:
        return min(max(int(text), 1), HIGHEST_PAGE)
    except ValueError:
        return HIGHEST_PAGE if text.strip() else 1


def bind_column(column: Column, sort: str, params: Mapping[str, str]) -> BoundColumn:
    """A click sorts upwards first, and turns the order round when it is already sorted."""
    if not column.order:
        return BoundColumn(column.label, column.numeric, "", "")
    state = {column.name: "ascending", f"-{column.name}": "descending"}.get(sort, "")
    wanted = f"-{column.name}" if state == "ascending" else column.name
    return BoundColumn(
        column.label, column.numeric, query_string({**params, "sort": wanted}), state
    )
