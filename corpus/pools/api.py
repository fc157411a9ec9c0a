"""API of pools: the list, building one, and its pairs."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from corpus.benchmarks.serializers import (
    NewPoolSerializer,
    PoolBuildSerializer,
    PoolEntrySerializer,
    PoolSerializer,
)
from corpus.models import RetrievalRun, Role
from corpus.pools import builds as pool_builds
from corpus.pools.views import RUNS, get_pool
from corpus.run_routes import OneRun, RunVerb
from kit.api import Route
from kit.errors import Refused


class Pools(Route):
    """Pools of pairs."""

    @extend_schema(responses=PoolSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN, Role.REVIEWER)
        return self.page(access.benchmark.pools.all(), PoolSerializer)

    @extend_schema(request=NewPoolSerializer, responses={202: PoolBuildSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewPoolSerializer)
        wanted = given.pop("runs")
        found = RetrievalRun.objects.filter(benchmark=access.benchmark).in_bulk(wanted)
        missing = [pk for pk in wanted if pk not in found]
        if missing:
            raise Refused(f"There is no retrieval run {missing[0]} here.", field="runs")
        runs = [found[pk] for pk in dict.fromkeys(wanted)]
        build = pool_builds.start_build(
            benchmark=access.benchmark, runs=runs, actor=access.user, **given
        )
        return Response(PoolBuildSerializer(build).data, status=202)


class OnePool(Route):
    """One pool with what went into it."""

    @extend_schema(responses=PoolSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN, Role.REVIEWER)
        return Response(PoolSerializer(get_pool(access, pk)).data)


class PoolPairs(Route):
    """The pairs of a pool with their places."""

    @extend_schema(responses=PoolEntrySerializer(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN, Role.REVIEWER)
        rows = get_pool(access, pk).entries.select_related("query__domain", "passage")
        return self.page(rows.defer("passage__text"), PoolEntrySerializer)


class Builds(Route):
    """Builds of pools, the newest first."""

    @extend_schema(responses=PoolBuildSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        return self.page(access.benchmark.pool_builds.all(), PoolBuildSerializer)


_BUILD: Any = {"pages": RUNS, "serializer_class": PoolBuildSerializer}
urlpatterns = [
    path("b/<slug:slug>/pools/", Pools.as_view(), name="api-pools"),
    path("b/<slug:slug>/pools/<int:pk>/", OnePool.as_view(), name="api-pool"),
    path("b/<slug:slug>/pools/<int:pk>/pairs/", PoolPairs.as_view(), name="api-pool-pairs"),
    path("b/<slug:slug>/pools/builds/", Builds.as_view(), name="api-pool-builds"),
    path("b/<slug:slug>/pools/builds/<int:pk>/", OneRun.as_view(**_BUILD), name="api-pool-build"),
    path(
        "b/<slug:slug>/pools/builds/<int:pk>/cancel/",
        RunVerb.as_view(**_BUILD, verb="cancel"),
        name="api-pool-build-cancel",
    ),
]
