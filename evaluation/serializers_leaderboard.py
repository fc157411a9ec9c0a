"""What the leaderboard's API takes and gives."""

from rest_framework import serializers

from corpus.services.pools import MAX_DEPTH
from evaluation.models import NoiseCheck, ScoreSheet
from evaluation.services import leaderboard
from kit.api import RUN_FIELDS


class ScoreSheetSerializer(serializers.ModelSerializer):
    """The scores of a benchmark as of one moment."""

    class Meta:
        model = ScoreSheet
        fields = [*RUN_FIELDS, "corpus_version", "matched_with", "run_ids", "pool"]


class ComparedSerializer(serializers.Serializer):
    """Two systems; differences are the first minus the second."""

    metric = serializers.CharField()
    view = serializers.CharField()
    queries = serializers.IntegerField()
    left_out = serializers.IntegerField()
    first_mean = serializers.FloatField(allow_null=True)
    second_mean = serializers.FloatField(allow_null=True)
    difference = serializers.FloatField(allow_null=True, source="difference.value")
    low = serializers.FloatField(allow_null=True, source="difference.low")
    high = serializers.FloatField(allow_null=True, source="difference.high")
    wins = serializers.IntegerField()
    ties = serializers.IntegerField()
    losses = serializers.IntegerField()
    tests = serializers.SerializerMethodField()

    def get_tests(self, found: leaderboard.Compared) -> dict[str, float | None]:
        """The p value of each test, null where it is undefined."""
        return {test.name: test.p for test in found.tests}


class NoiseCheckSerializer(serializers.ModelSerializer):
    """Ranks under noisy labels; `version` names the corpus version, by default the current one."""

    version = serializers.IntegerField(required=False, allow_null=True, write_only=True)

    class Meta:
        model = NoiseCheck
        fields = [
            *RUN_FIELDS,
            *("metric", "view", "if_relevant", "if_not", "seed", "draws", "result"),
            *("corpus_version", "version"),
        ]
        read_only_fields = [*RUN_FIELDS, "seed", "result", "corpus_version"]


class HoleDebateSerializer(serializers.Serializer):
    """Runs to pool, and who debates the pool; without an endpoint the first that is set up."""

    runs = serializers.ListField(child=serializers.IntegerField(), allow_empty=False)
    depth = serializers.IntegerField(min_value=1, max_value=MAX_DEPTH, default=10)
    endpoint = serializers.CharField(required=False, default="", allow_blank=True)
    budget_usd = serializers.DecimalField(
        max_digits=9, decimal_places=2, min_value=0, required=False, allow_null=True, default=None
    )


class StartedSerializer(serializers.Serializer):
    """The debate run that was started, and the pool it is over."""

    debate_run = serializers.IntegerField()
    pool = serializers.IntegerField()


class SystemPartSerializer(serializers.Serializer):
    """A model or package, and where it is published."""

    name = serializers.CharField()
    link = serializers.URLField()


class KnownSystemSerializer(serializers.Serializer):
    """A system of a paper; `kind` is sparse, dense, rerank or rewrite."""

    name = serializers.CharField()
    kind = serializers.CharField()
    parts = SystemPartSerializer(many=True)
    run = serializers.IntegerField(allow_null=True)
