"""How reference answers, their checks and blind comparisons look in the API."""

from typing import Any

from rest_framework import serializers

from annotate.models import (
    AnswerComparison,
    AnswerRating,
    AnswerReview,
    AnswerVerdict,
    ReferenceAnswer,
)
from annotate.services import comparing, rating
from annotate.services.reference_answers import LONGEST


class ReferenceAnswerSerializer(serializers.ModelSerializer):
    """One version; `author` is person or model, `stands` says that none followed it."""

    created_by = serializers.CharField(source="created_by.username", default=None, read_only=True)

    class Meta:
        model = ReferenceAnswer
        fields = [
            "id",
            "query",
            "author",
            "version",
            "text",
            "reason",
            "begun_from",
            "based_on",
            "endpoint",
            "model",
            "prompt_version",
            "prompt_sha256",
            "practice",
            "guideline",
            "is_chosen",
            "stands",
            "created_by",
            "created_at",
        ]
        read_only_fields = fields


class NewAnswerSerializer(serializers.Serializer):
    """A person's answer; `version` is the one it is written over, 0 where there was none."""

    text = serializers.CharField(max_length=LONGEST, trim_whitespace=False)
    version = serializers.IntegerField(min_value=0)
    base = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        help_text="Key of the model's answer that it was begun from.",
    )
    from_import = serializers.BooleanField(required=False, default=False)
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=2000)


class AnswerTextSerializer(serializers.Serializer):
    """A text to check; nothing is kept."""

    text = serializers.CharField(max_length=LONGEST, allow_blank=True, trim_whitespace=False)


class AnswerFindingSerializer(serializers.Serializer):
    """Something to look at; `sentence` counts from 1, 0 for the whole answer."""

    check = serializers.CharField()
    message = serializers.CharField()
    sentence = serializers.IntegerField()
    cited = serializers.CharField()
    is_error = serializers.BooleanField()


class AnswerChecksSerializer(serializers.Serializer):
    """What the checks say of a text."""

    is_sound = serializers.BooleanField()
    words = serializers.IntegerField()
    sentences = serializers.IntegerField()
    cited = serializers.ListField(child=serializers.CharField())
    coverage = serializers.SerializerMethodField(
        help_text="How many passages of each aspect are cited, by aspect number."
    )
    findings = AnswerFindingSerializer(many=True)

    def get_coverage(self, report: Any) -> dict[str, int]:
        return {f"a{k}": count for k, count in report.coverage}


class AnswerVersionSerializer(serializers.Serializer):
    """The version that stands in the line, as it was read."""

    version = serializers.IntegerField(min_value=1)


class NewAnswerReviewSerializer(serializers.Serializer):
    """A second person's word."""

    verdict = serializers.ChoiceField(choices=AnswerVerdict.choices)
    note = serializers.CharField(required=False, allow_blank=True, default="", max_length=4000)


class AnswerReviewSerializer(serializers.ModelSerializer):
    """A reviewer's word on a version."""

    reviewer = serializers.CharField(source="reviewer.username")

    class Meta:
        model = AnswerReview
        fields = ["id", "answer", "reviewer", "verdict", "note", "created_at"]


class ComparisonSerializer(serializers.ModelSerializer):
    """A comparison with how far it is."""

    drawn = serializers.IntegerField()
    complete = serializers.IntegerField()
    rated = serializers.IntegerField()

    class Meta:
        model = AnswerComparison
        fields = ["id", "seed", "size", "drawn", "complete", "rated", "created_at", "closed_at"]


class NewComparisonSerializer(serializers.Serializer):
    """How many queries, and the seed that draws them again."""

    size = serializers.IntegerField(default=comparing.SIZE)
    seed = serializers.IntegerField(default=comparing.SEED)


class ShownPairSerializer(serializers.Serializer):
    """Two answers in this rater's order; `pair` is null where none waits."""

    pair = serializers.IntegerField(allow_null=True)
    query = serializers.CharField(allow_null=True)
    text = serializers.CharField(allow_null=True)
    aspects = serializers.ListField(child=serializers.CharField())
    first = serializers.CharField(allow_null=True)
    second = serializers.CharField(allow_null=True)


class NewAnswerRatingSerializer(serializers.Serializer):
    """Points from 1 to 5 for both answers as they were shown, and which is better."""

    first_completeness = serializers.IntegerField(min_value=1, max_value=5)
    first_quality = serializers.IntegerField(min_value=1, max_value=5)
    second_completeness = serializers.IntegerField(min_value=1, max_value=5)
    second_quality = serializers.IntegerField(min_value=1, max_value=5)
    preferred = serializers.ChoiceField(choices=[rating.FIRST, rating.SECOND, rating.NEITHER])
    note = serializers.CharField(required=False, allow_blank=True, default="", max_length=4000)
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=2000)


class AnswerRatingSerializer(serializers.ModelSerializer):
    """One rating of a closed comparison."""

    query = serializers.IntegerField(source="pair.query_id")
    rater = serializers.CharField(source="rater.username")

    class Meta:
        model = AnswerRating
        fields = [
            "id",
            "query",
            "rater",
            "human_completeness",
            "human_quality",
            "model_completeness",
            "model_quality",
            "preferred",
            "human_first",
            "note",
            "guideline",
            "created_at",
        ]
