"""API of what a benchmark holds: queries, passages, pages, labels, retrieval runs.

How texts, labels and retrieval runs look in the API."""

from dataclasses import replace

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from corpus.judgments.views import judgment_choices, judgment_rows, judgment_table
from corpus.lists import domain_choices, place_choices, place_of
from corpus.models import Document, GoldVersion, Judgment, Passage, Query, RankedList, RetrievalRun
from corpus.runs.views import RUNS, get_run, lists_table
from corpus.texts.finding import query_matches
from corpus.texts.views import document_list, get_document, passage_list, passage_total
from kit.api import Route
from kit.lists.tables import Filter, Table


class QuerySerializer(serializers.ModelSerializer):
    """A query as it was imported."""

    domain = serializers.CharField(source="domain.name")

    class Meta:
        model = Query
        fields = [
            "id",
            "domain",
            "qid",
            "text",
            "description",
            "narrative",
            "answers",
            "community_answers",
            "gold_answer",
            "reasoning",
            "reference_answer",
            "gold_ids_long",
            "excluded_ids",
            "extra",
        ]


class PassageSerializer(serializers.ModelSerializer):
    """A passage; text null means not loaded."""

    domain = serializers.CharField(source="domain.name")

    class Meta:
        model = Passage
        fields = [
            "id",
            "domain",
            "pid",
            "title",
            "source_url",
            "text",
            "document",
            "start",
            "end",
            "extra",
        ]


class JudgmentSerializer(serializers.ModelSerializer):
    """A relevance label."""

    query = serializers.CharField(source="query.qid")
    domain = serializers.CharField(source="query.domain.name")
    passage = serializers.CharField(source="passage.pid")

    class Meta:
        model = Judgment
        fields = [
            "id",
            "domain",
            "query",
            "passage",
            "label",
            "subtopics",
            "source",
            "status",
            "round",
            "practice",
            "gold_version",
            "created_at",
        ]


class DocumentListSerializer(serializers.ModelSerializer):
    """A page, without its text."""

    domain = serializers.CharField(source="domain.name")

    class Meta:
        model = Document
        fields = ["id", "domain", "doc_id", "title", "source_url"]


class DocumentSerializer(DocumentListSerializer):
    """A page."""

    class Meta:
        model = Document
        fields = [*DocumentListSerializer.Meta.fields, "text"]


class GoldVersionSerializer(serializers.ModelSerializer):
    """One imported gold of a domain."""

    domain = serializers.CharField(source="domain.name")

    class Meta:
        model = GoldVersion
        fields = ["id", "domain", "name", "is_current", "created_at"]


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


_Q = "Words of the text (from three letters on, their beginnings), or the beginning of an id."
_PAGES_Q = f"{_Q} Or parts of the title."
QUERIES = Table(
    filters=(Filter("domain", "Domain", lookup="domain__name"),),
    order=("domain__name",),
)


def _parameters(*names: str, **described: str) -> list[OpenApiParameter]:
    given = dict.fromkeys(names, "") | described
    return [OpenApiParameter(name, str, description=said) for name, said in given.items()]


class Queries(Route):
    """Queries of a benchmark."""

    @extend_schema(
        responses=QuerySerializer(many=True), parameters=_parameters("domain", q="Words or an id.")
    )
    def get(self, request: Request, slug: str) -> Response:
        benchmark = enter(self.person(), slug).benchmark
        table = replace(
            QUERIES,
            search=lambda rows, words: rows.filter(query_matches(words, benchmark=benchmark)),
        )
        rows = Query.objects.in_benchmark(benchmark)
        found = self.matches(table, rows, {"domain": domain_choices(benchmark)})
        return self.page(found, QuerySerializer)


class Passages(Route):
    """Passages of the current corpus version, or of the one that `version` names.

    A search finds the first thousand.
    """

    @extend_schema(
        responses=PassageSerializer(many=True),
        parameters=_parameters("domain", "text", "version", q=_Q),
    )
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug)
        place = place_of(access.benchmark, request.query_params)
        table, rows = passage_list(place)
        found = self.matches(table, rows, place_choices(access.benchmark))
        return self.page(found, PassageSerializer, total=passage_total(place, request.query_params))


class Documents(Route):
    """Pages of the current corpus version, or of the one that `version` names; without texts."""

    @extend_schema(
        responses=DocumentListSerializer(many=True),
        parameters=_parameters("domain", "version", q=_PAGES_Q),
    )
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug)
        table, rows = document_list(place_of(access.benchmark, request.query_params))
        found = self.matches(table, rows, place_choices(access.benchmark))
        return self.page(found, DocumentListSerializer)


class OneDocument(Route):
    """One page with its text."""

    @extend_schema(responses=DocumentSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        found = get_document(enter(self.person(), slug), pk)
        return Response(DocumentSerializer(found).data)


class Judgments(Route):
    """Relevance labels: those that count now, unless `counts` or `status` asks for others.

    Of pairs that people still judge, the imported gold alone.
    """

    @extend_schema(
        responses=JudgmentSerializer(many=True),
        parameters=_parameters(
            "domain",
            "label",
            "practice",
            "gold",
            "query",
            "passage",
            "status",
            counts="yes (the default) or no: superseded labels, older golds and trials.",
            source="A source, or since: all that were given since the import.",
            q="The beginning of a query's or a passage's id.",
        ),
    )
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug)
        params = {name: str(value) for name, value in request.query_params.items()}
        if not {"counts", "status", "gold"} & params.keys():
            params["counts"] = "yes"
        table, choices = judgment_table(access), judgment_choices(access, params)
        found = self.matches(table, judgment_rows(access), choices, params=params)
        return self.page(found, JudgmentSerializer)


class GoldVersions(Route):
    """Every imported gold, by domain; one of each is current."""

    @extend_schema(responses=GoldVersionSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug)
        golds = GoldVersion.objects.filter(domain__benchmark=access.benchmark)
        return self.page(golds.select_related("domain"), GoldVersionSerializer)


class RetrievalRuns(Route):
    """What systems retrieved."""

    @extend_schema(
        responses=RetrievalRunSerializer(many=True), parameters=_parameters(q="A part of its name.")
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
        parameters=_parameters("domain", q="Words of a query, or the beginning of its id."),
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug)
        rows = RankedList.objects.filter(run=get_run(access, pk)).select_related("query__domain")
        choices = {"domain": domain_choices(access.benchmark)}
        found = self.matches(lists_table(access), rows, choices)
        return self.page(found, RankedListSerializer)


_RUNS = "b/<slug:slug>/retrieval-runs"
urlpatterns = [
    path("b/<slug:slug>/queries/", Queries.as_view(), name="api-queries"),
    path("b/<slug:slug>/passages/", Passages.as_view(), name="api-passages"),
    path("b/<slug:slug>/documents/", Documents.as_view(), name="api-documents"),
    path("b/<slug:slug>/documents/<int:pk>/", OneDocument.as_view(), name="api-document"),
    path("b/<slug:slug>/judgments/", Judgments.as_view(), name="api-judgments"),
    path("b/<slug:slug>/gold-versions/", GoldVersions.as_view(), name="api-gold-versions"),
    path(f"{_RUNS}/", RetrievalRuns.as_view(), name="api-retrieval-runs"),
    path(f"{_RUNS}/<int:pk>/", OneRetrievalRun.as_view(), name="api-retrieval-run"),
    path(f"{_RUNS}/<int:pk>/lists/", RankedLists.as_view(), name="api-ranked-lists"),
]
