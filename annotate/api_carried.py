"""API of what people did that a corpus version does not take over."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.services.uncarried_work import uncarried_work
from corpus.access import enter
from corpus.views.versions import READERS, get_version
from kit.api import Route


class LostCitationSerializer(serializers.Serializer):
    """Words in brackets of a published answer that cite no passage of the version."""

    query = serializers.IntegerField(source="query.pk")
    cited = serializers.CharField()
    why = serializers.CharField()


class LostSupportSerializer(serializers.Serializer):
    """A gold passage of an aspect that no passage of the version takes over."""

    aspect = serializers.IntegerField(source="aspect.pk")
    query = serializers.IntegerField(source="aspect.query_id")
    passage = serializers.IntegerField(source="passage.pk")


class UncarriedWorkSerializer(serializers.Serializer):
    """What people did that has no place in a version."""

    citations = LostCitationSerializer(many=True)
    support = LostSupportSerializer(many=True)


class VersionWork(Route):
    """Citations of answers, and gold passages of aspects, that a version does not take over."""

    @extend_schema(responses=UncarriedWorkSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        version = get_version(enter(self.person(), slug, *READERS), pk)
        found: Any = uncarried_work(version)
        return Response(UncarriedWorkSerializer(found).data)


urlpatterns = [
    path("b/<slug:slug>/versions/<int:pk>/work/", VersionWork.as_view(), name="api-version-work"),
]
