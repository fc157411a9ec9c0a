"""API of generated answers: runs, answers, grading, the board."""

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from annotate.grading.api import GradingSampleSerializer, NewGradingSampleSerializer
from annotate.grading.services import close_sample
from annotate.grading.views import get_sample
from corpus.access import Access, enter, enter_unblinded
from corpus.models import RetrievalRun, Role
from corpus.run_routes import run_paths
from evaluation.agents.views import READERS
from evaluation.rag import people
from evaluation.rag.alignment import CELLS
from evaluation.rag.models import HARNESSES, Grade, GradeRun, RagAnswer, RagRun, RagSource
from evaluation.rag.protocol.answering import Harness
from evaluation.rag.protocol.grading import PROFILES, STRICT
from evaluation.rag.reading import VIEWS
from evaluation.rag.views import (
    GRADINGS,
    RUNS,
    cell_of,
    forecast_of,
    get_answer,
    get_grade_run,
    get_run,
    get_source,
    grade_forecast,
    start,
    start_grading,
    tables_of,
)
from kit.api import KeyField, ReportTableSerializer, Route
from kit.errors import Refused
from kit.lists.report_tables import as_data
from kit.numbers import number
from llm.ledger.serializers import (
    AskingSerializer,
    PaidSerializer,
    RunForecastSerializer,
    asking_fields,
)


class RagSourceSerializer(serializers.ModelSerializer):
    """Where passages come from: a retrieval run, the gold, or nothing."""

    class Meta:
        model = RagSource
        fields = ["id", "kind", "name", "retrieval_run", "corpus_version"]


class RagRunSerializer(PaidSerializer, serializers.ModelSerializer):
    """A run of a generator over its sources."""

    sources = RagSourceSerializer(many=True)

    class Meta:
        model = RagRun
        fields = asking_fields("name", "harness", "k", "config", "sources")


class NewRagRunSerializer(AskingSerializer):
    """A new run; `runs` are retrieval runs, none for the baselines alone."""

    name = serializers.CharField(max_length=190, required=False, allow_blank=True, default="")
    runs = serializers.ListField(child=KeyField(), required=False, default=list)
    baselines = serializers.BooleanField(required=False, default=True)
    harness = serializers.ChoiceField(
        choices=HARNESSES, required=False, default=Harness.SHORT.value
    )
    k = serializers.IntegerField(required=False, default=10)
    domain = serializers.CharField(required=False, allow_blank=True, default="")
    max_tokens = serializers.IntegerField(required=False, allow_null=True, default=None)


class RagAnswerSerializer(serializers.ModelSerializer):
    """What was answered to one query from one source; `passages` are the ids that were given."""

    class Meta:
        model = RagAnswer
        fields = [
            *("id", "source", "query", "passages", "missing", "state", "answers", "is_informed"),
            *("accuracy", "exact", "f1", "error"),
        ]


class GradeRunSerializer(PaidSerializer, serializers.ModelSerializer):
    """One grader over the answers of a run."""

    class Meta:
        model = GradeRun
        fields = asking_fields("rag_run", "config")


class NewGradeRunSerializer(AskingSerializer):
    """Whose answers are graded, by whom, and how replies are read; a new `replicate` asks again,
    `swapped` shows several true answers the other way round."""

    rag_run = KeyField()
    profile = serializers.ChoiceField(choices=PROFILES, required=False, default=STRICT)
    replicate = serializers.IntegerField(required=False, default=0)
    swapped = serializers.BooleanField(required=False, default=False)


class GradeSerializer(serializers.ModelSerializer):
    """What the grader said of one answer; `value` is null where it could not be read."""

    class Meta:
        model = Grade
        fields = ["id", "answer", "state", "value", "said", "error"]


_BOARD = [OpenApiParameter("generator", int), OpenApiParameter("outcome")]


class RagRoutes(ViewSetMixin, Route):
    """Answers generated from what systems retrieve."""

    def reader(self) -> Access:
        """The benchmark, for who may read what gold says."""
        return enter_unblinded(self.person(), self.kwargs["slug"], *READERS)

    @extend_schema(responses=RagRunSerializer(many=True))
    def rag_runs(self, request: Request, slug: str) -> Response:
        """Runs, and starting one."""
        rows = (
            self.reader().benchmark.rag_runs.select_related("account").prefetch_related("sources")
        )
        return self.page(rows, RagRunSerializer)

    @extend_schema(request=NewRagRunSerializer, responses={202: RagRunSerializer})
    def start_answers(self, request: Request, slug: str) -> Response:
        """Runs, and starting one."""
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewRagRunSerializer)
        keys = given["runs"]
        given["runs"] = RetrievalRun.objects.filter(benchmark=access.benchmark, pk__in=keys)
        if len(given["runs"]) < len(set(keys)):
            raise Refused("Choose retrieval runs of this benchmark.", field="runs")
        return Response(RagRunSerializer(start(access, given)).data, status=202)

    @extend_schema(
        parameters=[
            OpenApiParameter("runs", int, description="How many retrieval runs."),
            OpenApiParameter("baselines", bool),
            *(OpenApiParameter(name) for name in ("harness", "k", "domain", "reasoning_effort")),
        ],
        responses=RunForecastSerializer,
    )
    def rag_forecast(self, request: Request, slug: str) -> Response:
        """What a run would take."""
        access = enter(self.person(), slug, Role.ADMIN)
        runs = request.query_params.get("runs", "")
        count = min(number(runs) or 0, 1_000)
        told = forecast_of(access, request.query_params, count)
        return Response(RunForecastSerializer(told).data)

    @extend_schema(responses=RagAnswerSerializer(many=True))
    def rag_answers(self, request: Request, slug: str, pk: int) -> Response:
        """The answers of a run."""
        return self.page(get_run(self.reader(), pk).answers.all(), RagAnswerSerializer)

    @extend_schema(responses=GradingSampleSerializer(many=True))
    def rag_samples(self, request: Request, slug: str, pk: int) -> Response:
        """Samples of a run's answers that people judge, and drawing one."""
        return self.page(people.samples(get_run(self.reader(), pk)), GradingSampleSerializer)

    @extend_schema(request=NewGradingSampleSerializer, responses={201: GradingSampleSerializer})
    def rag_draw(self, request: Request, slug: str, pk: int) -> Response:
        """Samples of a run's answers that people judge, and drawing one."""
        access = enter(self.person(), slug, Role.ADMIN)
        run = get_run(access, pk)
        made = people.draw(access=access, run=run, **self.read(NewGradingSampleSerializer))
        found = people.samples(run).get(pk=made.pk)
        return Response(GradingSampleSerializer(found).data, status=201)

    @extend_schema(request=None, responses={204: None})
    def rag_sample_close(self, request: Request, slug: str, pk: int) -> Response:
        """Asking nobody about a sample any more."""
        access = enter(self.person(), slug, Role.ADMIN)
        close_sample(sample=get_sample(access, pk, *people.KINDS), access=access)
        return Response(status=204)

    @extend_schema(responses=RagAnswerSerializer)
    def rag_answer(self, request: Request, slug: str, pk: int) -> Response:
        """One answer."""
        return Response(RagAnswerSerializer(get_answer(self.reader(), pk)).data)

    @extend_schema(
        parameters=[OpenApiParameter("endpoint"), OpenApiParameter("reasoning_effort")],
        responses=RunForecastSerializer,
    )
    def grade_forecast(self, request: Request, slug: str, pk: int) -> Response:
        """What grading a run's answers would take, by `endpoint` or the first of graders."""
        access = enter(self.person(), slug, Role.ADMIN)
        told = grade_forecast(get_run(access, pk), request.query_params)
        return Response(RunForecastSerializer(told).data)

    @extend_schema(responses=GradeRunSerializer(many=True))
    def grade_runs(self, request: Request, slug: str) -> Response:
        """Gradings, and starting one."""
        rows = self.reader().benchmark.grade_runs.select_related("account")
        return self.page(rows, GradeRunSerializer)

    @extend_schema(request=NewGradeRunSerializer, responses={202: GradeRunSerializer})
    def start_grading(self, request: Request, slug: str) -> Response:
        """Gradings, and starting one."""
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewGradeRunSerializer)
        run = start_grading(access, get_run(access, given.pop("rag_run")), given)
        return Response(GradeRunSerializer(run).data, status=202)

    @extend_schema(responses=GradeSerializer(many=True))
    def grades(self, request: Request, slug: str, pk: int) -> Response:
        """The grades of a grading."""
        return self.page(get_grade_run(self.reader(), pk).grades.all(), GradeSerializer)

    @extend_schema(parameters=_BOARD, responses=ReportTableSerializer(many=True))
    def rag_board(self, request: Request, slug: str) -> Response:
        """What a generator made of each system's passages: that of the run `generator`, or the
        newest. Empty where nothing was answered yet."""
        return Response(as_data(tables_of(self.reader(), request.query_params)))

    @extend_schema(
        parameters=[
            OpenApiParameter("view", enum=[str(view) for view in VIEWS]),
            OpenApiParameter("cell", enum=list(CELLS)),
            OpenApiParameter("outcome"),
        ],
        responses=RagAnswerSerializer(many=True),
    )
    def rag_cell(self, request: Request, slug: str, pk: int) -> Response:
        """The answers in one cell of RAGAlign, of the source `id`."""
        access = self.reader()
        source = get_source(access, pk)
        *_, queries = cell_of(access, source, request.query_params)
        return self.page(source.answers.filter(query__in=queries), RagAnswerSerializer)


_ALL = "b/<slug:slug>/rag-runs"
_GRADINGS = "b/<slug:slug>/grade-runs"
_BOARDS = "b/<slug:slug>/rag-board"
_to = RagRoutes.as_view
urlpatterns = [
    path(f"{_ALL}/", _to({"get": "rag_runs", "post": "start_answers"}), name="api-rag-runs"),
    path(f"{_ALL}/forecast/", _to({"get": "rag_forecast"}), name="api-rag-forecast"),
    path(f"{_ALL}/<int:pk>/answers/", _to({"get": "rag_answers"}), name="api-rag-run-answers"),
    path(
        f"{_ALL}/<int:pk>/samples/",
        _to({"get": "rag_samples", "post": "rag_draw"}),
        name="api-rag-samples",
    ),
    path(
        "b/<slug:slug>/rag-samples/<int:pk>/close/",
        _to({"post": "rag_sample_close"}),
        name="api-rag-sample-close",
    ),
    path(
        f"{_ALL}/<int:pk>/grading/", _to({"get": "grade_forecast"}), name="api-rag-grade-forecast"
    ),
    path("b/<slug:slug>/rag-answers/<int:pk>/", _to({"get": "rag_answer"}), name="api-rag-answer"),
    path(
        f"{_GRADINGS}/", _to({"get": "grade_runs", "post": "start_grading"}), name="api-grade-runs"
    ),
    path(f"{_GRADINGS}/<int:pk>/grades/", _to({"get": "grades"}), name="api-grade-run-grades"),
    path(f"{_BOARDS}/", _to({"get": "rag_board"}, pagination_class=None), name="api-rag-board"),
    path(f"{_BOARDS}/cells/<int:pk>/", _to({"get": "rag_cell"}), name="api-rag-cell"),
    *run_paths(_ALL, "api-rag-run", pages=RUNS, serializer_class=RagRunSerializer),
    *run_paths(_GRADINGS, "api-grade-run", pages=GRADINGS, serializer_class=GradeRunSerializer),
]
