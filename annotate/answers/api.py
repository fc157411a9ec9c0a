"""API of reference answers and of their blind comparisons."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.answers import comparing, rating
from annotate.answers import services as verbs
from annotate.answers.comparison_views import (
    READERS,
    comparison_rows,
    get_closed,
    get_comparison,
    rating_rows,
    sheets_of,
)
from annotate.answers.evidence import check, material_of
from annotate.answers.rights import (
    HIDDEN,
    answers_are_hidden,
    require_answer_reviewer,
    require_writer,
)
from annotate.answers.services import LONGEST
from annotate.answers.views import get_answer, visible
from annotate.models import (
    AnswerComparison,
    AnswerPair,
    AnswerRating,
    AnswerReview,
    AnswerVerdict,
    ReferenceAnswer,
)
from corpus.access import Access, enter, get_query
from corpus.models import Query, Role
from kit.api import Route, SheetSerializer
from kit.sheets import as_data


class ReferenceAnswerSerializer(serializers.ModelSerializer):
    """One version; `author` is person or model, `stands` says that it is the last."""

    created_by = serializers.CharField(source="created_by.username", default=None, read_only=True)

    class Meta:
        model = ReferenceAnswer
        fields = [
            *("id", "query", "author", "version", "text", "reason", "begun_from", "based_on"),
            *("endpoint", "model", "prompt_version", "prompt_sha256", "practice", "guideline"),
            *("is_chosen", "stands", "created_by", "created_at"),
        ]
        read_only_fields = fields


class NewAnswerSerializer(serializers.Serializer):
    """A person's answer; `version` is the one it is written over, 0 where there was none."""

    text = serializers.CharField(max_length=LONGEST, trim_whitespace=False)
    version = serializers.IntegerField(min_value=0)
    base = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        help_text="Key of the model's answer that it was begun from.",
    )
    from_import = serializers.BooleanField(required=False, default=False)
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=2000)


class AnswerTextSerializer(serializers.Serializer):
    """A text to check; nothing is kept."""

    text = serializers.CharField(max_length=LONGEST, allow_blank=True, trim_whitespace=False)


class AnswerFindingSerializer(serializers.Serializer):
    """Something to look at; `sentence` counts from 1, 0 for the whole answer."""

    check = serializers.CharField()
    message = serializers.CharField()
    sentence = serializers.IntegerField()
    cited = serializers.CharField()
    is_error = serializers.BooleanField()


class AnswerChecksSerializer(serializers.Serializer):
    """What the checks say of a text."""

    is_sound = serializers.BooleanField()
    words = serializers.IntegerField()
    sentences = serializers.IntegerField()
    cited = serializers.ListField(child=serializers.CharField())
    coverage = serializers.SerializerMethodField(
        help_text="How many passages of each aspect are cited, by aspect number."
    )
    findings = AnswerFindingSerializer(many=True)

    def get_coverage(self, report: Any) -> dict[str, int]:
        return {f"a{k}": count for k, count in report.coverage}


class AnswerVersionSerializer(serializers.Serializer):
    """The last version that was read."""

    version = serializers.IntegerField(min_value=1)


class NewAnswerReviewSerializer(serializers.Serializer):
    """A second person's verdict."""

    verdict = serializers.ChoiceField(choices=AnswerVerdict.choices)
    note = serializers.CharField(required=False, allow_blank=True, default="", max_length=4000)


class AnswerReviewSerializer(serializers.ModelSerializer):
    """A reviewer's verdict on a version."""

    reviewer = serializers.CharField(source="reviewer.username")

    class Meta:
        model = AnswerReview
        fields = ["id", "answer", "reviewer", "verdict", "note", "created_at"]


class ComparisonSerializer(serializers.ModelSerializer):
    """A comparison with how far it is."""

    drawn = serializers.IntegerField()
    complete = serializers.IntegerField()
    rated = serializers.IntegerField()

    class Meta:
        model = AnswerComparison
        fields = ["id", "seed", "size", "drawn", "complete", "rated", "created_at", "closed_at"]


class NewComparisonSerializer(serializers.Serializer):
    """How many queries, and the seed that draws them again."""

    size = serializers.IntegerField(default=comparing.SIZE)
    seed = serializers.IntegerField(default=comparing.SEED)


class ShownPairSerializer(serializers.Serializer):
    """Two answers in this rater's order; `pair` is null where none waits."""

    pair = serializers.IntegerField(allow_null=True)
    query = serializers.CharField(allow_null=True)
    text = serializers.CharField(allow_null=True)
    aspects = serializers.ListField(child=serializers.CharField())
    first = serializers.CharField(allow_null=True)
    second = serializers.CharField(allow_null=True)


class NewAnswerRatingSerializer(serializers.Serializer):
    """Points from 1 to 5 for both answers as they were shown, and which is better."""

    first_completeness = serializers.IntegerField(min_value=1, max_value=5)
    first_quality = serializers.IntegerField(min_value=1, max_value=5)
    second_completeness = serializers.IntegerField(min_value=1, max_value=5)
    second_quality = serializers.IntegerField(min_value=1, max_value=5)
    preferred = serializers.ChoiceField(choices=[rating.FIRST, rating.SECOND, rating.NEITHER])
    note = serializers.CharField(required=False, allow_blank=True, default="", max_length=4000)
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=2000)


class AnswerRatingSerializer(serializers.ModelSerializer):
    """One rating of a closed comparison."""

    query = serializers.IntegerField(source="pair.query_id")
    rater = serializers.CharField(source="rater.username")

    class Meta:
        model = AnswerRating
        fields = [
            *("id", "query", "rater", "human_completeness", "human_quality"),
            *("model_completeness", "model_quality", "preferred", "human_first"),
            *("note", "guideline", "created_at"),
        ]


class AnswerRoute(Route):
    """A route about the answers of one query."""

    def enter(self, slug: str, pk: int) -> tuple[Access, Query]:
        """The query with the person's access."""
        access = enter(self.person(), slug)
        return access, get_query(access, pk)

    def enter_answer(self, slug: str, pk: int, answer_pk: int) -> tuple[Access, ReferenceAnswer]:
        """A version that the person may see, with their access."""
        access, query = self.enter(slug, pk)
        return access, get_answer(access, query, answer_pk)


class QueryAnswers(AnswerRoute):
    """Every version of a query's answers that this person may see, and writing one."""

    @extend_schema(responses=ReferenceAnswerSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access, query = self.enter(slug, pk)
        if answers_are_hidden(access, query):
            raise PermissionDenied(HIDDEN)
        return self.page(visible(access, query).order_by("-pk"), ReferenceAnswerSerializer)

    @extend_schema(request=NewAnswerSerializer, responses={201: ReferenceAnswerSerializer})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, query = self.enter(slug, pk)
        require_writer(access, query)
        given = self.read(NewAnswerSerializer)
        key, expected = given.pop("base"), given.pop("version")
        base = get_answer(access, query, key) if key else None
        written = verbs.write_answer(
            query=query, actor=access.user, expected=expected, base=base, **given
        )
        return Response(ReferenceAnswerSerializer(written).data, status=201)


class AnswerCheck(AnswerRoute):
    """The checks of a text against the gold of a query."""

    @extend_schema(request=AnswerTextSerializer, responses=AnswerChecksSerializer)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        _, query = self.enter(slug, pk)
        text = self.read(AnswerTextSerializer)["text"]
        return Response(AnswerChecksSerializer(check(material_of(query), text)).data)


class AnswerRestore(AnswerRoute):
    """Making an earlier version the last again."""

    @extend_schema(request=AnswerVersionSerializer, responses={201: ReferenceAnswerSerializer})
    def post(self, request: Request, slug: str, pk: int, answer_pk: int) -> Response:
        access, found = self.enter_answer(slug, pk, answer_pk)
        require_writer(access, found.query)
        expected = self.read(AnswerVersionSerializer)["version"]
        again = verbs.restore_answer(answer=found, actor=access.user, expected=expected)
        return Response(ReferenceAnswerSerializer(again).data, status=201)


class AnswerChoose(AnswerRoute):
    """Letting releases publish a version."""

    @extend_schema(request=None, responses=ReferenceAnswerSerializer)
    def post(self, request: Request, slug: str, pk: int, answer_pk: int) -> Response:
        access, found = self.enter_answer(slug, pk, answer_pk)
        chosen = verbs.choose_answer(answer=found, actor=access.user)
        return Response(ReferenceAnswerSerializer(chosen).data)


class AnswerUnchoose(AnswerRoute):
    """Publishing nothing that was written here."""

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, query = self.enter(slug, pk)
        verbs.unchoose_answer(query=query, actor=access.user)
        return Response(status=204)


class AnswerReviews(AnswerRoute):
    """Reviewers' verdicts on a version, and giving one's own."""

    @extend_schema(responses=AnswerReviewSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int, answer_pk: int) -> Response:
        _, found = self.enter_answer(slug, pk, answer_pk)
        rows = found.reviews.filter(stands=True).select_related("reviewer")
        return self.page(rows, AnswerReviewSerializer)

    @extend_schema(request=NewAnswerReviewSerializer, responses={201: AnswerReviewSerializer})
    def post(self, request: Request, slug: str, pk: int, answer_pk: int) -> Response:
        access, found = self.enter_answer(slug, pk, answer_pk)
        require_answer_reviewer(access, found.query)
        given = self.read(NewAnswerReviewSerializer)
        review = verbs.review_answer(answer=found, access=access, **given)
        return Response(AnswerReviewSerializer(review).data, status=201)


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


_NOTHING: dict[str, object] = {
    "pair": None, "query": None, "text": None, "aspects": [], "first": None, "second": None,
}  # fmt: skip


class NextPair(Route):
    """The next two answers that wait for my points."""

    @extend_schema(responses=ShownPairSerializer)
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.REVIEWER)
        pair = rating.to_rate(access).first()
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
        rating.rate_pair(pair=pair, access=access, **rating.split_points(given))
        return Response(status=204)


def _pair(access: Access, pk: int) -> AnswerPair:
    return get_object_or_404(rating.rateable(access), pk=pk)


def _shown(access: Access, pair: AnswerPair) -> dict[str, object]:
    first, second = rating.shown_to(pair, access.user)
    return {
        "pair": pair.pk,
        "query": str(pair.query),
        "text": pair.query.text,
        "aspects": [aspect.content for aspect, _ in material_of(pair.query).aspects],
        "first": first,
        "second": second,
    }


_ANSWER = "b/<slug:slug>/queries/<int:pk>/answers"
_ONE = f"{_ANSWER}/<int:answer_pk>"
_COMPARISON = "b/<slug:slug>/answer-comparisons"
urlpatterns = [
    path(f"{_ANSWER}/", QueryAnswers.as_view(), name="api-answers"),
    path(f"{_ANSWER}/check/", AnswerCheck.as_view(), name="api-answer-check"),
    path(f"{_ANSWER}/unchoose/", AnswerUnchoose.as_view(), name="api-answer-unchoose"),
    path(f"{_ONE}/restore/", AnswerRestore.as_view(), name="api-answer-restore"),
    path(f"{_ONE}/choose/", AnswerChoose.as_view(), name="api-answer-choose"),
    path(f"{_ONE}/reviews/", AnswerReviews.as_view(), name="api-answer-reviews"),
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
