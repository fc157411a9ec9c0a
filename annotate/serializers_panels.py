"""How reference panels, their items and seniors' looks stand in the API."""

from typing import Any

from rest_framework import serializers

from annotate.forms import LONGEST_SITTING_MS
from annotate.models import ReferenceItem, ReferencePanel, SpotCheck
from annotate.models.panels import MOST_PER_DOMAIN
from annotate.serializers_voting import AnswerSerializer, BinaryField
from annotate.services.panels import HIGHEST_SEED, MOST_PRACTICE
from kit.api import SheetSerializer

_SETTINGS = [
    *("name", "pool", "seed", "per_domain", "labels_per_item", "practice_items"),
    *("shows_hints", "check_percent"),
]


class PanelSerializer(serializers.ModelSerializer):
    """A panel and its state; `drawn` counts queries and items of each domain."""

    class Meta:
        model = ReferencePanel
        fields = ["id", "status", *_SETTINGS, "drawn", "dropped", "created_at", "opened_at"]


class OnePanelSerializer(PanelSerializer):
    """A panel with the tables of its report."""

    tables = SheetSerializer(many=True)

    class Meta(PanelSerializer.Meta):
        fields = [*PanelSerializer.Meta.fields, "tables"]


class NewPanelSerializer(serializers.Serializer):
    """What to draw; `pool` null draws from every pool."""

    name = serializers.CharField(max_length=120)
    pool = serializers.IntegerField(required=False, allow_null=True)
    per_domain = serializers.IntegerField(min_value=1, max_value=MOST_PER_DOMAIN, default=100)
    seed = serializers.IntegerField(min_value=0, max_value=HIGHEST_SEED, default=1)
    labels_per_item = serializers.IntegerField(min_value=1, max_value=2, default=1)
    practice_items = serializers.IntegerField(min_value=0, max_value=MOST_PRACTICE, default=5)
    shows_hints = serializers.BooleanField(default=True)
    check_percent = serializers.IntegerField(min_value=0, max_value=100, default=10)


class OpenPanelSerializer(serializers.Serializer):
    """`without_hints` opens a panel although reasons are missing."""

    without_hints = serializers.BooleanField(default=False)


class PanelItemSerializer(serializers.ModelSerializer):
    """An item; label null while it has none. Nothing tells how an open one stands."""

    domain = serializers.CharField(source="case.query.domain.name")
    query = serializers.CharField(source="case.query.qid")
    passage = serializers.CharField(source="case.passage.pid")
    state = serializers.CharField(source="case.status")
    label: serializers.Field = serializers.IntegerField(  # type: ignore[assignment]
        source="case.label", allow_null=True
    )
    judgment = serializers.IntegerField(source="case.judgment_id", allow_null=True)

    class Meta:
        model = ReferenceItem
        fields = ["id", "domain", "query", "passage", "state", "label", "judgment", "hints"]


class PanelPairSerializer(serializers.Serializer):
    """An item to label: its texts, and both reasons in this reader's order."""

    id = serializers.IntegerField()
    domain = serializers.CharField()
    query = serializers.CharField()
    passage = serializers.CharField()
    text = serializers.CharField(allow_null=True)
    snapshot = serializers.JSONField()


class NextPanelItemSerializer(serializers.Serializer):
    """The next item for me, null when none waits; `practice` names what is owed before."""

    item = PanelPairSerializer(allow_null=True)
    practice = serializers.DictField(child=serializers.IntegerField())


class PanelLabelSerializer(AnswerSerializer):
    """My label of an item; `correct` replaces the one I gave, and needs a reason."""

    correct = serializers.BooleanField(default=False)


class PanelPracticeSerializer(serializers.Serializer):
    """The name of the domain to practise."""

    domain = serializers.CharField()


class PanelSittingSerializer(serializers.Serializer):
    """The sitting to go on with (`exams/N/`)."""

    id = serializers.IntegerField()


class CheckedItemSerializer(PanelPairSerializer):
    """An item as a senior sees it: with the experts' labels, unnamed, and the label it has."""

    labels = serializers.ListField(child=serializers.IntegerField(allow_null=True))
    label: serializers.Field = serializers.IntegerField(allow_null=True)  # type: ignore[assignment]


class NextCheckSerializer(serializers.Serializer):
    """The next item for a senior, null when none waits."""

    item = CheckedItemSerializer(allow_null=True)


class NewCheckSerializer(serializers.Serializer):
    """A senior's look; `replaces` names the look that it corrects."""

    label: serializers.Field = BinaryField()  # type: ignore[assignment]
    reason = serializers.CharField(allow_blank=True, default="", max_length=4000)
    elapsed_ms = serializers.IntegerField(
        min_value=0, max_value=LONGEST_SITTING_MS, required=False, allow_null=True
    )
    replaces = serializers.IntegerField(required=False, allow_null=True)

    def validate_label(self, label: Any) -> int:
        """The number itself."""
        return int(label)


class SpotCheckSerializer(serializers.ModelSerializer):
    """One look of a senior."""

    domain = serializers.CharField(source="item.case.query.domain.name")
    query = serializers.CharField(source="item.case.query.qid")
    passage = serializers.CharField(source="item.case.passage.pid")
    senior = serializers.CharField(source="checker.username")

    class Meta:
        model = SpotCheck
        fields = [
            *("id", "item", "domain", "query", "passage", "kind", "before", "label"),
            *("reason", "senior", "judgment", "is_standing", "replaced_by", "created_at"),
        ]
