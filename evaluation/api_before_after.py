"""API of the leaderboard before and after: two corpus versions, or two views of one."""

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from evaluation.services.leaderboard import DEFAULT, NAMES
from evaluation.services.scores import GoldView
from evaluation.views.before_after import sides_of, table_of
from kit.api import Route, SheetSerializer
from kit.sheets import as_data

_VIEWS = [str(each) for each in GoldView]


class LeaderboardVersions(Route):
    """The same systems on two boards: means, ranks, gains and places won, with intervals; with
    `system` its queries."""

    @extend_schema(
        responses=SheetSerializer(many=True),
        parameters=[
            OpenApiParameter("a", int, description="Corpus version before; default: as loaded."),
            OpenApiParameter("b", int, description="Corpus version after; default: the current."),
            OpenApiParameter("view_a", str, enum=_VIEWS),
            OpenApiParameter("view_b", str, enum=_VIEWS),
            OpenApiParameter("metric", str, enum=NAMES, default=DEFAULT),
            OpenApiParameter("system", str, description="Name of a system."),
        ],
    )
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug)
        given = request.query_params
        sides = sides_of(access, given)
        table = table_of(sides, given.get("metric") or DEFAULT, given.get("system", ""))
        return Response(as_data([table]))


urlpatterns = [
    path(
        "b/<slug:slug>/leaderboard/versions/",
        LeaderboardVersions.as_view(),
        name="api-leaderboard-versions",
    ),
]
