"""API of the leaderboard before and after: two corpus versions, or two views of one."""

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from evaluation.serializers_leaderboard import ScoreSheetSerializer
from evaluation.services.before_after import request_matched
from evaluation.services.leaderboard import DEFAULT, NAMES
from evaluation.services.scores import GoldView
from evaluation.views.before_after import POOLS, pool_of, sides_of, table_of
from kit.api import Route, SheetSerializer
from kit.errors import Refused
from kit.sheets import as_data

_VIEWS = [str(each) for each in GoldView]
_SIDES = [
    OpenApiParameter("a", int, description="Corpus version before; default: as loaded."),
    OpenApiParameter("b", int, description="Corpus version after; default: the current."),
    OpenApiParameter("view_a", str, enum=_VIEWS),
    OpenApiParameter("view_b", str, enum=_VIEWS),
]
_POOL = "Each version's whole corpus, or the passages that both hold: POST has these scored."


class LeaderboardVersions(Route):
    """The same systems on two boards: means, ranks, gains and places won, with intervals; with
    `system` its queries."""

    @extend_schema(
        responses=SheetSerializer(many=True),
        parameters=[
            *_SIDES,
            OpenApiParameter("pool", str, enum=POOLS, default=POOLS[0], description=_POOL),
            OpenApiParameter("metric", str, enum=NAMES, default=DEFAULT),
            OpenApiParameter("system", str, description="Name of a system."),
        ],
    )
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug)
        given = request.query_params
        sides = pool_of(sides_of(access, given), given.get("pool") or POOLS[0])
        table = table_of(sides, given.get("metric") or DEFAULT, given.get("system", ""))
        return Response(as_data([table]))

    @extend_schema(
        request=None, responses={202: ScoreSheetSerializer(many=True)}, parameters=_SIDES
    )
    def post(self, request: Request, slug: str) -> Response:
        """Have both versions scored over the passages that both hold."""
        access = enter(self.person(), slug)
        sides = sides_of(access, request.query_params)
        if not sides:
            raise Refused("Nothing was loaded yet.")
        made = request_matched(before=sides[0], after=sides[1], actor=access.user)
        return Response(ScoreSheetSerializer(made, many=True).data, status=202)


urlpatterns = [
    path(
        "b/<slug:slug>/leaderboard/versions/",
        LeaderboardVersions.as_view(),
        name="api-leaderboard-versions",
    ),
]
