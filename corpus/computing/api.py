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
from corpus.computing.retrievers import names
from corpus.computing.views import RUNS
from corpus.models import Role, RunComputation
from corpus.run_routes import OneRun, RunLimit, RunVerb
from corpus.versions.services import chosen
from kit.api import RUN_FIELDS, Route
from llm.ledger.serializers import PAID_FIELDS, BudgetField, PaidSerializer


class RunComputationSerializer(PaidSerializer, serializers.ModelSerializer):
    """A computation; `run` is the retrieval run once it is whole."""

    run = serializers.SerializerMethodField()

    class Meta:
        model = RunComputation
        fields = [
            *RUN_FIELDS,
            *("name", "corpus_version", "method", "config", "practice"),
            *PAID_FIELDS,
            *("run", "report"),
        ]

    def get_run(self, row: RunComputation) -> int | None:
        """Its id."""
        return row.run_id if row.run and row.run.is_ready else None


class MethodField(serializers.ChoiceField):
    """A method that is here, or a retriever that was installed."""

    def __init__(self, **kwargs: Any) -> None:
        plugged = [(name, name) for name in names() if name not in Method.values]
        super().__init__(choices=[*Method.choices, *plugged], **kwargs)


class NewComputationSerializer(serializers.Serializer):
    """What to compute. `config`: depth, by_document; k1, b; dimensions; endpoint, model;
    query_prefix, document_prefix, query_tokens, document_tokens, tokenizer, instructions by domain;
    runs, weights; queries, the id of a query source; the settings of an installed retriever."""

    method = MethodField()
    config = serializers.DictField(default=dict)
    name = serializers.CharField(max_length=200, default="", allow_blank=True)
    budget_usd = BudgetField(default=None)
    version = serializers.IntegerField(
        required=False, help_text="The corpus version to rank; by default the current one."
    )


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


class ComputationBudget(RunLimit):
    """Another limit for what a computation may spend."""

    def check(self, run: Any) -> None:
        """Only embeddings cost anything."""
        computing.check_is_paid(run)


_ALL = "b/<slug:slug>/run-computations"
_KIND: Any = {"pages": RUNS, "serializer_class": RunComputationSerializer}
_CANCEL = RunVerb.as_view(**_KIND, verb="cancel")
_RETRY = RunVerb.as_view(**_KIND, verb="retry")
_BUDGET = ComputationBudget.as_view(**_KIND)
urlpatterns = [
    path(f"{_ALL}/", Computations.as_view(), name="api-run-computations"),
    path(f"{_ALL}/<int:pk>/", OneRun.as_view(**_KIND), name="api-run-computation"),
    path(f"{_ALL}/<int:pk>/cancel/", _CANCEL, name="api-run-computation-cancel"),
    path(f"{_ALL}/<int:pk>/retry/", _RETRY, name="api-run-computation-retry"),
    path(f"{_ALL}/<int:pk>/budget/", _BUDGET, name="api-run-computation-budget"),
]
