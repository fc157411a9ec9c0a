"""Calls and what they came to, as every API route shows them."""

from typing import Any

from rest_framework import serializers

from llm.ledger import transcript
from llm.models import Call
from llm.spending import Spending

TOKENS = ["input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens"]


class UsdField(serializers.DecimalField):
    """Dollars to the last digit that the ledger holds."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_digits=24, decimal_places=12, read_only=True, **options)


PAID_FIELDS = ["budget_usd", "spent_usd", "reserved_usd"]


class PaidSerializer(serializers.Serializer):
    """What a run that pays for calls has spent, and what calls of unknown cost may come to."""

    spent_usd = UsdField()
    reserved_usd = UsdField()


class SpendingSerializer(serializers.Serializer):
    """What calls came to, to the last digit; `usd` is what is known to be spent.

    `reserved_usd` is what `uncosted` calls of unknown cost may come to at most; `unpriced` of
    them have no known bound. `untold` answers brought no token counts.
    """

    calls = serializers.IntegerField()
    by_state = serializers.DictField(child=serializers.IntegerField())
    usd = UsdField()
    reserved_usd = UsdField()
    uncosted = serializers.IntegerField()
    unpriced = serializers.IntegerField()
    untold = serializers.IntegerField()
    input_tokens = serializers.IntegerField()
    cached_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    reasoning_tokens = serializers.IntegerField()
    seconds = serializers.FloatField()


class CallLineSerializer(serializers.ModelSerializer):
    """One attempt at one request, without its texts."""

    run = serializers.CharField(source="account.name", default="", read_only=True)
    at_most_usd = UsdField(allow_null=True)

    class Meta:
        model = Call
        fields = ["id", "created_at", "settled_at", "run", "account", "role", "endpoint", "model"]
        fields += ["practice", "subject", "attempt", "status", *TOKENS, "elapsed_s", "usd"]
        fields += ["at_most_usd", "price_input", "price_cached", "price_output", "price_date"]
        fields += ["error", "key"]


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


def as_totals(groups: list[tuple[dict[str, Any], Spending]]) -> list[dict[str, Any]]:
    """Sums by the fields of one of `llm.calls.TOTALS`, each with its fields beside it."""
    return [
        {**{name: None if v is None else str(v) for name, v in key.items()}, **_sums(found)}
        for key, found in groups
    ]


def _sums(found: Spending) -> dict[str, Any]:
    return dict(SpendingSerializer(found).data)
