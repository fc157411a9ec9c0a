"""What every API route shares: errors in words, lists in pages, the signed-in person."""

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from django.contrib.auth.models import User
from django.core.exceptions import SuspiciousOperation
from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView, exception_handler

from kit.errors import Conflict, Refused
from kit.lists.tables import Choices, Table, keys_first

_Verb = TypeVar("_Verb")

# What every tracked run shows of itself.
RUN_FIELDS = ["id", "status", "done", "total", "error", "created_at", "started_at", "ended_at"]


class KeyField(serializers.IntegerField):
    """The key of a row, which no database has larger: it could not even be looked for."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=1, max_value=2**63 - 1, **options)


class CellSerializer(serializers.Serializer):
    """A number or a text, with its interval where it has one."""

    value = serializers.JSONField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


class ReportTableSerializer(serializers.Serializer):
    """A table of a report (kit.lists.report_tables)."""

    name = serializers.CharField()
    title = serializers.CharField()
    header = serializers.ListField(child=serializers.CharField())
    rows = serializers.ListField(child=CellSerializer(many=True))
    notes = serializers.ListField(child=serializers.CharField())


class Page(LimitOffsetPagination):
    """`?limit=` (at most 500) and `?offset=`, as quick at the end as at the beginning."""

    default_limit = 50
    max_limit = 500

    def __init__(self, known: int | None = None) -> None:
        # How many rows there are, where it is known without counting.
        self.known = known

    def get_count(self, queryset: Any) -> int:
        """How many rows there are."""
        return super().get_count(queryset) if self.known is None else self.known

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        """The rows of the page: what `offset` skips is skipped by key."""
        self.request, self.count = request, self.get_count(queryset)
        self.limit = self.get_limit(request) or self.default_limit
        self.offset = self.get_offset(request)
        if self.offset >= self.count:
            return []
        if self.count <= self.limit:
            return list(queryset[self.offset : self.limit])
        # From the nearer end only where no two rows share a place in the order.
        is_settled = self.known is not None or {"pk", "-pk"} & set(
            map(str, queryset.query.order_by)
        )
        known = self.count if is_settled else None
        return keys_first(queryset, self.offset, self.offset + self.limit, known=known)


def handle_error(error: Exception, context: dict[str, Any]) -> Response | None:
    """Refused verbs answer 409 with the reason; a stale write says which version is current.

    What Django refuses of a body, as too many fields, is 400 in words here, not a page.
    """
    if isinstance(error, Refused):
        return Response({"detail": error.message, "field": error.field}, status=409)
    if isinstance(error, Conflict):
        current = {"version": error.current.version, "updated_at": error.current.updated_at}
        return Response({"detail": str(error), "current": current}, status=409)
    if isinstance(error, SuspiciousOperation):
        error = ParseError(str(error))
    return exception_handler(error, context)


def verb_parameter(verbs: Mapping[str, object]) -> OpenApiParameter:
    """What the API's page says of an address that ends in one of these words."""
    return OpenApiParameter("verb", enum=list(verbs), location=OpenApiParameter.PATH)


def find_verb(verbs: Mapping[str, _Verb], name: str) -> _Verb:
    """The verb that an address names; raises Http404 for any other word."""
    if name not in verbs:
        raise Http404("No such verb.")
    return verbs[name]


class Route(APIView):
    """Base of all routes; one whose GET answers a list as a whole has no `pagination_class`."""

    pagination_class: type[Page] | None = Page
    # Whether a GET gives the person a place that others then cannot have: no token that may only
    # read gets one.
    get_takes_a_place = False
    # What is said of a body that is too large, where the route has a limit of its own.
    too_large = ""

    def person(self) -> User:
        """The signed-in person; strangers never get this far."""
        return cast(User, self.request.user)

    def read(self, serializer: type[serializers.Serializer]) -> dict[str, Any]:
        """The body, checked; raises ValidationError (400) naming the fields."""
        form = serializer(data=self.request.data)
        form.is_valid(raise_exception=True)
        return cast(dict[str, Any], form.validated_data)

    def matches(
        self,
        table: Table,
        rows: QuerySet[Any],
        choices: Mapping[str, Choices] | None = None,
        *,
        params: Mapping[str, str] | None = None,
    ) -> QuerySet[Any]:
        """As the screens narrow a list; but a script is told of a value that does not exist."""
        asked = self.request.query_params if params is None else params
        if unknown := table.not_offered(asked, choices=choices):
            raise ValidationError({name: f"No such {name}: {asked[name]}." for name in unknown})
        return table.matches(rows, asked, choices=choices)

    def page(
        self,
        rows: QuerySet[Any],
        serializer: type[serializers.BaseSerializer],
        *,
        total: int | None = None,
    ) -> Response:
        """One page of a list; `total` is how many rows there are, where that is known."""
        pages = Page(total)
        found = pages.paginate_queryset(rows, self.request, view=self)
        return pages.get_paginated_response(serializer(found, many=True).data)
