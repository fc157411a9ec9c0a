"""API of splitting, merging and weighing anew, history and undo, and what is missing."""

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.models import AspectChange
from annotate.serializers_aspects import (
    ChangeSerializer,
    MergeSerializer,
    MissingSerializer,
    MoveScaleSerializer,
    ScaleSerializer,
    SplitSerializer,
)
from annotate.services import checklist, scales
from annotate.services.restructuring import Part, merge_aspects, split_aspect
from annotate.services.undoing import undo_change
from annotate.views.history import get_change
from annotate.views.loaders import enter_aspect, enter_query
from corpus.access import enter, get_query
from corpus.models import Benchmark, Role
from kit.api import Route


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
