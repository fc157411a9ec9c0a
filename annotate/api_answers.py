"""API of reference answers: writing, checking, restoring, choosing and reviewing them."""

from django.core.exceptions import PermissionDenied
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.serializers_answers import (
    AnswerChecksSerializer,
    AnswerReviewSerializer,
    AnswerTextSerializer,
    AnswerVersionSerializer,
    NewAnswerReviewSerializer,
    NewAnswerSerializer,
    ReferenceAnswerSerializer,
)
from annotate.services import reference_answers as verbs
from annotate.services.answer_choice import choose_answer, unchoose_answer
from annotate.services.answer_evidence import check, material_of
from annotate.services.answer_reviews import review_answer
from annotate.services.answer_rights import (
    HIDDEN,
    answers_are_hidden,
    require_answer_reviewer,
    require_writer,
)
from annotate.views.answer_editor import get_answer, visible
from corpus.access import Access, enter, get_query
from corpus.models import Query
from kit.api import Route


class QueryAnswers(Route):
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
        key = given.pop("base")
        base = get_answer(access, query, key) if key else None
        expected = given.pop("version")
        written = verbs.write_answer(
            query=query, actor=access.user, expected=expected, base=base, **given
        )
        return Response(ReferenceAnswerSerializer(written).data, status=201)

    def enter(self, slug: str, pk: int) -> tuple[Access, Query]:
        """The query with the person's access."""
        access = enter(self.person(), slug)
        return access, get_query(access, pk)


class AnswerCheck(Route):
    """The checks of a text against the gold of a query."""

    @extend_schema(request=AnswerTextSerializer, responses=AnswerChecksSerializer)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        query = get_query(enter(self.person(), slug), pk)
        text = self.read(AnswerTextSerializer)["text"]
        return Response(AnswerChecksSerializer(check(material_of(query), text)).data)


class AnswerRestore(Route):
    """Letting an earlier version stand again."""

    @extend_schema(request=AnswerVersionSerializer, responses={201: ReferenceAnswerSerializer})
    def post(self, request: Request, slug: str, pk: int, answer_pk: int) -> Response:
        access = enter(self.person(), slug)
        found = get_answer(access, get_query(access, pk), answer_pk)
        require_writer(access, found.query)
        expected = self.read(AnswerVersionSerializer)["version"]
        again = verbs.restore_answer(answer=found, actor=access.user, expected=expected)
        return Response(ReferenceAnswerSerializer(again).data, status=201)


class AnswerChoose(Route):
    """Letting releases publish a version."""

    @extend_schema(request=None, responses=ReferenceAnswerSerializer)
    def post(self, request: Request, slug: str, pk: int, answer_pk: int) -> Response:
        access = enter(self.person(), slug)
        found = get_answer(access, get_query(access, pk), answer_pk)
        chosen = choose_answer(answer=found, actor=access.user)
        return Response(ReferenceAnswerSerializer(chosen).data)


class AnswerUnchoose(Route):
    """Publishing nothing that was written here."""

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug)
        unchoose_answer(query=get_query(access, pk), actor=access.user)
        return Response(status=204)


class AnswerReviews(Route):
    """Reviewers' words on a version, and giving one's own."""

    @extend_schema(responses=AnswerReviewSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int, answer_pk: int) -> Response:
        access = enter(self.person(), slug)
        found = get_answer(access, get_query(access, pk), answer_pk)
        rows = found.reviews.filter(stands=True).select_related("reviewer")
        return self.page(rows, AnswerReviewSerializer)

    @extend_schema(request=NewAnswerReviewSerializer, responses={201: AnswerReviewSerializer})
    def post(self, request: Request, slug: str, pk: int, answer_pk: int) -> Response:
        access = enter(self.person(), slug)
        found = get_answer(access, get_query(access, pk), answer_pk)
        require_answer_reviewer(access, found.query)
        given = review_answer(answer=found, access=access, **self.read(NewAnswerReviewSerializer))
        return Response(AnswerReviewSerializer(given).data, status=201)


_ANSWER = "b/<slug:slug>/queries/<int:pk>/answers"
_ONE = f"{_ANSWER}/<int:answer_pk>"
urlpatterns = [
    path(f"{_ANSWER}/", QueryAnswers.as_view(), name="api-answers"),
    path(f"{_ANSWER}/check/", AnswerCheck.as_view(), name="api-answer-check"),
    path(f"{_ANSWER}/unchoose/", AnswerUnchoose.as_view(), name="api-answer-unchoose"),
    path(f"{_ONE}/restore/", AnswerRestore.as_view(), name="api-answer-restore"),
    path(f"{_ONE}/choose/", AnswerChoose.as_view(), name="api-answer-choose"),
    path(f"{_ONE}/reviews/", AnswerReviews.as_view(), name="api-answer-reviews"),
]
