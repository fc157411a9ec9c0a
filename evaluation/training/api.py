"""API of training data: runs, documents, asking people, export."""

from django.http import FileResponse
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from corpus.access import enter, enter_unblinded
from corpus.models import Role
from corpus.run_routes import kind_paths, run_paths
from evaluation.agents.views import READERS
from evaluation.training.models import TrainingDocument, TrainingRun
from evaluation.training.services import SETTINGS, ask_people
from evaluation.training.views import RUNS, get_run, send_export
from kit.api import Route
from llm.ledger.serializers import (
    PaidSerializer,
    PayingSerializer,
    asking_fields,
)


class TrainingRunSerializer(PaidSerializer, serializers.ModelSerializer):
    """A run that makes training data; `report` has what written texts repeat of the benchmark."""

    class Meta:
        model = TrainingRun
        fields = asking_fields("name", "source", "corpus_version", "config", "report")


class NewTrainingSerializer(PayingSerializer):
    """What to make. `config`: depth, labels, positives, negatives, shortest, longest, least_chars,
    likeness, language, document_chars, temperature, reasoning_effort."""

    source = serializers.IntegerField(  # type: ignore[assignment]
        required=False,
        allow_null=True,
        default=None,
        help_text="The retrieval run whose first passages are graded; null: none are.",
    )
    domain = serializers.CharField(required=False, allow_blank=True, default="")
    config = serializers.DictField(required=False, default=dict)
    name = serializers.CharField(max_length=190, required=False, allow_blank=True, default="")


class TrainingDocumentSerializer(serializers.ModelSerializer):
    """A document for a query with the call or the judgment that it comes from; the text of a
    passage stands with the passage."""

    query = serializers.IntegerField(source="item.query_id")

    class Meta:
        model = TrainingDocument
        fields = [
            *("id", "query", "kind", "use", "passage", "title", "text", "language"),
            *("score", "reason", "fault", "leak", "call", "judgment"),
        ]


class AskSerializer(serializers.Serializer):
    """How many graded pairs people are asked about."""

    size = serializers.IntegerField()
    seed = serializers.IntegerField(required=False, default=1)


class AskedSerializer(serializers.Serializer):
    """How many pairs were put before people."""

    asked = serializers.IntegerField()


class TrainingRoutes(ViewSetMixin, Route):
    """Data to train retrievers on."""

    @extend_schema(responses=TrainingDocumentSerializer(many=True))
    def training_documents(self, request: Request, slug: str, pk: int) -> Response:
        """The documents of a run."""
        access = enter_unblinded(self.person(), slug, *READERS)
        rows = get_run(access, pk).documents.select_related("item")
        return self.page(rows, TrainingDocumentSerializer)

    @extend_schema(request=AskSerializer, responses=AskedSerializer)
    def training_ask(self, request: Request, slug: str, pk: int) -> Response:
        """Put a sample of graded pairs before people."""
        access = enter(self.person(), slug, Role.ADMIN)
        run = get_run(access, pk)
        asked = ask_people(run=run, actor=access.user, **self.read(AskSerializer))
        return Response(AskedSerializer({"asked": asked}).data)

    @extend_schema(
        parameters=[OpenApiParameter("tokenizer", description="That lengths are told in.")],
        responses={(200, "application/zip"): OpenApiTypes.BINARY},
    )
    def training_export(self, request: Request, slug: str, pk: int, shape: str) -> FileResponse:
        """The data as a zip: diver, sentence-transformers or flagembedding."""
        run = get_run(enter(self.person(), slug, Role.ADMIN), pk)
        return send_export(run, shape, request.query_params)


_ALL = "b/<slug:slug>/training-runs"
_ONE = f"{_ALL}/<int:pk>"
_to = TrainingRoutes.as_view
urlpatterns = [
    *kind_paths(
        _ALL,
        ("api-training-runs", "api-training-forecast"),
        pages=RUNS,
        serializer_class=TrainingRunSerializer,
        new=NewTrainingSerializer,
        retrieval_runs=("source",),
        configurable=SETTINGS,
        asked=("source", "domain", "endpoint", *SETTINGS),
    ),
    path(f"{_ONE}/documents/", _to({"get": "training_documents"}), name="api-training-documents"),
    path(f"{_ONE}/ask/", _to({"post": "training_ask"}), name="api-training-ask"),
    path(
        f"{_ONE}/export/<slug:shape>/",
        _to({"get": "training_export"}),
        name="api-training-export",
    ),
    *run_paths(_ALL, "api-training-run", pages=RUNS, serializer_class=TrainingRunSerializer),
]
