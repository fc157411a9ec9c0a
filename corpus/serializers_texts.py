"""How texts, labels and retrieval runs look in the API."""

from rest_framework import serializers

from corpus.models import (
    Document,
    GoldVersion,
    Judgment,
    Passage,
    Query,
    RankedList,
    RetrievalRun,
)


class QuerySerializer(serializers.ModelSerializer):
    """A query as it was imported."""

    domain = serializers.CharField(source="domain.name")

    class Meta:
        model = Query
        fields = [
            "id",
            "domain",
            "qid",
            "text",
            "description",
            "narrative",
            "answers",
            "community_answers",
            "gold_answer",
            "reasoning",
            "reference_answer",
            "gold_ids_long",
            "excluded_ids",
            "extra",
        ]


class PassageSerializer(serializers.ModelSerializer):
    """A passage; text null means not loaded."""

    domain = serializers.CharField(source="domain.name")

    class Meta:
        model = Passage
        fields = [
            "id",
            "domain",
            "pid",
            "title",
            "source_url",
            "text",
            "document",
            "start",
            "end",
            "extra",
        ]


class JudgmentSerializer(serializers.ModelSerializer):
    """A relevance label."""

    query = serializers.CharField(source="query.qid")
    domain = serializers.CharField(source="query.domain.name")
    passage = serializers.CharField(source="passage.pid")

    class Meta:
        model = Judgment
        fields = [
            "id",
            "domain",
            "query",
            "passage",
            "label",
            "subtopics",
            "source",
            "status",
            "round",
            "practice",
            "gold_version",
            "created_at",
        ]


class DocumentListSerializer(serializers.ModelSerializer):
    """A page, without its text."""

    domain = serializers.CharField(source="domain.name")

    class Meta:
        model = Document
        fields = ["id", "domain", "doc_id", "title", "source_url"]


class DocumentSerializer(DocumentListSerializer):
    """A page."""

    class Meta:
        model = Document
        fields = [*DocumentListSerializer.Meta.fields, "text"]


class GoldVersionSerializer(serializers.ModelSerializer):
    """One imported gold of a domain."""

    domain = serializers.CharField(source="domain.name")

    class Meta:
        model = GoldVersion
        fields = ["id", "domain", "name", "is_current", "created_at"]


class RetrievalRunSerializer(serializers.ModelSerializer):
    """What a system retrieved."""

    class Meta:
        model = RetrievalRun
        fields = [
            *("id", "name", "corpus_version", "query_count", "depth", "unknown_count"),
            *("provenance", "created_at"),
        ]


class RankedListSerializer(serializers.ModelSerializer):
    """One query's ranking, in the order of its file; scores null where the file gives none."""

    domain = serializers.CharField(source="query.domain.name")
    query = serializers.CharField(source="query.qid")
    pids: serializers.Field = serializers.ListField(child=serializers.CharField())
    scores: serializers.Field = serializers.ListField(
        child=serializers.FloatField(), allow_null=True
    )

    class Meta:
        model = RankedList
        fields = ["domain", "query", "pids", "scores"]
