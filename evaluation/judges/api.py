"""API of judges: their cards, and TREC AutoJudge's files in and out."""

from django.http import HttpResponse
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from corpus.access import enter_unblinded
from evaluation.judges.exchange import KINDS, MOST_BYTES, compared_file
from evaluation.judges.protocol.autojudge import SHAPES
from evaluation.judges.views import READERS, all_tables, file_response
from kit.api import ReportTableSerializer, Route
from kit.lists.report_tables import as_data


class JudgeFileSerializer(serializers.Serializer):
    """A file of another judge; `run` names the run of a leaderboard in the shape of trec_eval."""

    kind = serializers.ChoiceField(choices=KINDS)
    shape = serializers.ChoiceField(choices=list(SHAPES), required=False, default="ir_measures")
    run = serializers.CharField(required=False, allow_blank=True, default="", max_length=200)
    text = serializers.CharField(max_length=MOST_BYTES, trim_whitespace=False)


class JudgeCards(ViewSetMixin, Route):
    """Judges: cards, orders, files."""

    pagination_class = None

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "rank", bool, description="With the ranking without systems of shared families."
            )
        ],
        responses=ReportTableSerializer(many=True),
    )
    def cards(self, request: Request, slug: str) -> Response:
        """The card of each judge, and what is said of judges together, as tables."""
        access = enter_unblinded(self.person(), slug, *READERS)
        ranked = request.query_params.get("rank", "") not in ("", "false", "0")
        return Response(as_data(all_tables(access, with_ranking=ranked)))

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "judge", str, description="Name of a judge or grader, or a debate run's number"
            ),
            OpenApiParameter("shape", str, enum=list(SHAPES)),
        ],
        responses={(200, "text/plain"): OpenApiTypes.STR},
    )
    def file(self, request: Request, slug: str, kind: str) -> HttpResponse:
        """A leaderboard, qrels or a nugget bank in the shape of TREC AutoJudge."""
        access = enter_unblinded(self.person(), slug, *READERS)
        judge, shape = (request.query_params.get(name, "") for name in ("judge", "shape"))
        return file_response(access, kind, judge, shape)

    @extend_schema(request=JudgeFileSerializer, responses=ReportTableSerializer(many=True))
    def compare(self, request: Request, slug: str) -> Response:
        """A file of another judge beside what is here; nothing of it is kept."""
        access = enter_unblinded(self.person(), slug, *READERS)
        given = self.read(JudgeFileSerializer)
        table = compared_file(
            access.benchmark,
            given["kind"],
            given["text"].splitlines(),
            shape=given["shape"],
            run=given["run"],
        )
        return Response(as_data([table]))


_BASE, _to = "b/<slug:slug>/judges", JudgeCards.as_view
urlpatterns = [
    path(f"{_BASE}/", _to({"get": "cards"}), name="api-judges"),
    path(f"{_BASE}/files/<slug:kind>/", _to({"get": "file"}), name="api-judges-file"),
    path(f"{_BASE}/compare/", _to({"post": "compare"}), name="api-judges-compare"),
]
