"""API of blind comparisons of answers."""

from django.http import Http404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.models import AnswerPair
from annotate.serializers_answers import (
    AnswerRatingSerializer,
    ComparisonSerializer,
    NewAnswerRatingSerializer,
    NewComparisonSerializer,
    ShownPairSerializer,
)
from annotate.services import comparing
from annotate.services import rating as verbs
from annotate.services.answer_evidence import material_of
from annotate.views.comparisons import (
    READERS,
    comparison_rows,
    get_closed,
    get_comparison,
    rating_rows,
    sheets_of,
)
from corpus.access import Access, enter
from corpus.models import Role
from kit.api import Route, SheetSerializer
from kit.sheets import as_data


class Comparisons(Route):
    """Comparisons of the benchmark, and drawing one."""

    @extend_schema(responses=ComparisonSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, *READERS)
        return self.page(comparison_rows(access), ComparisonSerializer)

    @extend_schema(request=NewComparisonSerializer, responses={201: ComparisonSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        drawn = comparing.draw_comparison(access=access, **self.read(NewComparisonSerializer))
        found = comparison_rows(access).get(pk=drawn.pk)
        return Response(ComparisonSerializer(found).data, status=201)


class ComparisonClose(Route):
    """Ending the ratings of a comparison."""

    @extend_schema(request=None, responses=ComparisonSerializer)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        comparing.close_comparison(comparison=get_comparison(access, pk), access=access)
        return Response(ComparisonSerializer(comparison_rows(access).get(pk=pk)).data)


class ComparisonReport(Route):
    """The tables of a closed comparison."""

    @extend_schema(responses=SheetSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        return Response(as_data(sheets_of(access, get_closed(access, pk))))


class ComparisonRatings(Route):
    """The ratings of a closed comparison."""

    @extend_schema(responses=AnswerRatingSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        return self.page(rating_rows(get_closed(access, pk)), AnswerRatingSerializer)


class NextPair(Route):
    """The next two answers that wait for my points."""

    @extend_schema(responses=ShownPairSerializer)
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.REVIEWER)
        pair = verbs.to_rate(access).first()
        return Response(_shown(access, pair) if pair else _NOTHING)


class OnePair(Route):
    """Two answers, and giving them points; a second time corrects, with a reason."""

    @extend_schema(responses=ShownPairSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.REVIEWER)
        return Response(_shown(access, _pair(access, pk)))

    @extend_schema(request=NewAnswerRatingSerializer, responses={204: None})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.REVIEWER)
        pair = _pair(access, pk)
        given = self.read(NewAnswerRatingSerializer)
        first, second = (
            verbs.Points(given.pop(f"{place}_completeness"), given.pop(f"{place}_quality"))
            for place in (verbs.FIRST, verbs.SECOND)
        )
        verbs.rate_pair(pair=pair, access=access, first=first, second=second, **given)
        return Response(status=204)


_NOTHING: dict[str, object] = {
    "pair": None, "query": None, "text": None, "aspects": [], "first": None, "second": None,
}  # fmt: skip


def _pair(access: Access, pk: int) -> AnswerPair:
    pair = verbs.rateable(access).filter(pk=pk).first()
    if pair is None:
        raise Http404("This pair does not wait for you.")
    return pair


def _shown(access: Access, pair: AnswerPair) -> dict[str, object]:
    shown = verbs.shown_to(pair, access.user)
    return {
        "pair": pair.pk,
        "query": str(pair.query),
        "text": pair.query.text,
        "aspects": [aspect.content for aspect, _ in material_of(pair.query).aspects],
        "first": shown.texts[0],
        "second": shown.texts[1],
    }


_COMPARISON = "b/<slug:slug>/answer-comparisons"
urlpatterns = [
    path(f"{_COMPARISON}/", Comparisons.as_view(), name="api-comparisons"),
    path(f"{_COMPARISON}/<int:pk>/close/", ComparisonClose.as_view(), name="api-comparison-close"),
    path(
        f"{_COMPARISON}/<int:pk>/report/", ComparisonReport.as_view(), name="api-comparison-report"
    ),
    path(
        f"{_COMPARISON}/<int:pk>/ratings/",
        ComparisonRatings.as_view(),
        name="api-comparison-ratings",
    ),
    path("b/<slug:slug>/answer-pairs/next/", NextPair.as_view(), name="api-answer-pair-next"),
    path("b/<slug:slug>/answer-pairs/<int:pk>/", OnePair.as_view(), name="api-answer-pair"),
]
