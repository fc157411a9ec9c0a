"""What calls came to, as every API route shows it."""

from functools import partial
from typing import Any, Final

from rest_framework import serializers

from kit.api import RUN_FIELDS
from kit.runs.quotas import priorities
from kit.runs.turns import in_a_word
from llm.ledger.accounts import AskingRun
from llm.ledger.reading import Spending
from llm.requests import EFFORTS

_Decimal: Final = serializers.DecimalField
# Dollars to the last digit that the ledger holds; and what may be spent, where null is no limit.
UsdField: Final = partial(_Decimal, max_digits=24, decimal_places=12, read_only=True)
BudgetField: Final = partial(_Decimal, max_digits=9, decimal_places=2, min_value=0, allow_null=True)
PAID_FIELDS = ["budget_usd", "spent_usd", "reserved_usd"]


class PaidSerializer(serializers.Serializer):
    """What a run that pays for calls has spent, and what calls of unknown cost may come to."""

    spent_usd = UsdField()
    reserved_usd = UsdField()
    # Its benchmark's, or by its size, where nobody set one; only of runs that ask models many at a
    # time.
    priority = serializers.SerializerMethodField()

    def get_priority(self, run: AskingRun) -> str:
        """In a word; what its benchmark has is asked once a list."""
        context: Any = self.context
        known: dict[int, int | None] = context.setdefault("priorities", {})
        key = getattr(run, "benchmark_id", run.pk)
        if key not in known:
            known[key] = priorities().get(run.scope.partition("#")[0])
        return in_a_word(run.weigh(run.priority, run.total, known[key]))


def asking_fields(*own: str) -> list[str]:
    """What a run that asks a model shows of itself, with what its kind adds."""
    asked = ("endpoint", "model", "practice")
    return [*RUN_FIELDS, *own, *asked, *PAID_FIELDS, "pause_reason", "priority"]


class PayingSerializer(serializers.Serializer):
    """Who is asked, the first of its role where nobody is named, and for how much."""

    endpoint = serializers.CharField(required=False, allow_blank=True, default="")
    budget_usd = BudgetField(required=False, default=None)


class AskingSerializer(PayingSerializer):
    """The same with how a model is asked."""

    temperature = serializers.FloatField(min_value=0, max_value=2, required=False, default=0.0)
    reasoning_effort = serializers.ChoiceField(
        choices=EFFORTS, required=False, allow_blank=True, default=""
    )


class RunForecastSerializer(serializers.Serializer):
    """What a run is likely to take; `usd` is null where no price is known."""

    queries = serializers.IntegerField()
    calls = serializers.IntegerField()
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    usd = serializers.DecimalField(max_digits=18, decimal_places=6, allow_null=True)


class SpendingSerializer(serializers.Serializer):
    """What calls came to, to the last digit; `usd` is what is known to be spent.

    `reserved_usd` is what `uncosted` calls of unknown cost may come to at most; `unpriced` of
    them have no known bound. `untold` answers had no token counts.
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


def as_totals(groups: list[tuple[dict[str, Any], Spending]]) -> list[dict[str, Any]]:
    """Sums by the fields of one of `TOTALS`, each with its fields."""
    return [
        {name: None if v is None else str(v) for name, v in key.items()}
        | dict(SpendingSerializer(found).data)
        for key, found in groups
    ]
