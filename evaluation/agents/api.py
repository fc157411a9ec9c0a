"""API of search agents: runs, traces, judging, the board."""

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from corpus.access import enter, enter_unblinded
from corpus.models import Role
from corpus.run_routes import kind_paths, run_paths
from corpus.texts.tokens import CHARACTERS, LONGEST_NAME
from evaluation.agents import board
from evaluation.agents.guests import issue_tokens
from evaluation.agents.models import JUDGE_MODES, AgentItem, AgentRun, AnswerVerdict, JudgeRun
from evaluation.agents.protocol.judging import JudgeMode
from evaluation.agents.views import (
    JUDGES,
    READERS,
    RUNS,
    chosen,
    get_item,
    get_judge_run,
    get_run,
    start_judge,
)
from kit.api import ReportTableSerializer, Route
from kit.lists.report_tables import as_data
from llm.ledger.serializers import (
    AskingSerializer,
    PaidSerializer,
    PayingSerializer,
    asking_fields,
)
from llm.requests import EFFORTS


class AgentRunSerializer(PaidSerializer, serializers.ModelSerializer):
    """A run of a search agent; `config.rounds` is null where the agent decides when to stop."""

    class Meta:
        model = AgentRun
        fields = asking_fields("name", "retrieval_run", "retriever", "repetitions", "config")


class NewAgentRunSerializer(AskingSerializer):
    """A new run over the queries that have aspects; `rounds` null lets the agent decide."""

    name = serializers.CharField(max_length=190, allow_blank=True, default="")
    guest = serializers.CharField(
        max_length=120,
        allow_blank=True,
        default="",
        help_text="The name of an agent from outside, which searches by tokens; no model is asked.",
    )
    retriever = serializers.IntegerField(help_text="A retrieval run that was computed here.")
    rounds = serializers.IntegerField(allow_null=True, default=None)
    domain = serializers.CharField(allow_blank=True, default="")
    sample = serializers.BooleanField(default=False)
    repetitions = serializers.IntegerField(default=1)
    max_iterations = serializers.IntegerField(default=100)
    k = serializers.IntegerField(default=5)
    snippet_tokens = serializers.IntegerField(default=2048)
    tokenizer = serializers.CharField(default=CHARACTERS, max_length=LONGEST_NAME)
    documents = serializers.BooleanField(default=False)
    reasoning_effort = serializers.ChoiceField(choices=EFFORTS, allow_blank=True, default="medium")


class GuestTokenSerializer(serializers.Serializer):
    """A token of a guest run, which opens the tools of one query in one repetition."""

    query_id = serializers.CharField()
    domain = serializers.CharField()
    repetition = serializers.IntegerField()
    query = serializers.CharField()
    token = serializers.CharField()


class AgentItemSerializer(serializers.ModelSerializer):
    """One query of a run in one repetition; `round_count` is the R of AER."""

    class Meta:
        model = AgentItem
        fields = ["id", "query", "repetition", "state", "round_count", "error"]


class AgentTraceSerializer(AgentItemSerializer):
    """The same with its turns and answers; calls are keys of the ledger."""

    class Meta(AgentItemSerializer.Meta):
        fields = [*AgentItemSerializer.Meta.fields, "turns", "answers"]


class JudgeRunSerializer(PaidSerializer, serializers.ModelSerializer):
    """A judge run; without an agent run the judge itself is tried, or bridged to that of the
    judge run `bridge_from`."""

    class Meta:
        model = JudgeRun
        fields = asking_fields("agent_run", "bridge_from", "mode", "repetitions", "config")


class NewJudgeRunSerializer(PayingSerializer):
    """Whom to ask, and how; without `agent_run` the judge is tried on answers of known order."""

    agent_run = serializers.IntegerField(allow_null=True, default=None)
    mode = serializers.ChoiceField(choices=JUDGE_MODES, default=JudgeMode.RUBRIC.value)
    repetitions = serializers.IntegerField(default=1)


class VerdictSerializer(serializers.ModelSerializer):
    """What a judge said of one answer."""

    class Meta:
        model = AnswerVerdict
        fields = [
            *("id", "item", "query", "round", "tier", "repetition", "state"),
            *("quality", "completeness", "scores", "weights", "justification", "attempts", "error"),
        ]


class AgentRoutes(ViewSetMixin, Route):
    """Search agents under test."""

    @extend_schema(responses=AgentItemSerializer(many=True))
    def agent_items(self, request: Request, slug: str, pk: int) -> Response:
        """The queries of a run."""
        access = enter_unblinded(self.person(), slug, *READERS)
        return self.page(get_run(access, pk).items.all(), AgentItemSerializer)

    @extend_schema(request=None, responses=GuestTokenSerializer(many=True))
    def guest_tokens(self, request: Request, slug: str, pk: int) -> Response:
        """New tokens of a guest run, for every query that is not over; the ones before are dead."""
        access = enter(self.person(), slug, Role.ADMIN)
        tokens = issue_tokens(run=get_run(access, pk), actor=access.user)
        return Response(GuestTokenSerializer(tokens, many=True).data)

    @extend_schema(responses=AgentTraceSerializer)
    def agent_trace(self, request: Request, slug: str, pk: int) -> Response:
        """One query of a run with all that the agent did."""
        access = enter_unblinded(self.person(), slug, *READERS)
        return Response(AgentTraceSerializer(get_item(access, pk)).data)

    @extend_schema(responses=JudgeRunSerializer(many=True))
    def judge_runs(self, request: Request, slug: str) -> Response:
        """Judge runs, and starting one."""
        access = enter_unblinded(self.person(), slug, *READERS)
        rows = access.benchmark.judge_runs.select_related("account")
        return self.page(rows, JudgeRunSerializer)

    @extend_schema(request=NewJudgeRunSerializer, responses={202: JudgeRunSerializer})
    def start_judging(self, request: Request, slug: str) -> Response:
        """Judge runs, and starting one."""
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewJudgeRunSerializer)
        key = given.pop("agent_run")
        run = start_judge(access, None if key is None else get_run(access, key), given)
        return Response(JudgeRunSerializer(run).data, status=202)

    @extend_schema(responses=VerdictSerializer(many=True))
    def verdicts(self, request: Request, slug: str, pk: int) -> Response:
        """The verdicts of a judge run."""
        access = enter_unblinded(self.person(), slug, *READERS)
        return self.page(get_judge_run(access, pk).verdicts.all(), VerdictSerializer)

    @extend_schema(
        parameters=[OpenApiParameter("judge", int), OpenApiParameter("gamma", float)],
        responses=ReportTableSerializer(many=True),
    )
    def agent_board(self, request: Request, slug: str) -> Response:
        """Retriever by agent under one judge: that of the judge run `judge`, or the newest."""
        access = enter_unblinded(self.person(), slug, *READERS)
        judge, gamma = chosen(access.benchmark, request.query_params)
        found = board.board_of(access.benchmark, judge, gamma=gamma)
        return Response(as_data(board.tables(found, judge, gamma=gamma)))


_ALL = "b/<slug:slug>/agent-runs"
_JUDGES = "b/<slug:slug>/judge-runs"
_to = AgentRoutes.as_view
urlpatterns = [
    *kind_paths(
        _ALL,
        ("api-agent-runs", "api-agent-forecast"),
        pages=RUNS,
        serializer_class=AgentRunSerializer,
        new=NewAgentRunSerializer,
        asked=("domain", "sample", "rounds", "repetitions", "k", "snippet_tokens"),
    ),
    path(f"{_ALL}/<int:pk>/queries/", _to({"get": "agent_items"}), name="api-agent-items"),
    path(f"{_ALL}/<int:pk>/tokens/", _to({"post": "guest_tokens"}), name="api-agent-tokens"),
    path(
        "b/<slug:slug>/agent-traces/<int:pk>/",
        _to({"get": "agent_trace"}),
        name="api-agent-trace",
    ),
    path(f"{_JUDGES}/", _to({"get": "judge_runs", "post": "start_judging"}), name="api-judge-runs"),
    path(f"{_JUDGES}/<int:pk>/verdicts/", _to({"get": "verdicts"}), name="api-judge-verdicts"),
    path(
        "b/<slug:slug>/agent-board/",
        _to({"get": "agent_board"}, pagination_class=None),
        name="api-agent-board",
    ),
    *run_paths(_ALL, "api-agent-run", pages=RUNS, serializer_class=AgentRunSerializer),
    *run_paths(_JUDGES, "api-judge-run", pages=JUDGES, serializer_class=JudgeRunSerializer),
]
