"""API of the guidelines: every version, the newest first, and publishing one."""

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.guidelines.services import publish_guideline
from annotate.models import Guideline
from corpus.access import enter
from corpus.models import Role
from kit.api import Route


class GuidelineSerializer(serializers.ModelSerializer):
    """One version, in Markdown."""

    class Meta:
        model = Guideline
        fields = ["version", "text", "note", "created_at"]


class NewGuidelineSerializer(serializers.Serializer):
    """A version written over version `expected`; 0 where none was written yet."""

    text = serializers.CharField(max_length=200_000, trim_whitespace=False)
    note = serializers.CharField(max_length=500, allow_blank=True, default="")
    expected = serializers.IntegerField(min_value=0)


class Guidelines(Route):
    """What annotators go by."""

    @extend_schema(responses=GuidelineSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug)
        return self.page(access.benchmark.guidelines.all(), GuidelineSerializer)

    @extend_schema(request=NewGuidelineSerializer, responses={201: GuidelineSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewGuidelineSerializer)
        new = publish_guideline(benchmark=access.benchmark, actor=access.user, **given)
        return Response(GuidelineSerializer(new).data, status=201)


urlpatterns = [
    path("b/<slug:slug>/guidelines/", Guidelines.as_view(), name="api-guidelines"),
]
