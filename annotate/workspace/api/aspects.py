"""API of aspects: writing, splitting, merging, scales, history and undo, and what is missing."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from annotate.api import QueryRoutes
from annotate.loaders import enter_aspect, is_blind
from annotate.models import Aspect, AspectChange, Scale
from annotate.workspace import aspects as aspect_verbs
from annotate.workspace import checklist, restructuring, scales
from annotate.workspace.restructuring import Part
from corpus.access import Access, enter, first_or_404
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
        fields = [
            *("id", "aspect_id", "content", "rationale", "weight", "scale", "subtopic"),
            "version",
        ]


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


class QueryAspects(QueryRoutes):
    """The aspects of a query."""

    @extend_schema(responses=AspectSerializer(many=True))
    def index(self, request: Request, slug: str, pk: int) -> Response:
        """Aspects of a query."""
        rows = Aspect.objects.filter(query=self.query).present().select_related("query__domain")
        answer = self.page(rows, AspectSerializer)
        if is_blind(self.access, self.query):  # who may have to score them does not see weights
            for row in answer.data["results"]:
                row |= dict.fromkeys(("weight", "rationale", "version"))
        return answer

    @extend_schema(request=NewAspectSerializer, responses={201: AspectSerializer})
    def add(self, request: Request, slug: str, pk: int) -> Response:
        """Adding an aspect."""
        given = self.read(NewAspectSerializer)
        added = aspect_verbs.add_aspect(query=self.query, actor=self.access.user, **given)
        return Response(AspectSerializer(added).data, status=201)

    @extend_schema(responses=ChangeSerializer(many=True))
    def history(self, request: Request, slug: str, pk: int) -> Response:
        """What was done to a query's aspects, newest first."""
        rows = AspectChange.objects.filter(query=self.query).select_related("created_by")
        return self.page(rows, ChangeSerializer)

    @extend_schema(request=None, responses={201: ChangeSerializer})
    def undo(self, request: Request, slug: str, pk: int, change_pk: int) -> Response:
        """Taking a change back."""
        rows = AspectChange.objects.filter(query=self.query, pk=change_pk)
        change = first_or_404(rows, "change")
        undoing = restructuring.undo_change(change=change, actor=self.access.user)
        return Response(ChangeSerializer(undoing).data, status=201)

    @extend_schema(request=MoveScaleSerializer, responses={201: ChangeSerializer})
    def scale(self, request: Request, slug: str, pk: int) -> Response:
        """Weighing a query's aspects on the other scale."""
        given = self.read(MoveScaleSerializer)
        change = restructuring.move_to_scale(
            query=self.query,
            scale=given["scale"],
            weights={each["aspect"]: each["weight"] for each in given["weights"]},
            versions={each["aspect"]: each["version"] for each in given["weights"]},
            actor=self.access.user,
        )
        return Response(ChangeSerializer(change).data, status=201)

    @extend_schema(responses=MissingSerializer(many=True))
    def missing(self, request: Request, slug: str, pk: int) -> Response:
        """What a query misses before it can be submitted."""
        return Response(MissingSerializer(checklist.missing(query=self.query), many=True).data)


class OneAspect(ViewSetMixin, Route):
    """One aspect, for those who may write it."""

    access: Access
    aspect: Aspect

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Fetch and authorise."""
        super().initial(request, *args, **kwargs)
        self.access, self.aspect = enter_aspect(self.person(), kwargs["slug"], kwargs["pk"])

    @extend_schema(request=AspectWriteSerializer, responses=AspectSerializer)
    def write(self, request: Request, slug: str, pk: int) -> Response:
        """Writing an aspect."""
        given = self.read(AspectWriteSerializer)
        expected = given.pop("version")
        written = aspect_verbs.save_aspect(
            aspect=self.aspect, actor=self.access.user, expected=expected, **given
        )
        return Response(AspectSerializer(written).data)

    @extend_schema(responses={204: None})
    def remove(self, request: Request, slug: str, pk: int) -> Response:
        """Removing an aspect."""
        aspect_verbs.remove_aspect(aspect=self.aspect, actor=self.access.user)
        return Response(status=204)

    @extend_schema(request=None, responses={204: None})
    def restore(self, request: Request, slug: str, pk: int) -> Response:
        """Bringing a removed aspect back."""
        aspect_verbs.restore_aspect(aspect=self.aspect, actor=self.access.user)
        return Response(status=204)

    @extend_schema(request=DirectionSerializer, responses={204: None})
    def move(self, request: Request, slug: str, pk: int) -> Response:
        """Moving an aspect up or down."""
        given = self.read(DirectionSerializer)
        aspect_verbs.move_aspect(aspect=self.aspect, actor=self.access.user, **given)
        return Response(status=204)

    @extend_schema(request=SplitSerializer, responses={201: ChangeSerializer})
    def split(self, request: Request, slug: str, pk: int) -> Response:
        """Letting several aspects take the place of one."""
        given = self.read(SplitSerializer)
        change = restructuring.split_aspect(
            aspect=self.aspect,
            parts=[Part(**each) for each in given["parts"]],
            actor=self.access.user,
            expected=given["version"],
        )
        return Response(ChangeSerializer(change).data, status=201)

    @extend_schema(request=MergeSerializer, responses={201: ChangeSerializer})
    def merge(self, request: Request, slug: str, pk: int) -> Response:
        """Letting one aspect take the place of several."""
        given = self.read(MergeSerializer)
        siblings, expected = self.aspect.query.aspects, {self.aspect.pk: given["version"]}
        others = [get_object_or_404(siblings, pk=each["aspect"]) for each in given["partners"]]
        change = restructuring.merge_aspects(
            aspects=[self.aspect, *others],
            into=Part(given["content"], given["weight"], given["rationale"]),
            actor=self.access.user,
            expected={each["aspect"]: each["version"] for each in given["partners"]} | expected,
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


_QUERY = "b/<slug:slug>/queries/<int:pk>"
_CHANGE = f"{_QUERY}/history/<int:change_pk>"
_ASPECT = "b/<slug:slug>/aspects/<int:pk>"
_ONE: dict[str, Any] = {"put": "write", "delete": "remove"}
_ALL: dict[str, Any] = {"get": "index", "post": "add"}
_missing = QueryAspects.as_view({"get": "missing"}, pagination_class=None)
urlpatterns = [
    path(f"{_QUERY}/aspects/", QueryAspects.as_view(_ALL), name="api-aspects"),
    path(f"{_ASPECT}/", OneAspect.as_view(_ONE), name="api-aspect"),
    path(f"{_ASPECT}/restore/", OneAspect.as_view({"post": "restore"}), name="api-aspect-restore"),
    path(f"{_ASPECT}/move/", OneAspect.as_view({"post": "move"}), name="api-aspect-move"),
    path(f"{_ASPECT}/split/", OneAspect.as_view({"post": "split"}), name="api-aspect-split"),
    path(f"{_ASPECT}/merge/", OneAspect.as_view({"post": "merge"}), name="api-aspect-merge"),
    path(f"{_QUERY}/history/", QueryAspects.as_view({"get": "history"}), name="api-aspect-history"),
    path(f"{_CHANGE}/undo/", QueryAspects.as_view({"post": "undo"}), name="api-change-undo"),
    path(f"{_QUERY}/scale/", QueryAspects.as_view({"post": "scale"}), name="api-query-scale"),
    path(f"{_QUERY}/missing/", _missing, name="api-query-missing"),
    path("b/<slug:slug>/weight-scale/", BenchmarkScale.as_view(), name="api-weight-scale"),
]
