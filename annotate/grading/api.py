"""API of scoring answers blind."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from annotate.grading import services as verbs
from annotate.models import GradedAnswer
from corpus.access import Access, enter
from corpus.models import Role
from kit.api import Route


class ShownAspectSerializer(serializers.Serializer):
    """One point that a full answer covers."""

    id = serializers.CharField()
    content = serializers.CharField(allow_blank=True)


class OwnGradeSerializer(serializers.Serializer):
    """What I said of the answer before."""

    scores = serializers.DictField(child=serializers.FloatField())
    quality = serializers.IntegerField()
    note = serializers.CharField(allow_blank=True)


class ShownAnswerSerializer(serializers.Serializer):
    """An answer to score, and what it is scored by; all null where none waits for me.

    `shown` marks the aspects as they are here, and goes back with the scores.
    """

    answer = serializers.IntegerField(allow_null=True)
    query = serializers.CharField(allow_null=True)
    question = serializers.CharField(allow_null=True)
    aspects = ShownAspectSerializer(many=True)
    shown = serializers.CharField(allow_null=True)
    reference = serializers.CharField(allow_null=True, allow_blank=True)
    text = serializers.CharField(allow_null=True)
    given = OwnGradeSerializer(allow_null=True)


class NewGradeSerializer(serializers.Serializer):
    """A score (0, .5 or 1) for every aspect by its id, and 1 to 5 points for quality.

    `shown` as it was read with the answer: if an aspect was changed since, nothing is kept (409).
    """

    scores = serializers.DictField(child=serializers.FloatField())
    quality = serializers.IntegerField(min_value=1, max_value=5)
    shown = serializers.CharField(max_length=10_000)
    note = serializers.CharField(max_length=4000, required=False, allow_blank=True, default="")
    reason = serializers.CharField(max_length=2000, required=False, allow_blank=True, default="")


class Grading(ViewSetMixin, Route):
    """Answers that wait for an expert's scores."""

    @extend_schema(responses=ShownAnswerSerializer)
    def next_answer(self, request: Request, slug: str) -> Response:
        """The next answer that waits for my scores."""
        access = enter(self.person(), slug, Role.ANNOTATOR)
        return Response(_shown(access, verbs.next_answer(access)))

    @extend_schema(responses=ShownAnswerSerializer)
    def answer(self, request: Request, slug: str, pk: int) -> Response:
        """An answer to score."""
        access = enter(self.person(), slug, Role.ANNOTATOR)
        return Response(_shown(access, get_object_or_404(verbs.gradable(access), pk=pk)))

    @extend_schema(request=NewGradeSerializer, responses={204: None})
    def grade(self, request: Request, slug: str, pk: int) -> Response:
        """Scoring an answer; a second time corrects, with a reason."""
        access = enter(self.person(), slug, Role.ANNOTATOR)
        found = get_object_or_404(verbs.gradable(access), pk=pk)
        verbs.grade_answer(answer=found, access=access, **self.read(NewGradeSerializer))
        return Response(status=204)


def _shown(access: Access, answer: GradedAnswer | None) -> dict[str, Any]:
    names = ("answer", "query", "question", "shown", "reference", "text", "given")
    found: dict[str, Any] = dict.fromkeys(names) | {"aspects": []}
    if answer is None:
        return found
    given, aspects = verbs.own_grade(answer, access), verbs.aspects_of(answer)
    return {
        "answer": answer.pk,
        "query": str(answer.query),
        "question": answer.query.text,
        "aspects": [{"id": f"a{e.k}", "content": e.content} for e in aspects],
        "shown": verbs.shown_of(answer, aspects),
        "reference": verbs.reference_of(answer),
        "text": answer.text,
        "given": given and {"scores": given.scores, "quality": given.quality, "note": given.note},
    }


_HERE, _to = "b/<slug:slug>/answers-to-grade", Grading.as_view
urlpatterns = [
    path(f"{_HERE}/next/", _to({"get": "next_answer"}), name="api-answer-grade-next"),
    path(f"{_HERE}/<int:pk>/", _to({"get": "answer", "post": "grade"}), name="api-answer-grade"),
]
