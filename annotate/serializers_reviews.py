"""What the API of reviews takes and shows."""

from rest_framework import serializers

from annotate.models import Review, ReviewPoint, ReviewTurn
from annotate.models.reviews import ASPECT_CHECKS
from annotate.review_forms import ANSWERS
from annotate.services.gold import DiscardReason


def _note() -> serializers.CharField:
    return serializers.CharField(allow_blank=True, default="", max_length=4000)


class ReviewSerializer(serializers.ModelSerializer):
    """Where a review stands; people as user names."""

    reviewer = serializers.CharField(source="reviewer.username")
    author = serializers.CharField(source="author.username", default=None)
    third = serializers.CharField(source="third.username", default=None)

    class Meta:
        model = Review
        fields = ["id", "query", "reviewer", "author", "third", "status", "created_at", "ended_at"]


class ReviewPointSerializer(serializers.ModelSerializer):
    """Where one point stands and what was changed for it."""

    class Meta:
        model = ReviewPoint
        fields = ["id", "kind", "key", "aspect", "passage", "status", "note", "change"]


class ReviewTurnSerializer(serializers.ModelSerializer):
    """What somebody said or did."""

    actor = serializers.CharField(source="actor.username")

    class Meta:
        model = ReviewTurn
        fields = ["id", "point", "actor", "part", "verb", "text", "data", "created_at"]


class ToScoreSerializer(serializers.Serializer):
    """An aspect as a blind scorer sees it."""

    id = serializers.IntegerField()
    k = serializers.IntegerField()
    content = serializers.CharField()
    scale = serializers.CharField()


class OneReviewSerializer(ReviewSerializer):
    """A review in full; before the blind scores only what is to be scored."""

    to_score = ToScoreSerializer(many=True)
    points = ReviewPointSerializer(many=True)
    turns = ReviewTurnSerializer(many=True)

    class Meta(ReviewSerializer.Meta):
        fields = [*ReviewSerializer.Meta.fields, "to_score", "points", "turns"]


class BlindScoresSerializer(serializers.Serializer):
    """A weight for every aspect, by the aspect's id."""

    weights = serializers.DictField(child=serializers.IntegerField(), allow_empty=False)

    def validate_weights(self, value: dict[str, int]) -> dict[int, int]:
        """Keys as numbers."""
        if not all(key.isascii() and key.isdigit() and len(key) < 19 for key in value):
            raise serializers.ValidationError("Keys are ids of aspects.")
        return {int(key): weight for key, weight in value.items()}


class AspectsCheckSerializer(serializers.Serializer):
    """An answer to one of the questions about the aspects."""

    key = serializers.ChoiceField(list(ASPECT_CHECKS))
    fine = serializers.BooleanField()
    note = _note()


class WeightCheckSerializer(serializers.Serializer):
    """The weight that the reviewer finds right; another than the author's needs a note."""

    weight = serializers.IntegerField()
    note = _note()


class PassageCheckSerializer(serializers.Serializer):
    """Three answers; a No removes the passage, for a reason and with a note."""

    explicit = serializers.BooleanField()
    credible = serializers.BooleanField()
    relevant = serializers.BooleanField()
    reason = serializers.ChoiceField(DiscardReason.choices, required=False, default="")
    note = _note()


class PointAnswerSerializer(serializers.Serializer):
    """The author's agree or object, the reviewer's yield, the third person's uphold or overrule."""

    do = serializers.ChoiceField(ANSWERS)
    text = _note()


class ReviewMoveSerializer(serializers.Serializer):
    """What goes with a move; `third` is the key of who settles, for that move."""

    text = _note()
    third = serializers.CharField(allow_blank=True, default="", max_length=19)
