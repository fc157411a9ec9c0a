"""How debate runs and debates look in the API."""

from typing import Any

from rest_framework import serializers

from debate.models import Debate, DebateRun, Turn
from kit.api import RUN_FIELDS
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


class BudgetSerializer(serializers.Serializer):
    """What a run may spend, in USD; null is no limit."""

    budget_usd = serializers.DecimalField(
        max_digits=9, decimal_places=2, min_value=0, allow_null=True
    )


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

    size = serializers.IntegerField(min_value=1, max_value=1_000)
    seed = serializers.IntegerField(min_value=0, max_value=2**31 - 1, default=1)


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
