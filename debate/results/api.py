"""API of what a debate run found: its control room, its tables, its pairs."""

from django.db.models import Prefetch
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from debate.loaders import READERS, enter_run
from debate.models import Debate, Turn
from debate.results.lists import DEBATES, debate_choices, debate_table, is_narrowed
from debate.results.views import read_asked, sheets
from debate.runs.figures import failure_classes, outcomes, run_spending
from kit.api import ReportTableSerializer, Route
from kit.lists.report_tables import as_data
from llm.ledger.serializers import SpendingSerializer
from llm.models import Call

CALL_FIELDS = ["id", "model", "endpoint", "practice", "status", "input_tokens", "cached_tokens"]
CALL_FIELDS += ["output_tokens", "reasoning_tokens", "usd", "elapsed_s"]


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


class RunMonitorSerializer(serializers.Serializer):
    """The run monitor in numbers."""

    run = CountsSerializer()
    domains = CountsSerializer(many=True)
    failures = FailureSerializer(many=True)
    spending = RunSpendingSerializer()


class CallSerializer(serializers.ModelSerializer):
    """The call behind a turn, with what was asked and what came back, word for word."""

    class Meta:
        model = Call
        fields = [*CALL_FIELDS, "request", "text"]


class TurnSerializer(serializers.ModelSerializer):
    """What one agent answered in one round."""

    call = CallSerializer(allow_null=True)

    class Meta:
        model = Turn
        fields = ["round", "agent", "stance", "response", "label", "reason", "references", "flags"]
        fields += ["call"]


class DebateSerializer(serializers.ModelSerializer):
    """The outcome of one pair; `aspect` is the number of the query's aspect it is about, if any."""

    aspect = serializers.IntegerField(source="aspect.k", default=None, allow_null=True)
    query = serializers.CharField(source="query.qid")
    domain = serializers.CharField(source="query.domain.name")
    passage = serializers.CharField(source="passage.pid")

    class Meta:
        model = Debate
        fields = ["id", "domain", "query", "passage", "aspect", "status", "round", "label"]
        fields += ["error"]


class OneDebateSerializer(DebateSerializer):
    """One debate with its turns."""

    turns = TurnSerializer(many=True)

    class Meta(DebateSerializer.Meta):
        fields = [*DebateSerializer.Meta.fields, "turns"]


FILTERS = [each.name for each in DEBATES.filters]


class RunMonitor(Route):
    """What the run monitor shows: counts by round and domain, failures by class, what was used."""

    @extend_schema(responses=RunMonitorSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        _, run = enter_run(self.person(), slug, pk, *READERS)
        whole, domains = outcomes(run)
        monitor = {
            "run": whole,
            "domains": domains,
            "failures": failure_classes(run),
            "spending": run_spending(run),
        }
        return Response(RunMonitorSerializer(monitor).data)


class RunReport(Route):
    """Tables after the run, compared with a reference and another run where these are named."""

    pagination_class = None

    @extend_schema(
        operation_id="debate_run_report",
        responses=ReportTableSerializer(many=True),
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
        rows = run.debates.select_related("query__domain", "passage", "aspect")
        return self.page(self.matches(table, rows, choices), DebateSerializer)


class OneDebate(Route):
    """One debate in full."""

    @extend_schema(responses=OneDebateSerializer)
    def get(self, request: Request, slug: str, pk: int, debate: int) -> Response:
        _, run = enter_run(self.person(), slug, pk, *READERS)
        rows = run.debates.select_related("query__domain", "passage", "aspect")
        rows = rows.prefetch_related(Prefetch("turns", Turn.objects.select_related("call")))
        found = get_object_or_404(rows, pk=debate)
        return Response(OneDebateSerializer(found).data)


_RUN = "b/<slug:slug>/debate-runs/<int:pk>"
_PAIR = f"{_RUN}/debates/<int:debate>"
urlpatterns = [
    path(f"{_RUN}/room/", RunMonitor.as_view(), name="api-debate-run-room"),
    path(f"{_RUN}/report/", RunReport.as_view(), name="api-debate-run-report"),
    path(f"{_RUN}/debates/", Debates.as_view(), name="api-debates"),
    path(f"{_PAIR}/", OneDebate.as_view(), name="api-debate"),
]
