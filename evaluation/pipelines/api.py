"""API of pipelines, of methods by retrievers, and of a query's wordings."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from corpus.access import enter_unblinded, get_query
from corpus.models import CorpusVersion
from corpus.reranking.views import READERS
from corpus.reranking.views import get_run as get_rerank
from corpus.run_routes import OneRun, RunVerb, kind_paths
from corpus.versions.services import chosen
from corpus.wordings import asking
from evaluation.pipelines import plan
from evaluation.pipelines.models import PipelineRun
from evaluation.pipelines.views import RUNS, get_pipeline, means_of, tables_of, wordings_of
from kit.api import RUN_FIELDS, ReportTableSerializer, Route
from kit.lists.report_tables import as_data
from llm.ledger.serializers import BudgetField


class PipelineSerializer(serializers.ModelSerializer):
    """A pipeline; each of its `steps` names its run (`child`) and what this became (`run`)."""

    class Meta:
        model = PipelineRun
        fields = [*RUN_FIELDS, "name", "preset", "retriever", "config", "steps", "budget_usd",
                  "practice"]  # fmt: skip


class NewPipelineSerializer(serializers.Serializer):
    """What to run on which retriever."""

    preset = serializers.ChoiceField(choices=plan.CHOICES)
    retriever = serializers.IntegerField(help_text="A retrieval run that was computed here.")
    expander = serializers.CharField(required=False, allow_blank=True, default="")
    reranker = serializers.CharField(required=False, allow_blank=True, default="")
    profile = serializers.ChoiceField(choices=asking.PROFILES, required=False, default="strict")
    depth = serializers.IntegerField(required=False, default=100, min_value=1, max_value=1000)
    repeats = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=1,
        max_value=20,
        help_text="Of v3 alone.",
    )
    name = serializers.CharField(max_length=140, required=False, allow_blank=True, default="")
    budget_usd = BudgetField(required=False, default=None)


class WordingRunSerializer(serializers.Serializer):
    """A run that searched for a wording: its value, and what it gained over the query as it is."""

    run = serializers.IntegerField(source="run.pk")
    name = serializers.CharField(source="run.name")
    value = serializers.FloatField()
    gain = serializers.FloatField()


class QueryWordingSerializer(serializers.Serializer):
    """A query as one source words it."""

    source = serializers.CharField(source="source.name")  # type: ignore[assignment]
    text = serializers.CharField()
    runs = WordingRunSerializer(many=True)


class PipelineRoutes(ViewSetMixin, Route):
    """Pipelines and what they are held against."""

    @extend_schema(
        parameters=[OpenApiParameter("version", int)], responses=ReportTableSerializer(many=True)
    )
    def pipeline_grid(self, request: Request, slug: str) -> Response:
        """Methods by retrievers: ours, what each helped, and as printed."""
        access = enter_unblinded(self.person(), slug, *READERS)
        version: CorpusVersion | None = chosen(
            access.benchmark, request.query_params.get("version")
        )
        return Response(as_data(tables_of(access, version)))

    @extend_schema(responses=ReportTableSerializer)
    def pipeline_means(self, request: Request, slug: str, pk: int) -> Response:
        """The means of a pipeline's steps beside the printed ones."""
        access = enter_unblinded(self.person(), slug, *READERS)
        return Response(as_data([means_of(get_pipeline(access, pk))])[0])

    @extend_schema(responses=ReportTableSerializer)
    def rerank_means(self, request: Request, slug: str, pk: int) -> Response:
        """The means of a reranking, of the retriever alone, and of the oracle."""
        access = enter_unblinded(self.person(), slug, *READERS)
        return Response(as_data([means_of(get_rerank(access, pk))])[0])

    @extend_schema(responses=QueryWordingSerializer(many=True))
    def query_wordings(self, request: Request, slug: str, pk: int) -> Response:
        """A query in all its wordings, and what each helped."""
        access = enter_unblinded(self.person(), slug, *READERS)
        found = wordings_of(access, get_query(access, pk))
        return Response(QueryWordingSerializer(found, many=True).data)


_RUN: Any = {"pages": RUNS, "serializer_class": PipelineSerializer}
_ALL = "b/<slug:slug>/pipelines"
_to = PipelineRoutes.as_view
_whole: Any = {"pagination_class": None}
urlpatterns = [
    *kind_paths(
        _ALL,
        ("api-pipelines", "api-pipeline-forecast"),
        **_RUN,
        new=NewPipelineSerializer,
        retrieval_runs=("retriever",),
        asked=("preset", "retriever", "expander", "reranker", "profile", "depth", "repeats"),
        missing=("retriever", "No retrieval run was computed here."),
    ),
    path(f"{_ALL}/grid/", _to({"get": "pipeline_grid"}, **_whole), name="api-pipeline-grid"),
    path(f"{_ALL}/<int:pk>/", OneRun.as_view(**_RUN), name="api-pipeline"),
    path(f"{_ALL}/<int:pk>/means/", _to({"get": "pipeline_means"}, **_whole),
         name="api-pipeline-means"),
    path(f"{_ALL}/<int:pk>/<slug:verb>/", RunVerb.as_view(**_RUN), name="api-pipeline-verb"),
    path("b/<slug:slug>/rerank-runs/<int:pk>/means/", _to({"get": "rerank_means"}, **_whole),
         name="api-rerank-means"),
    path("b/<slug:slug>/queries/<int:pk>/wordings/", _to({"get": "query_wordings"}, **_whole),
         name="api-query-wordings"),
]  # fmt: skip
