"""One page of a long queryset: counted no further than need be, and read by key."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet

ModelT = TypeVar("ModelT", bound=Model)


@dataclass(frozen=True)
class Slice(Generic[ModelT]):
    """The rows of one page; `total` is exact unless `more_than` says it is a lower bound."""

    rows: list[ModelT]
    number: int
    total: int
    more_than: bool
    has_next: bool


def cut(
    queryset: QuerySet[ModelT], *, page: int, size: int, limit: int, known: int | None = None
) -> Slice[ModelT]:
    """One page of an ordered queryset in three queries; a page past the end is the last one."""
    counted = queryset.order_by().values("pk")[: limit + 1].count() if known is None else known
    more_than = known is None and counted > limit
    total = limit if more_than else counted
    last = max(1, -(-total // size))
    number = page if more_than else min(page, last)
    rows = take(queryset, number, size, known=known)
    if not rows and number > last:
        number, rows = last, take(queryset, last, size)
    return Slice(rows[:size], number, total, more_than, len(rows) > size)


def take(
    queryset: QuerySet[ModelT], number: int, size: int, *, known: int | None = None
) -> list[ModelT]:
    """One row more than the page holds: its presence says that there is a next page."""
    start = (number - 1) * size
    return keys_first(queryset, start, start + size + 1, known=known)


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
