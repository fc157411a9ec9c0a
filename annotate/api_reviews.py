"""API of second reviews: the verbs of the screens."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.models import Review, ReviewStatus
from annotate.models.reviews import PASSAGE_CHECKS
from annotate.serializers_reviews import (
    AspectsCheckSerializer,
    BlindScoresSerializer,
    OneReviewSerializer,
    PassageCheckSerializer,
    PointAnswerSerializer,
    ReviewMoveSerializer,
    ReviewPointSerializer,
    ReviewSerializer,
    ReviewTurnSerializer,
    ToScoreSerializer,
    WeightCheckSerializer,
)
from annotate.services import review_points as points
from annotate.services import reviews as verbs
from annotate.services.blind import unscored
from annotate.services.review_lists import reviews_of
from annotate.services.review_turns import REVIEWER, part_of
from annotate.views.loaders import get_domain_passage
from annotate.views.review_moves import MOVES, answer, get_review, go
from corpus.access import Access, enter, get_own_query
from corpus.models import Role
from kit.api import Route


class ReviewRoute(Route):
    """A route about one review."""

    def opened(self, slug: str, pk: int) -> tuple[Access, Review]:
        """The review, for those who have a part in it and for admins."""
        access = enter(self.person(), slug)
        return access, get_review(access, pk)

    def shown(self, access: Access, review: Review) -> Response:
        """The review as this person may see it now."""
        found = get_review(access, review.pk)
        is_blind = found.status == ReviewStatus.BLIND
        scores = is_blind and part_of(found, access.user) == REVIEWER
        data: dict[str, Any] = dict(ReviewSerializer(found).data)
        data["to_score"] = ToScoreSerializer(
            unscored(found.query, access.user) if scores else [], many=True
        ).data
        data["points"] = ReviewPointSerializer(found.points.all(), many=True).data
        turns = found.turns.select_related("actor") if not is_blind else []
        data["turns"] = ReviewTurnSerializer(turns, many=True).data
        return Response(data)


class Reviews(Route):
    """Reviews in which the person has a part; all of them for admins."""

    @extend_schema(responses=ReviewSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        return self.page(reviews_of(enter(self.person(), slug)), ReviewSerializer)


class ReviewStart(ReviewRoute):
    """Taking a query for review."""

    @extend_schema(request=None, responses={201: OneReviewSerializer})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.REVIEWER)
        taken = verbs.start_review(query=get_own_query(access, pk), reviewer=access.user)
        answer = self.shown(access, taken)
        answer.status_code = 201
        return answer


class OneReview(ReviewRoute):
    """One review."""

    @extend_schema(responses=OneReviewSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        return self.shown(*self.opened(slug, pk))


class ReviewScores(ReviewRoute):
    """Giving the blind weights, all at once."""

    @extend_schema(request=BlindScoresSerializer, responses=OneReviewSerializer)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, review = self.opened(slug, pk)
        given = self.read(BlindScoresSerializer)
        verbs.score_weights(review=review, actor=access.user, **given)
        return self.shown(access, review)


class ReviewAspects(ReviewRoute):
    """Answering a question about the aspects."""

    @extend_schema(request=AspectsCheckSerializer, responses=OneReviewSerializer)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, review = self.opened(slug, pk)
        given = self.read(AspectsCheckSerializer)
        points.check_aspects(review=review, actor=access.user, **given)
        return self.shown(access, review)


class ReviewWeight(ReviewRoute):
    """Keeping or changing a weight."""

    @extend_schema(request=WeightCheckSerializer, responses=OneReviewSerializer)
    def post(self, request: Request, slug: str, pk: int, aspect_pk: int) -> Response:
        access, review = self.opened(slug, pk)
        given = self.read(WeightCheckSerializer)
        aspect = get_object_or_404(review.query.aspects, pk=aspect_pk)
        points.check_weight(review=review, actor=access.user, aspect=aspect, **given)
        return self.shown(access, review)


class ReviewPassage(ReviewRoute):
    """Keeping or removing a passage."""

    @extend_schema(request=PassageCheckSerializer, responses=OneReviewSerializer)
    def post(self, request: Request, slug: str, pk: int, passage_pk: int) -> Response:
        access, review = self.opened(slug, pk)
        given = self.read(PassageCheckSerializer)
        checks = {name: given.pop(name) for name in PASSAGE_CHECKS}
        passage = get_domain_passage(review.query, passage_pk)
        points.check_passage(
            review=review, actor=access.user, passage=passage, checks=checks, **given
        )
        return self.shown(access, review)


class ReviewAnswer(ReviewRoute):
    """Answering one point."""

    @extend_schema(request=PointAnswerSerializer, responses=OneReviewSerializer)
    def post(self, request: Request, slug: str, pk: int, point_pk: int) -> Response:
        access, review = self.opened(slug, pk)
        given = self.read(PointAnswerSerializer)
        answer(access, review, point_pk, given["do"], given["text"])
        return self.shown(access, review)


class ReviewMove(ReviewRoute):
    """ask, answer, third, accept or drop."""

    @extend_schema(request=ReviewMoveSerializer, responses=OneReviewSerializer)
    def post(self, request: Request, slug: str, pk: int, verb: str) -> Response:
        access, review = self.opened(slug, pk)
        given = self.read(ReviewMoveSerializer)
        if verb not in MOVES:
            raise PermissionDenied("There is no such move.")
        go(access, review, verb, **given)
        return self.shown(access, review)


_REVIEW = "b/<slug:slug>/reviews/<int:pk>"
urlpatterns = [
    path("b/<slug:slug>/reviews/", Reviews.as_view(), name="api-reviews"),
    path("b/<slug:slug>/queries/<int:pk>/review/", ReviewStart.as_view(), name="api-review-start"),
    path(f"{_REVIEW}/", OneReview.as_view(), name="api-review"),
    path(f"{_REVIEW}/scores/", ReviewScores.as_view(), name="api-review-scores"),
    path(f"{_REVIEW}/aspects/", ReviewAspects.as_view(), name="api-review-aspects"),
    path(f"{_REVIEW}/weights/<int:aspect_pk>/", ReviewWeight.as_view(), name="api-review-weight"),
    path(
        f"{_REVIEW}/passages/<int:passage_pk>/", ReviewPassage.as_view(), name="api-review-passage"
    ),
    path(f"{_REVIEW}/points/<int:point_pk>/", ReviewAnswer.as_view(), name="api-review-point"),
    path(f"{_REVIEW}/move/<slug:verb>/", ReviewMove.as_view(), name="api-review-move"),
]
