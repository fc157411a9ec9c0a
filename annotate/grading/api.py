"""API of judging blind: answers, and what sentences cite."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from annotate.grading import sentences
from annotate.grading import services as verbs
from annotate.grading.models import FULL
from annotate.models import GradedAnswer, GradingSample, SentenceItem
from corpus.access import Access, enter
from corpus.models import Role
from kit.api import Route


class GradingSampleSerializer(serializers.ModelSerializer):
    """What people judge; `judged` of it have a verdict, `given` counts verdicts."""

    drawn = serializers.IntegerField()
    judged = serializers.IntegerField()
    given = serializers.IntegerField()

    class Meta:
        model = GradingSample
        fields = [
            *("id", "seed", "size", "people", "drawn", "judged", "given"),
            *("created_at", "closed_at"),
        ]


class NewGradingSampleSerializer(serializers.Serializer):
    """How much is drawn, and how many people judge each."""

    size = serializers.IntegerField(required=False, default=verbs.SIZE)
    seed = serializers.IntegerField(required=False, default=verbs.SEED)
    people = serializers.IntegerField(required=False, default=verbs.PEOPLE)


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

    Where there are `truths` it is right or wrong, or covers a part of the only one, as `scale` says
    (true, covered): `right` or `covered` (0 to 100) is what I said before, and is sent to `right/`
    or `covered/`.
    `shown` marks the aspects as they are here, and goes back with the scores.
    """

    answer = serializers.IntegerField(allow_null=True)
    query = serializers.CharField(allow_null=True)
    question = serializers.CharField(allow_null=True)
    aspects = ShownAspectSerializer(many=True)
    truths = serializers.ListField(child=serializers.CharField())
    shown = serializers.CharField(allow_null=True)
    reference = serializers.CharField(allow_null=True, allow_blank=True)
    text = serializers.CharField(allow_null=True)
    given = OwnGradeSerializer(allow_null=True)
    scale = serializers.CharField(allow_null=True)
    right = serializers.BooleanField(allow_null=True)
    covered = serializers.FloatField(allow_null=True)


class SaidSerializer(serializers.Serializer):
    """What goes with every judgment: a note, and why it corrects another."""

    note = serializers.CharField(max_length=4000, required=False, allow_blank=True, default="")
    reason = serializers.CharField(max_length=2000, required=False, allow_blank=True, default="")


class NewGradeSerializer(SaidSerializer):
    """A score (0, .5 or 1) for every aspect by its id, and 1 to 5 points for quality.

    `shown` as it was read with the answer: if an aspect was changed since, nothing is kept (409).
    """

    scores = serializers.DictField(child=serializers.FloatField())
    quality = serializers.IntegerField(min_value=1, max_value=5)
    shown = serializers.CharField(max_length=10_000)


class RightSerializer(SaidSerializer):
    """Whether an answer says one of the true ones; a correction has a reason."""

    right = serializers.BooleanField()


class CoveredSerializer(SaidSerializer):
    """How much of the reference an answer covers: 0, 10, 20 and so on up to 100."""

    covered = serializers.IntegerField(min_value=0, max_value=100)


class MachineVerdictSerializer(serializers.Serializer):
    """What a machine said: 2 fully, 1 partly, 0 not supported, by words [start, end)."""

    verdict = serializers.IntegerField()
    span = serializers.ListField(child=serializers.IntegerField(), allow_null=True)


class ShownSentenceSerializer(serializers.Serializer):
    """A sentence beside a passage that it cites; all null where none waits for me.

    `stage` is first, then final; shown where machines' verdicts stand there from the start; given
    once there is nothing but to correct. `machines` are empty at first.
    """

    sentence = serializers.IntegerField(allow_null=True)
    query = serializers.CharField(allow_null=True)
    question = serializers.CharField(allow_null=True)
    text = serializers.CharField(allow_null=True)
    answer = serializers.CharField(allow_null=True)
    passage = serializers.CharField(allow_null=True)
    stage = serializers.CharField(allow_null=True)
    verdict = serializers.IntegerField(allow_null=True)
    machines = MachineVerdictSerializer(many=True)


class NewSentenceVerdictSerializer(serializers.Serializer):
    """2 fully (with its words), 1 partly, 0 not; a correction has a reason.

    `expected` is the stage that was read; where it is another one now, nothing is kept.
    """

    verdict = serializers.IntegerField(min_value=0, max_value=FULL)
    span = serializers.ListField(
        child=serializers.IntegerField(min_value=0), min_length=2, max_length=2,
        required=False, allow_null=True, default=None,
    )  # fmt: skip
    reason = serializers.CharField(max_length=2000, required=False, allow_blank=True, default="")
    expected = serializers.CharField(max_length=8, required=False, allow_blank=True, default="")


class Grading(ViewSetMixin, Route):
    """Answers that wait for an expert's scores."""

    def enter(self) -> Access:
        """The benchmark, for who judges."""
        return enter(self.person(), self.kwargs["slug"], Role.ANNOTATOR)

    @extend_schema(responses=ShownAnswerSerializer)
    def next_answer(self, request: Request, slug: str) -> Response:
        """The next answer that waits for my scores."""
        access = self.enter()
        return Response(_shown(access, verbs.next_answer(access)))

    @extend_schema(responses=ShownAnswerSerializer)
    def answer(self, request: Request, slug: str, pk: int) -> Response:
        """An answer to score."""
        access = self.enter()
        return Response(_shown(access, get_object_or_404(verbs.gradable(access), pk=pk)))

    @extend_schema(request=NewGradeSerializer, responses={204: None})
    def grade(self, request: Request, slug: str, pk: int) -> Response:
        """Scoring an answer; a second time corrects, with a reason."""
        return self._grade(pk, NewGradeSerializer)

    @extend_schema(request=RightSerializer, responses={204: None})
    def say_right(self, request: Request, slug: str, pk: int) -> Response:
        """Saying whether an answer is right, beside the true ones."""
        return self._grade(pk, RightSerializer, right="true")

    @extend_schema(request=CoveredSerializer, responses={204: None})
    def say_covered(self, request: Request, slug: str, pk: int) -> Response:
        """Saying how much of the reference an answer covers."""
        return self._grade(pk, CoveredSerializer, covered="covered")

    def _grade(self, pk: int, form: type[serializers.Serializer], **alone: str) -> Response:
        """Store scores, or the one of a field, under its name."""
        access = self.enter()
        found = get_object_or_404(verbs.gradable(access), pk=pk)
        given = self.read(form)
        for field, name in alone.items():
            given["scores"] = {name: float(given.pop(field))}
        verbs.grade_answer(answer=found, access=access, **given)
        return Response(status=204)

    @extend_schema(responses=ShownSentenceSerializer)
    def next_sentence(self, request: Request, slug: str) -> Response:
        """The next sentence that waits for my verdict."""
        access = self.enter()
        return Response(_sentence(access, sentences.next_sentence(access)))

    @extend_schema(responses=ShownSentenceSerializer)
    def sentence(self, request: Request, slug: str, pk: int) -> Response:
        """A sentence to judge."""
        access = self.enter()
        return Response(_sentence(access, get_object_or_404(sentences.judgeable(access), pk=pk)))

    @extend_schema(request=NewSentenceVerdictSerializer, responses=ShownSentenceSerializer)
    def judge(self, request: Request, slug: str, pk: int) -> Response:
        """Judging a sentence; after the first verdict I am shown the machines'."""
        access = self.enter()
        item = get_object_or_404(sentences.judgeable(access), pk=pk)
        given = self.read(NewSentenceVerdictSerializer)
        span = tuple(given.pop("span") or ()) or None
        sentences.judge_sentence(item=item, access=access, span=span, **given)
        return Response(_sentence(access, item))


def _nothing(of: type[serializers.Serializer], *lists: str) -> dict[str, Any]:
    return {name: [] if name in lists else None for name in of().get_fields()}


def _sentence(access: Access, item: SentenceItem | None) -> dict[str, Any]:
    if item is None:
        return _nothing(ShownSentenceSerializer, "machines")
    mine = sentences.open_sentence(item=item, access=access)
    stage = sentences.stage_of(item, mine)
    return {
        "sentence": item.pk,
        "query": str(item.query),
        "question": item.query.text,
        "text": item.text,
        "answer": item.context,
        "passage": item.passage.text,
        "stage": stage,
        "verdict": mine and mine.verdict,
        "machines": [] if stage == sentences.FIRST else item.machines,
    }


def _shown(access: Access, answer: GradedAnswer | None) -> dict[str, Any]:
    if answer is None:
        return _nothing(ShownAnswerSerializer, "aspects", "truths")
    given, aspects = verbs.own_grade(answer, access), verbs.aspects_of(answer)
    scale, name = answer.scale, answer.scale and answer.scale.name
    scored = None if scale else given
    said = given.scores[name] if given and scale else None
    return {
        "answer": answer.pk,
        "query": str(answer.query),
        "question": answer.query.text,
        "aspects": [{"id": f"a{e.k}", "content": e.content} for e in aspects],
        "truths": answer.truths,
        "shown": verbs.shown_of(answer, aspects),
        "reference": "" if scale else verbs.reference_of(answer),
        "text": answer.text,
        "given": scored and {name: getattr(scored, name) for name in ("scores", "quality", "note")},
        "scale": name,
        "right": said == 1 if name == "true" and said is not None else None,
        "covered": said if name == "covered" else None,
    }


_HERE, _to = "b/<slug:slug>/answers-to-grade", Grading.as_view
_SENTENCES = "b/<slug:slug>/sentences-to-judge"
urlpatterns = [
    path(f"{_HERE}/next/", _to({"get": "next_answer"}), name="api-answer-grade-next"),
    path(f"{_HERE}/<int:pk>/", _to({"get": "answer", "post": "grade"}), name="api-answer-grade"),
    path(f"{_HERE}/<int:pk>/right/", _to({"post": "say_right"}), name="api-answer-grade-right"),
    path(
        f"{_HERE}/<int:pk>/covered/", _to({"post": "say_covered"}), name="api-answer-grade-covered"
    ),
    path(f"{_SENTENCES}/next/", _to({"get": "next_sentence"}), name="api-sentence-next"),
    path(f"{_SENTENCES}/<int:pk>/", _to({"get": "sentence", "post": "judge"}), name="api-sentence"),
]
