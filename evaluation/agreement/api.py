"""API of the agreement pages: the same tables, and the labels behind them."""

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evaluation.agreement.items import read_items, wanted_items
from evaluation.agreement.views import open_reading, sheets, target_width
from kit.api import ReportTableSerializer, Route
from kit.lists.report_tables import as_data
from kit.numbers import number

MAX_ITEMS = 500


class AgreementSerializer(serializers.Serializer):
    """What the page shows: how labels become one, and its tables."""

    what = serializers.CharField()
    rule = serializers.CharField()
    notes = serializers.ListField(child=serializers.CharField())
    tables = ReportTableSerializer(many=True)


class LabelSerializer(serializers.Serializer):
    """Who gave which label; people as the page names them."""

    rater = serializers.CharField()
    given = serializers.CharField()


class AgreementItemSerializer(serializers.Serializer):
    """One item behind a number."""

    item = serializers.IntegerField()
    name = serializers.CharField()
    about = serializers.CharField()
    labels = LabelSerializer(many=True)


class AgreementItemsSerializer(serializers.Serializer):
    """At most 500 items from `offset` on."""

    count = serializers.IntegerField()
    words = serializers.CharField()
    results = AgreementItemSerializer(many=True)


class Agreement(Route):
    """Agreement of one kind of labels: votes, weights, sample, verdicts or answered."""

    @extend_schema(
        responses=AgreementSerializer,
        parameters=[OpenApiParameter("width", float, description="Target interval width.")],
    )
    def get(self, request: Request, slug: str, what: str) -> Response:
        access, reading = open_reading(self.person(), slug, what)
        width = target_width(request.query_params.dict())
        return Response(
            {
                "what": reading.key,
                "rule": reading.rule,
                "notes": list(reading.notes),
                "tables": as_data(sheets(access, reading, width)),
            }
        )


class AgreementItems(Route):
    """The items behind a number, by the parameters of its link on the page."""

    @extend_schema(
        responses=AgreementItemsSerializer,
        parameters=[
            OpenApiParameter(name, str)
            for name in (
                *("show", "by", "key", "person", "first", "second"),
                *("label", "other", "offset"),
            )
        ],
    )
    def get(self, request: Request, slug: str, what: str) -> Response:
        access, reading = open_reading(self.person(), slug, what)
        params = request.query_params.dict()
        items, words = wanted_items(reading, params)
        start = params.get("offset", "0")
        first = number(start) or 0
        rows = read_items(access.benchmark, reading, items[first : first + MAX_ITEMS])
        results = AgreementItemSerializer(rows, many=True).data
        return Response({"count": len(items), "words": words, "results": results})


urlpatterns = [
    path("b/<slug:slug>/agreement/<str:what>/", Agreement.as_view(), name="api-agreement"),
    path(
        "b/<slug:slug>/agreement/<str:what>/items/",
        AgreementItems.as_view(),
        name="api-agreement-items",
    ),
]
