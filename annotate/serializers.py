"""How aspects, gold passages and lists of cases look in the API."""

from rest_framework import serializers

from annotate.models import Aspect, EscalationCase, GoldPassage
from annotate.services.gold import DiscardReason


class AspectSerializer(serializers.ModelSerializer):
    """An aspect; `version` is what a write has to be based on.

    The weight is null until somebody chooses one. Weight, rationale and version are null while
    they are kept from a reviewer who may have to score the weights blind.
    """

    aspect_id = serializers.CharField(read_only=True)
    weight = serializers.IntegerField(source="chosen_weight", allow_null=True, read_only=True)
    rationale = serializers.CharField(allow_null=True, read_only=True)
    version = serializers.IntegerField(allow_null=True, read_only=True)

    class Meta:
        model = Aspect
        fields = ["id", "aspect_id", "content", "rationale", "weight", "scale", "version"]


class NewAspectSerializer(serializers.Serializer):
    """An aspect to add."""

    content = serializers.CharField(allow_blank=True, default="")
    weight = serializers.IntegerField(allow_null=True, default=None)


class AspectWriteSerializer(serializers.Serializer):
    """Texts and weight to write over the version that was read; without one the weight stays."""

    version = serializers.IntegerField()
    content = serializers.CharField(allow_blank=True)
    rationale = serializers.CharField(allow_blank=True, default="")
    weight = serializers.IntegerField(allow_null=True, default=None)


class DirectionSerializer(serializers.Serializer):
    """Where an aspect moves."""

    direction = serializers.ChoiceField(["up", "down"])


class AssignSerializer(serializers.Serializer):
    """The aspect a passage supports."""

    aspect = serializers.IntegerField()


class DiscardSerializer(serializers.Serializer):
    """Why a passage is no gold."""

    reason = serializers.ChoiceField(DiscardReason.choices)
    note = serializers.CharField(allow_blank=True, default="")


class GoldPassageSerializer(serializers.ModelSerializer):
    """A passage with the aspect it supports."""

    passage_id = serializers.CharField(source="passage.pid")
    aspect_id = serializers.CharField(source="aspect.aspect_id")

    class Meta:
        model = GoldPassage
        fields = ["id", "passage", "passage_id", "aspect", "aspect_id"]


class CaseListSerializer(serializers.ModelSerializer):
    """A case as reviewers and admins see it; the label only once it is closed."""

    domain = serializers.CharField(source="query.domain.name")
    query = serializers.CharField(source="query.qid")
    passage = serializers.CharField(source="passage.pid")

    kind = serializers.CharField(allow_null=True)

    class Meta:
        model = EscalationCase
        fields = ["id", "kind", "status", "domain", "query", "passage", "label", "closed_at"]
