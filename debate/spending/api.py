"""API of the ledger: the calls that a benchmark's runs have paid for, and their sums."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from corpus.models import Role
from debate.results.api import CALL_FIELDS
from debate.spending.views import Ledger, get_call, ledger_of
from kit.api import Route
from kit.lists.tables import Choices
from llm.ledger.reading import CALLS, FILTERS, TOTALS, summed, totals, transcript, without_texts
from llm.ledger.serializers import SpendingSerializer, UsdField, as_totals
from llm.models import Call

_WORDS = {
    "q": 'A subject, such as "debate:12", or the number of a call.',
    "run": "The account of a run, as a call tells it.",
    "begun": "A month or a day: 2026-11, 2026-11-22.",
}
_ASKED = [OpenApiParameter(n, str, description=_WORDS.get(n, "")) for n in ("q", *FILTERS)]


class CallLineSerializer(serializers.ModelSerializer):
    """One attempt at one request, without its texts."""

    run = serializers.CharField(source="account.name", default="", read_only=True)
    at_most_usd = UsdField(allow_null=True)

    class Meta:
        model = Call
        fields = [*CALL_FIELDS, "created_at", "settled_at", "run", "account", "role", "subject"]
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


class TotalSerializer(SpendingSerializer):
    """The sums of the calls that share these; what was not grouped by is left out."""

    day = serializers.CharField(required=False)
    model = serializers.CharField(required=False)
    endpoint = serializers.CharField(required=False)
    role = serializers.CharField(required=False)
    run = serializers.CharField(required=False)
    account = serializers.CharField(required=False)
    status = serializers.CharField(required=False)


class SpentSerializer(SpendingSerializer):
    """The sum of all calls that were asked for, and of groups of them."""

    totals = TotalSerializer(many=True)


class LedgerRoute(Route):
    """What the routes share that read filters."""

    def asked(self, slug: str) -> tuple[Ledger, dict[str, str], dict[str, Choices]]:
        """The ledger with what the address asks of it; raises ValidationError for an unknown
        choice."""
        ledger = self.ledger(slug)
        params = {name: str(value) for name, value in self.request.query_params.items()}
        choices = ledger.choices(params) if any(params.get(name) for name in FILTERS) else {}
        if unknown := CALLS.not_offered(params, choices=choices):
            raise ValidationError({name: f"No such {name}: {params[name]}." for name in unknown})
        return ledger, params, choices

    def ledger(self, slug: str) -> Ledger:
        """That of the benchmark, for its admins."""
        return ledger_of(enter(self.person(), slug, Role.ADMIN))


class Calls(LedgerRoute):
    """The calls of a benchmark's runs, the latest first, without their texts."""

    @extend_schema(responses=CallLineSerializer(many=True), parameters=_ASKED)
    def get(self, request: Request, slug: str) -> Response:
        ledger, params, choices = self.asked(slug)
        return self.page(without_texts(ledger.asked(params, choices)), CallLineSerializer)


class OneCall(LedgerRoute):
    """One call with its prompt and answer."""

    @extend_schema(responses=WholeCallSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        return Response(WholeCallSerializer(get_call(self.ledger(slug), pk)).data)


class Spent(LedgerRoute):
    """What the calls came to, and by day and model, or by another of the totals."""

    @extend_schema(
        operation_id="spending",
        responses=SpentSerializer,
        parameters=[*_ASKED, OpenApiParameter("by", enum=list(TOTALS), default="days")],
    )
    def get(self, request: Request, slug: str) -> Response:
        by = request.query_params.get("by") or "days"
        if by not in TOTALS:
            raise ValidationError({"by": f"There are totals by {', '.join(TOTALS)}."})
        ledger, params, choices = self.asked(slug)
        groups = ledger.sums(params, choices)
        data: dict[str, Any] = dict(SpendingSerializer(summed(groups)).data)
        return Response({**data, "totals": as_totals(totals(groups, by))})


_LEDGER = "b/<slug:slug>"
urlpatterns = [
    path(f"{_LEDGER}/calls/", Calls.as_view(), name="api-calls"),
    path(f"{_LEDGER}/calls/<int:pk>/", OneCall.as_view(), name="api-call"),
    path(f"{_LEDGER}/spending/", Spent.as_view(), name="api-spending"),
]
