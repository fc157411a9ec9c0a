"""API of runs in which a model writes reference answers."""

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from annotate.answers.rights import hidden_queries
from corpus.access import enter, get_query
from corpus.models import Role
from corpus.run_routes import run_paths
from debate.answers.services import choose_sound
from debate.answers.views import RUNS, forecast_of, generate, get_run, item_rows, start
from debate.models import AnswerItem, AnswerRun
from kit.api import Route
from llm.ledger.serializers import (
    AskingSerializer,
    PaidSerializer,
    RunForecastSerializer,
    asking_fields,
)


class AnswerRunSerializer(PaidSerializer, serializers.ModelSerializer):
    """A run in which a model writes answers."""

    class Meta:
        model = AnswerRun
        fields = asking_fields("config")


class NewAnswerRunSerializer(AskingSerializer):
    """A new run over the queries that are ready; without `again`, those no model has answered."""

    domain = serializers.CharField(allow_blank=True, default="")
    again = serializers.BooleanField(default=False)
    with_weights = serializers.BooleanField(default=True)


class GenerateSerializer(serializers.Serializer):
    """Which endpoint writes; by default the first one."""

    endpoint = serializers.CharField(allow_blank=True, default="")


class UnreadyQuerySerializer(serializers.Serializer):
    """A query that is left out, and why."""

    query = serializers.CharField()
    reason = serializers.CharField()


class AnswerForecastSerializer(RunForecastSerializer):
    """What a run is likely to take; `unready` names the first queries that are left out."""

    left_out = serializers.IntegerField()
    unready = UnreadyQuerySerializer(many=True)


class AnswerItemSerializer(serializers.ModelSerializer):
    """One query of a run."""

    class Meta:
        model = AnswerItem
        fields = ["id", "query", "state", "answer", "asked", "error"]


class ChosenAnswersSerializer(serializers.Serializer):
    """How many answers are published now, and how many were left as they are."""

    chosen = serializers.IntegerField()
    left = serializers.IntegerField()


class AnswerRoutes(ViewSetMixin, Route):
    """Runs in which a model writes reference answers."""

    @extend_schema(responses=AnswerRunSerializer(many=True))
    def answer_runs(self, request: Request, slug: str) -> Response:
        """Runs, and starting one."""
        access = enter(self.person(), slug, Role.ADMIN)
        runs = access.benchmark.answer_runs.select_related("account")
        return self.page(runs, AnswerRunSerializer)

    @extend_schema(request=NewAnswerRunSerializer, responses={202: AnswerRunSerializer})
    def start_answers(self, request: Request, slug: str) -> Response:
        """Runs, and starting one."""
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewAnswerRunSerializer)
        return Response(AnswerRunSerializer(start(access, given)).data, status=202)

    @extend_schema(
        parameters=[OpenApiParameter(n) for n in ("domain", "again", "endpoint")],
        responses=AnswerForecastSerializer,
    )
    def answer_forecast(self, request: Request, slug: str) -> Response:
        """What a run would take."""
        access = enter(self.person(), slug, Role.ADMIN)
        found = forecast_of(access, request.query_params)
        unready = [{"query": str(query), "reason": why} for query, why in found["unready"]]
        return Response(AnswerForecastSerializer(found | {"unready": unready}).data)

    @extend_schema(responses=AnswerItemSerializer(many=True))
    def answer_items(self, request: Request, slug: str, pk: int) -> Response:
        """The queries of a run."""
        access = enter(self.person(), slug, Role.ADMIN)
        hidden = hidden_queries(access)
        rows = item_rows(get_run(access, pk)).exclude(query__in=hidden)
        return self.page(rows, AnswerItemSerializer)

    @extend_schema(request=None, responses=ChosenAnswersSerializer)
    def answer_run_choose(self, request: Request, slug: str, pk: int) -> Response:
        """Publishing every sound answer of a run where nothing is published yet."""
        access = enter(self.person(), slug, Role.ADMIN)
        chosen, left = choose_sound(run=get_run(access, pk), actor=access.user)
        return Response({"chosen": chosen, "left": left})

    @extend_schema(request=GenerateSerializer, responses={202: AnswerRunSerializer})
    def generate(self, request: Request, slug: str, pk: int) -> Response:
        """Letting a model write the answer of one query."""
        access = enter(self.person(), slug, Role.ADMIN, Role.ANNOTATOR)
        query = get_query(access, pk)
        run = generate(access, query, self.read(GenerateSerializer)["endpoint"])
        return Response(AnswerRunSerializer(run).data, status=202)


_RUN = "b/<slug:slug>/answer-runs"
_to = AnswerRoutes.as_view
urlpatterns = [
    path(f"{_RUN}/", _to({"get": "answer_runs", "post": "start_answers"}), name="api-answer-runs"),
    path(f"{_RUN}/forecast/", _to({"get": "answer_forecast"}), name="api-answer-forecast"),
    path(f"{_RUN}/<int:pk>/queries/", _to({"get": "answer_items"}), name="api-answer-items"),
    path(
        f"{_RUN}/<int:pk>/choose/", _to({"post": "answer_run_choose"}), name="api-answer-run-choose"
    ),
    path(
        "b/<slug:slug>/queries/<int:pk>/answers/generate/",
        _to({"post": "generate"}),
        name="api-answer-generate",
    ),
    *run_paths(_RUN, "api-answer-run", pages=RUNS, serializer_class=AnswerRunSerializer),
]
