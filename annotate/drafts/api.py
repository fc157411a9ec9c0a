"""API of my own drafts: what the browser keeps while I type."""

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.drafts import services as verbs
from annotate.models import Draft
from kit.api import Route
from kit.errors import Conflict


class DraftSerializer(serializers.ModelSerializer):
    """One field's text; `version` is what the next write has to be based on."""

    class Meta:
        model = Draft
        fields = ["id", "place", "name", "page", "text", "version", "updated_at"]


class KeepDraftSerializer(serializers.Serializer):
    """The text of a field, over version `expected` (0: there was none); empty takes it away."""

    place = serializers.RegexField(r"^/(?!/)", max_length=300)
    name = serializers.CharField(max_length=100)
    page = serializers.RegexField(r"^/(?!/)", max_length=300, required=False, default="")
    text = serializers.CharField(allow_blank=True, trim_whitespace=False, max_length=verbs.LONGEST)
    expected = serializers.IntegerField(min_value=0, default=0)


class KeptDraftSerializer(serializers.Serializer):
    """The draft as it is now, null once it is gone."""

    draft = DraftSerializer(allow_null=True)


class Drafts(Route):
    """What I typed and did not send."""

    too_large = f"A draft holds at most {verbs.LONGEST:,} characters."

    @extend_schema(
        parameters=[OpenApiParameter("page", str, description="Only those typed on this page.")],
        responses=DraftSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        rows = Draft.objects.of(self.person())
        page = request.query_params.get("page")
        return self.page(rows.filter(page=page) if page else rows, DraftSerializer)

    @extend_schema(
        request=KeepDraftSerializer, responses={200: KeptDraftSerializer, 409: KeptDraftSerializer}
    )
    def put(self, request: Request) -> Response:
        given = self.read(KeepDraftSerializer)
        try:
            kept = verbs.keep_draft(person=self.person(), **given)
        except Conflict as conflict:
            return Response({"draft": DraftSerializer(conflict.current).data}, status=409)
        return Response({"draft": DraftSerializer(kept).data if kept else None})


class OneDraft(Route):
    """Throwing a draft away."""

    @extend_schema(responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        get_object_or_404(Draft.objects.of(self.person()), pk=pk).delete()
        return Response(status=204)


urlpatterns = [
    path("drafts/", Drafts.as_view(), name="api-drafts"),
    path("drafts/<int:pk>/", OneDraft.as_view(), name="api-draft"),
]
