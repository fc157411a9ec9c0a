"""API of how far a judge can be trusted."""

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from annotate.grading.models import AnswerGrade, GradingSample
from annotate.grading.services import PEOPLE, SEED, SIZE, close_sample
from corpus.access import enter, enter_unblinded
from corpus.models import Role
from evaluation.agents.api import JudgeRunSerializer
from evaluation.agents.models import JUDGE_MODES
from evaluation.agents.protocol.judging import JudgeMode
from evaluation.agents.trust import bridges, people
from evaluation.agents.trust.noise import tables_of
from evaluation.agents.trust.views import bridge, calibration_sheets, draw, get_sample
from evaluation.agents.views import READERS, get_judge_run
from kit.api import KeyField, ReportTableSerializer, Route
from kit.lists.report_tables import as_data
from llm.ledger.serializers import BudgetField


class JudgeSampleSerializer(serializers.ModelSerializer):
    """Answers that people score beside the judge; `scored` have a grade, `given` counts grades."""

    drawn = serializers.IntegerField()
    scored = serializers.IntegerField()
    given = serializers.IntegerField()

    class Meta:
        model = GradingSample
        fields = [
            *("id", "seed", "size", "people", "drawn", "scored", "given"),
            *("created_at", "closed_at"),
        ]


class NewJudgeSampleSerializer(serializers.Serializer):
    """Agent runs whose answers are drawn, how many, and how many people score each."""

    runs = serializers.ListField(child=KeyField(), min_length=1)
    size = serializers.IntegerField(default=SIZE)
    seed = serializers.IntegerField(default=SEED)
    people = serializers.IntegerField(default=PEOPLE)


class AnswerGradeSerializer(serializers.ModelSerializer):
    """What one person said of one answer: of the item and the round that are named."""

    item = serializers.SerializerMethodField()
    round = serializers.SerializerMethodField()
    query = serializers.IntegerField(source="answer.query_id")
    quality = serializers.IntegerField()

    class Meta:
        model = AnswerGrade
        fields = [
            *("id", "item", "round", "query", "grader", "scores", "weights", "quality"),
            *("note", "guideline", "created_at"),
        ]

    def get_item(self, grade: AnswerGrade) -> int:
        """The query of an agent run."""
        return people.answer_key(grade.answer.origin)[0]

    def get_round(self, grade: AnswerGrade) -> int:
        """After which round it was given."""
        return people.answer_key(grade.answer.origin)[1]


class NewBridgeSerializer(serializers.Serializer):
    """The other judge, how many answers it is asked about, and the seed that draws them; `swapped`
    shows it the aspects the other way round."""

    mode = serializers.ChoiceField(choices=JUDGE_MODES, default=JudgeMode.RUBRIC.value)
    endpoint = serializers.CharField(allow_blank=True, default="")
    repetitions = serializers.IntegerField(default=1)
    swapped = serializers.BooleanField(default=False)
    budget_usd = BudgetField(default=None)
    size = serializers.IntegerField(default=bridges.SIZE)
    seed = serializers.IntegerField(default=bridges.SEED)


class Judges(ViewSetMixin, Route):
    """How far one judge can be trusted."""

    @extend_schema(request=NewBridgeSerializer, responses={202: JudgeRunSerializer})
    def bridge(self, request: Request, slug: str, pk: int) -> Response:
        """Letting another judge judge some of the answers again."""
        access = enter(self.person(), slug, Role.ADMIN)
        made = bridge(access, get_judge_run(access, pk), self.read(NewBridgeSerializer))
        return Response(JudgeRunSerializer(made).data, status=202)

    @extend_schema(responses=ReportTableSerializer(many=True))
    def report(self, request: Request, slug: str, pk: int) -> Response:
        """The tables of a judge run: its bridge, and what asking again does."""
        access = enter_unblinded(self.person(), slug, *READERS)
        return Response(as_data(tables_of(get_judge_run(access, pk))))


class Calibration(ViewSetMixin, Route):
    """Stated confidence of answers."""

    @extend_schema(
        parameters=[OpenApiParameter("judge", int), OpenApiParameter("bins", int)],
        responses=ReportTableSerializer(many=True),
    )
    def calibration(self, request: Request, slug: str) -> Response:
        """Stated confidence beside what the judge of the judge run `judge`, or the newest, says."""
        access = enter_unblinded(self.person(), slug, *READERS)
        return Response(as_data(calibration_sheets(access, request.query_params)))


class JudgeSamples(ViewSetMixin, Route):
    """Samples of answers that people score beside the judge."""

    @extend_schema(responses=JudgeSampleSerializer(many=True))
    def list(self, request: Request, slug: str) -> Response:
        """Samples so far, and drawing one."""
        access = enter_unblinded(self.person(), slug, *READERS)
        return self.page(people.samples(access.benchmark), JudgeSampleSerializer)

    @extend_schema(request=NewJudgeSampleSerializer, responses={201: JudgeSampleSerializer})
    def create(self, request: Request, slug: str) -> Response:
        """Samples so far, and drawing one."""
        access = enter(self.person(), slug, Role.ADMIN)
        made = draw(access, **self.read(NewJudgeSampleSerializer))
        found = people.samples(access.benchmark).get(pk=made.pk)
        return Response(JudgeSampleSerializer(found).data, status=201)

    @extend_schema(responses=AnswerGradeSerializer(many=True))
    def grades(self, request: Request, slug: str, pk: int) -> Response:
        """What people said of the answers of a sample."""
        sample = get_sample(enter_unblinded(self.person(), slug, *READERS), pk)
        rows = AnswerGrade.objects.standing().filter(answer__sample=sample)
        return self.page(rows.select_related("answer").order_by("pk"), AnswerGradeSerializer)

    @extend_schema(request=None, responses=JudgeSampleSerializer)
    def close(self, request: Request, slug: str, pk: int) -> Response:
        """Asking nobody about a sample any more."""
        access = enter(self.person(), slug, Role.ADMIN)
        close_sample(sample=get_sample(access, pk), access=access)
        return Response(JudgeSampleSerializer(people.samples(access.benchmark).get(pk=pk)).data)


_SAMPLES, _to = "b/<slug:slug>/judge-samples", JudgeSamples.as_view
_JUDGE = "b/<slug:slug>/judge-runs/<int:pk>"
urlpatterns = [
    path(
        "b/<slug:slug>/agent-board/calibration/",
        Calibration.as_view({"get": "calibration"}, pagination_class=None),
        name="api-agent-calibration",
    ),
    path(f"{_JUDGE}/bridge/", Judges.as_view({"post": "bridge"}), name="api-judge-bridge"),
    path(
        f"{_JUDGE}/report/",
        Judges.as_view({"get": "report"}, pagination_class=None),
        name="api-judge-report",
    ),
    path(f"{_SAMPLES}/", _to({"get": "list", "post": "create"}), name="api-judge-samples"),
    path(f"{_SAMPLES}/<int:pk>/grades/", _to({"get": "grades"}), name="api-judge-sample-grades"),
    path(f"{_SAMPLES}/<int:pk>/close/", _to({"post": "close"}), name="api-judge-sample-close"),
]
