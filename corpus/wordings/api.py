"""API of queries in other words, and of what writes them."""

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from corpus.access import enter_unblinded
from corpus.lists import domain_choices
from corpus.models import (
    ExpansionItem,
    ExpansionMethod,
    ExpansionRound,
    ExpansionRun,
    QuerySource,
    Wording,
)
from corpus.run_routes import kind_paths, run_paths
from corpus.texts.api import parameters
from corpus.wordings.services import SETTINGS
from corpus.wordings.views import (
    READERS,
    RUNS,
    SOURCES,
    WORDINGS,
    get_expansion,
    get_source,
)
from kit.api import Route
from llm.ledger.serializers import (
    PaidSerializer,
    PayingSerializer,
    asking_fields,
)

_OPTIONS = sorted({name for each in SETTINGS.values() for name in each})


class QuerySourceSerializer(serializers.ModelSerializer):
    """Where other wordings of the queries are from."""

    class Meta:
        model = QuerySource
        fields = ["id", "name", "query_count", "provenance", "created_at"]


class WordingSerializer(serializers.ModelSerializer):
    """A query in other words, and as it is."""

    domain = serializers.CharField(source="query.domain.name")
    query = serializers.CharField(source="query.qid")
    original = serializers.CharField(source="query.text")

    class Meta:
        model = Wording
        fields = ["domain", "query", "original", "text"]


class ExpansionRunSerializer(PaidSerializer, serializers.ModelSerializer):
    """An expansion; `source` and `run` are what its last round became, `report.rounds` has all."""

    class Meta:
        model = ExpansionRun
        fields = asking_fields("name", "method", "retriever", "config", "source", "run", "report")


class NewExpansionSerializer(PayingSerializer):
    """What to do. `config`: depth, tokenizer, prompt_tokens, output_tokens, temperature, top_p,
    reasoning_effort; of qexpand also profile, rounds, passages, passage_tokens, samples,
    stops_early, reasoning_free."""

    method = serializers.ChoiceField(choices=ExpansionMethod.choices)
    retriever = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        help_text="A retrieval run that was computed here; qexpand needs one.",
    )
    config = serializers.DictField(required=False, default=dict)
    name = serializers.CharField(max_length=180, required=False, allow_blank=True, default="")


class ExpansionRoundSerializer(serializers.ModelSerializer):
    """A round: passages shown, calls, texts written, the query, and what it retrieved."""

    class Meta:
        model = ExpansionRound
        fields = ["number", "shown", "calls", "texts", "query", "pids", "scores", "found"]


class ExpansionItemSerializer(serializers.ModelSerializer):
    """One query with its rounds."""

    rounds = ExpansionRoundSerializer(many=True)

    class Meta:
        model = ExpansionItem
        fields = ["id", "query", "state", "error", "rounds"]


class WordingRoutes(ViewSetMixin, Route):
    """Query sources and expansions."""

    @extend_schema(
        responses=QuerySourceSerializer(many=True), parameters=parameters(q="A part of its name.")
    )
    def query_sources(self, request: Request, slug: str) -> Response:
        """Where other wordings are from."""
        access = enter_unblinded(self.person(), slug, *READERS)
        rows = self.matches(SOURCES, access.benchmark.query_sources.all())
        return self.page(rows, QuerySourceSerializer)

    @extend_schema(responses=QuerySourceSerializer)
    def query_source(self, request: Request, slug: str, pk: int) -> Response:
        """One source."""
        access = enter_unblinded(self.person(), slug, *READERS)
        return Response(QuerySourceSerializer(get_source(access, pk)).data)

    @extend_schema(responses=WordingSerializer(many=True), parameters=parameters("domain"))
    def wordings(self, request: Request, slug: str, pk: int) -> Response:
        """Its wordings beside the queries as they are."""
        access = enter_unblinded(self.person(), slug, *READERS)
        rows = get_source(access, pk).wordings.select_related("query__domain")
        found = self.matches(WORDINGS, rows, {"domain": domain_choices(access.benchmark)})
        return self.page(found, WordingSerializer)

    @extend_schema(responses=ExpansionItemSerializer(many=True))
    def expansion_items(self, request: Request, slug: str, pk: int) -> Response:
        """The queries of an expansion with their rounds: every passage shown, every call."""
        access = enter_unblinded(self.person(), slug, *READERS)
        rows = get_expansion(access, pk).items.prefetch_related("rounds")
        return self.page(rows, ExpansionItemSerializer)


_SOURCES = "b/<slug:slug>/query-sources"
_ALL = "b/<slug:slug>/expansions"
_to = WordingRoutes.as_view
urlpatterns = [
    path(f"{_SOURCES}/", _to({"get": "query_sources"}), name="api-query-sources"),
    path(f"{_SOURCES}/<int:pk>/", _to({"get": "query_source"}), name="api-query-source"),
    path(f"{_SOURCES}/<int:pk>/wordings/", _to({"get": "wordings"}), name="api-wordings"),
    *kind_paths(
        _ALL,
        ("api-expansions", "api-expansion-forecast"),
        pages=RUNS,
        serializer_class=ExpansionRunSerializer,
        new=NewExpansionSerializer,
        retrieval_runs=("retriever",),
        configurable=_OPTIONS,
        asked=("method", "endpoint", *_OPTIONS),
    ),
    path(f"{_ALL}/<int:pk>/queries/", _to({"get": "expansion_items"}), name="api-expansion-items"),
    *run_paths(_ALL, "api-expansion", pages=RUNS, serializer_class=ExpansionRunSerializer),
]
