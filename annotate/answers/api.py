"""API of reference answers and of their blind comparisons."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from annotate.answers import comparing
from annotate.answers import services as verbs
from annotate.answers.comparison_views import (
    READERS,
    comparison_rows,
    get_closed,
    get_comparison,
)
from annotate.answers.evidence import check, material_of
from annotate.answers.report import report
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
from corpus.importers.answers import ANSWER_LIMIT
from corpus.models import Query, Role
from corpus.texts.answers import MAX_ANSWERS, write_answers
from kit.api import ReportTableSerializer, Route
from kit.lists.report_tables import as_data


class ReferenceAnswerSerializer(serializers.ModelSerializer):
    """One version; `author` is person or model, `stands` says that it is the last."""

    created_by = serializers.CharField(
        source="created_by.username", default=None, allow_null=True, read_only=True
    )

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


class ShortAnswersSerializer(serializers.Serializer):
    """Short answers of a query; `expected` are those that the writer saw, null overwrites any."""

    answers = serializers.ListField(
        child=serializers.CharField(max_length=ANSWER_LIMIT), max_length=MAX_ANSWERS
    )
    expected = serializers.ListField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False),
        allow_null=True,
        default=None,
        write_only=True,
    )


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
    preferred = serializers.ChoiceField(
        choices=[comparing.FIRST, comparing.SECOND, comparing.NEITHER]
    )
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


class Answers(ViewSetMixin, Route):
    """The answers of one query: every version that this person may see, written and reviewed."""

    def enter(self) -> tuple[Access, Query]:
        """The query with the person's access."""
        access = enter(self.person(), self.kwargs["slug"])
        return access, get_query(access, self.kwargs["pk"])

    def enter_answer(self) -> tuple[Access, ReferenceAnswer]:
        """A version that the person may see, with their access."""
        access, query = self.enter()
        return access, get_answer(access, query, self.kwargs["answer_pk"])

    @extend_schema(responses=ReferenceAnswerSerializer(many=True))
    def list(self, request: Request, slug: str, pk: int) -> Response:
        """Every version of a query's answers that this person may see."""
        access, query = self.enter()
        if answers_are_hidden(access, query):
            raise PermissionDenied(HIDDEN)
        return self.page(visible(access, query).order_by("-pk"), ReferenceAnswerSerializer)

    @extend_schema(request=NewAnswerSerializer, responses={201: ReferenceAnswerSerializer})
    def create(self, request: Request, slug: str, pk: int) -> Response:
        """Writing an answer to a query."""
        access, query = self.enter()
        require_writer(access, query)
        given = self.read(NewAnswerSerializer)
        key, expected = given.pop("base"), given.pop("version")
        base = get_answer(access, query, key) if key else None
        written = verbs.write_answer(
            query=query, actor=access.user, expected=expected, base=base, **given
        )
        return Response(ReferenceAnswerSerializer(written).data, status=201)

    @extend_schema(request=AnswerTextSerializer, responses=AnswerChecksSerializer)
    def check(self, request: Request, slug: str, pk: int) -> Response:
        """The checks of a text against the gold of a query."""
        access, query = self.enter()
        text = self.read(AnswerTextSerializer)["text"]
        return Response(AnswerChecksSerializer(check(material_of(query, access), text)).data)

    @extend_schema(request=None, responses={204: None})
    def unchoose(self, request: Request, slug: str, pk: int) -> Response:
        """Publishing nothing that was written here."""
        access, query = self.enter()
        verbs.unchoose_answer(query=query, actor=access.user)
        return Response(status=204)

    @extend_schema(request=AnswerVersionSerializer, responses={201: ReferenceAnswerSerializer})
    def restore(self, request: Request, slug: str, pk: int, answer_pk: int) -> Response:
        """Making an earlier version the last again."""
        access, found = self.enter_answer()
        require_writer(access, found.query)
        expected = self.read(AnswerVersionSerializer)["version"]
        again = verbs.restore_answer(answer=found, actor=access.user, expected=expected)
        return Response(ReferenceAnswerSerializer(again).data, status=201)

    @extend_schema(request=None, responses=ReferenceAnswerSerializer)
    def choose(self, request: Request, slug: str, pk: int, answer_pk: int) -> Response:
        """Letting releases publish a version."""
        access, found = self.enter_answer()
        chosen = verbs.choose_answer(answer=found, actor=access.user)
        return Response(ReferenceAnswerSerializer(chosen).data)

    @extend_schema(request=ShortAnswersSerializer, responses=ShortAnswersSerializer)
    def write_short(self, request: Request, slug: str, pk: int) -> Response:
        """Setting the short answers, by which debates judge; an empty list takes them away."""
        access = enter(self.person(), slug, Role.ADMIN)
        query = get_query(access, pk)
        given = self.read(ShortAnswersSerializer)
        query = write_answers(query=query, actor=access.user, **given)
        return Response({"answers": query.answers})

    @extend_schema(responses=AnswerReviewSerializer(many=True))
    def reviews(self, request: Request, slug: str, pk: int, answer_pk: int) -> Response:
        """Reviewers' verdicts on a version."""
        _, found = self.enter_answer()
        rows = found.reviews.filter(stands=True).select_related("reviewer")
        return self.page(rows, AnswerReviewSerializer)

    @extend_schema(request=NewAnswerReviewSerializer, responses={201: AnswerReviewSerializer})
    def review(self, request: Request, slug: str, pk: int, answer_pk: int) -> Response:
        """Giving one's verdict on a version."""
        access, found = self.enter_answer()
        require_answer_reviewer(access, found.query)
        given = self.read(NewAnswerReviewSerializer)
        review = verbs.review_answer(answer=found, access=access, **given)
        return Response(AnswerReviewSerializer(review).data, status=201)


class Comparisons(ViewSetMixin, Route):
    """Comparisons of the benchmark, drawn and closed by admins; raters give points to pairs."""

    @extend_schema(responses=ComparisonSerializer(many=True))
    def list(self, request: Request, slug: str) -> Response:
        """Comparisons of the benchmark."""
        access = enter(self.person(), slug, *READERS)
        return self.page(comparison_rows(access), ComparisonSerializer)

    @extend_schema(request=NewComparisonSerializer, responses={201: ComparisonSerializer})
    def create(self, request: Request, slug: str) -> Response:
        """Drawing a comparison."""
        access = enter(self.person(), slug, Role.ADMIN)
        drawn = comparing.draw_comparison(access=access, **self.read(NewComparisonSerializer))
        found = comparison_rows(access).get(pk=drawn.pk)
        return Response(ComparisonSerializer(found).data, status=201)

    @extend_schema(request=None, responses=ComparisonSerializer)
    def close(self, request: Request, slug: str, pk: int) -> Response:
        """Ending the ratings of a comparison."""
        access = enter(self.person(), slug, Role.ADMIN)
        comparing.close_comparison(comparison=get_comparison(access, pk), access=access)
        return Response(ComparisonSerializer(comparison_rows(access).get(pk=pk)).data)

    @extend_schema(responses=ReportTableSerializer(many=True))
    def report(self, request: Request, slug: str, pk: int) -> Response:
        """The tables of a closed comparison."""
        access = enter(self.person(), slug, *READERS)
        return Response(as_data(report(get_closed(access, pk))))

    @extend_schema(responses=AnswerRatingSerializer(many=True))
    def ratings(self, request: Request, slug: str, pk: int) -> Response:
        """The ratings of a closed comparison."""
        found = get_closed(enter(self.person(), slug, *READERS), pk)
        return self.page(comparing.standing_ratings(found), AnswerRatingSerializer)

    @extend_schema(responses=ShownPairSerializer)
    def next_pair(self, request: Request, slug: str) -> Response:
        """The next two answers that wait for my points."""
        access = enter(self.person(), slug, Role.REVIEWER)
        pair = comparing.to_rate(access).first()
        return Response(_shown(access, pair) if pair else _NOTHING)

    @extend_schema(responses=ShownPairSerializer)
    def pair(self, request: Request, slug: str, pk: int) -> Response:
        """Two answers to give points to."""
        access = enter(self.person(), slug, Role.REVIEWER)
        return Response(_shown(access, get_object_or_404(comparing.rateable(access), pk=pk)))

    @extend_schema(request=NewAnswerRatingSerializer, responses={204: None})
    def rate(self, request: Request, slug: str, pk: int) -> Response:
        """Giving points to two answers; a second time corrects, with a reason."""
        access = enter(self.person(), slug, Role.REVIEWER)
        pair = get_object_or_404(comparing.rateable(access), pk=pk)
        comparing.rate_pair(pair=pair, access=access, **self.read(NewAnswerRatingSerializer))
        return Response(status=204)


_NOTHING: dict[str, object] = dict.fromkeys(("pair", "query", "text", "first", "second"))
_NOTHING["aspects"] = []


def _shown(access: Access, pair: AnswerPair) -> dict[str, object]:
    first, second = comparing.shown_to(pair, access.user)
    return {
        "pair": pair.pk,
        "query": str(pair.query),
        "text": pair.query.text,
        "aspects": [aspect.content for aspect, _ in material_of(pair.query).aspects],
        "first": first,
        "second": second,
    }


_ANSWERS, _DRAWN = "queries/<int:pk>/answers", "answer-comparisons"
_ONE = f"{_ANSWERS}/<int:answer_pk>"
_SHORT = "queries/<int:pk>/short-answers"
_ROUTES: tuple[tuple[str, str, type[ViewSetMixin], dict[str, Any]], ...] = (
    ("api-answers", f"{_ANSWERS}/", Answers, {"get": "list", "post": "create"}),
    ("api-answer-check", f"{_ANSWERS}/check/", Answers, {"post": "check"}),
    ("api-answer-unchoose", f"{_ANSWERS}/unchoose/", Answers, {"post": "unchoose"}),
    ("api-answer-restore", f"{_ONE}/restore/", Answers, {"post": "restore"}),
    ("api-answer-choose", f"{_ONE}/choose/", Answers, {"post": "choose"}),
    ("api-answer-reviews", f"{_ONE}/reviews/", Answers, {"get": "reviews", "post": "review"}),
    ("api-short-answers", f"{_SHORT}/", Answers, {"put": "write_short"}),
    ("api-comparisons", f"{_DRAWN}/", Comparisons, {"get": "list", "post": "create"}),
    ("api-comparison-close", f"{_DRAWN}/<int:pk>/close/", Comparisons, {"post": "close"}),
    ("api-comparison-ratings", f"{_DRAWN}/<int:pk>/ratings/", Comparisons, {"get": "ratings"}),
    ("api-answer-pair-next", "answer-pairs/next/", Comparisons, {"get": "next_pair"}),
    ("api-answer-pair", "answer-pairs/<int:pk>/", Comparisons, {"get": "pair", "post": "rate"}),
)
urlpatterns = [
    path(f"b/<slug:slug>/{route}", view.as_view(actions), name=name)
    for name, route, view, actions in _ROUTES
]
urlpatterns.append(
    path(
        f"b/<slug:slug>/{_DRAWN}/<int:pk>/report/",
        Comparisons.as_view({"get": "report"}, pagination_class=None),
        name="api-comparison-report",
    )
)
