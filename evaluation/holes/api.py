"""API of holes: how the find grows over systems, and debating what is not judged yet."""

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from corpus.models import RetrievalRun, Role
from corpus.pools.services import MAX_DEPTH
from evaluation.holes.debates import debate_holes
from evaluation.holes.next_labels import MOST, as_table, next_labels, pool_next
from evaluation.holes.tables import all_growth, aspect_tables
from evaluation.holes.views import VIEWS, corrected_of, holes_leaderboard, view_asked
from evaluation.leaderboard import services as leaderboard
from evaluation.leaderboard.api import sheet_of
from evaluation.scores.services import enter_scored
from kit.api import KeyField, ReportTableSerializer, Route
from kit.errors import Refused
from kit.lists.report_tables import as_data
from llm import endpoints
from llm.ledger.serializers import BudgetField


class HoleDebateSerializer(serializers.Serializer):
    """Runs to pool, and who debates the pool; without an endpoint the first that is set up."""

    runs = serializers.ListField(child=KeyField(), allow_empty=False)
    depth = serializers.IntegerField(min_value=1, max_value=MAX_DEPTH, default=10)
    endpoint = serializers.CharField(default="", allow_blank=True)
    budget_usd = BudgetField(default=None)


class StartedSerializer(serializers.Serializer):
    """The debate run that was started, and the pool it is over."""

    debate_run = serializers.IntegerField()
    pool = serializers.IntegerField()


class NextLabelsSerializer(serializers.Serializer):
    """How many labels to pool, and under which name."""

    count = serializers.IntegerField(min_value=1, max_value=MOST, default=100)
    name = serializers.CharField(max_length=120, default="", allow_blank=True)


class PooledSerializer(serializers.Serializer):
    """The pool that was made."""

    pool = serializers.IntegerField()


class Holes(Route):
    """Hole@10 by system, how the find grows over ten seeded orders, both by aspects, and holes as
    audits correct them."""

    pagination_class = None

    @extend_schema(
        responses=ReportTableSerializer(many=True),
        parameters=[
            OpenApiParameter("view", str, enum=[str(each) for each in VIEWS], default=VIEWS[0])
        ],
    )
    def get(self, request: Request, slug: str) -> Response:
        access = enter_scored(self.person(), slug)
        sheet, view = sheet_of(request, access), view_asked(request.query_params)
        board = leaderboard.as_table(holes_leaderboard(sheet, view))
        found = [board, all_growth(sheet, view), *aspect_tables(sheet), *corrected_of(access)]
        return Response(as_data(found))


class NextLabels(Route):
    """Labels of support that would help most per dollar, and a pool of them."""

    pagination_class = None

    @extend_schema(
        responses=ReportTableSerializer,
        parameters=[OpenApiParameter("count", int, description="How many; 100 by default.")],
    )
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        asked = NextLabelsSerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        chosen = next_labels(access.benchmark, asked.validated_data["count"])
        return Response(as_data([as_table(chosen)])[0])

    @extend_schema(request=NextLabelsSerializer, responses={201: PooledSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NextLabelsSerializer)
        pool = pool_next(benchmark=access.benchmark, actor=access.user, **given)
        return Response({"pool": pool.pk}, status=201)


class HolesDebate(Route):
    """Pool runs and debate the pool."""

    @extend_schema(request=HoleDebateSerializer, responses={202: StartedSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(HoleDebateSerializer)
        found = RetrievalRun.objects.filter(benchmark=access.benchmark).in_bulk(given["runs"])
        missing = [pk for pk in given["runs"] if pk not in found]
        if missing:
            raise Refused(f"There is no retrieval run {missing[0]} here.", field="runs")
        name = given["endpoint"]
        run = debate_holes(
            benchmark=access.benchmark,
            runs=[found[pk] for pk in dict.fromkeys(given["runs"])],
            depth=given["depth"],
            endpoint=endpoints.get(name) if name else endpoints.for_role("agents"),
            budget_usd=given["budget_usd"],
            actor=access.user,
        )
        return Response({"debate_run": run.pk, "pool": run.pool_id}, status=202)


urlpatterns = [
    path("b/<slug:slug>/holes/", Holes.as_view(), name="api-holes"),
    path("b/<slug:slug>/holes/next/", NextLabels.as_view(), name="api-holes-next"),
    path("b/<slug:slug>/holes/debate/", HolesDebate.as_view(), name="api-holes-debate"),
]
