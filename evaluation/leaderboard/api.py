"""API of the leaderboard: systems, values by query, comparison, noise, before and after."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import Access, enter, enter_unblinded
from corpus.models import CorpusVersion, RetrievalRun
from corpus.runs.views import get_run
from corpus.versions.services import chosen, stored
from evaluation.leaderboard import noise
from evaluation.leaderboard import services as leaderboard
from evaluation.leaderboard.before_after import request_matched
from evaluation.leaderboard.before_after_views import POOLS, pool_of, sides_of, table_of
from evaluation.leaderboard.noise_views import READERS, get_check
from evaluation.leaderboard.services import DEFAULT
from evaluation.metrics.profiles import PROFILES, STRICT
from evaluation.scores import sheets
from evaluation.scores.models import NoiseCheck, ScoreSheet
from evaluation.scores.services import GoldView, readable_view
from kit.api import RUN_FIELDS, ReportTableSerializer, Route
from kit.errors import Refused
from kit.lists.report_tables import as_data


class ScoreSheetSerializer(serializers.ModelSerializer):
    """The scores of a benchmark as of one moment, under a profile; `metrics` are those that were
    asked for beyond the ones of every score set."""

    metrics = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = ScoreSheet
        fields = [
            *RUN_FIELDS,
            *("corpus_version", "matched_with", "profile", "metrics", "run_ids", "pool"),
        ]


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

    def get_tests(self, found: dict[str, Any]) -> dict[str, float | None]:
        """The p value of each test, null where it is undefined."""
        return {test.name: test.p for test in found["tests"]}


class NoiseCheckSerializer(serializers.ModelSerializer):
    """Ranks under noisy labels: `rates` are what audits found by source, round and sureness, which
    `covered` of all `labels` have; both chances are of the others."""

    class Meta:
        model = NoiseCheck
        fields = [
            *RUN_FIELDS,
            *("metric", "view", "if_relevant", "if_not", "seed", "draws", "result"),
            *("rates", "labels", "covered", "corpus_version"),
        ]
        read_only_fields = [
            *(*RUN_FIELDS, "seed", "result", "rates", "labels", "covered", "corpus_version"),
        ]


class NewNoiseCheckSerializer(serializers.ModelSerializer):
    """A check to make; `version` names the corpus version, by default the current one. With
    `by_audits` both chances are of labels that no blind audit covers, and all right if left out."""

    by_audits = serializers.BooleanField(default=False)
    if_relevant = serializers.FloatField(required=False)
    if_not = serializers.FloatField(required=False)
    version = serializers.IntegerField(required=False, allow_null=True)

    class Meta:
        model = NoiseCheck
        fields = ["metric", "view", "by_audits", "if_relevant", "if_not", "draws", "version"]

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        """Both chances, unless audits tell them."""
        for name in ("if_relevant", "if_not") if not given.get("by_audits") else ():
            if name not in given:
                raise serializers.ValidationError({name: "This is needed without by_audits."})
        return given


METRIC = OpenApiParameter(
    "metric",
    str,
    default=leaderboard.DEFAULT,
    description="Any that score_run takes; what was not computed yet, a POST has computed.",
)
PROFILE = OpenApiParameter("profile", str, enum=list(PROFILES), default=STRICT.name)
CHOICE = [
    METRIC,
    OpenApiParameter("view", str, enum=[str(each) for each in GoldView], default="refined"),
    PROFILE,
    OpenApiParameter("version", int, description="Corpus version; by default the current one."),
]


class Leaderboard(Route):
    """Systems by rank; a POST has the scores computed anew, with a metric that they lack."""

    pagination_class = None

    @extend_schema(responses=ReportTableSerializer(many=True), parameters=CHOICE)
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug)
        sheet = sheet_of(request, access)
        board = leaderboard.leaderboard_of(sheet, **_chosen(request, access))
        _, places = noise.marks_for(access, board, sheet)
        return Response(as_data([leaderboard.as_table(board, places)]))

    @extend_schema(
        request=None,
        responses={202: ScoreSheetSerializer},
        parameters=[METRIC, PROFILE, CHOICE[-1]],
    )
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug)
        given = request.query_params
        sheet = sheets.request_sheet(
            benchmark=access.benchmark,
            version=chosen(access.benchmark, given.get("version")),
            profile=given.get("profile") or STRICT.name,
            metric=given.get("metric", ""),
            actor=access.user,
        )
        return Response(ScoreSheetSerializer(sheet).data, status=202)


class LeaderboardRun(Route):
    """One system's value for every query: {domain: {query: value or null}}."""

    @extend_schema(
        responses={200: {"type": "object", "additionalProperties": {"type": "object"}}},
        parameters=CHOICE,
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug)
        run, chosen = get_run(access, pk), _chosen(request, access)
        sheet = _of_run(request, access, run)
        metric = leaderboard.held_metric(sheet, chosen["metric"])
        found: dict[str, dict[str, float | None]] = {}
        values = leaderboard.query_values(sheet, run, metric, chosen["view"])
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
        sheet = _of_run(request, access, first)
        found = leaderboard.compare(sheet, first, second, **_chosen(request, access))
        return Response(ComparedSerializer(found).data)


class NoiseChecks(Route):
    """Ranks under noisy labels, and asking for them."""

    @extend_schema(responses=NoiseCheckSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter_unblinded(self.person(), slug, *READERS)
        rows = NoiseCheck.objects.filter(benchmark=access.benchmark)
        return self.page(rows, NoiseCheckSerializer)

    @extend_schema(request=NewNoiseCheckSerializer, responses={202: NoiseCheckSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter_unblinded(self.person(), slug, *READERS)
        given = self.read(NewNoiseCheckSerializer)
        given["version"] = chosen(access.benchmark, given.pop("version", None))
        made = noise.request_check(benchmark=access.benchmark, actor=access.user, **given)
        return Response(NoiseCheckSerializer(made).data, status=202)


class OneNoiseCheck(Route):
    """One check."""

    @extend_schema(responses=NoiseCheckSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter_unblinded(self.person(), slug, *READERS)
        return Response(NoiseCheckSerializer(get_check(access, pk)).data)


def sheet_of(request: Request, access: Access) -> ScoreSheet:
    """The scores of the version that is asked for; raises Refused where there are none."""
    version = chosen(access.benchmark, request.query_params.get("version"))
    return _scored(request, access, version)


def _of_run(request: Request, access: Access, run: RetrievalRun) -> ScoreSheet:
    return _scored(request, access, stored(access.benchmark, run.corpus_version_id))


def _scored(request: Request, access: Access, version: CorpusVersion | None) -> ScoreSheet:
    profile = sheets.known_profile(request.query_params.get("profile") or STRICT.name)
    sheet = sheets.latest(access.benchmark, version, profile=profile)
    if sheet is None:
        raise Refused("Nothing was scored yet. POST to the leaderboard first.")
    return sheet


def _chosen(request: Request, access: Access) -> dict[str, str]:
    given = request.query_params
    return {
        "metric": given.get("metric", leaderboard.DEFAULT),
        "view": readable_view(access, given.get("view", str(GoldView.REFINED))),
    }


_VIEWS = [str(each) for each in GoldView]
_SIDES = [
    OpenApiParameter("a", int, description="Corpus version before; default: as loaded."),
    OpenApiParameter("b", int, description="Corpus version after; default: the current."),
    OpenApiParameter("view_a", str, enum=_VIEWS),
    OpenApiParameter("view_b", str, enum=_VIEWS),
    PROFILE,
]
_POOL = "Each version's whole corpus, or the passages that both hold: POST has these scored."


class LeaderboardVersions(Route):
    """The same systems on two boards: means, ranks, gains and places won, with intervals; with
    `system` its queries."""

    pagination_class = None

    @extend_schema(
        responses=ReportTableSerializer(many=True),
        parameters=[
            *_SIDES,
            OpenApiParameter("pool", str, enum=POOLS, default=POOLS[0], description=_POOL),
            METRIC,
            OpenApiParameter("system", str, description="Name of a system."),
        ],
    )
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug)
        given = request.query_params
        metric = given.get("metric") or DEFAULT
        sides = pool_of(sides_of(access, given), given.get("pool") or POOLS[0], metric)
        table = table_of(sides, metric, given.get("system", ""))
        return Response(as_data([table]))

    @extend_schema(
        request=None,
        responses={202: ScoreSheetSerializer(many=True)},
        parameters=[*_SIDES, METRIC],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Have both versions scored over the passages that both hold."""
        access = enter(self.person(), slug)
        sides = sides_of(access, request.query_params)
        if not sides:
            raise Refused("Nothing was loaded yet.")
        made = request_matched(
            before=sides[0],
            after=sides[1],
            metric=request.query_params.get("metric", ""),
            actor=access.user,
        )
        return Response(ScoreSheetSerializer(made, many=True).data, status=202)


_BOARD = "b/<slug:slug>/leaderboard"
urlpatterns = [
    path(f"{_BOARD}/", Leaderboard.as_view(), name="api-leaderboard"),
    path(f"{_BOARD}/compare/", LeaderboardCompare.as_view(), name="api-leaderboard-compare"),
    path(f"{_BOARD}/runs/<int:pk>/", LeaderboardRun.as_view(), name="api-leaderboard-run"),
    path(f"{_BOARD}/noise/", NoiseChecks.as_view(), name="api-noise-checks"),
    path(f"{_BOARD}/noise/<int:pk>/", OneNoiseCheck.as_view(), name="api-noise-check"),
    path(f"{_BOARD}/versions/", LeaderboardVersions.as_view(), name="api-leaderboard-versions"),
]
