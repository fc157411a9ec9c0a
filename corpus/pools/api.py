"""API of pools: the list, building one, and its pairs."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from corpus.models import Pool, PoolBuild, PoolEntry, RetrievalRun, Role
from corpus.pools import builds as pool_builds
from corpus.pools.services import MAX_DEPTH
from corpus.pools.views import RUNS, get_pool
from corpus.run_routes import OneRun, RunVerb
from kit.api import RUN_FIELDS, KeyField, Route
from kit.errors import Refused
from kit.runs.models import RunStatus


class PoolSerializer(serializers.ModelSerializer):
    """A pool of pairs."""

    class Meta:
        model = Pool
        fields = ["id", "name", "corpus_version", "of_aspects", "provenance", "created_at"]


class PoolBuildSerializer(serializers.ModelSerializer):
    """Building a pool; `pool` is its id once it is done."""

    pool = serializers.SerializerMethodField()

    class Meta:
        model = PoolBuild
        fields = [*RUN_FIELDS, "name", "runs", "depth", "of_aspects", "pool"]

    def get_pool(self, build: PoolBuild) -> int | None:
        """Nothing is shown of a pool that is not whole."""
        return build.pool_id if build.status == RunStatus.DONE else None


class NewPoolSerializer(serializers.Serializer):
    """A pool to build: ids of retrieval runs, and how deep.

    `of_aspects`: of what may support the aspects of which no run found gold, in place of pairs.
    """

    runs = serializers.ListField(child=KeyField(), allow_empty=False)
    depth = serializers.IntegerField(min_value=1, max_value=MAX_DEPTH, default=10)
    of_aspects = serializers.BooleanField(default=False)
    name = serializers.CharField(max_length=120, default="", allow_blank=True)


class PoolEntrySerializer(serializers.ModelSerializer):
    """One pair of a pool; `systems` are its places, `same_text_as` an earlier entry's id.

    `aspect` is the number of the query's aspect that it is about, null where about none.
    """

    query = serializers.CharField(source="query.qid")
    domain = serializers.CharField(source="query.domain.name")
    passage = serializers.CharField(source="passage.pid")

    class Meta:
        model = PoolEntry
        fields = ["id", "domain", "query", "passage", "aspect", "systems", "same_text_as"]


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
        requested = given.pop("runs")
        found = RetrievalRun.objects.filter(benchmark=access.benchmark).in_bulk(requested)
        missing = [pk for pk in requested if pk not in found]
        if missing:
            raise Refused(f"There is no retrieval run {missing[0]} here.", field="runs")
        runs = [found[pk] for pk in dict.fromkeys(requested)]
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
