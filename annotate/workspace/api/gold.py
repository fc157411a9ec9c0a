"""API of gold passages: verdicts, audit of the original gold, and search."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.answers.inheritance import lost_work
from annotate.api import QueryRoutes
from annotate.loaders import enter_query, get_domain_passage
from annotate.models import GoldPassage, Problem, ProblemTag
from annotate.workspace.gold import DiscardReason, assign_passage, discard_passage
from annotate.workspace.problems import (
    audited,
    count_problems,
    count_verdicts,
    tag_problem,
    untag_problem,
)
from annotate.workspace.remaking import proposal, remake, undo_with_sources
from annotate.workspace.views.board import read_board
from annotate.workspace.views.gold import Result, find
from corpus.access import enter
from corpus.versions.views import READERS, get_version
from kit.api import KeyField, Route


class GoldPassageSerializer(serializers.ModelSerializer):
    """A passage with the aspect it supports."""

    passage_id = serializers.CharField(source="passage.pid")
    aspect_id = serializers.CharField(source="aspect.aspect_id")

    class Meta:
        model = GoldPassage
        fields = ["id", "passage", "passage_id", "aspect", "aspect_id"]


class AssignSerializer(serializers.Serializer):
    """The aspect a passage supports."""

    aspect = serializers.IntegerField()


class DiscardSerializer(serializers.Serializer):
    """Why a passage is no gold."""

    reason = serializers.ChoiceField(DiscardReason.choices)
    note = serializers.CharField(allow_blank=True, default="")


class RemakeSerializer(serializers.Serializer):
    """Passages of one page that become one under an aspect; a slice or a text where trimmed."""

    passages = serializers.ListField(child=KeyField(), min_length=1, max_length=50)
    aspect = serializers.IntegerField()
    start = serializers.IntegerField(min_value=0, allow_null=True, default=None)
    end = serializers.IntegerField(min_value=1, allow_null=True, default=None)
    text = serializers.CharField(
        max_length=200_000, allow_null=True, allow_blank=True, default=None, trim_whitespace=False
    )


class OfferSerializer(serializers.Serializer):
    """Passages that touch or overlap on one page, offered for merging."""

    passages = serializers.ListField(child=serializers.IntegerField())
    passage_ids = serializers.ListField(child=serializers.CharField())
    text = serializers.CharField()


class ProblemTagSerializer(serializers.ModelSerializer):
    """A problem of a query's old gold; passage null: of all of it."""

    class Meta:
        model = ProblemTag
        fields = ["id", "passage", "problem", "note", "created_at"]


class NewProblemTagSerializer(serializers.Serializer):
    """A problem to tag, or to take off."""

    problem = serializers.ChoiceField(Problem.choices)
    passage = serializers.IntegerField(allow_null=True, default=None)
    note = serializers.CharField(allow_blank=True, default="", max_length=4000)


class AuditCountsSerializer(serializers.Serializer):
    """How many originals have each verdict, and each problem."""

    verdicts: Any = serializers.DictField(child=serializers.IntegerField())
    problems: Any = serializers.DictField(child=serializers.IntegerField())


class Gold(QueryRoutes):
    """Gold passages of a query, and what is wrong with its old gold."""

    @extend_schema(responses=GoldPassageSerializer(many=True))
    def index(self, request: Request, slug: str, pk: int) -> Response:
        """Passages that stand under the query's aspects."""
        rows = GoldPassage.objects.standing().filter(query=self.query)
        rows = rows.select_related("passage", "aspect__query__domain")
        return self.page(rows, GoldPassageSerializer)

    @extend_schema(request=AssignSerializer, responses=GoldPassageSerializer)
    def assign(self, request: Request, slug: str, pk: int, passage_pk: int) -> Response:
        """Letting a passage support an aspect."""
        pair = self.pair(passage_pk)
        chosen = self.read(AssignSerializer)["aspect"]
        aspect = get_object_or_404(self.query.aspects, pk=chosen)
        return Response(GoldPassageSerializer(assign_passage(**pair, aspect=aspect)).data)

    @extend_schema(request=DiscardSerializer, responses={204: None})
    def discard(self, request: Request, slug: str, pk: int, passage_pk: int) -> Response:
        """Saying that a passage is no gold, and why."""
        discard_passage(**self.pair(passage_pk), **self.read(DiscardSerializer))
        return Response(status=204)

    @extend_schema(request=None, responses={204: None})
    def undo(self, request: Request, slug: str, pk: int, passage_pk: int) -> Response:
        """Taking a verdict on a passage back."""
        undo_with_sources(**self.pair(passage_pk))
        return Response(status=204)

    def pair(self, passage_pk: int | None) -> dict[str, Any]:
        """What every verb on one passage takes; without a key it is the gold as a whole."""
        passage = None if passage_pk is None else get_domain_passage(self.query, passage_pk)
        return {"query": self.query, "passage": passage, "actor": self.access.user}

    @extend_schema(responses=ProblemTagSerializer(many=True))
    def problems(self, request: Request, slug: str, pk: int) -> Response:
        """The problems of a query's old gold."""
        rows = ProblemTag.objects.standing().filter(query=self.query)
        return self.page(rows, ProblemTagSerializer)

    @extend_schema(request=NewProblemTagSerializer, responses={201: ProblemTagSerializer})
    def tag(self, request: Request, slug: str, pk: int) -> Response:
        """Tagging a problem of a query's old gold."""
        given = self.read(NewProblemTagSerializer)
        tag = tag_problem(**self.pair(given.pop("passage")), **given)
        return Response(ProblemTagSerializer(tag).data, status=201)

    @extend_schema(responses={204: None})
    def untag(self, request: Request, slug: str, pk: int, tag_pk: int) -> Response:
        """Taking a tag off."""
        rows = ProblemTag.objects.standing().filter(query=self.query)
        tag = get_object_or_404(rows.select_related("passage"), pk=tag_pk)
        untag_problem(
            query=self.query, passage=tag.passage, problem=tag.problem, actor=self.access.user
        )
        return Response(status=204)

    @extend_schema(responses=OfferSerializer(many=True))
    def offers(self, request: Request, slug: str, pk: int) -> Response:
        """Passages that touch on one page."""
        rows = {row.passage.pk: row for row in read_board(self.query).rows}
        runs = {
            tuple(sorted([pk, *(each.pk for each in row.touches)]))
            for pk, row in rows.items()
            if row.touches
        }
        offers = [
            {
                "passages": run,
                "passage_ids": [rows[pk].passage.pid for pk in run],
                "text": proposal([rows[pk].passage for pk in run])[-1],
            }
            for run in sorted(runs)
        ]
        return Response(OfferSerializer(offers, many=True).data)

    @extend_schema(request=RemakeSerializer, responses={201: GoldPassageSerializer})
    def remake(self, request: Request, slug: str, pk: int) -> Response:
        """Making one passage of passages that touch on one page (or of one, trimmed)."""
        given = self.read(RemakeSerializer)
        keys, aspect = dict.fromkeys(given.pop("passages")), given.pop("aspect")
        given["text"] = given["text"] or None
        gold = remake(
            query=self.query,
            passages=[get_domain_passage(self.query, key) for key in keys],
            aspect=get_object_or_404(self.query.aspects.filter(removed_at=None), pk=aspect),
            actor=self.access.user,
            **given,
        )
        return Response(GoldPassageSerializer(gold).data, status=201)


class Audit(Route):
    """How many originals have which verdict and problem."""

    @extend_schema(responses=AuditCountsSerializer)
    def get(self, request: Request, slug: str) -> Response:
        rows = audited(enter(self.person(), slug).benchmark)
        return Response({"verdicts": count_verdicts(rows), "problems": count_problems(rows)})


class FoundSerializer(serializers.Serializer):
    """A passage of the query's domain with its BM25 score and the words it holds."""

    passage = serializers.IntegerField(source="hit.passage.pk")
    passage_id = serializers.CharField(source="hit.passage.pid")
    score = serializers.FloatField(source="hit.score")
    words = serializers.SerializerMethodField()
    text = serializers.CharField(source="hit.passage.text")
    aspect = serializers.SerializerMethodField()
    is_discarded = serializers.SerializerMethodField()

    def get_words(self, found: Result) -> list[str]:
        """In alphabetical order."""
        return sorted(found.hit.words)

    def get_aspect(self, found: Result) -> str | None:
        """The aspect that it supports already."""
        return found.row.aspect.aspect_id if found.row and found.row.aspect else None

    def get_is_discarded(self, found: Result) -> bool:
        """Whether an expert said that it is no gold."""
        return bool(found.row and found.row.is_discarded)


class PassageSearch(Route):
    """The ten passages that score best for a text, such as an aspect's."""

    pagination_class = None

    @extend_schema(
        parameters=[OpenApiParameter("text", str, required=True, description="What to find.")],
        responses=FoundSerializer(many=True),
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access, query = enter_query(self.person(), slug, pk)
        text = request.query_params.get("text", "")[:10_000].replace("\x00", " ")
        return Response(FoundSerializer(find(access, query, text), many=True).data)


class LostCitationSerializer(serializers.Serializer):
    """Words in brackets of a published answer that cite no passage of the version."""

    query = serializers.IntegerField(source="query.pk")
    cited = serializers.CharField()
    why = serializers.CharField()


class LostSupportSerializer(serializers.Serializer):
    """A gold passage of an aspect that no passage of the version inherits."""

    aspect = serializers.IntegerField(source="aspect.pk")
    query = serializers.IntegerField(source="aspect.query_id")
    passage = serializers.IntegerField(source="passage.pk")


class LostWorkSerializer(serializers.Serializer):
    """What people did that a version does not inherit."""

    citations = LostCitationSerializer(many=True)
    support = LostSupportSerializer(many=True)


class VersionWork(Route):
    """Citations of answers, and gold passages of aspects, that a version does not inherit."""

    @extend_schema(responses=LostWorkSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        version = get_version(enter(self.person(), slug, *READERS), pk)
        citations, support = lost_work(version)
        found = {"citations": citations, "support": support}
        return Response(LostWorkSerializer(found).data)


_QUERY = "b/<slug:slug>/queries/<int:pk>"
_PASSAGE = f"{_QUERY}/passages/<int:passage_pk>"
_PROBLEM = f"{_QUERY}/problems/<int:tag_pk>"
_PROBLEMS: dict[str, Any] = {"get": "problems", "post": "tag"}
_remake = Gold.as_view({"get": "offers", "post": "remake"}, pagination_class=None)
urlpatterns = [
    path(f"{_QUERY}/gold-passages/", Gold.as_view({"get": "index"}), name="api-gold-passages"),
    path(f"{_PASSAGE}/assign/", Gold.as_view({"post": "assign"}), name="api-passage-assign"),
    path(f"{_PASSAGE}/discard/", Gold.as_view({"post": "discard"}), name="api-passage-discard"),
    path(f"{_PASSAGE}/undo/", Gold.as_view({"post": "undo"}), name="api-passage-undo"),
    path("b/<slug:slug>/audit/", Audit.as_view(), name="api-audit"),
    path(f"{_QUERY}/problems/", Gold.as_view(_PROBLEMS), name="api-query-problems"),
    path(f"{_PROBLEM}/", Gold.as_view({"delete": "untag"}), name="api-query-problem"),
    path(f"{_QUERY}/remake/", _remake, name="api-query-remake"),
    path(f"{_QUERY}/beside/", PassageSearch.as_view(), name="api-query-beside"),
    path("b/<slug:slug>/versions/<int:pk>/work/", VersionWork.as_view(), name="api-version-work"),
]
