"""API of support: sets of answers, judges, citations, people's part, files."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from annotate.grading.api import GradingSampleSerializer, NewGradingSampleSerializer
from annotate.grading.models import SampleKind
from annotate.grading.sentences import POST_EDIT, SIZE
from annotate.grading.services import close_sample
from annotate.grading.views import get_sample
from corpus.access import Access, enter, enter_unblinded
from corpus.models import Role
from corpus.run_routes import run_paths
from evaluation.agents.views import READERS
from evaluation.support import report
from evaluation.support.models import Claim, SupportRun, SupportSet, SupportVerdict
from evaluation.support.views import (
    RUNS,
    exported,
    forecast_of,
    get_run,
    get_set,
    import_file,
    start,
    start_judge,
    tables_of,
)
from kit.api import ReportTableSerializer, Route
from kit.lists.report_tables import as_data
from llm.ledger.serializers import (
    AskingSerializer,
    PaidSerializer,
    RunForecastSerializer,
    asking_fields,
)


class SupportSetSerializer(serializers.ModelSerializer):
    """Answers whose citations are judged, of a sentence the first `per_sentence`, null for all;
    `blank` sentences of imported ones were left out."""

    class Meta:
        model = SupportSet
        fields = [
            *("id", "kind", "name", "agent_run", "rag_run", "per_sentence", "is_split"),
            *("blank", "created_at"),
        ]


class SupportRunSerializer(PaidSerializer, serializers.ModelSerializer):
    """One judge over the citations of a set."""

    class Meta:
        model = SupportRun
        fields = asking_fields("support_set", "config")


class NewSupportJudgeSerializer(AskingSerializer):
    """Who judges; a new `replicate` asks again, `swapped` shows the passage first."""

    replicate = serializers.IntegerField(required=False, default=0)
    swapped = serializers.BooleanField(required=False, default=False)


class NewSupportSerializer(NewSupportJudgeSerializer):
    """Whose answers, `references`, `agent:` or `rag:` with the number of a run, and who judges."""

    answers = serializers.CharField(max_length=40)
    per_sentence = serializers.IntegerField(required=False, allow_null=True, default=None)


class AnswerFileSerializer(serializers.Serializer):
    """Answers, one JSON record a line."""

    file = serializers.FileField()
    name = serializers.CharField(max_length=190, required=False, allow_blank=True, default="")
    domain = serializers.CharField(required=False, allow_blank=True, default="")
    per_sentence = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=1, max_value=20
    )


class ClaimSerializer(serializers.ModelSerializer):
    """One sentence with one passage that it cites; `passage` is null where none has that id."""

    system = serializers.CharField(source="answer.system")
    query = serializers.IntegerField(source="answer.query_id")
    text: serializers.Field = serializers.CharField()

    class Meta:
        model = Claim
        fields = ["id", "answer", "system", "query", "sentence", "place", "text", "pid", "passage"]


class SupportVerdictSerializer(serializers.ModelSerializer):
    """What a judge said of a citation: 2 fully, 1 partly, 0 not; null where it is not read."""

    value = serializers.IntegerField(allow_null=True)

    class Meta:
        model = SupportVerdict
        fields = ["id", "claim", "state", "value", "start", "end", "said", "error"]


class SupportSampleSerializer(GradingSampleSerializer):
    """Citations that people judge; `judged` have a verdict, `given` counts verdicts."""

    class Meta(GradingSampleSerializer.Meta):
        fields = [*GradingSampleSerializer.Meta.fields, "post_edit"]


class NewSupportSampleSerializer(NewGradingSampleSerializer):
    """How many citations, how many people each, and in percent how many show machines first."""

    size = serializers.IntegerField(required=False, default=SIZE)
    post_edit = serializers.IntegerField(required=False, default=POST_EDIT)


class SupportRoutes(ViewSetMixin, Route):
    """Whether answers are supported by what they cite."""

    def reader(self) -> Access:
        """The benchmark, for who may read what machines said."""
        return enter_unblinded(self.person(), self.kwargs["slug"], *READERS)

    @extend_schema(responses=SupportSetSerializer(many=True))
    def sets(self, request: Request, slug: str) -> Response:
        """Sets of answers, and having one judged."""
        return self.page(self.reader().benchmark.support_sets.all(), SupportSetSerializer)

    @extend_schema(request=NewSupportSerializer, responses={202: SupportRunSerializer})
    def start(self, request: Request, slug: str) -> Response:
        """Sets of answers, and having one judged."""
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewSupportSerializer)
        run = start(access, source=given.pop("answers"), **given)
        return Response(SupportRunSerializer(run).data, status=202)

    @extend_schema(
        parameters=[
            OpenApiParameter("source"), OpenApiParameter("per_sentence", int),
            OpenApiParameter("endpoint"),
        ],
        responses=RunForecastSerializer,
    )  # fmt: skip
    def forecast(self, request: Request, slug: str) -> Response:
        """What judging a source would take."""
        access = enter(self.person(), slug, Role.ADMIN)
        return Response(RunForecastSerializer(forecast_of(access, request.query_params)).data)

    @extend_schema(request=AnswerFileSerializer, responses={201: SupportSetSerializer})
    def take(self, request: Request, slug: str) -> Response:
        """Importing answers in the shape of TREC RAG, RAGTIME or NeuCLIR."""
        access = enter(self.person(), slug, Role.ADMIN)
        made = import_file(access, **self.read(AnswerFileSerializer))
        return Response(SupportSetSerializer(made).data, status=201)

    @extend_schema(responses=SupportSetSerializer)
    def one(self, request: Request, slug: str, pk: int) -> Response:
        """One set."""
        return Response(SupportSetSerializer(get_set(self.reader(), pk)).data)

    @extend_schema(responses=ReportTableSerializer(many=True))
    def report(self, request: Request, slug: str, pk: int) -> Response:
        """What a set came to."""
        return Response(as_data(tables_of(get_set(self.reader(), pk))))

    @extend_schema(responses=ClaimSerializer(many=True))
    def claims(self, request: Request, slug: str, pk: int) -> Response:
        """The citations of a set."""
        of = get_set(self.reader(), pk)
        rows = Claim.objects.filter(answer__support_set=of).select_related("answer")
        return self.page(rows, ClaimSerializer)

    @extend_schema(request=NewSupportJudgeSerializer, responses={202: SupportRunSerializer})
    def judge(self, request: Request, slug: str, pk: int) -> Response:
        """Having the same citations judged by another judge."""
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewSupportJudgeSerializer)
        run = start_judge(access, get_set(access, pk), given)
        return Response(SupportRunSerializer(run).data, status=202)

    @extend_schema(
        parameters=[OpenApiParameter("anyway", bool), OpenApiParameter("limits", bool)],
        responses={
            (200, "application/x-ndjson"): OpenApiResponse(str),
            (200, "text/plain"): OpenApiResponse(str),
        },
    )
    def answers(self, request: Request, slug: str, pk: int, shape: str) -> Any:
        """The answers of a set in a shape: rag24, rag25, ragtime or neuclir, as JSON lines.

        With `limits` what in them is beyond the track's, by line. What the track refuses is refused
        (409), naming the lines, but `anyway`.
        """
        return exported(get_set(self.reader(), pk), shape, request.query_params)

    @extend_schema(responses=SupportSampleSerializer(many=True))
    def samples(self, request: Request, slug: str, pk: int) -> Response:
        """Samples that people judge, and drawing one."""
        return self.page(report.samples(get_set(self.reader(), pk)), SupportSampleSerializer)

    @extend_schema(request=NewSupportSampleSerializer, responses={201: SupportSampleSerializer})
    def draw(self, request: Request, slug: str, pk: int) -> Response:
        """Samples that people judge, and drawing one."""
        access = enter(self.person(), slug, Role.ADMIN)
        of, given = get_set(access, pk), self.read(NewSupportSampleSerializer)
        made = report.draw(access=access, of=of, **given)
        found = report.samples(of).get(pk=made.pk)
        return Response(SupportSampleSerializer(found).data, status=201)

    @extend_schema(request=None, responses={204: None})
    def close(self, request: Request, slug: str, pk: int) -> Response:
        """Asking nobody about a sample any more."""
        access = enter(self.person(), slug, Role.ADMIN)
        close_sample(sample=get_sample(access, pk, SampleKind.SENTENCES), access=access)
        return Response(status=204)

    @extend_schema(responses=SupportRunSerializer(many=True))
    def runs(self, request: Request, slug: str) -> Response:
        """Judges at work."""
        rows = self.reader().benchmark.support_runs.select_related("account")
        return self.page(rows, SupportRunSerializer)

    @extend_schema(responses=SupportVerdictSerializer(many=True))
    def verdicts(self, request: Request, slug: str, pk: int) -> Response:
        """What a judge said."""
        return self.page(get_run(self.reader(), pk).verdicts.all(), SupportVerdictSerializer)


_SETS, _RUNS = "b/<slug:slug>/support-sets", "b/<slug:slug>/support-runs"
_ONE = f"{_SETS}/<int:pk>"
_to = SupportRoutes.as_view
urlpatterns = [
    path(f"{_SETS}/", _to({"get": "sets", "post": "start"}), name="api-support-sets"),
    path(f"{_SETS}/forecast/", _to({"get": "forecast"}), name="api-support-forecast"),
    path(f"{_SETS}/import/", _to({"post": "take"}), name="api-support-import"),
    path(f"{_ONE}/", _to({"get": "one"}), name="api-support-set"),
    path(
        f"{_ONE}/report/", _to({"get": "report"}, pagination_class=None), name="api-support-report"
    ),
    path(f"{_ONE}/claims/", _to({"get": "claims"}), name="api-support-claims"),
    path(f"{_ONE}/judge/", _to({"post": "judge"}), name="api-support-judge"),
    path(
        f"{_ONE}/answers/<slug:shape>/",
        _to({"get": "answers"}, pagination_class=None),
        name="api-support-answers",
    ),
    path(f"{_ONE}/samples/", _to({"get": "samples", "post": "draw"}), name="api-support-samples"),
    path(
        "b/<slug:slug>/support-samples/<int:pk>/close/",
        _to({"post": "close"}),
        name="api-support-sample-close",
    ),
    path(f"{_RUNS}/", _to({"get": "runs"}), name="api-support-runs"),
    path(f"{_RUNS}/<int:pk>/verdicts/", _to({"get": "verdicts"}), name="api-support-verdicts"),
    *run_paths(_RUNS, "api-support-run", pages=RUNS, serializer_class=SupportRunSerializer),
]
