"""API of scores: leaderboard, values by query, comparison, holes, noise, published tables.

What the leaderboard's API takes and gives.

API of the leaderboard before and after: two corpus versions, or two views of one."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import Access, enter
from corpus.models import CorpusVersion, RetrievalRun, Role
from corpus.services.pools import MAX_DEPTH
from corpus.services.versions import chosen, stored
from corpus.views.runs import get_run
from evaluation.holes import pages as hole_pages
from evaluation.holes.debates import debate_holes
from evaluation.leaderboard import noise
from evaluation.leaderboard import services as leaderboard
from evaluation.leaderboard.before_after import request_matched
from evaluation.leaderboard.before_after_views import POOLS, pool_of, sides_of, table_of
from evaluation.leaderboard.noise_views import READERS, get_check
from evaluation.leaderboard.services import DEFAULT, NAMES
from evaluation.models import NoiseCheck, ScoreSheet
from evaluation.published import services as published
from evaluation.published.ours import beside_ours
from evaluation.published.systems import beside_runs
from evaluation.published.views import experiment_of
from evaluation.scores import sheets
from evaluation.scores.services import GoldView
from kit.api import RUN_FIELDS, Route, SheetSerializer
from kit.errors import Refused
from kit.sheets import as_data
from llm import endpoints
from llm.endpoints import EndpointError, UnknownEndpoint


class ScoreSheetSerializer(serializers.ModelSerializer):
    """The scores of a benchmark as of one moment."""

    class Meta:
        model = ScoreSheet
        fields = [*RUN_FIELDS, "corpus_version", "matched_with", "run_ids", "pool"]


class ComparedSerializer(serializers.Serializer):
    """Two systems; differences are the first minus the second."""

    metric = serializers.CharField()
    view = serializers.CharField()
    queries = serializers.IntegerField()
    left_out = serializers.IntegerField()
    first_mean = serializers.FloatField(allow_null=True)
    second_mean = serializers.FloatField(allow_null=True)
    difference = serializers.FloatField(allow_null=True, source="difference.value")
    low = serializers.FloatField(allow_null=True, source="difference.low")
    high = serializers.FloatField(allow_null=True, source="difference.high")
    wins = serializers.IntegerField()
    ties = serializers.IntegerField()
    losses = serializers.IntegerField()
    tests = serializers.SerializerMethodField()

    def get_tests(self, found: leaderboard.Compared) -> dict[str, float | None]:
        """The p value of each test, null where it is undefined."""
        return {test.name: test.p for test in found.tests}


class NoiseCheckSerializer(serializers.ModelSerializer):
    """Ranks under noisy labels; `version` names the corpus version, by default the current one."""

    version = serializers.IntegerField(required=False, allow_null=True, write_only=True)

    class Meta:
        model = NoiseCheck
        fields = [
            *RUN_FIELDS,
            *("metric", "view", "if_relevant", "if_not", "seed", "draws", "result"),
            *("corpus_version", "version"),
        ]
        read_only_fields = [*RUN_FIELDS, "seed", "result", "corpus_version"]


class HoleDebateSerializer(serializers.Serializer):
    """Runs to pool, and who debates the pool; without an endpoint the first that is set up."""

    runs = serializers.ListField(child=serializers.IntegerField(), allow_empty=False)
    depth = serializers.IntegerField(min_value=1, max_value=MAX_DEPTH, default=10)
    endpoint = serializers.CharField(required=False, default="", allow_blank=True)
    budget_usd = serializers.DecimalField(
        max_digits=9, decimal_places=2, min_value=0, required=False, allow_null=True, default=None
    )


class StartedSerializer(serializers.Serializer):
    """The debate run that was started, and the pool it is over."""

    debate_run = serializers.IntegerField()
    pool = serializers.IntegerField()


class SystemPartSerializer(serializers.Serializer):
    """A model or package, and where it is published."""

    name = serializers.CharField()
    link = serializers.URLField()


class KnownSystemSerializer(serializers.Serializer):
    """A system of a paper; `kind` is sparse, dense, rerank or rewrite."""

    name = serializers.CharField()
    kind = serializers.CharField()
    parts = SystemPartSerializer(many=True)
    run = serializers.IntegerField(allow_null=True)


CHOICE = [
    OpenApiParameter("metric", str, enum=leaderboard.NAMES, default=leaderboard.DEFAULT),
    OpenApiParameter("view", str, enum=[str(each) for each in GoldView], default="refined"),
    OpenApiParameter("version", int, description="Corpus version; by default the current one."),
]


class Leaderboard(Route):
    """Systems by rank; a POST has the scores computed anew."""

    @extend_schema(responses=SheetSerializer(many=True), parameters=CHOICE)
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug)
        board = leaderboard.board_of(sheet_of(request, access), **_chosen(request))
        return Response(as_data([leaderboard.as_sheet(board)]))

    @extend_schema(request=None, responses={202: ScoreSheetSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug)
        version = chosen(access.benchmark, request.query_params.get("version"))
        sheet = sheets.request_sheet(benchmark=access.benchmark, version=version, actor=access.user)
        return Response(ScoreSheetSerializer(sheet).data, status=202)


class LeaderboardRun(Route):
    """One system's value for every query: {domain: {query: value or null}}."""

    @extend_schema(
        responses={200: {"type": "object", "additionalProperties": {"type": "object"}}},
        parameters=CHOICE,
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug)
        run, chosen = get_run(access, pk), _chosen(request)
        metric = leaderboard.metric_name(chosen["metric"])
        found: dict[str, dict[str, float | None]] = {}
        values = leaderboard.query_values(_of_run(access, run), run, metric, chosen["view"])
        for (domain, qid), value in values.items():
            found.setdefault(domain, {})[qid] = value
        return Response(found)


class LeaderboardCompare(Route):
    """Two systems compared by paired tests."""

    @extend_schema(
        responses=ComparedSerializer,
        parameters=[OpenApiParameter("a", int), OpenApiParameter("b", int), *CHOICE],
    )
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug)
        first, second = (
            leaderboard.find_run(access.benchmark, request.query_params.get(name, ""), name)
            for name in ("a", "b")
        )
        found = leaderboard.compare(_of_run(access, first), first, second, **_chosen(request))
        return Response(ComparedSerializer(found).data)


class Holes(Route):
    """Hole@10 by system, and how the find grows over ten seeded orders."""

    @extend_schema(responses=SheetSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        sheet = sheet_of(request, enter(self.person(), slug))
        board = leaderboard.as_sheet(hole_pages.holes_board(sheet))
        return Response(as_data([board, hole_pages.all_growth(sheet)]))


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
        run = debate_holes(
            benchmark=access.benchmark,
            runs=[found[pk] for pk in dict.fromkeys(given["runs"])],
            depth=given["depth"],
            endpoint=_endpoint(given["endpoint"]),
            budget_usd=given["budget_usd"],
            actor=access.user,
        )
        return Response({"debate_run": run.pk, "pool": run.pool_id}, status=202)


class NoiseChecks(Route):
    """Ranks under noisy labels, and asking for them."""

    @extend_schema(responses=NoiseCheckSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, *READERS)
        rows = NoiseCheck.objects.filter(benchmark=access.benchmark)
        return self.page(rows, NoiseCheckSerializer)

    @extend_schema(request=NoiseCheckSerializer, responses={202: NoiseCheckSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, *READERS)
        given = self.read(NoiseCheckSerializer)
        given["version"] = chosen(access.benchmark, given.pop("version", None))
        made = noise.request_check(benchmark=access.benchmark, actor=access.user, **given)
        return Response(NoiseCheckSerializer(made).data, status=202)


class OneNoiseCheck(Route):
    """One check."""

    @extend_schema(responses=NoiseCheckSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        return Response(NoiseCheckSerializer(get_check(access, pk)).data)


class Published(Route):
    """The published tables: id, title, paper, and the measure of ours they are held against."""

    @extend_schema(
        operation_id="b_leaderboard_published_list",
        responses={200: {"type": "array", "items": {"type": "object"}}},
    )
    def get(self, request: Request, slug: str) -> Response:
        enter(self.person(), slug)
        names = ("id", "title", "paper", "where", "unit", "metric", "view", "columns")
        return Response(
            [{name: getattr(t, name) for name in names} for t in published.tables().values()]
        )


class OnePublished(Route):
    """One published table with our figures beside it: scores of a corpus version, or debate runs
    of an experiment (by default the newest)."""

    @extend_schema(
        responses={200: {"type": "array", "items": {"type": "object"}}},
        parameters=[CHOICE[-1], OpenApiParameter("experiment", int)],
    )
    def get(self, request: Request, slug: str, name: str) -> Response:
        access = enter(self.person(), slug)
        table = published.table_called(name)
        given = request.query_params
        version = chosen(access.benchmark, given.get("version"))
        experiment = experiment_of(given, access) if table.is_of_debates else None
        rows = beside_ours(table, access.benchmark, version=version, experiment=experiment)
        return Response([_beside(table.columns, row) for row in rows])


class KnownSystems(Route):
    """The systems of DREAM/BRIDGE; `run` is the retrieval run here of that name, or null."""

    @extend_schema(responses=KnownSystemSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug)
        found = [
            {"name": system.name, "kind": system.kind, "parts": system.parts, "run": run and run.pk}
            for system, run in beside_runs(access.benchmark)
        ]
        return Response(KnownSystemSerializer(found, many=True).data)


def _beside(columns: tuple[str, ...], row: published.BesideRow) -> dict[str, Any]:
    cells = {
        column: {
            "printed": cell.printed,
            "ours": cell.ours,
            "difference": cell.difference,
            "agrees": cell.agrees,
        }
        for column, cell in zip(columns, row.cells, strict=True)
    }
    return {"system": row.name, "run": row.run, "cells": cells}


def sheet_of(request: Request, access: Access) -> ScoreSheet:
    """The scores of the version that is asked for; raises Refused where there are none."""
    return _scored(access, chosen(access.benchmark, request.query_params.get("version")))


def _of_run(access: Access, run: RetrievalRun) -> ScoreSheet:
    return _scored(access, stored(access.benchmark, run.corpus_version_id))


def _scored(access: Access, version: CorpusVersion | None) -> ScoreSheet:
    sheet = sheets.latest(access.benchmark, version)
    if sheet is None:
        raise Refused("Nothing was scored yet. POST to the leaderboard first.")
    return sheet


def _chosen(request: Request) -> dict[str, str]:
    given = request.query_params
    return {
        "metric": given.get("metric", leaderboard.DEFAULT),
        "view": given.get("view", str(GoldView.REFINED)),
    }


def _endpoint(name: str) -> endpoints.Endpoint:
    try:
        available = endpoints.available("agents")
        if name or not available:
            return endpoints.get(name)
    except (UnknownEndpoint, EndpointError) as error:
        raise Refused(str(error), field="endpoint") from None
    return available[0]


_BOARD = "b/<slug:slug>/leaderboard"
urlpatterns = [
    path(f"{_BOARD}/", Leaderboard.as_view(), name="api-leaderboard"),
    path(f"{_BOARD}/compare/", LeaderboardCompare.as_view(), name="api-leaderboard-compare"),
    path(f"{_BOARD}/runs/<int:pk>/", LeaderboardRun.as_view(), name="api-leaderboard-run"),
    path(f"{_BOARD}/noise/", NoiseChecks.as_view(), name="api-noise-checks"),
    path(f"{_BOARD}/noise/<int:pk>/", OneNoiseCheck.as_view(), name="api-noise-check"),
    path(f"{_BOARD}/systems/", KnownSystems.as_view(), name="api-known-systems"),
    path(f"{_BOARD}/published/", Published.as_view(), name="api-published-tables"),
    path(f"{_BOARD}/published/<slug:name>/", OnePublished.as_view(), name="api-published-table"),
    path("b/<slug:slug>/holes/", Holes.as_view(), name="api-holes"),
    path("b/<slug:slug>/holes/debate/", HolesDebate.as_view(), name="api-holes-debate"),
]


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


urlpatterns += [
    path(
        "b/<slug:slug>/leaderboard/versions/",
        LeaderboardVersions.as_view(),
        name="api-leaderboard-versions",
    ),
]
