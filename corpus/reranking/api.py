"""API of rerankings, and of two runs side by side."""

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from corpus.access import enter, enter_unblinded
from corpus.models import RerankItem, RerankMethod, RerankRun
from corpus.reranking.beside import sides_of
from corpus.reranking.services import CHOICES, SETTINGS
from corpus.reranking.views import READERS, RUNS, get_run
from corpus.run_routes import kind_paths, run_paths
from corpus.runs.views import get_run as get_retrieval_run
from kit.api import Route
from kit.errors import Refused
from llm.ledger.serializers import (
    PaidSerializer,
    PayingSerializer,
    asking_fields,
)

_OPTIONS = sorted({name for each in SETTINGS.values() for name in each} - {*CHOICES})


class RerankRunSerializer(PaidSerializer, serializers.ModelSerializer):
    """A reranking; `run` is the retrieval run that it became."""

    class Meta:
        model = RerankRun
        fields = asking_fields("name", "method", "source", "second", "config", "run", "report")


class NewRerankSerializer(PayingSerializer):
    """What to rerank. `config`: depth; mix, weight; parser, family, document_chars, temperature,
    top_p, output_tokens, reasoning_effort; group_size, repeats, seed; query_template,
    document_template; fusion."""

    source = serializers.IntegerField(help_text="A retrieval run.")  # type: ignore[assignment]
    method = serializers.ChoiceField(choices=RerankMethod.choices)
    second = serializers.IntegerField(
        required=False, allow_null=True, default=None, help_text="The other run of a merge."
    )
    config = serializers.DictField(required=False, default=dict)
    name = serializers.CharField(max_length=190, required=False, allow_blank=True, default="")


class RerankItemSerializer(serializers.ModelSerializer):
    """One query: its new order with final scores; `found` has what they were made of."""

    class Meta:
        model = RerankItem
        fields = ["id", "query", "state", "pids", "scores", "found", "error"]


class RankPlaceSerializer(serializers.Serializer):
    """A passage with its rank in both runs, null where it is not among the first k."""

    pid = serializers.CharField()
    first = serializers.IntegerField(allow_null=True)
    second = serializers.IntegerField(allow_null=True)
    moved = serializers.IntegerField(allow_null=True)
    label = serializers.IntegerField(allow_null=True)  # type: ignore[assignment]
    score = serializers.FloatField(allow_null=True)
    spread = serializers.FloatField(allow_null=True)


class BesideSerializer(serializers.Serializer):
    """Two runs for one query, each by its key."""

    first = serializers.IntegerField(source="first.pk")
    second = serializers.IntegerField(source="second.pk")
    k = serializers.IntegerField()
    places = RankPlaceSerializer(many=True)


class RerankRoutes(ViewSetMixin, Route):
    """Rerankings of retrieval runs."""

    @extend_schema(responses=RerankItemSerializer(many=True))
    def rerank_items(self, request: Request, slug: str, pk: int) -> Response:
        """The queries of a reranking with the scores that were kept."""
        access = enter_unblinded(self.person(), slug, *READERS)
        return self.page(get_run(access, pk).items.all(), RerankItemSerializer)

    @extend_schema(parameters=[OpenApiParameter("with", int)], responses=BesideSerializer)
    def ranked_beside(self, request: Request, slug: str, pk: int, query_pk: int) -> Response:
        """A run beside the run `with`: ranks of one query, and what each found alone."""
        access = enter(self.person(), slug)
        run = get_retrieval_run(access, pk)
        sides = sides_of(access, run, query_pk, request.query_params.get("with", ""))
        if sides is None:
            raise Refused("No other run of this corpus version ranks the query.", field="with")
        return Response(BesideSerializer(sides).data)


_ALL = "b/<slug:slug>/rerank-runs"
_BESIDE = "b/<slug:slug>/retrieval-runs/<int:pk>/lists/<int:query_pk>/beside/"
_to = RerankRoutes.as_view
urlpatterns = [
    *kind_paths(
        _ALL,
        ("api-rerank-runs", "api-rerank-forecast"),
        pages=RUNS,
        serializer_class=RerankRunSerializer,
        new=NewRerankSerializer,
        retrieval_runs=("source", "second"),
        configurable={*_OPTIONS, *CHOICES},
        asked=("method", "source", "endpoint", *_OPTIONS, *CHOICES),
        missing=("source", "There is no retrieval run to rerank yet."),
    ),
    path(f"{_ALL}/<int:pk>/queries/", _to({"get": "rerank_items"}), name="api-rerank-items"),
    path(
        _BESIDE,
        _to({"get": "ranked_beside"}, pagination_class=None),
        name="api-ranked-list-beside",
    ),
    *run_paths(_ALL, "api-rerank-run", pages=RUNS, serializer_class=RerankRunSerializer),
]
