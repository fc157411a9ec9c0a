"""API of printed figures and how far they are reproduced."""

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from evaluation.reproduction import services as reproduction
from evaluation.reproduction.evidence import Kind
from evaluation.reproduction.services import Figure, State
from evaluation.reproduction.views import filters_of, narrowed, readable_by
from kit.api import Route


class FigureSerializer(serializers.Serializer):
    """A printed figure, in the table's unit, with ours and the badge.

    `kind` is what ours is from: printed figures, imported files or own runs; empty where none was
    tried. `why` says why it differs, or what it would take to try.
    """

    paper = serializers.CharField()
    table = serializers.CharField()
    row = serializers.CharField()
    column = serializers.CharField()
    printed = serializers.FloatField()
    ours = serializers.FloatField(allow_null=True)
    difference = serializers.FloatField(allow_null=True)
    tolerance = serializers.FloatField(allow_null=True)
    kind = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField([str(each) for each in State])
    found_in = serializers.CharField(allow_blank=True)
    why = serializers.CharField(allow_blank=True)


class PaperSerializer(serializers.Serializer):
    """Counts of a paper in one sentence."""

    paper = serializers.CharField()
    sentence = serializers.CharField()


class ReproductionSerializer(serializers.Serializer):
    """The figures that were asked for, and the counts of all."""

    papers = PaperSerializer(many=True)
    figures = FigureSerializer(many=True)


_PARAMETERS = [
    OpenApiParameter("paper", str),
    OpenApiParameter("table", str, description="The id of a published table."),
    OpenApiParameter("kind", str, enum=[str(each) for each in Kind]),
    OpenApiParameter("state", str, enum=[str(each) for each in State]),
]


class Reproduction(Route):
    """Which printed figures are reproduced, from the benchmarks whose scores you may read."""

    @extend_schema(responses=ReproductionSerializer, parameters=_PARAMETERS)
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug)
        found = reproduction.figures(readable_by(access))
        papers = [{"paper": p, "sentence": s} for p, s in reproduction.summary(found)]
        answer = {
            "papers": papers,
            "figures": [*map(_answer, narrowed(found, filters_of(request)[1]))],
        }
        return Response(ReproductionSerializer(answer).data)


def _answer(each: Figure) -> dict[str, object]:
    found = each.found
    return {
        "paper": each.table.paper,
        "table": each.table.id,
        "row": each.row,
        "column": each.column,
        "printed": each.printed,
        "ours": found.ours if found else None,
        "difference": each.difference,
        "tolerance": found.tolerance if found else None,
        "kind": each.kind,
        "state": str(each.state),
        "found_in": found.source if found else "",
        "why": each.why,
    }


urlpatterns = [
    path(
        "b/<slug:slug>/leaderboard/reproduction/",
        Reproduction.as_view(),
        name="api-reproduction",
    ),
]
