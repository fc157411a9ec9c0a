"""API of holes: how the find grows over systems, and debating what is not judged yet."""

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from corpus.models import RetrievalRun, Role
from corpus.pools.services import MAX_DEPTH
from evaluation.holes.debates import debate_holes
from evaluation.holes.views import all_growth, corrected_of, holes_leaderboard
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
    endpoint = serializers.CharField(required=False, default="", allow_blank=True)
    budget_usd = BudgetField(required=False, default=None)


class StartedSerializer(serializers.Serializer):
    """The debate run that was started, and the pool it is over."""

    debate_run = serializers.IntegerField()
    pool = serializers.IntegerField()


class Holes(Route):
    """Hole@10 by system, how the find grows over ten seeded orders, and holes as audits correct
    them."""

    pagination_class = None

    @extend_schema(responses=ReportTableSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter_scored(self.person(), slug)
        sheet = sheet_of(request, access)
        board = leaderboard.as_table(holes_leaderboard(sheet))
        return Response(as_data([board, all_growth(sheet), *corrected_of(access)]))


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
    path("b/<slug:slug>/holes/debate/", HolesDebate.as_view(), name="api-holes-debate"),
]
