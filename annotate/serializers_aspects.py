"""Changes of aspects, scales, the audit and what is missing, as the API shows and takes them."""

from typing import Any

from rest_framework import serializers

from annotate.models import AspectChange, Problem, ProblemTag, Scale


class PartSerializer(serializers.Serializer):
    """One of the aspects that an aspect becomes."""

    content = serializers.CharField(max_length=10_000)
    weight = serializers.IntegerField()
    rationale = serializers.CharField(allow_blank=True, default="", max_length=20_000)


class SplitSerializer(serializers.Serializer):
    """The parts, and the version of the aspect that was read."""

    version = serializers.IntegerField()
    parts = PartSerializer(many=True)


class PartnerSerializer(serializers.Serializer):
    """An aspect to merge with, and its version."""

    aspect = serializers.IntegerField()
    version = serializers.IntegerField()


class MergeSerializer(PartSerializer):
    """What the aspects become, their versions, and which they are."""

    version = serializers.IntegerField()
    partners = PartnerSerializer(many=True)


class ChangeSerializer(serializers.ModelSerializer):
    """One change; `before` and `after` are the aspects it touched."""

    actor = serializers.CharField(source="created_by.username", allow_null=True, default=None)
    is_undone = serializers.SerializerMethodField()

    class Meta:
        model = AspectChange
        fields = ["id", "kind", "before", "after", "guideline", "actor", "created_at", "is_undone"]

    def get_is_undone(self, change: AspectChange) -> bool:
        """Whether it was taken back."""
        return change.undone_by_id is not None


class WeightOfSerializer(serializers.Serializer):
    """A weight on the new scale; `version` is that of the aspect that was read."""

    aspect = serializers.IntegerField()
    weight = serializers.IntegerField()
    version = serializers.IntegerField()


class MoveScaleSerializer(serializers.Serializer):
    """The scale, and a weight for every aspect that is off it."""

    scale = serializers.ChoiceField(Scale.choices)
    weights = WeightOfSerializer(many=True)


class ScaleSerializer(serializers.Serializer):
    """The scale on which new queries are weighed, and the points that make a conflict."""

    scale = serializers.ChoiceField(Scale.choices)
    far = serializers.IntegerField(min_value=1, max_value=4, required=False)


class RemakeSerializer(serializers.Serializer):
    """Passages of one page that become one under an aspect; a slice or a text where trimmed."""

    passages = serializers.ListField(child=serializers.IntegerField(), min_length=1, max_length=50)
    aspect = serializers.IntegerField()
    start = serializers.IntegerField(min_value=0, allow_null=True, default=None)
    end = serializers.IntegerField(min_value=1, allow_null=True, default=None)
    text = serializers.CharField(
        max_length=200_000, allow_null=True, allow_blank=True, default=None, trim_whitespace=False
    )


class OfferSerializer(serializers.Serializer):
    """Passages that touch or overlap on one page, offered for merging."""

    passages = serializers.ListField(child=serializers.IntegerField())
    passage_ids = serializers.ListField(child=serializers.CharField())
    text = serializers.CharField()


class ProblemTagSerializer(serializers.ModelSerializer):
    """A problem of a query's old gold; passage null: of all of it."""

    class Meta:
        model = ProblemTag
        fields = ["id", "passage", "problem", "note", "created_at"]


class NewProblemTagSerializer(serializers.Serializer):
    """A problem to tag, or to take off."""

    problem = serializers.ChoiceField(Problem.choices)
    passage = serializers.IntegerField(allow_null=True, default=None)
    note = serializers.CharField(allow_blank=True, default="", max_length=4000)


class MissingSerializer(serializers.Serializer):
    """One thing to do before the query can be submitted."""

    kind = serializers.CharField()
    text = serializers.CharField()
    url = serializers.CharField()
    blocking = serializers.BooleanField()


class AuditCountsSerializer(serializers.Serializer):
    """How many originals have each verdict, and each problem."""

    verdicts: Any = serializers.DictField(child=serializers.IntegerField())
    problems: Any = serializers.DictField(child=serializers.IntegerField())
