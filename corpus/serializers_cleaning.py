"""How versions, cleanings and what they changed look in the API."""

from typing import Any

from rest_framework import serializers

from corpus.models import CleaningPreset, CleaningRun, CorpusVersion, Violation, ViolationPolicy
from corpus.services.version_search import FoundText
from kit.api import RUN_FIELDS
from llm.serializers import PAID_FIELDS, PaidSerializer


class VersionSerializer(serializers.ModelSerializer):
    """A corpus version: what it was made of, and how."""

    class Meta:
        model = CorpusVersion
        fields = ["id", "name", "parent", "recipe", "created_at"]


class TakeUpSerializer(serializers.Serializer):
    """`seen` is the id of the version that is current now, as you know it."""

    seen = serializers.IntegerField(allow_null=True)


class VersionHitSerializer(serializers.Serializer):
    """A passage that a search found; `came_from` are the ids of passages its text was in before."""

    passage = serializers.IntegerField(source="hit.passage.pk")
    pid = serializers.CharField(source="hit.passage.pid")
    domain = serializers.CharField(source="hit.passage.domain.name")
    score = serializers.FloatField(source="hit.score")
    excerpt = serializers.SerializerMethodField()
    came_from = serializers.SerializerMethodField()

    def get_excerpt(self, found: FoundText) -> str:
        """The part of its text where the words stand."""
        return "".join(piece for piece, _ in found.pieces)

    def get_came_from(self, found: FoundText) -> list[str]:
        """Ids in the version before."""
        return [pid for _, pid in found.came_from]


class CleaningSerializer(PaidSerializer, serializers.ModelSerializer):
    """A cleaning run; `version` can be read once it is done."""

    class Meta:
        model = CleaningRun
        fields = [
            *RUN_FIELDS,
            "name",
            "source",
            "version",
            "preset",
            "policy",
            "config",
            "endpoint",
            "model",
            "practice",
            *PAID_FIELDS,
            "pause_reason",
            "figures",
        ]


class NewCleaningSerializer(serializers.Serializer):
    """A new run; options as in docs/cleaning.md."""

    source = serializers.IntegerField(  # type: ignore[assignment]
        help_text="Key of the corpus version to clean."
    )
    preset = serializers.ChoiceField(choices=CleaningPreset.choices)
    policy = serializers.ChoiceField(
        choices=ViolationPolicy.choices, default=ViolationPolicy.REPAIR
    )
    endpoint = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        help_text="Asked by every agent; without one the models of the roles are, if set up.",
    )
    model = serializers.CharField(
        max_length=120,
        required=False,
        allow_blank=True,
        default="",
        help_text="Asked at the endpoint instead of its own; for dchunk an embedding model.",
    )
    name = serializers.CharField(max_length=80, required=False, allow_blank=True, default="")
    budget_usd = serializers.DecimalField(
        max_digits=9, decimal_places=2, required=False, allow_null=True, default=None, min_value=0
    )
    options = serializers.DictField(required=False, default=dict)


class CleaningBudgetSerializer(serializers.Serializer):
    """A limit in dollars; null lifts it."""

    usd = serializers.DecimalField(max_digits=9, decimal_places=2, allow_null=True, min_value=0)


class ViolationSerializer(serializers.ModelSerializer):
    """A place where an agent's text departs from gold text."""

    page = serializers.CharField(source="page.page_id")
    domain = serializers.CharField(source="page.domain.name")

    class Meta:
        model = Violation
        fields = [
            "id",
            "page",
            "domain",
            "stage",
            "part",
            "window",
            "number",
            "kind",
            "is_violation",
            "start",
            "end",
            "out_start",
            "out_end",
            "source",
            "output",
            "decision",
            "decided_at",
        ]


class DecisionSerializer(serializers.Serializer):
    """What becomes of a violation."""

    decision = serializers.ChoiceField(choices=["accepted", "repaired", "original"])


class NextViolationSerializer(serializers.Serializer):
    """The next violation that waits; null when none does."""

    next = serializers.IntegerField(allow_null=True)


class CleaningForecastSerializer(serializers.Serializer):
    """What a preset would take, and what is advised."""

    preset = serializers.CharField()
    pages = serializers.IntegerField()
    gold_pages = serializers.IntegerField()
    calls = serializers.IntegerField()
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    usd = serializers.DecimalField(max_digits=18, decimal_places=6, allow_null=True)
    advised = serializers.CharField()
    why = serializers.CharField()


class CarriedLabelSerializer(serializers.Serializer):
    """A label as it holds in a version; `given_for` are the passages that were judged."""

    query = serializers.IntegerField()
    passage = serializers.IntegerField()
    label = serializers.IntegerField()  # type: ignore[assignment]
    given_for = serializers.ListField(child=serializers.IntegerField())


class UncarriedSerializer(serializers.Serializer):
    """A label that could not be carried, and why."""

    query = serializers.IntegerField()
    passage = serializers.IntegerField()
    label = serializers.IntegerField()  # type: ignore[assignment]
    why = serializers.CharField()


class CarriedSerializer(serializers.Serializer):
    """Labels of a version, and those that are lost to it."""

    labels = CarriedLabelSerializer(many=True)
    lost = UncarriedSerializer(many=True)


class SideSerializer(serializers.Serializer):
    """A stretch of one side: same, gone or new."""

    kind = serializers.CharField()
    text = serializers.CharField()


class OriginSerializer(serializers.Serializer):
    """A passage that another one came from."""

    passage = serializers.IntegerField()
    pid = serializers.CharField()
    tokens = serializers.IntegerField()
    of = serializers.IntegerField()
    carries = serializers.BooleanField()


class PassageDiffSerializer(serializers.Serializer):
    """A passage beside what it came from."""

    pid = serializers.CharField()
    origins = OriginSerializer(many=True)
    before = SideSerializer(many=True)
    after = SideSerializer(many=True)


def diff_data(passage: Any, links: list[Any], sides: Any) -> dict[str, Any]:
    """What PassageDiffSerializer shows."""
    return {
        "pid": passage.pid,
        "origins": [
            {
                "passage": link.old_id,
                "pid": link.old.pid,
                "tokens": link.tokens,
                "of": link.of,
                "carries": link.carries,
            }
            for link in links
        ],
        "before": [{"kind": run.kind, "text": run.text} for run in (sides.left if sides else ())],
        "after": [{"kind": run.kind, "text": run.text} for run in (sides.right if sides else ())],
    }
