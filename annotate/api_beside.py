"""API of the search beside the work."""

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.views.beside import Result, find
from annotate.views.loaders import enter_query
from kit.api import Route


class FoundSerializer(serializers.Serializer):
    """A passage of the query's domain with its BM25 score and the words it holds."""

    passage = serializers.IntegerField(source="hit.passage.pk")
    passage_id = serializers.CharField(source="hit.passage.pid")
    score = serializers.FloatField(source="hit.score")
    words = serializers.SerializerMethodField()
    text = serializers.CharField(source="hit.passage.text")
    aspect = serializers.SerializerMethodField()
    is_discarded = serializers.SerializerMethodField()

    def get_words(self, found: Result) -> list[str]:
        """In alphabetical order."""
        return sorted(found.hit.words)

    def get_aspect(self, found: Result) -> str | None:
        """The aspect that it supports already."""
        return found.row.aspect.aspect_id if found.row and found.row.aspect else None

    def get_is_discarded(self, found: Result) -> bool:
        """Whether an expert said that it is no gold."""
        return bool(found.row and found.row.is_discarded)


class Beside(Route):
    """The ten passages that score best for a text, such as an aspect's."""

    @extend_schema(
        parameters=[OpenApiParameter("text", str, required=True, description="What to find.")],
        responses=FoundSerializer(many=True),
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access, query = enter_query(self.person(), slug, pk)
        text = request.query_params.get("text", "")[:10_000].replace("\x00", " ")
        return Response(FoundSerializer(find(access, query, text), many=True).data)


urlpatterns = [
    path("b/<slug:slug>/queries/<int:pk>/beside/", Beside.as_view(), name="api-query-beside"),
]
