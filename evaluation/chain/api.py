"""API of chains: plans, their forecast, one chain with its steps, a person's verbs on it."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from corpus.access import enter
from corpus.models import Role
from corpus.run_routes import BudgetSerializer, OneRun, RunVerb
from evaluation.chain import services as verbs
from evaluation.chain.effects import effect_table
from evaluation.chain.here import FORETOLD
from evaluation.chain.models import Chain, ChainStep
from evaluation.chain.views import RUNS, get_chain
from kit.api import RUN_FIELDS, ReportTableSerializer, Route
from kit.lists.report_tables import as_data
from llm.ledger.serializers import BudgetField


class ChainStepSerializer(serializers.ModelSerializer):
    """A step: what it is told, its runs as [kind, key], and what it came to."""

    class Meta:
        model = ChainStep
        fields = [
            *("number", "do", "settings", "budget_usd", "state", "works", "forecast", "outcome"),
            *("figures", "input_sha256", "output_sha256", "spent_usd", "started_at", "ended_at"),
        ]


class ChainSerializer(serializers.ModelSerializer):
    """A chain with its steps."""

    steps = ChainStepSerializer(many=True)

    class Meta:
        model = Chain
        fields = [*RUN_FIELDS, "name", "plan", "budget_usd", "waits_for", "steps"]


class ChainPlanSerializer(serializers.Serializer):
    """A plan in TOML."""

    plan = serializers.CharField()


class NewChainSerializer(ChainPlanSerializer):
    """A new chain."""

    name = serializers.CharField(max_length=190, allow_blank=True, default="")
    budget_usd = BudgetField(default=None)


class PlannedStepSerializer(serializers.Serializer):
    """A step with what it is likely to take; null where nobody can say before the others.

    `seconds` are those of models, `people_seconds` those of the votes or queries beside them.
    """

    do = serializers.CharField()
    budget_usd = BudgetField()
    calls = serializers.FloatField(allow_null=True)
    usd = serializers.CharField(allow_null=True)
    seconds = serializers.FloatField(allow_null=True)
    cases = serializers.FloatField(allow_null=True)
    votes = serializers.FloatField(allow_null=True)
    queries = serializers.FloatField(allow_null=True)
    people_seconds = serializers.FloatField(allow_null=True)


class ChainRoutes(ViewSetMixin, Route):
    """Steps that follow each other, each a run of its kind."""

    @extend_schema(responses=ChainSerializer(many=True))
    def chains(self, request: Request, slug: str) -> Response:
        """Chains, and starting one."""
        access = enter(self.person(), slug, Role.ADMIN)
        return self.page(access.benchmark.chains.prefetch_related("steps"), ChainSerializer)

    @extend_schema(request=NewChainSerializer, responses={202: ChainSerializer})
    def start_chain(self, request: Request, slug: str) -> Response:
        """Chains, and starting one."""
        access = enter(self.person(), slug, Role.ADMIN)
        made = verbs.start_chain(
            benchmark=access.benchmark, actor=access.user, **self.read(NewChainSerializer)
        )
        return Response(ChainSerializer(made).data, status=202)

    @extend_schema(request=ChainPlanSerializer, responses=PlannedStepSerializer(many=True))
    def chain_forecast(self, request: Request, slug: str) -> Response:
        """What the steps of a plan are likely to take, as far as that is known; nothing is kept."""
        access = enter(self.person(), slug, Role.ADMIN)
        told = verbs.forecast_plan(access.benchmark, self.read(ChainPlanSerializer)["plan"])
        rows = [
            {"do": step.do, "budget_usd": step.budget_usd, **dict.fromkeys(FORETOLD), **found}
            for step, found in told
        ]
        return Response(PlannedStepSerializer(rows, many=True).data)

    @extend_schema(request=BudgetSerializer, responses=ChainSerializer)
    def chain_budget(self, request: Request, slug: str, pk: int) -> Response:
        """What the steps may spend together, from the next step on; null lifts the limit."""
        access = enter(self.person(), slug, Role.ADMIN)
        run = get_chain(access, pk)
        usd = self.read(BudgetSerializer)["budget_usd"]
        verbs.set_chain_budget(run=run, usd=usd, actor=access.user)
        return Response(ChainSerializer(run).data)

    @extend_schema(request=ChainPlanSerializer, responses=ChainSerializer)
    def chain_plan(self, request: Request, slug: str, pk: int) -> Response:
        """Another plan for the steps that have not begun; those that have stay as they are."""
        access = enter(self.person(), slug, Role.ADMIN)
        run = get_chain(access, pk)
        verbs.change_plan(run=run, actor=access.user, **self.read(ChainPlanSerializer))
        return Response(ChainSerializer(run).data)

    @extend_schema(responses=ReportTableSerializer(many=True))
    def chain_effects(self, request: Request, slug: str, pk: int) -> Response:
        """The measures after each step, and what it cost."""
        access = enter(self.person(), slug, Role.ADMIN)
        steps = list(get_chain(access, pk).steps.all())
        return Response(as_data([effect_table(steps)]))


_RUN: Any = {"pages": RUNS, "serializer_class": ChainSerializer}
_ALL = "b/<slug:slug>/chains"
_to = ChainRoutes.as_view
urlpatterns = [
    path(f"{_ALL}/", _to({"get": "chains", "post": "start_chain"}), name="api-chains"),
    path(
        f"{_ALL}/forecast/",
        _to({"post": "chain_forecast"}, pagination_class=None),
        name="api-chain-forecast",
    ),
    path(f"{_ALL}/<int:pk>/", OneRun.as_view(**_RUN), name="api-chain"),
    path(f"{_ALL}/<int:pk>/budget/", _to({"post": "chain_budget"}), name="api-chain-budget"),
    path(f"{_ALL}/<int:pk>/plan/", _to({"post": "chain_plan"}), name="api-chain-plan"),
    path(
        f"{_ALL}/<int:pk>/effects/",
        _to({"get": "chain_effects"}, pagination_class=None),
        name="api-chain-effects",
    ),
    path(f"{_ALL}/<int:pk>/<slug:verb>/", RunVerb.as_view(**_RUN), name="api-chain-verb"),
]
