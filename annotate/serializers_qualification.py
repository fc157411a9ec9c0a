"""What the API of qualification takes and shows."""

from rest_framework import serializers

from annotate.models import ExamAttempt, ExamItem, QualificationRule
from annotate.services import exam_bank as bank_verbs

RULE_FIELDS = [
    *("required", "pass_mark", "exam_size", "needs_approval", "approval_above"),
    *("approved_least", "recheck_below", "recheck_window"),
]


def _key() -> serializers.IntegerField:
    return serializers.IntegerField(min_value=1, max_value=2**63 - 1)


class MyStandingSerializer(serializers.Serializer):
    """How the person stands in one domain, and in words what is missing."""

    domain = serializers.IntegerField()
    name = serializers.CharField()
    qualified = serializers.BooleanField()
    missing = serializers.ListField(child=serializers.CharField())


class PersonStandingSerializer(serializers.Serializer):
    """How one annotator stands in one domain; `exam` is of 100, `approval_rate` a percentage."""

    person = serializers.CharField()
    domain = serializers.CharField()
    qualified = serializers.BooleanField()
    missing = serializers.ListField(child=serializers.CharField())
    exam = serializers.FloatField(allow_null=True)
    approval_rate = serializers.FloatField(allow_null=True)
    approved = serializers.IntegerField(allow_null=True)
    recheck = serializers.CharField(allow_blank=True)


class StartSerializer(serializers.Serializer):
    """An exam, or a practice."""

    practice = serializers.BooleanField(default=False)


class SittingItemSerializer(serializers.Serializer):
    """What is to be judged, and its place in the sitting."""

    place = serializers.IntegerField()
    question = serializers.CharField()
    answers = serializers.ListField(child=serializers.CharField())
    passage = serializers.CharField()
    positions = serializers.JSONField()


class SittingSerializer(serializers.ModelSerializer):
    """A sitting; `score` is null until it is over, `item` once it is."""

    size = serializers.IntegerField()
    score = serializers.FloatField(allow_null=True)
    item = SittingItemSerializer(allow_null=True)

    class Meta:
        model = ExamAttempt
        fields = ["id", "domain", "is_practice", "status", "pass_mark", "size", "score", "item"]


class SittingAnswerSerializer(serializers.Serializer):
    """The answer to the item at this place: 1 relevant, 0 not."""

    place = serializers.IntegerField(min_value=0)
    label = serializers.ChoiceField([0, 1])  # type: ignore[assignment]


class ExamItemSerializer(serializers.ModelSerializer):
    """An item with its right answer and how people did on it in exams."""

    answered = serializers.IntegerField(read_only=True)
    right = serializers.IntegerField(read_only=True)

    class Meta:
        model = ExamItem
        fields = [
            *("id", "domain", "question", "answers", "passage", "label", "basis", "explanation"),
            *("is_practice", "retired_at", "answered", "right"),
        ]


class NewExamItemSerializer(serializers.Serializer):
    """An item to add."""

    domain = _key()
    question = serializers.CharField(max_length=bank_verbs.LONGEST)
    answers = serializers.ListField(child=serializers.CharField(), default=list)
    passage = serializers.CharField(max_length=bank_verbs.LONGEST, trim_whitespace=False)
    label = serializers.ChoiceField([0, 1])  # type: ignore[assignment]
    explanation = serializers.CharField(allow_blank=True, default="", max_length=4000)
    is_practice = serializers.BooleanField(default=False)


class DrawSerializer(serializers.Serializer):
    """How many items to draw from the domain's gold."""

    domain = _key()
    count = serializers.IntegerField()
    seed = serializers.IntegerField(default=1, min_value=0, max_value=2**31 - 1)
    practice = serializers.BooleanField(default=False)


class RuleSerializer(serializers.ModelSerializer):
    """What is asked before people vote; `version` is 0 where nothing was written yet."""

    version = serializers.IntegerField()

    class Meta:
        model = QualificationRule
        fields = [*RULE_FIELDS, "version"]


class ApprovalSerializer(serializers.Serializer):
    """One person's approval elsewhere: percent of the work, and pieces."""

    username = serializers.CharField(max_length=150)
    rate = serializers.CharField(max_length=20)
    approved = serializers.CharField(max_length=12)


class RecheckSerializer(serializers.Serializer):
    """Who has to take which exam again, and why."""

    person = serializers.CharField(max_length=150)
    domain = _key()
    reason = serializers.CharField(max_length=300)
