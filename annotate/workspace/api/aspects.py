"""API of splitting, merging and weighing anew, history and undo, and what is missing.

Changes of aspects, scales, the audit and what is missing, as the API shows and takes them."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.loaders import enter_aspect, enter_query
from annotate.models import AspectChange, Problem, ProblemTag, Scale
from annotate.workspace import checklist, scales
from annotate.workspace.restructuring import Part, merge_aspects, split_aspect
from annotate.workspace.undoing import undo_change
from annotate.workspace.views.restructuring import get_change
from corpus.access import enter, get_query
from corpus.models import Benchmark, Role
from kit.api import Route


class PartSerializer(serializers.Serializer):
    """One of the aspects that an aspect becomes."""

    content = serializers.CharField(max_length=10_000)
    weight = serializers.IntegerField()
    rationale = serializers.CharField(allow_blank=True, default="", max_length=20_000)


class SplitSerializer(serializers.Serializer):
    """The parts, and the version of the aspect that was read."""

    version = serializers.IntegerField()
    parts = PartSerializer(many=True)


class PartnerSerializer(serializers.Serializer):
    """An aspect to merge with, and its version."""

    aspect = serializers.IntegerField()
    version = serializers.IntegerField()


class MergeSerializer(PartSerializer):
    """What the aspects become, their versions, and which they are."""

    version = serializers.IntegerField()
    partners = PartnerSerializer(many=True)


class ChangeSerializer(serializers.ModelSerializer):
    """One change; `before` and `after` are the aspects it touched."""

    actor = serializers.CharField(source="created_by.username", allow_null=True, default=None)
    is_undone = serializers.SerializerMethodField()

    class Meta:
        model = AspectChange
        fields = ["id", "kind", "before", "after", "guideline", "actor", "created_at", "is_undone"]

    def get_is_undone(self, change: AspectChange) -> bool:
        """Whether it was taken back."""
        return change.undone_by_id is not None


class WeightOfSerializer(serializers.Serializer):
    """A weight on the new scale; `version` is that of the aspect that was read."""

    aspect = serializers.IntegerField()
    weight = serializers.IntegerField()
    version = serializers.IntegerField()


class MoveScaleSerializer(serializers.Serializer):
    """The scale, and a weight for every aspect that is off it."""

    scale = serializers.ChoiceField(Scale.choices)
    weights = WeightOfSerializer(many=True)


class ScaleSerializer(serializers.Serializer):
    """The scale on which new queries are weighed, and the points that make a conflict."""

    scale = serializers.ChoiceField(Scale.choices)
    far = serializers.IntegerField(min_value=1, max_value=4, required=False)


class RemakeSerializer(serializers.Serializer):
    """Passages of one page that become one under an aspect; a slice or a text where trimmed."""

    passages = serializers.ListField(child=serializers.IntegerField(), min_length=1, max_length=50)
    aspect = serializers.IntegerField()
    start = serializers.IntegerField(min_value=0, allow_null=True, default=None)
    end = serializers.IntegerField(min_value=1, allow_null=True, default=None)
    text = serializers.CharField(
        max_length=200_000, allow_null=True, allow_blank=True, default=None, trim_whitespace=False
    )


class OfferSerializer(serializers.Serializer):
    """Passages that touch or overlap on one page, offered for merging."""

    passages = serializers.ListField(child=serializers.IntegerField())
    passage_ids = serializers.ListField(child=serializers.CharField())
    text = serializers.CharField()


class ProblemTagSerializer(serializers.ModelSerializer):
    """A problem of a query's old gold; passage null: of all of it."""

    class Meta:
        model = ProblemTag
        fields = ["id", "passage", "problem", "note", "created_at"]


class NewProblemTagSerializer(serializers.Serializer):
    """A problem to tag, or to take off."""

    problem = serializers.ChoiceField(Problem.choices)
    passage = serializers.IntegerField(allow_null=True, default=None)
    note = serializers.CharField(allow_blank=True, default="", max_length=4000)


class MissingSerializer(serializers.Serializer):
    """One thing to do before the query can be submitted."""

    kind = serializers.CharField()
    text = serializers.CharField()
    url = serializers.CharField()
    blocking = serializers.BooleanField()


class AuditCountsSerializer(serializers.Serializer):
    """How many originals have each verdict, and each problem."""

    verdicts: Any = serializers.DictField(child=serializers.IntegerField())
    problems: Any = serializers.DictField(child=serializers.IntegerField())


class AspectSplit(Route):
    """Letting several aspects take the place of one."""

    @extend_schema(request=SplitSerializer, responses={201: ChangeSerializer})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, aspect = enter_aspect(self.person(), slug, pk)
        given = self.read(SplitSerializer)
        parts = [Part(**each) for each in given["parts"]]
        change = split_aspect(
            aspect=aspect, parts=parts, actor=access.user, expected=given["version"]
        )
        return Response(ChangeSerializer(change).data, status=201)


class AspectMerge(Route):
    """Letting one aspect take the place of several."""

    @extend_schema(request=MergeSerializer, responses={201: ChangeSerializer})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, aspect = enter_aspect(self.person(), slug, pk)
        given = self.read(MergeSerializer)
        others = [
            get_object_or_404(aspect.query.aspects, pk=each["aspect"]) for each in given["partners"]
        ]
        expected = {each["aspect"]: each["version"] for each in given["partners"]}
        change = merge_aspects(
            aspects=[aspect, *others],
            into=Part(given["content"], given["weight"], given["rationale"]),
            actor=access.user,
            expected={**expected, aspect.pk: given["version"]},
        )
        return Response(ChangeSerializer(change).data, status=201)


class Changes(Route):
    """What was done to a query's aspects, newest first."""

    @extend_schema(responses=ChangeSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        query = get_query(enter(self.person(), slug), pk)
        rows = AspectChange.objects.filter(query=query).select_related("created_by")
        return self.page(rows, ChangeSerializer)


class ChangeUndo(Route):
    """Taking a change back."""

    @extend_schema(request=None, responses={201: ChangeSerializer})
    def post(self, request: Request, slug: str, pk: int, change_pk: int) -> Response:
        access, query = enter_query(self.person(), slug, pk)
        undoing = undo_change(change=get_change(query, change_pk), actor=access.user)
        return Response(ChangeSerializer(undoing).data, status=201)


class QueryScale(Route):
    """Weighing a query's aspects on the other scale."""

    @extend_schema(request=MoveScaleSerializer, responses={201: ChangeSerializer})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, query = enter_query(self.person(), slug, pk)
        given = self.read(MoveScaleSerializer)
        change = scales.move_to_scale(
            query=query,
            scale=given["scale"],
            weights={each["aspect"]: each["weight"] for each in given["weights"]},
            versions={each["aspect"]: each["version"] for each in given["weights"]},
            actor=access.user,
        )
        return Response(ChangeSerializer(change).data, status=201)


class BenchmarkScale(Route):
    """The scale on which new queries are weighed, and when two weights are in conflict."""

    @extend_schema(responses=ScaleSerializer)
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug)
        return Response(_weighing(access.benchmark))

    @extend_schema(request=ScaleSerializer, responses=ScaleSerializer)
    def put(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(ScaleSerializer)
        scales.choose_scale(benchmark=access.benchmark, actor=access.user, **given)
        return Response(_weighing(access.benchmark))


class Missing(Route):
    """What a query misses before it can be submitted."""

    @extend_schema(responses=MissingSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        query = get_query(enter(self.person(), slug), pk)
        return Response(MissingSerializer(checklist.missing(query=query), many=True).data)


def _weighing(benchmark: Benchmark) -> dict[str, str | int]:
    return {"scale": scales.benchmark_scale(benchmark), "far": scales.points_apart(benchmark)}


_QUERY = "b/<slug:slug>/queries/<int:pk>"
_ASPECT = "b/<slug:slug>/aspects/<int:pk>"
urlpatterns = [
    path(f"{_ASPECT}/split/", AspectSplit.as_view(), name="api-aspect-split"),
    path(f"{_ASPECT}/merge/", AspectMerge.as_view(), name="api-aspect-merge"),
    path(f"{_QUERY}/history/", Changes.as_view(), name="api-aspect-history"),
    path(f"{_QUERY}/history/<int:change_pk>/undo/", ChangeUndo.as_view(), name="api-change-undo"),
    path(f"{_QUERY}/scale/", QueryScale.as_view(), name="api-query-scale"),
    path(f"{_QUERY}/missing/", Missing.as_view(), name="api-query-missing"),
    path("b/<slug:slug>/weight-scale/", BenchmarkScale.as_view(), name="api-weight-scale"),
]
