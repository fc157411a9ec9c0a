"""API of retrieval runs that are computed here: the verbs of the screen."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from corpus.computing import services as computing
from corpus.computing.models import Method
from corpus.computing.views import get_computation
from corpus.models import Role, RunComputation
from corpus.versions.services import chosen
from kit.api import RUN_FIELDS, Route
from llm.ledger.accounts import set_budget
from llm.serializers import PAID_FIELDS, PaidSerializer


class RunComputationSerializer(PaidSerializer, serializers.ModelSerializer):
    """A computation; `run` is the retrieval run once it is whole."""

    run = serializers.SerializerMethodField()

    class Meta:
        model = RunComputation
        fields = [
            *RUN_FIELDS,
            "name",
            "corpus_version",
            "method",
            "config",
            "practice",
            *PAID_FIELDS,
            "run",
            "report",
        ]

    def get_run(self, row: RunComputation) -> int | None:
        """Its id."""
        return row.run_id if row.run and row.run.is_ready else None


class NewComputationSerializer(serializers.Serializer):
    """What to compute. `config`: depth, by_document; k1, b; dimensions; endpoint, model; runs,
    weights."""

    method = serializers.ChoiceField(choices=Method.choices)
    config = serializers.DictField(required=False, default=dict)
    name = serializers.CharField(max_length=200, required=False, default="", allow_blank=True)
    budget_usd = serializers.DecimalField(
        max_digits=9, decimal_places=2, min_value=0, required=False, default=None, allow_null=True
    )
    version = serializers.IntegerField(
        required=False, help_text="The corpus version to rank; by default the current one."
    )


class ComputationBudgetSerializer(serializers.Serializer):
    """The most to spend; null lifts the limit."""

    usd = serializers.DecimalField(max_digits=9, decimal_places=2, min_value=0, allow_null=True)


class Computations(Route):
    """Computed runs, and computing one."""

    @extend_schema(responses=RunComputationSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        rows = RunComputation.objects.filter(benchmark=access.benchmark).select_related("run")
        return self.page(rows, RunComputationSerializer)

    @extend_schema(request=NewComputationSerializer, responses={202: RunComputationSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewComputationSerializer)
        if "version" in given:
            given["version"] = chosen(access.benchmark, given["version"])
        made = computing.start(benchmark=access.benchmark, actor=access.user, **given)
        return Response(RunComputationSerializer(made).data, status=202)


class OneComputation(Route):
    """One computation."""

    @extend_schema(responses=RunComputationSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        return Response(RunComputationSerializer(get_computation(access, pk)).data)


class ComputationVerb(Route):
    """Stopping a computation, or trying a failed one again."""

    verb: Any = None

    @extend_schema(request=None, responses=RunComputationSerializer)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        found = get_computation(access, pk)
        self.verb(computation=found, actor=access.user)
        return Response(RunComputationSerializer(found).data)


class ComputationBudget(Route):
    """Another limit for what a computation may spend."""

    @extend_schema(request=ComputationBudgetSerializer, responses=RunComputationSerializer)
    def put(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        found = get_computation(access, pk)
        usd = self.read(ComputationBudgetSerializer)["usd"]
        computing.check_is_paid(found)
        set_budget(found, usd, actor=access.user, scope=access.benchmark.slug)
        return Response(RunComputationSerializer(found).data)


_ALL = "b/<slug:slug>/run-computations"
_CANCEL = ComputationVerb.as_view(verb=staticmethod(computing.cancel))
_RETRY = ComputationVerb.as_view(verb=staticmethod(computing.retry))
urlpatterns = [
    path(f"{_ALL}/", Computations.as_view(), name="api-run-computations"),
    path(f"{_ALL}/<int:pk>/", OneComputation.as_view(), name="api-run-computation"),
    path(f"{_ALL}/<int:pk>/cancel/", _CANCEL, name="api-run-computation-cancel"),
    path(f"{_ALL}/<int:pk>/retry/", _RETRY, name="api-run-computation-retry"),
    path(
        f"{_ALL}/<int:pk>/budget/", ComputationBudget.as_view(), name="api-run-computation-budget"
    ),
]
