"""API of retrieval runs and their rankings."""

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from corpus.lists import domain_choices
from corpus.models import RankedList, RetrievalRun
from corpus.runs.views import RUNS, get_run, lists_table
from corpus.texts.api import parameters
from kit.api import Route


class RetrievalRunSerializer(serializers.ModelSerializer):
    """What a system retrieved."""

    class Meta:
        model = RetrievalRun
        fields = [
            *("id", "name", "corpus_version", "query_count", "depth", "unknown_count"),
            *("provenance", "created_at"),
        ]


class RankedListSerializer(serializers.ModelSerializer):
    """One query's ranking, in the order of its file; scores null where the file gives none."""

    domain = serializers.CharField(source="query.domain.name")
    query = serializers.CharField(source="query.qid")
    pids: serializers.Field = serializers.ListField(child=serializers.CharField())
    scores: serializers.Field = serializers.ListField(
        child=serializers.FloatField(), allow_null=True
    )

    class Meta:
        model = RankedList
        fields = ["domain", "query", "pids", "scores"]


class RetrievalRuns(Route):
    """What systems retrieved."""

    @extend_schema(
        responses=RetrievalRunSerializer(many=True), parameters=parameters(q="A part of its name.")
    )
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug)
        rows = RetrievalRun.objects.filter(benchmark=access.benchmark)
        return self.page(self.matches(RUNS, rows), RetrievalRunSerializer)


class OneRetrievalRun(Route):
    """One retrieval run."""

    @extend_schema(responses=RetrievalRunSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        return Response(RetrievalRunSerializer(get_run(enter(self.person(), slug), pk)).data)


class RankedLists(Route):
    """The rankings of a retrieval run, a query each."""

    @extend_schema(
        responses=RankedListSerializer(many=True),
        parameters=parameters("domain", q="Words of a query, or the beginning of its id."),
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug)
        rows = RankedList.objects.filter(run=get_run(access, pk)).select_related("query__domain")
        choices = {"domain": domain_choices(access.benchmark)}
        found = self.matches(lists_table(access), rows, choices)
        return self.page(found, RankedListSerializer)


_RUNS = "b/<slug:slug>/retrieval-runs"
urlpatterns = [
    path(f"{_RUNS}/", RetrievalRuns.as_view(), name="api-retrieval-runs"),
    path(f"{_RUNS}/<int:pk>/", OneRetrievalRun.as_view(), name="api-retrieval-run"),
    path(f"{_RUNS}/<int:pk>/lists/", RankedLists.as_view(), name="api-ranked-lists"),
]
