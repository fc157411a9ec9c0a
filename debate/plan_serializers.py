"""What the API takes to plan a run, and how it tells what the run will take."""

from typing import Any

from rest_framework import serializers

from debate.baselines.lara import MODELS
from debate.baselines.votes import MAX_VOTES
from debate.configuration import (
    LARA_MODES,
    MAX_TEMPERATURE,
    MOST_AUDITED,
    MOST_CANARIES,
    ON_REFUSAL,
    PROFILES,
    RULES,
    STANCES,
)
from debate.dream import MAX_ROUNDS
from debate.models import RunKind
from llm.requests import EFFORTS

_OF_PLAN = ("endpoint", "preset", "models", "prompt_version", "name", "budget_usd")


class SeatSerializer(serializers.Serializer):
    """An agent: without an endpoint the run's own, without a model the endpoint's own."""

    model = serializers.CharField(max_length=120, default="", allow_blank=True)
    endpoint = serializers.CharField(max_length=60, default="", allow_blank=True)
    stance = serializers.ChoiceField(choices=STANCES, default="", allow_blank=True)


class LaraSerializer(serializers.Serializer):
    """LARA's options; what is left out stays as the preset has it."""

    variant = serializers.ChoiceField(choices=list(MODELS), required=False)
    mode = serializers.ChoiceField(choices=LARA_MODES, required=False)
    batch = serializers.IntegerField(min_value=1, max_value=10_000, required=False)
    budget = serializers.FloatField(min_value=0, max_value=1, required=False)
    smooth = serializers.BooleanField(required=False)
    groups = serializers.IntegerField(min_value=0, max_value=1000, required=False)
    seed = serializers.IntegerField(min_value=0, max_value=2**32 - 1, required=False)
    verbalised = serializers.BooleanField(required=False)


class PlanSerializer(serializers.Serializer):
    """A run to plan or to start: a pool's id, an endpoint's name, a preset or settings, a budget.

    `models` are those of a preset, the main one first; `agents` names each agent. Whatever is left
    out stays as the preset has it, or as DREAM does.
    """

    pool = serializers.IntegerField()
    endpoint = serializers.CharField()
    preset = serializers.CharField(max_length=40, required=False, allow_blank=True)
    models = SeatSerializer(many=True, required=False)
    prompt_version = serializers.IntegerField(min_value=1, required=False, allow_null=True)
    name = serializers.CharField(max_length=120, required=False, allow_blank=True)
    budget_usd = serializers.DecimalField(
        max_digits=9, decimal_places=2, min_value=0, required=False, allow_null=True
    )
    kind = serializers.ChoiceField(choices=RunKind.choices, required=False)
    agents = SeatSerializer(many=True, required=False)
    adjudicator = SeatSerializer(required=False, allow_null=True)
    first = serializers.ChoiceField(choices=STANCES, required=False)
    rounds = serializers.IntegerField(min_value=1, max_value=MAX_ROUNDS, required=False)
    continue_to = serializers.IntegerField(min_value=0, max_value=MAX_ROUNDS, required=False)
    temperature = serializers.FloatField(min_value=0, max_value=MAX_TEMPERATURE, required=False)
    max_tokens = serializers.IntegerField(
        min_value=1, max_value=1_000_000, required=False, allow_null=True
    )
    reasoning_effort = serializers.ChoiceField(choices=EFFORTS, required=False, allow_blank=True)
    on_refusal = serializers.ChoiceField(choices=ON_REFUSAL, required=False)
    instead = SeatSerializer(required=False, allow_null=True)
    replicate = serializers.IntegerField(min_value=0, max_value=1_000_000, required=False)
    history_labels = serializers.BooleanField(required=False)
    history_for_people = serializers.BooleanField(required=False)
    samples = serializers.IntegerField(min_value=1, max_value=MAX_VOTES, required=False)
    profile = serializers.ChoiceField(choices=PROFILES, required=False)
    coerce = serializers.BooleanField(required=False)
    threshold = serializers.IntegerField(min_value=1, max_value=3, required=False)
    rule = serializers.ChoiceField(choices=RULES, required=False)
    lara = LaraSerializer(required=False)
    trial = serializers.BooleanField(required=False)
    audit = serializers.IntegerField(min_value=0, max_value=MOST_AUDITED, required=False)
    decoys = serializers.IntegerField(min_value=0, max_value=MOST_AUDITED, required=False)
    canaries = serializers.IntegerField(min_value=0, max_value=MOST_CANARIES, required=False)

    def to_internal_value(self, data: Any) -> Any:
        """Refuse what no run has: a misspelt setting must not cost a run that was not meant."""
        unknown = sorted(set(data) - set(self.fields)) if isinstance(data, dict) else []
        if unknown:
            words = "A run has no such setting."
            raise serializers.ValidationError({str(name): [words] for name in unknown})
        return super().to_internal_value(data)

    def planned(self) -> tuple[int, dict[str, Any]]:
        """The pool's id, and what `debate.services.planning.plan_run` is given; checked before."""
        given = dict(self.validated_data)
        pool = given.pop("pool")
        of_plan = {name: given.pop(name) for name in _OF_PLAN if name in given}
        return pool, of_plan | {"settings": given}


class RangeSerializer(serializers.Serializer):
    """A total as it is expected, and its bounds."""

    low = serializers.FloatField()
    likely = serializers.FloatField()
    high = serializers.FloatField()


class ForecastSerializer(serializers.Serializer):
    """What so many pairs will take; usd and seconds are null where they are not known.

    `is_measured`: the ranges are 95 % intervals from pairs that were decided in the same way; else
    the least and the most that a pair can take.
    """

    pairs = serializers.IntegerField()
    calls = RangeSerializer()
    input_tokens = RangeSerializer()
    output_tokens = RangeSerializer()
    usd = RangeSerializer(allow_null=True)
    seconds = RangeSerializer(allow_null=True)
    sample = serializers.IntegerField()
    is_measured = serializers.BooleanField()


class PlannedSerializer(ForecastSerializer):
    """A forecast with the configuration that it is of, and the budget beside it."""

    config = serializers.JSONField()
    departures = serializers.ListField(child=serializers.CharField())
    budget_usd = serializers.DecimalField(max_digits=12, decimal_places=2, allow_null=True)
