"""Long lists in the API: `limit` and `offset`, as quick at the end as at the beginning."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from kit.api import Page, Route
from kit.slices import keys_first


class KeysFirst(Page):
    """What `offset` skips is skipped by key; whole rows are read for one page alone."""

    # How many rows there are, where it is known without counting.
    known: int | None = None

    def get_count(self, queryset: Any) -> int:
        """How many rows there are."""
        return super().get_count(queryset) if self.known is None else self.known

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        """The rows of the page that the request asks for."""
        self.request, self.count = request, self.get_count(queryset)
        self.limit = self.get_limit(request) or self.default_limit
        self.offset = self.get_offset(request)
        if self.offset >= self.count:
            return []
        return keys_first(queryset, self.offset, self.offset + self.limit, known=self.count)


class Listing(Route):
    """Base of long lists."""

    def page(
        self,
        rows: QuerySet[Any],
        serializer: type[BaseSerializer],
        *,
        total: int | None = None,
    ) -> Response:
        """One page; `total` is how many rows there are, where that is known."""
        pages = KeysFirst()
        pages.known = total
        found = pages.paginate_queryset(rows, self.request, view=self)
        return pages.get_paginated_response(serializer(found, many=True).data)
