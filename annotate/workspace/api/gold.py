"""API of gold passages: verdicts, audit of the original gold, search, and lists of cases."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.loaders import enter_passage, enter_query, get_domain_passage
from annotate.models import EscalationCase, GoldPassage, Problem, ProblemTag
from annotate.workspace import gold as gold_verbs
from annotate.workspace import problems, remaking
from annotate.workspace.carrying import lost_work
from annotate.workspace.gold import DiscardReason
from annotate.workspace.views.board import read_board
from annotate.workspace.views.search import Result, find
from corpus.access import enter, get_query
from corpus.models import Role
from corpus.versions.views import READERS, get_version
from kit.api import Route


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

    passages = serializers.ListField(child=serializers.IntegerField(), min_length=1, max_length=50)
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


class GoldPassages(Route):
    """Passages that stand under the query's aspects."""

    @extend_schema(responses=GoldPassageSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        query = get_query(enter(self.person(), slug), pk)
        rows = GoldPassage.objects.standing().filter(query=query)
        rows = rows.select_related("passage", "aspect__query__domain")
        return self.page(rows, GoldPassageSerializer)


class Assign(Route):
    """Letting a passage support an aspect."""

    @extend_schema(request=AssignSerializer, responses=GoldPassageSerializer)
    def post(self, request: Request, slug: str, pk: int, passage_pk: int) -> Response:
        access, query, passage = enter_passage(self.person(), slug, pk, passage_pk)
        chosen = self.read(AssignSerializer)["aspect"]
        aspect = get_object_or_404(query.aspects, pk=chosen)
        gold = gold_verbs.assign_passage(
            query=query, passage=passage, aspect=aspect, actor=access.user
        )
        return Response(GoldPassageSerializer(gold).data)


class Discard(Route):
    """Saying that a passage is no gold, and why."""

    @extend_schema(request=DiscardSerializer, responses={204: None})
    def post(self, request: Request, slug: str, pk: int, passage_pk: int) -> Response:
        access, query, passage = enter_passage(self.person(), slug, pk, passage_pk)
        given = self.read(DiscardSerializer)
        gold_verbs.discard_passage(query=query, passage=passage, actor=access.user, **given)
        return Response(status=204)


class Undo(Route):
    """Taking a verdict on a passage back."""

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, slug: str, pk: int, passage_pk: int) -> Response:
        access, query, passage = enter_passage(self.person(), slug, pk, passage_pk)
        remaking.take_back(query=query, passage=passage, actor=access.user)
        return Response(status=204)


class Audit(Route):
    """How many originals have which verdict and problem."""

    @extend_schema(responses=AuditCountsSerializer)
    def get(self, request: Request, slug: str) -> Response:
        rows = problems.audited(enter(self.person(), slug).benchmark)
        verdicts, tagged = problems.count_verdicts(rows), problems.count_problems(rows)
        return Response({"verdicts": verdicts, "problems": tagged})


class Problems(Route):
    """The problems of a query's old gold: reading, tagging and taking off."""

    @extend_schema(responses=ProblemTagSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        query = get_query(enter(self.person(), slug), pk)
        return self.page(ProblemTag.objects.standing().filter(query=query), ProblemTagSerializer)

    @extend_schema(request=NewProblemTagSerializer, responses={201: ProblemTagSerializer})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, query = enter_query(self.person(), slug, pk)
        given = self.read(NewProblemTagSerializer)
        key = given.pop("passage")
        passage = get_domain_passage(query, key) if key is not None else None
        tag = problems.tag_problem(query=query, passage=passage, actor=access.user, **given)
        return Response(ProblemTagSerializer(tag).data, status=201)


class OneProblem(Route):
    """Taking a tag off."""

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, pk: int, tag_pk: int) -> Response:
        access, query = enter_query(self.person(), slug, pk)
        tag = get_object_or_404(ProblemTag.objects.standing().filter(query=query), pk=tag_pk)
        problems.untag_problem(
            query=query, passage=tag.passage, problem=tag.problem, actor=access.user
        )
        return Response(status=204)


class Remake(Route):
    """Passages that touch on one page, and making one passage of them (or of one, trimmed)."""

    @extend_schema(responses=OfferSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        query = get_query(enter(self.person(), slug), pk)
        rows = {row.passage.pk: row for row in read_board(query).rows}
        runs = {
            tuple(sorted([pk, *(each.pk for each in row.touches)]))
            for pk, row in rows.items()
            if row.touches
        }
        offers = [
            {
                "passages": run,
                "passage_ids": [rows[pk].passage.pid for pk in run],
                "text": remaking.proposal([rows[pk].passage for pk in run])[-1],
            }
            for run in sorted(runs)
        ]
        return Response(OfferSerializer(offers, many=True).data)

    @extend_schema(request=RemakeSerializer, responses={201: GoldPassageSerializer})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, query = enter_query(self.person(), slug, pk)
        given = self.read(RemakeSerializer)
        keys, aspect = dict.fromkeys(given.pop("passages")), given.pop("aspect")
        given["text"] = given["text"] or None
        gold = remaking.remake(
            query=query,
            passages=[get_domain_passage(query, key) for key in keys],
            aspect=get_object_or_404(query.aspects.filter(removed_at=None), pk=aspect),
            actor=access.user,
            **given,
        )
        return Response(GoldPassageSerializer(gold).data, status=201)


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


class CaseListSerializer(serializers.ModelSerializer):
    """A case as reviewers and admins see it; the label only once it is closed."""

    domain = serializers.CharField(source="query.domain.name")
    query = serializers.CharField(source="query.qid")
    passage = serializers.CharField(source="passage.pid")

    kind = serializers.CharField(allow_null=True)

    class Meta:
        model = EscalationCase
        fields = ["id", "kind", "status", "domain", "query", "passage", "label", "closed_at"]


class Cases(Route):
    """Every case of the benchmark, for reviewers and admins."""

    @extend_schema(responses=CaseListSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.REVIEWER, Role.ADMIN)
        rows = EscalationCase.objects.in_benchmark(access.benchmark).of_voters()
        answer = self.page(rows.select_related("query__domain", "passage"), CaseListSerializer)
        if access.is_annotator:  # who may vote is not told why a case came before people
            for row in answer.data["results"]:
                row["kind"] = None
        return answer


_QUERY = "b/<slug:slug>/queries/<int:pk>"
_PASSAGE = f"{_QUERY}/passages/<int:passage_pk>"
urlpatterns = [
    path(f"{_QUERY}/gold-passages/", GoldPassages.as_view(), name="api-gold-passages"),
    path(f"{_PASSAGE}/assign/", Assign.as_view(), name="api-passage-assign"),
    path(f"{_PASSAGE}/discard/", Discard.as_view(), name="api-passage-discard"),
    path(f"{_PASSAGE}/undo/", Undo.as_view(), name="api-passage-undo"),
    path("b/<slug:slug>/audit/", Audit.as_view(), name="api-audit"),
    path(f"{_QUERY}/problems/", Problems.as_view(), name="api-query-problems"),
    path(f"{_QUERY}/problems/<int:tag_pk>/", OneProblem.as_view(), name="api-query-problem"),
    path(f"{_QUERY}/remake/", Remake.as_view(), name="api-query-remake"),
    path(f"{_QUERY}/beside/", PassageSearch.as_view(), name="api-query-beside"),
    path("b/<slug:slug>/versions/<int:pk>/work/", VersionWork.as_view(), name="api-version-work"),
    path("b/<slug:slug>/cases/", Cases.as_view(), name="api-cases"),
]
