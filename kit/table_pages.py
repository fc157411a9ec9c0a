"""What the templates of a list read: its page, its drop-downs and its heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from urllib.parse import urlencode

from django.db.models import Model

ModelT = TypeVar("ModelT", bound=Model)
Choices = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class BoundFilter:
    """A drop-down as this request sees it; `value` is "" where nothing is chosen."""

    name: str
    label: str
    choices: Choices
    value: str


@dataclass(frozen=True)
class BoundColumn:
    """A head and the query string that sorts by it; `sorted` is "", ascending or descending."""

    label: str
    numeric: bool
    query: str
    sorted: str


@dataclass(frozen=True, kw_only=True)
class ListPage(Generic[ModelT]):
    """What kit/filters.html and kit/table_head.html read as `table`.

    `total` is exact unless `more_than` says it is a lower bound.
    """

    rows: list[ModelT]
    total: int
    more_than: bool
    has_next: bool
    search: str
    sort: str
    searchable: bool
    filters: list[BoundFilter]
    columns: list[BoundColumn]
    params: dict[str, str] = field(default_factory=dict)

    @property
    def is_filtered(self) -> bool:
        """An empty list then means "nothing matches", not "nothing here yet"."""
        return any(name != "sort" for name in self.params)

    @property
    def query(self) -> str:
        """Query string of this view without its place, to carry into links ("" or "?...")."""
        return query_string(self.params)


@dataclass(frozen=True, kw_only=True)
class TablePage(ListPage[ModelT]):
    """What kit/paging.html reads besides: a page by its number."""

    number: int
    size: int

    @property
    def first(self) -> int:
        """Place of the first row shown, counted from 1; 0 in an empty list."""
        return (self.number - 1) * self.size + 1 if self.rows else 0

    @property
    def last(self) -> int:
        """Place of the last row shown; 0 in an empty list."""
        return self.first + len(self.rows) - 1 if self.rows else 0

    @property
    def has_previous(self) -> bool:
        """Whether an earlier page exists."""
        return self.number > 1

    @property
    def next_query(self) -> str:
        """Query string of the page after this one."""
        return query_string(self.params, page=str(self.number + 1))

    @property
    def previous_query(self) -> str:
        """Query string of the page before this one."""
        return query_string(self.params, page=str(self.number - 1))


def query_string(params: Mapping[str, str], **changes: str) -> str:
    """`params` with `changes` as "?..."; a bare "?" leads to the plain list."""
    return f"?{encoded}" if (encoded := urlencode({**params, **changes})) else "?"
