"""How benchmarks, people, texts and labels look in the API."""

from typing import Any

from rest_framework import serializers

from corpus.models import Benchmark, Domain, ImportRun, Membership, Pool, PoolBuild, PoolEntry, Role
from corpus.pools.services import MAX_DEPTH
from kit.api import RUN_FIELDS
from kit.runs.models import RunStatus


class BenchmarkSerializer(serializers.ModelSerializer):
    """A benchmark."""

    class Meta:
        model = Benchmark
        fields = ["slug", "name", "description", "licence", "created_at"]


class MemberSerializer(serializers.ModelSerializer):
    """A person in a benchmark; no domains means every domain."""

    username = serializers.CharField(source="user.username")
    domains: serializers.Field = serializers.SlugRelatedField("name", many=True, read_only=True)

    class Meta:
        model = Membership
        fields = ["id", "username", "roles", "domains"]


class PlaceSerializer(serializers.Serializer):
    """Roles and domains to give."""

    roles = serializers.ListField(child=serializers.ChoiceField(Role.choices))
    domains = serializers.ListField(child=serializers.CharField(), required=False, default=list)

    def chosen(self, benchmark: Benchmark, names: list[str]) -> list[Domain]:
        """The domains of these names; raises ValidationError for an unknown one."""
        found = {domain.name: domain for domain in benchmark.domains.ready()}
        unknown = sorted(set(names) - found.keys())
        if unknown:
            raise serializers.ValidationError({"domains": f"Unknown: {', '.join(unknown)}."})
        return [found[name] for name in names]


class NewPersonSerializer(PlaceSerializer):
    """A person to add."""

    username = serializers.CharField(max_length=150)


class LinkSerializer(serializers.Serializer):
    """A member with the path of their one-time sign-in link, empty if they need none."""

    id = serializers.IntegerField()
    sign_in_path = serializers.CharField(allow_blank=True)


class PoolSerializer(serializers.ModelSerializer):
    """A pool of pairs."""

    class Meta:
        model = Pool
        fields = ["id", "name", "corpus_version", "provenance", "created_at"]


class PoolBuildSerializer(serializers.ModelSerializer):
    """Building a pool; `pool` is its id once it is done."""

    pool = serializers.SerializerMethodField()

    class Meta:
        model = PoolBuild
        fields = [*RUN_FIELDS, "name", "runs", "depth", "pool"]

    def get_pool(self, build: PoolBuild) -> int | None:
        """Nothing is shown of a pool that is not whole."""
        return build.pool_id if build.status == RunStatus.DONE else None


class NewPoolSerializer(serializers.Serializer):
    """A pool to build: ids of retrieval runs, and how deep."""

    runs = serializers.ListField(child=serializers.IntegerField(), allow_empty=False)
    depth = serializers.IntegerField(min_value=1, max_value=MAX_DEPTH, default=10)
    name = serializers.CharField(max_length=120, required=False, default="", allow_blank=True)


class PoolEntrySerializer(serializers.ModelSerializer):
    """One pair of a pool; `systems` are its places, `same_text_as` an earlier entry's id."""

    query = serializers.CharField(source="query.qid")
    domain = serializers.CharField(source="query.domain.name")
    passage = serializers.CharField(source="passage.pid")

    class Meta:
        model = PoolEntry
        fields = ["id", "domain", "query", "passage", "systems", "same_text_as"]


class ImportRunSerializer(serializers.ModelSerializer):
    """An import."""

    class Meta:
        model = ImportRun
        fields = [*RUN_FIELDS, "format", "label", "corpus_version", "summary", "problems"]


class NewImportSerializer(serializers.Serializer):
    """What to import: a `file` (multipart form data), or a name in the import folder (`stored`)."""

    format = serializers.CharField()
    file = serializers.FileField(required=False)
    stored = serializers.CharField(
        required=False, help_text="A file or folder of the import folder, or a path below it."
    )
    qrels = serializers.FileField(required=False)
    domain = serializers.CharField(
        required=False, help_text="Runs only: their domain, where no file is named after it."
    )

    version = serializers.IntegerField(
        required=False, help_text="Runs only: the corpus version whose ids they name."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Exactly one of the two."""
        if ("file" in attrs) == ("stored" in attrs):
            raise serializers.ValidationError({"file": "Give either `file` or `stored`."})
        return attrs


class StoredFileSerializer(serializers.Serializer):
    """A file or folder in the import folder."""

    name = serializers.CharField()
    is_folder = serializers.BooleanField()
