"""How cases to judge, votes, batches and voting plans look in the API."""

from typing import Any

from rest_framework import serializers

from annotate.forms import LONGEST_SITTING_MS
from annotate.models import Batch, BatchItem, Vote, VotingPlan
from annotate.services.plans import FIELDS


class JudgedPairSerializer(serializers.Serializer):
    """A pair as its voter sees it now: nothing of anybody's vote, nor why it came before them.

    `stage` says what the next answer is: the `first` judgment (from the passage alone), the
    `final` one after the positions, or the `only` one.
    """

    domain = serializers.CharField()
    query = serializers.CharField()
    passage = serializers.CharField()
    text = serializers.CharField(allow_null=True)
    snapshot = serializers.JSONField()
    stage = serializers.ChoiceField(["only", "first", "final"])
    first_label = serializers.IntegerField(allow_null=True)


class CaseSerializer(JudgedPairSerializer):
    """A case to judge."""

    id = serializers.IntegerField()


class NextCaseSerializer(serializers.Serializer):
    """The next case for me, null when none waits."""

    case = CaseSerializer(allow_null=True)


class BinaryField(serializers.ChoiceField):
    """0 or 1."""

    def __init__(self, **more: Any) -> None:
        super().__init__([0, 1], **more)


class FirstJudgmentSerializer(serializers.Serializer):
    """What I say from the passage alone."""

    label: serializers.Field = BinaryField()  # type: ignore[assignment]
    elapsed_ms = serializers.IntegerField(
        min_value=0, max_value=LONGEST_SITTING_MS, required=False, allow_null=True
    )

    def validate_label(self, label: Any) -> int:
        """The number itself."""
        return int(label)


class SpanSerializer(serializers.Serializer):
    """Words of the passage: code points, `end` excluded."""

    start = serializers.IntegerField(min_value=0)
    end = serializers.IntegerField(min_value=1)


class AnswerSerializer(serializers.Serializer):
    """An answer; label null says the pair cannot be judged and needs a reason."""

    label: serializers.Field = BinaryField(allow_null=True)  # type: ignore[assignment]
    reason = serializers.CharField(allow_blank=True, default="", max_length=4000)
    elapsed_ms = serializers.IntegerField(
        min_value=0, max_value=LONGEST_SITTING_MS, required=False, allow_null=True
    )
    span = SpanSerializer(required=False, allow_null=True)

    def validate_label(self, label: Any) -> int | None:
        """The number itself, or None."""
        return None if label in (None, "") else int(label)

    def validate_span(self, span: dict[str, int] | None) -> tuple[int, int] | None:
        """Its two ends."""
        return None if span is None else (span["start"], span["end"])


class NewVoteSerializer(AnswerSerializer):
    """A vote; `replaces` names my own vote that it corrects."""

    replaces = serializers.IntegerField(required=False, allow_null=True)


class NewItemAnswerSerializer(AnswerSerializer):
    """An answer to an item; `version` is that of the answer I saw."""

    version = serializers.IntegerField(min_value=0, required=False, allow_null=True)


class VoteSerializer(serializers.ModelSerializer):
    """My vote."""

    class Meta:
        model = Vote
        fields = [
            *("id", "case", "label", "reason", "arm", "saw_positions", "first_label"),
            *("span_start", "span_end", "created_at"),
        ]


class BatchSerializer(serializers.ModelSerializer):
    """My batch."""

    class Meta:
        model = Batch
        fields = ["id", "status", "size", "expires_at", "created_at", "ended_at", "lost_items"]


class RejectedBatchSerializer(serializers.ModelSerializer):
    """A batch as admins see it."""

    person = serializers.CharField(source="voter.username")

    class Meta:
        model = Batch
        fields = [*("id", "person", "status", "size"), *("failed_checks", "lost_items", "ended_at")]


class ItemAnswerSerializer(serializers.ModelSerializer):
    """My answer to an item of my batch so far."""

    class Meta:
        model = BatchItem
        fields = ["place", "version", "label", "reason", "first_label", "span_start", "span_end"]


class ItemSerializer(JudgedPairSerializer):
    """An item of my batch with my answer so far."""

    place = serializers.IntegerField()
    answered = serializers.BooleanField()
    version = serializers.IntegerField()
    label: serializers.Field = serializers.IntegerField(allow_null=True)  # type: ignore[assignment]
    reason = serializers.CharField()


class VotingPlanSerializer(serializers.ModelSerializer):
    """A version of the voting plan."""

    class Meta:
        model = VotingPlan
        fields = ["version", *FIELDS, "created_at"]
        read_only_fields = ["version", "created_at"]


class NewPlanSerializer(serializers.ModelSerializer):
    """What changes over version `expected`; 0 where none was written yet."""

    expected = serializers.IntegerField(min_value=0)

    class Meta:
        model = VotingPlan
        fields = ["expected", *FIELDS]


class TermsSerializer(serializers.Serializer):
    """What people agree to, and whether I am still asked."""

    version = serializers.IntegerField()
    text = serializers.CharField()
    minutes = serializers.IntegerField()
    pay = serializers.DecimalField(max_digits=9, decimal_places=2, allow_null=True)
    currency = serializers.CharField()
    asked = serializers.BooleanField()


class ArmVoteSerializer(serializers.Serializer):
    """One vote behind a number of the table of arms; nobody is named."""

    case = serializers.IntegerField(source="item")
    first_label = serializers.IntegerField(allow_null=True)
    label: serializers.Field = serializers.IntegerField(allow_null=True)  # type: ignore[assignment]
    expert = serializers.IntegerField(source="truth", allow_null=True)
    shown_first = serializers.ChoiceField(["yes", "no", ""])
    seconds = serializers.FloatField(allow_null=True)
    abandoned = serializers.BooleanField()


class ArmVotesSerializer(serializers.Serializer):
    """Votes, and how many more are on cases that are still judged or may be again."""

    votes = ArmVoteSerializer(many=True)
    kept_back = serializers.IntegerField()


class AgreeSerializer(serializers.Serializer):
    """The version that I read and agree to."""

    version = serializers.IntegerField(min_value=0)
