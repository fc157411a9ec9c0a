"""API of what a debate run found: its control room, its tables, its pairs.

How debate runs and debates look in the API."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Prefetch
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.models import Role
from debate.audits.services import HIGHEST_SEED, MOST, draw_audit
from debate.loaders import READERS, enter_run
from debate.models import Debate, DebateRun, Turn
from debate.results.figures import failure_classes, outcomes, run_spending
from debate.results.lists import DEBATES, debate_choices, debate_table, is_narrowed
from debate.results.views import judge_first, read_asked, sheets
from kit.api import RUN_FIELDS, Route, SheetSerializer
from kit.lists.sheets import as_data
from llm.ledger.reading import transcript
from llm.models import Call
from llm.serializers import PAID_FIELDS, PaidSerializer, SpendingSerializer, UsdField

_CALL = ["id", "model", "endpoint", "practice", "status", "input_tokens", "cached_tokens"]
_CALL += ["output_tokens", "reasoning_tokens", "usd", "elapsed_s"]


class FiguresSerializer(serializers.Serializer):
    """Counts of a run by outcome."""

    total = serializers.IntegerField()
    agreed_1 = serializers.IntegerField()
    agreed_later = serializers.IntegerField()
    escalated = serializers.IntegerField()
    unreadable = serializers.IntegerField()
    failed = serializers.IntegerField()
    skipped = serializers.IntegerField()
    waiting = serializers.IntegerField()


class DebateRunSerializer(PaidSerializer, serializers.ModelSerializer):
    """A debate run."""

    class Meta:
        model = DebateRun
        fields = [
            *RUN_FIELDS,
            "name",
            "pool",
            "endpoint",
            "model",
            "practice",
            "kind",
            "preset",
            "is_trial",
            "adopted_at",
            *PAID_FIELDS,
            "pause_reason",
            "rounds",
            "temperature",
            "prompt_version",
            "prompt_sha256",
        ]


class OneRunSerializer(DebateRunSerializer):
    """A debate run with its counts."""

    figures = FiguresSerializer()
    config = serializers.JSONField()

    class Meta(DebateRunSerializer.Meta):
        fields = [*DebateRunSerializer.Meta.fields, "config", "figures"]


class CountsSerializer(serializers.Serializer):
    """Counts of a run or a domain: by status, agreements by round, relevant pairs found."""

    name = serializers.CharField()
    total = serializers.IntegerField()
    by_status = serializers.DictField(child=serializers.IntegerField())
    agreed = serializers.DictField(child=serializers.IntegerField())
    relevant = serializers.IntegerField()


class FailureSerializer(serializers.Serializer):
    """Pairs that ended without an answer for the same reason."""

    status = serializers.CharField()
    name = serializers.CharField()
    words = serializers.CharField()
    count = serializers.IntegerField()


class RunSpendingSerializer(SpendingSerializer):
    """What all calls that a run has paid for came to, and what it will come to at its end."""

    at = serializers.DateTimeField()
    forecast_usd = serializers.FloatField(allow_null=True)
    forecast_input = serializers.IntegerField(allow_null=True)
    forecast_output = serializers.IntegerField(allow_null=True)


class RoomSerializer(serializers.Serializer):
    """The control room in numbers."""

    run = CountsSerializer()
    domains = CountsSerializer(many=True)
    failures = FailureSerializer(many=True)
    spending = RunSpendingSerializer()


class AuditSerializer(serializers.Serializer):
    """How many agreed pairs are drawn, and with which seed."""

    size = serializers.IntegerField(min_value=1, max_value=MOST)
    seed = serializers.IntegerField(min_value=0, max_value=HIGHEST_SEED, default=1)


class RequeueSerializer(serializers.Serializer):
    """The words of the failures to try again."""

    error = serializers.CharField(allow_blank=True, max_length=20_000)


class CallSerializer(serializers.ModelSerializer):
    """The call behind a turn, with what was asked and what came back, word for word."""

    class Meta:
        model = Call
        fields = [*_CALL, "request", "text"]


class CallLineSerializer(serializers.ModelSerializer):
    """One attempt at one request, without its texts."""

    run = serializers.CharField(source="account.name", default="", read_only=True)
    at_most_usd = UsdField(allow_null=True)

    class Meta:
        model = Call
        fields = [*_CALL, "created_at", "settled_at", "run", "account", "role", "subject"]
        fields += ["attempt", "at_most_usd", "price_input", "price_cached", "price_output"]
        fields += ["price_date", "error", "key"]


class WholeCallSerializer(CallLineSerializer):
    """One call with its prompt, all messages of it, and its answer, word for word.

    `asked_as` says in what the model was asked otherwise than the request says.
    """

    prompt = serializers.SerializerMethodField()
    asked_as = serializers.SerializerMethodField()

    class Meta(CallLineSerializer.Meta):
        fields = [*CallLineSerializer.Meta.fields, "prompt", "asked_as", "request", "text"]
        fields += ["tool_calls", "logprobs", "finish_reason"]

    def get_prompt(self, call: Call) -> list[dict[str, Any]]:
        """Every message, with those that earlier requests of the conversation hold."""
        return [dict(message) for message in transcript(call)]

    def get_asked_as(self, call: Call) -> dict[str, Any] | None:
        """How the model was asked, where it does not take all of the request."""
        found: dict[str, Any] | None = call.request.get("asked_as")
        return found


class TurnSerializer(serializers.ModelSerializer):
    """What one agent said in one round."""

    call = CallSerializer(allow_null=True)

    class Meta:
        model = Turn
        fields = ["round", "agent", "stance", "response", "label", "reason", "references", "flags"]
        fields += ["call"]


class DebateSerializer(serializers.ModelSerializer):
    """The outcome of one pair."""

    query = serializers.CharField(source="query.qid")
    domain = serializers.CharField(source="query.domain.name")
    passage = serializers.CharField(source="passage.pid")

    class Meta:
        model = Debate
        fields = ["id", "domain", "query", "passage", "status", "round", "label", "error"]


class OneDebateSerializer(DebateSerializer):
    """One debate with its turns."""

    turns = TurnSerializer(many=True)

    class Meta(DebateSerializer.Meta):
        fields = [*DebateSerializer.Meta.fields, "turns"]


FILTERS = [each.name for each in DEBATES.filters]


class RunRoom(Route):
    """What the control room shows: counts by round and domain, failures by class, what was used."""

    @extend_schema(responses=RoomSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        _, run = enter_run(self.person(), slug, pk, *READERS)
        whole, domains = outcomes(run)
        room = {
            "run": whole,
            "domains": domains,
            "failures": failure_classes(run),
            "spending": run_spending(run),
        }
        return Response(RoomSerializer(room).data)


class RunReport(Route):
    """After the run: its tables, beside a reference and another run where these are named."""

    pagination_class = None

    @extend_schema(
        operation_id="debate_run_report",
        responses=SheetSerializer(many=True),
        parameters=[
            OpenApiParameter("reference", str, description="people, experts or gold-ID"),
            OpenApiParameter("other", int, description="Another run of the benchmark."),
        ],
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access, run = enter_run(self.person(), slug, pk, *READERS)
        params = {name: str(value) for name, value in request.query_params.items()}
        asked = read_asked(access, run, params)
        if params.get("reference") and not asked.reference:
            raise ValidationError({"reference": "This benchmark has no such reference."})
        if params.get("other") and not asked.other:
            raise ValidationError({"other": "This benchmark has no such other run."})
        return Response(as_data(sheets(run, asked)))


class Audits(Route):
    """Putting a blind sample of the agreed pairs before people."""

    @extend_schema(
        operation_id="debate_run_audit", request=AuditSerializer, responses={201: AuditSerializer}
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, run = enter_run(self.person(), slug, pk, Role.ADMIN)
        given = self.read(AuditSerializer)
        sample = draw_audit(run=run, actor=access.user, **given)
        return Response({"size": sample.items.count(), "seed": sample.seed}, status=201)


class Debates(Route):
    """Every pair of a run with its outcome, searched and filtered as the screen does."""

    @extend_schema(
        responses=DebateSerializer(many=True),
        parameters=[OpenApiParameter(name, str) for name in ("q", *FILTERS)],
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access, run = enter_run(self.person(), slug, pk, *READERS)
        params = {name: str(value) for name, value in request.query_params.items()}
        table = debate_table(access, run)
        choices = debate_choices(access, run, params) if is_narrowed(params) else None
        rows = run.debates.select_related("query__domain", "passage")
        return self.page(self.matches(table, rows, choices), DebateSerializer)


class OneDebate(Route):
    """One debate in full."""

    @extend_schema(responses=OneDebateSerializer)
    def get(self, request: Request, slug: str, pk: int, debate: int) -> Response:
        access, run = enter_run(self.person(), slug, pk, *READERS)
        rows = run.debates.select_related("query__domain", "passage")
        rows = rows.prefetch_related(Prefetch("turns", Turn.objects.select_related("call")))
        found = get_object_or_404(rows, pk=debate)
        if judge_first(access, found):
            raise PermissionDenied("You may still vote on this pair. Judge it first.")
        return Response(OneDebateSerializer(found).data)


_RUN = "b/<slug:slug>/debate-runs/<int:pk>"
_PAIR = f"{_RUN}/debates/<int:debate>"
urlpatterns = [
    path(f"{_RUN}/room/", RunRoom.as_view(), name="api-debate-run-room"),
    path(f"{_RUN}/report/", RunReport.as_view(), name="api-debate-run-report"),
    path(f"{_RUN}/audits/", Audits.as_view(), name="api-debate-run-audits"),
    path(f"{_RUN}/debates/", Debates.as_view(), name="api-debates"),
    path(f"{_PAIR}/", OneDebate.as_view(), name="api-debate"),
]
