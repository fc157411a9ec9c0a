"""What every API route shares: errors in words, lists in pages, the signed-in person."""

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.response import Response
from rest_framework.views import APIView, exception_handler

from kit.errors import Conflict, Refused

_Verb = TypeVar("_Verb")

# What every tracked run shows of itself.
RUN_FIELDS = ["id", "status", "done", "total", "error", "created_at", "started_at", "ended_at"]


class CellSerializer(serializers.Serializer):
    """A number or a text, with its interval where it has one."""

    value = serializers.JSONField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


class SheetSerializer(serializers.Serializer):
    """A table of a report (kit.sheets)."""

    name = serializers.CharField()
    title = serializers.CharField()
    header = serializers.ListField(child=serializers.CharField())
    rows = serializers.ListField(child=CellSerializer(many=True))
    notes = serializers.ListField(child=serializers.CharField())


class Page(LimitOffsetPagination):
    """`?limit=` (at most 500) and `?offset=`."""

    default_limit = 50
    max_limit = 500


def handle_error(error: Exception, context: dict[str, Any]) -> Response | None:
    """Refused verbs answer 409 with the reason; a stale write says which version is current."""
    if isinstance(error, Refused):
        return Response({"detail": error.message, "field": error.field}, status=409)
    if isinstance(error, Conflict):
        current = {"version": error.current.version, "updated_at": error.current.updated_at}
        return Response({"detail": str(error), "current": current}, status=409)
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
    """Base of all routes."""

    def person(self) -> User:
        """The signed-in person; strangers never get this far."""
        return cast(User, self.request.user)

    def read(self, serializer: type[serializers.Serializer]) -> dict[str, Any]:
        """The body, checked; raises ValidationError (400) naming the fields."""
        form = serializer(data=self.request.data)
        form.is_valid(raise_exception=True)
        return cast(dict[str, Any], form.validated_data)

    def page(self, rows: QuerySet[Any], serializer: type[serializers.BaseSerializer]) -> Response:
        """One page of a list."""
        pages = Page()
        found = pages.paginate_queryset(rows, self.request, view=self)
        return pages.get_paginated_response(serializer(found, many=True).data)
