"""API of runs in which a model writes reference answers."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from annotate.answers.rights import hidden_queries
from corpus.access import enter, get_query
from corpus.models import Role
from corpus.run_routes import OneRun, RunLimit, RunVerb
from debate.answers.services import choose_sound
from debate.answers.views import RUNS, forecast_of, generate, get_run, item_rows, start
from debate.models import AnswerItem, AnswerRun
from kit.api import RUN_FIELDS, Route
from llm.ledger.serializers import PAID_FIELDS, BudgetField, PaidSerializer
from llm.requests import EFFORTS


class AnswerRunSerializer(PaidSerializer, serializers.ModelSerializer):
    """A run in which a model writes answers."""

    class Meta:
        model = AnswerRun
        fields = [
            *RUN_FIELDS,
            *("config", "endpoint", "model", "practice"),
            *PAID_FIELDS,
            "pause_reason",
        ]


class NewAnswerRunSerializer(serializers.Serializer):
    """A new run over the queries that are ready; without `again`, those no model has answered."""

    domain = serializers.CharField(required=False, allow_blank=True, default="")
    again = serializers.BooleanField(required=False, default=False)
    endpoint = serializers.CharField(required=False, allow_blank=True, default="")
    with_weights = serializers.BooleanField(required=False, default=True)
    temperature = serializers.FloatField(min_value=0, max_value=2, required=False, default=0.0)
    reasoning_effort = serializers.ChoiceField(
        choices=EFFORTS, required=False, allow_blank=True, default=""
    )
    budget_usd = BudgetField(required=False, default=None)


class GenerateSerializer(serializers.Serializer):
    """Which endpoint writes; by default the first one."""

    endpoint = serializers.CharField(required=False, allow_blank=True, default="")


class UnreadyQuerySerializer(serializers.Serializer):
    """A query that is left out, and why."""

    query = serializers.CharField()
    reason = serializers.CharField()


class AnswerForecastSerializer(serializers.Serializer):
    """What a run is likely to take; `unready` names the first queries that are left out."""

    queries = serializers.IntegerField()
    calls = serializers.IntegerField()
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    usd = serializers.DecimalField(max_digits=18, decimal_places=6, allow_null=True)
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


_KIND: Any = {"pages": RUNS, "serializer_class": AnswerRunSerializer}
_RUN = "b/<slug:slug>/answer-runs"
_to = AnswerRoutes.as_view
urlpatterns = [
    path(f"{_RUN}/", _to({"get": "answer_runs", "post": "start_answers"}), name="api-answer-runs"),
    path(f"{_RUN}/forecast/", _to({"get": "answer_forecast"}), name="api-answer-forecast"),
    path(f"{_RUN}/<int:pk>/", OneRun.as_view(**_KIND), name="api-answer-run"),
    path(f"{_RUN}/<int:pk>/queries/", _to({"get": "answer_items"}), name="api-answer-items"),
    path(f"{_RUN}/<int:pk>/budget/", RunLimit.as_view(**_KIND), name="api-answer-run-budget"),
    path(
        f"{_RUN}/<int:pk>/choose/", _to({"post": "answer_run_choose"}), name="api-answer-run-choose"
    ),
    path(f"{_RUN}/<int:pk>/<slug:verb>/", RunVerb.as_view(**_KIND), name="api-answer-run-verb"),
    path(
        "b/<slug:slug>/queries/<int:pk>/answers/generate/",
        _to({"post": "generate"}),
        name="api-answer-generate",
    ),
]
