"""API of relevance labels and of the imported gold."""

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from corpus.judgments.views import judgment_choices, judgment_rows, judgment_table
from corpus.models import GoldVersion, Judgment
from corpus.texts.api import parameters
from kit.api import Route


class JudgmentSerializer(serializers.ModelSerializer):
    """A relevance label."""

    query = serializers.CharField(source="query.qid")
    domain = serializers.CharField(source="query.domain.name")
    passage = serializers.CharField(source="passage.pid")

    class Meta:
        model = Judgment
        fields = ["id", "domain", "query", "passage", "label", "subtopics", "source", "status"]
        fields += ["round", "practice", "gold_version", "created_at"]


class GoldVersionSerializer(serializers.ModelSerializer):
    """One imported gold of a domain."""

    domain = serializers.CharField(source="domain.name")

    class Meta:
        model = GoldVersion
        fields = ["id", "domain", "name", "is_current", "created_at"]


class Judgments(Route):
    """Relevance labels: those that count now, unless `counts` or `status` asks for others.

    Of pairs that people still judge, the imported gold alone; to who votes, machines' labels of
    pairs alone that people decided.
    """

    @extend_schema(
        responses=JudgmentSerializer(many=True),
        parameters=parameters(
            "domain",
            "label",
            "practice",
            "gold",
            "query",
            "passage",
            "status",
            counts="yes (the default) or no: superseded labels, older golds and trials.",
            source="A source, or since: all that were given since the import.",
            q="The beginning of a query's or a passage's id.",
        ),
    )
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug)
        params = {name: str(value) for name, value in request.query_params.items()}
        if not {"counts", "status", "gold"} & params.keys():
            params["counts"] = "yes"
        table, choices = judgment_table(access), judgment_choices(access, params)
        found = self.matches(table, judgment_rows(access), choices, params=params)
        return self.page(found, JudgmentSerializer)


class GoldVersions(Route):
    """Every imported gold, by domain; one of each is current."""

    @extend_schema(responses=GoldVersionSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug)
        golds = GoldVersion.objects.filter(domain__benchmark=access.benchmark)
        return self.page(golds.select_related("domain"), GoldVersionSerializer)


urlpatterns = [
    path("b/<slug:slug>/judgments/", Judgments.as_view(), name="api-judgments"),
    path("b/<slug:slug>/gold-versions/", GoldVersions.as_view(), name="api-gold-versions"),
]
