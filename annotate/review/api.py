"""API of second reviews and of weights scored blind: the verbs of the screens."""

from collections.abc import Callable
from typing import Any

from django.http import Http404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.models import RescoreSample, Review, ReviewPoint, ReviewStatus, ReviewTurn
from annotate.review import acts, rescoring
from annotate.review import services as verbs
from annotate.review.acts import ANSWERS, get_review
from annotate.review.models import ASPECT_CHECKS, PASSAGE_CHECKS
from annotate.review.points import check_aspects
from annotate.review.rescoring import unscored
from annotate.review.rescoring_views import sample_rows
from annotate.review.services import reviews_of
from annotate.review.turns import REVIEWER, part_of
from annotate.workspace.gold import DiscardReason
from corpus.access import Access, enter, get_own_query
from corpus.models import Role
from kit.api import Route
from kit.numbers import is_number


def _note() -> serializers.CharField:
    return serializers.CharField(allow_blank=True, default="", max_length=4000)


class ReviewSerializer(serializers.ModelSerializer):
    """A review and its state; people as user names."""

    reviewer = serializers.CharField(source="reviewer.username")
    author = serializers.CharField(source="author.username", default=None, allow_null=True)
    third = serializers.CharField(source="third.username", default=None, allow_null=True)

    class Meta:
        model = Review
        fields = ["id", "query", "reviewer", "author", "third", "status", "created_at", "ended_at"]


class ReviewPointSerializer(serializers.ModelSerializer):
    """One point, its state, and what was changed for it."""

    class Meta:
        model = ReviewPoint
        fields = ["id", "kind", "key", "aspect", "passage", "status", "note", "change"]


class ReviewTurnSerializer(serializers.ModelSerializer):
    """What somebody said or did."""

    actor = serializers.CharField(source="actor.username")

    class Meta:
        model = ReviewTurn
        fields = ["id", "point", "actor", "part", "verb", "text", "data", "created_at"]


class ToScoreSerializer(serializers.Serializer):
    """An aspect as a blind scorer sees it."""

    id = serializers.IntegerField()
    k = serializers.IntegerField()
    content = serializers.CharField()
    scale = serializers.CharField()


class OneReviewSerializer(ReviewSerializer):
    """A review in full; before the blind scores only what is to be scored."""

    to_score = ToScoreSerializer(many=True)
    points = ReviewPointSerializer(many=True)
    turns = ReviewTurnSerializer(many=True)

    class Meta(ReviewSerializer.Meta):
        fields = [*ReviewSerializer.Meta.fields, "to_score", "points", "turns"]


class BlindScoresSerializer(serializers.Serializer):
    """A weight for every aspect, by the aspect's id."""

    weights = serializers.DictField(child=serializers.IntegerField(), allow_empty=False)

    def validate_weights(self, value: dict[str, int]) -> dict[int, int]:
        """Keys as numbers."""
        if not all(map(is_number, value)):
            raise serializers.ValidationError("Keys are ids of aspects.")
        return {int(key): weight for key, weight in value.items()}


class AspectsCheckSerializer(serializers.Serializer):
    """An answer to one of the questions about the aspects."""

    key = serializers.ChoiceField(list(ASPECT_CHECKS))
    fine = serializers.BooleanField()
    note = _note()


class WeightCheckSerializer(serializers.Serializer):
    """The weight that the reviewer finds right; another than the author's needs a note."""

    weight = serializers.IntegerField()
    note = _note()


class PassageCheckSerializer(serializers.Serializer):
    """Three answers; a No removes the passage, for a reason and with a note."""

    explicit = serializers.BooleanField()
    credible = serializers.BooleanField()
    relevant = serializers.BooleanField()
    reason = serializers.ChoiceField(DiscardReason.choices, default="")
    note = _note()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """The three answers as the verb takes them."""
        return {"checks": {name: attrs.pop(name) for name in PASSAGE_CHECKS}, **attrs}


class PointAnswerSerializer(serializers.Serializer):
    """The author's agree or object, the reviewer's yield, the third person's uphold or overrule."""

    do = serializers.ChoiceField(list(ANSWERS))
    text = _note()


class ReviewMoveSerializer(serializers.Serializer):
    """What goes with a move; `third` is the key of who settles, for that move."""

    text = _note()
    third = serializers.CharField(allow_blank=True, default="", max_length=19)


def _shown(access: Access, review: Review) -> dict[str, Any]:
    """The review as this person may see it now."""
    found = get_review(access, review.pk)
    is_blind = found.status == ReviewStatus.BLIND
    scores = is_blind and part_of(found, access.user) == REVIEWER
    aspects = unscored(found.query, access.user) if scores else []
    turns = found.turns.select_related("actor") if not is_blind else []
    return {
        **ReviewSerializer(found).data,
        "to_score": ToScoreSerializer(aspects, many=True).data,
        "points": ReviewPointSerializer(found.points.all(), many=True).data,
        "turns": ReviewTurnSerializer(turns, many=True).data,
    }


class Reviews(Route):
    """Reviews in which the person has a part; all of them for admins."""

    @extend_schema(responses=ReviewSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        return self.page(reviews_of(enter(self.person(), slug)), ReviewSerializer)


class ReviewStart(Route):
    """Taking a query for review."""

    @extend_schema(request=None, responses={201: OneReviewSerializer})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.REVIEWER)
        taken = verbs.start_review(query=get_own_query(access, pk), reviewer=access.user)
        return Response(_shown(access, taken), status=201)


class OneReview(Route):
    """One review, for those who have a part in it and for admins."""

    @extend_schema(responses=OneReviewSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug)
        return Response(_shown(access, get_review(access, pk)))


class ReviewRoute(Route):
    """Something done with one review; answers with the review as it is then."""

    serializer_class: type[serializers.Serializer] | None = None
    act: Callable[..., object] | None = None

    @extend_schema(responses=OneReviewSerializer)
    def post(self, request: Request, slug: str, pk: int, **about: Any) -> Response:
        assert self.serializer_class is not None  # the address names both
        assert self.act is not None
        access = enter(self.person(), slug)
        review = get_review(access, pk)
        self.act(review=review, actor=access.user, **about, **self.read(self.serializer_class))
        return Response(_shown(access, review))


class SampleSerializer(serializers.ModelSerializer):
    """A sample with how far it is."""

    drawn = serializers.IntegerField()
    done = serializers.IntegerField()

    class Meta:
        model = RescoreSample
        fields = ["id", "seed", "size", "drawn", "done", "created_at"]


class NewSampleSerializer(serializers.Serializer):
    """How many queries, and the seed that draws them again."""

    size = serializers.IntegerField(default=rescoring.SIZE)
    seed = serializers.IntegerField(default=rescoring.SEED)


class TaskSerializer(serializers.Serializer):
    """The next query to score blind; null where none waits."""

    task = serializers.IntegerField(allow_null=True)
    query = serializers.CharField(allow_null=True)
    text = serializers.CharField(allow_null=True)
    to_score = ToScoreSerializer(many=True)


class Samples(Route):
    """Samples of the benchmark, and drawing one."""

    @extend_schema(responses=SampleSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        return self.page(sample_rows(access), SampleSerializer)

    @extend_schema(request=NewSampleSerializer, responses={201: SampleSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewSampleSerializer)
        drawn = rescoring.draw_sample(benchmark=access.benchmark, actor=access.user, **given)
        return Response(SampleSerializer(sample_rows(access).get(pk=drawn.pk)).data, status=201)


class NextTask(Route):
    """The next query that waits for my blind scores."""

    @extend_schema(responses=TaskSerializer)
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.REVIEWER)
        task = rescoring.next_task(access)
        if task is None:
            return Response({"task": None, "query": None, "text": None, "to_score": []})
        aspects = ToScoreSerializer(unscored(task.query, access.user), many=True).data
        query = {"query": str(task.query), "text": task.query.text}
        return Response({"task": task.pk, **query, "to_score": aspects})


class TaskScores(Route):
    """Giving the weights of one task."""

    @extend_schema(request=BlindScoresSerializer, responses={204: None})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.REVIEWER)
        task = rescoring.waiting_tasks(access).filter(pk=pk).first()
        if task is None:
            raise Http404("This query does not wait for you.")
        given = self.read(BlindScoresSerializer)
        rescoring.score_task(task=task, actor=access.user, **given)
        return Response(status=204)


_REVIEW = "b/<slug:slug>/reviews/<int:pk>"
urlpatterns = [
    path("b/<slug:slug>/reviews/", Reviews.as_view(), name="api-reviews"),
    path("b/<slug:slug>/queries/<int:pk>/review/", ReviewStart.as_view(), name="api-review-start"),
    path(f"{_REVIEW}/", OneReview.as_view(), name="api-review"),
    path(
        f"{_REVIEW}/scores/",
        ReviewRoute.as_view(serializer_class=BlindScoresSerializer, act=verbs.score_weights),
        name="api-review-scores",
    ),
    path(
        f"{_REVIEW}/aspects/",
        ReviewRoute.as_view(serializer_class=AspectsCheckSerializer, act=check_aspects),
        name="api-review-aspects",
    ),
    path(
        f"{_REVIEW}/weights/<int:aspect_pk>/",
        ReviewRoute.as_view(serializer_class=WeightCheckSerializer, act=acts.check_weight),
        name="api-review-weight",
    ),
    path(
        f"{_REVIEW}/passages/<int:passage_pk>/",
        ReviewRoute.as_view(serializer_class=PassageCheckSerializer, act=acts.check_passage),
        name="api-review-passage",
    ),
    path(
        f"{_REVIEW}/points/<int:point_pk>/",
        ReviewRoute.as_view(serializer_class=PointAnswerSerializer, act=acts.answer),
        name="api-review-point",
    ),
    path(
        f"{_REVIEW}/move/<slug:verb>/",
        ReviewRoute.as_view(serializer_class=ReviewMoveSerializer, act=acts.move),
        name="api-review-move",
    ),
    path("b/<slug:slug>/rescoring/", NextTask.as_view(), name="api-rescoring"),
    path("b/<slug:slug>/rescoring/samples/", Samples.as_view(), name="api-rescore-samples"),
    path("b/<slug:slug>/rescoring/<int:pk>/", TaskScores.as_view(), name="api-rescoring-scores"),
]
