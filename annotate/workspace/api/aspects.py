"""API of aspects: writing, splitting, merging, scales, history and undo, and what is missing."""

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.loaders import enter_aspect, enter_query, is_blind
from annotate.models import Aspect, AspectChange, Scale
from annotate.workspace import aspects as aspect_verbs
from annotate.workspace import checklist, scales
from annotate.workspace.restructuring import Part, merge_aspects, split_aspect
from annotate.workspace.undoing import undo_change
from annotate.workspace.views.restructuring import get_change
from corpus.access import enter, get_query
from corpus.models import Role
from kit.api import Route


class AspectSerializer(serializers.ModelSerializer):
    """An aspect; `version` is what a write has to be based on.

    The weight is null until somebody chooses one. Weight, rationale and version are null while
    they are kept from a reviewer who may have to score the weights blind.
    """

    aspect_id = serializers.CharField(read_only=True)
    weight = serializers.IntegerField(source="chosen_weight", allow_null=True, read_only=True)
    rationale = serializers.CharField(allow_null=True, read_only=True)
    version = serializers.IntegerField(allow_null=True, read_only=True)

    class Meta:
        model = Aspect
        fields = ["id", "aspect_id", "content", "rationale", "weight", "scale", "version"]


class NewAspectSerializer(serializers.Serializer):
    """An aspect to add."""

    content = serializers.CharField(allow_blank=True, default="")
    weight = serializers.IntegerField(allow_null=True, default=None)


class AspectWriteSerializer(serializers.Serializer):
    """Texts and weight to write over the version that was read; without one the weight stays."""

    version = serializers.IntegerField()
    content = serializers.CharField(allow_blank=True)
    rationale = serializers.CharField(allow_blank=True, default="")
    weight = serializers.IntegerField(allow_null=True, default=None)


class DirectionSerializer(serializers.Serializer):
    """Where an aspect moves."""

    direction = serializers.ChoiceField(["up", "down"])


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


class MissingSerializer(serializers.Serializer):
    """One thing to do before the query can be submitted."""

    kind = serializers.CharField()
    text = serializers.CharField()
    url = serializers.CharField()
    blocking = serializers.BooleanField()


class Aspects(Route):
    """Aspects of a query, and adding one."""

    @extend_schema(responses=AspectSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug)
        query = get_query(access, pk)
        rows = Aspect.objects.filter(query=query).present().select_related("query__domain")
        answer = self.page(rows, AspectSerializer)
        if is_blind(access, query):  # who may have to score them does not see weights
            for row in answer.data["results"]:
                row |= dict.fromkeys(("weight", "rationale", "version"))
        return answer

    @extend_schema(request=NewAspectSerializer, responses={201: AspectSerializer})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, query = enter_query(self.person(), slug, pk)
        given = self.read(NewAspectSerializer)
        added = aspect_verbs.add_aspect(query=query, actor=access.user, **given)
        return Response(AspectSerializer(added).data, status=201)


class OneAspect(Route):
    """Writing and removing an aspect."""

    @extend_schema(request=AspectWriteSerializer, responses=AspectSerializer)
    def put(self, request: Request, slug: str, pk: int) -> Response:
        access, aspect = enter_aspect(self.person(), slug, pk)
        given = self.read(AspectWriteSerializer)
        given["expected"] = given.pop("version")
        written = aspect_verbs.save_aspect(aspect=aspect, actor=access.user, **given)
        return Response(AspectSerializer(written).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        access, aspect = enter_aspect(self.person(), slug, pk)
        aspect_verbs.remove_aspect(aspect=aspect, actor=access.user)
        return Response(status=204)


class AspectRestore(Route):
    """Bringing a removed aspect back."""

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, aspect = enter_aspect(self.person(), slug, pk)
        aspect_verbs.restore_aspect(aspect=aspect, actor=access.user)
        return Response(status=204)


class AspectMove(Route):
    """Moving an aspect up or down."""

    @extend_schema(request=DirectionSerializer, responses={204: None})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, aspect = enter_aspect(self.person(), slug, pk)
        given = self.read(DirectionSerializer)
        aspect_verbs.move_aspect(aspect=aspect, actor=access.user, **given)
        return Response(status=204)


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
        return Response(ScaleSerializer(scales.scale_of_benchmark(access.benchmark)).data)

    @extend_schema(request=ScaleSerializer, responses=ScaleSerializer)
    def put(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(ScaleSerializer)
        chosen = scales.choose_scale(benchmark=access.benchmark, actor=access.user, **given)
        return Response(ScaleSerializer(chosen).data)


class Missing(Route):
    """What a query misses before it can be submitted."""

    @extend_schema(responses=MissingSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        query = get_query(enter(self.person(), slug), pk)
        return Response(MissingSerializer(checklist.missing(query=query), many=True).data)


_QUERY = "b/<slug:slug>/queries/<int:pk>"
_ASPECT = "b/<slug:slug>/aspects/<int:pk>"
urlpatterns = [
    path(f"{_QUERY}/aspects/", Aspects.as_view(), name="api-aspects"),
    path(f"{_ASPECT}/", OneAspect.as_view(), name="api-aspect"),
    path(f"{_ASPECT}/restore/", AspectRestore.as_view(), name="api-aspect-restore"),
    path(f"{_ASPECT}/move/", AspectMove.as_view(), name="api-aspect-move"),
    path(f"{_ASPECT}/split/", AspectSplit.as_view(), name="api-aspect-split"),
    path(f"{_ASPECT}/merge/", AspectMerge.as_view(), name="api-aspect-merge"),
    path(f"{_QUERY}/history/", Changes.as_view(), name="api-aspect-history"),
    path(f"{_QUERY}/history/<int:change_pk>/undo/", ChangeUndo.as_view(), name="api-change-undo"),
    path(f"{_QUERY}/scale/", QueryScale.as_view(), name="api-query-scale"),
    path(f"{_QUERY}/missing/", Missing.as_view(), name="api-query-missing"),
    path("b/<slug:slug>/weight-scale/", BenchmarkScale.as_view(), name="api-weight-scale"),
]
