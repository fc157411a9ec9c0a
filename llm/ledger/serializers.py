"""What calls came to, as every API route shows it."""

from typing import Any

from rest_framework import serializers

from llm.ledger.reading import Spending


class UsdField(serializers.DecimalField):
    """Dollars to the last digit that the ledger holds."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_digits=24, decimal_places=12, read_only=True, **options)


class BudgetField(serializers.DecimalField):
    """What may be spent, in dollars; null is no limit."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_digits=9, decimal_places=2, min_value=0, allow_null=True, **options)


PAID_FIELDS = ["budget_usd", "spent_usd", "reserved_usd"]


class PaidSerializer(serializers.Serializer):
    """What a run that pays for calls has spent, and what calls of unknown cost may come to."""

    spent_usd = UsdField()
    reserved_usd = UsdField()


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
