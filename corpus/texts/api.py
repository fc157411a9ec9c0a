"""API of the texts of a benchmark: queries, passages, pages."""

from dataclasses import replace

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from corpus.lists import domain_choices, place_choices, place_of
from corpus.models import Document, Passage, Query
from corpus.texts.finding import query_matches
from corpus.texts.views import document_list, get_document, passage_list, passage_total
from kit.api import Route
from kit.lists.tables import Filter, Table


class QuerySerializer(serializers.ModelSerializer):
    """A query as it was imported."""

    domain = serializers.CharField(source="domain.name")

    class Meta:
        model = Query
        fields = ["id", "domain", "qid", "text", "description", "narrative", "answers"]
        fields += ["community_answers", "gold_answer", "reasoning", "reference_answer"]
        fields += ["gold_ids_long", "excluded_ids", "extra"]


class PassageSerializer(serializers.ModelSerializer):
    """A passage; text null means not loaded."""

    domain = serializers.CharField(source="domain.name")

    class Meta:
        model = Passage
        fields = ["id", "domain", "pid", "title", "source_url", "fetched_on", "text", "document"]
        fields += ["start", "end", "extra"]


class DocumentListSerializer(serializers.ModelSerializer):
    """A page, without its text."""

    domain = serializers.CharField(source="domain.name")

    class Meta:
        model = Document
        fields = ["id", "domain", "doc_id", "title", "source_url", "fetched_on"]


class DocumentSerializer(DocumentListSerializer):
    """A page."""

    class Meta:
        model = Document
        fields = [*DocumentListSerializer.Meta.fields, "text"]


_Q = "Words of the text (from three letters on, their beginnings), or the beginning of an id."
_PAGES_Q = f"{_Q} Or parts of the title."
QUERIES = Table(
    filters=(Filter("domain", "Domain", lookup="domain__name"),),
    order=("domain__name",),
)


def parameters(*names: str, **described: str) -> list[OpenApiParameter]:
    """Parameters of a list; those by name with their descriptions."""
    given = dict.fromkeys(names, "") | described
    return [OpenApiParameter(name, str, description=text) for name, text in given.items()]


class Queries(Route):
    """Queries of a benchmark."""

    @extend_schema(
        responses=QuerySerializer(many=True), parameters=parameters("domain", q="Words or an id.")
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
        parameters=parameters("domain", "text", "version", q=_Q),
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
        parameters=parameters("domain", "version", q=_PAGES_Q),
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


urlpatterns = [
    path("b/<slug:slug>/queries/", Queries.as_view(), name="api-queries"),
    path("b/<slug:slug>/passages/", Passages.as_view(), name="api-passages"),
    path("b/<slug:slug>/documents/", Documents.as_view(), name="api-documents"),
    path("b/<slug:slug>/documents/<int:pk>/", OneDocument.as_view(), name="api-document"),
]
