"""API of adjudication: what waits for a third person, one item, deciding, taking back."""

from django.http import Http404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.adjudication import services as verbs
from annotate.adjudication.items import read_item
from annotate.adjudication.queue import counted, find_item, named, open_items
from annotate.adjudication.views import READERS, decisions, get_decision, settle
from annotate.models import Adjudication, OpenKind
from annotate.review.services import step_in
from corpus.access import enter
from corpus.models import Domain
from kit.api import Route

MOST = 500


class OpenCountSerializer(serializers.Serializer):
    """How much of one kind waits."""

    kind = serializers.CharField()
    name = serializers.CharField()
    count = serializers.IntegerField()


class OpenRowSerializer(serializers.Serializer):
    """One thing that was left open; `name` is how it is asked for."""

    name = serializers.CharField(source="item.name")
    kind = serializers.CharField(source="item.kind")
    query = serializers.CharField()
    about = serializers.CharField()
    since = serializers.DateTimeField(source="item.since")


class OpenListSerializer(serializers.Serializer):
    """At most 500 items, the oldest first, and how much of each kind waits."""

    counts = OpenCountSerializer(many=True)
    results = OpenRowSerializer(many=True)


class SaidSerializer(serializers.Serializer):
    """What one person said; people are numbers."""

    who = serializers.CharField()
    what = serializers.CharField()
    first = serializers.CharField()
    reason = serializers.CharField()


class LabelStepSerializer(serializers.Serializer):
    """One label that the pair had or has."""

    at = serializers.DateTimeField()
    given_by = serializers.CharField(source="source")
    what = serializers.CharField()
    status = serializers.CharField()
    rule = serializers.CharField()
    reason = serializers.CharField()


class OpenItemSerializer(serializers.Serializer):
    """One item with everything that was said."""

    name = serializers.CharField(source="item.name")
    kind = serializers.CharField(source="item.kind")
    query = serializers.CharField()
    text = serializers.CharField(source="query.text")
    passage = serializers.CharField(source="passage.text", default=None, allow_null=True)
    snapshot = serializers.JSONField(source="case.snapshot", default=None, allow_null=True)
    aspect = serializers.CharField(source="aspect.content", default=None, allow_null=True)
    weight = serializers.IntegerField(source="aspect.weight", default=None, allow_null=True)
    said = SaidSerializer(many=True)
    history = LabelStepSerializer(many=True)


class SettleSerializer(serializers.Serializer):
    """The decision: a label of a pair or the weight of an aspect. Of a review: stepping in."""

    label: serializers.Field = serializers.IntegerField(  # type: ignore[assignment]
        min_value=0, max_value=1, required=False, allow_null=True
    )
    weight = serializers.IntegerField(min_value=1, max_value=5, required=False, allow_null=True)
    reason = serializers.CharField(max_length=4000, allow_blank=True, default="")


class AdjudicationSerializer(serializers.ModelSerializer):
    """A decision; `undone_at` says when it was taken back. Who decided is not told."""

    query = serializers.CharField()
    passage = serializers.CharField(source="passage.pid", default=None, allow_null=True)
    label: serializers.Field = serializers.IntegerField(allow_null=True)  # type: ignore[assignment]

    class Meta:
        model = Adjudication
        fields = [
            *("id", "kind", "query", "passage", "aspect", "label", "weight", "before"),
            *("reason", "created_at", "undone_at"),
        ]


class SettledSerializer(serializers.Serializer):
    """The decision, or the review in which the person is the third now."""

    decision = AdjudicationSerializer(allow_null=True)
    review = serializers.IntegerField(allow_null=True)


class OpenList(Route):
    """What I may settle."""

    @extend_schema(
        responses=OpenListSerializer,
        parameters=[
            OpenApiParameter("kind", str, enum=OpenKind.values),
            OpenApiParameter("domain", str),
        ],
    )
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, *READERS)
        params = request.query_params
        domains = Domain.objects.ready().filter(benchmark=access.benchmark)
        domain = domains.filter(name=params.get("domain", "")).first()
        everything = open_items(access, domain=domain.pk if domain else None)
        kind = params.get("kind", "")
        rows = [item for item in everything if kind not in OpenKind.values or item.kind == kind]
        counts = [{"kind": each, "name": name, "count": n} for each, name, n in counted(everything)]
        return Response(OpenListSerializer({"counts": counts, "results": named(rows[:MOST])}).data)


class OpenItemRoute(Route):
    """One item that I may settle, and settling it."""

    @extend_schema(responses=OpenItemSerializer)
    def get(self, request: Request, slug: str, name: str) -> Response:
        item = find_item(enter(self.person(), slug, *READERS), name)
        if item is None:
            raise Http404("This was settled, or somebody else has to settle it.")
        return Response(OpenItemSerializer(read_item(item)).data)

    @extend_schema(request=SettleSerializer, responses={201: SettledSerializer})
    def post(self, request: Request, slug: str, name: str) -> Response:
        access = enter(self.person(), slug, *READERS)
        item = find_item(access, name)
        if item is None:
            raise Http404("This was settled, or somebody else has to settle it.")
        given = self.read(SettleSerializer)
        if item.kind == OpenKind.REVIEWS:
            review = read_item(item).review
            assert review is not None
            step_in(review=review, access=access)
            return Response({"decision": None, "review": review.pk}, status=201)
        made = settle(access, item, **given)
        return Response({"decision": AdjudicationSerializer(made).data, "review": None}, status=201)


class Decisions(Route):
    """What third persons decided."""

    @extend_schema(responses=AdjudicationSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        return self.page(decisions(enter(self.person(), slug, *READERS)), AdjudicationSerializer)


class OneDecision(Route):
    """Taking a decision back."""

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        verbs.undo_decision(decision=get_decision(access, pk), access=access)
        return Response(status=204)


_ADJUDICATION = "b/<slug:slug>/adjudication"
urlpatterns = [
    path(f"{_ADJUDICATION}/", OpenList.as_view(), name="api-adjudication"),
    path(f"{_ADJUDICATION}/decisions/", Decisions.as_view(), name="api-decisions"),
    path(f"{_ADJUDICATION}/decisions/<int:pk>/", OneDecision.as_view(), name="api-decision"),
    path(f"{_ADJUDICATION}/items/<slug:name>/", OpenItemRoute.as_view(), name="api-adjudicate"),
]
