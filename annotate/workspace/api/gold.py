"""API of aspects, gold passages and cases: the verbs of the screens.

How aspects, gold passages and lists of cases look in the API.

API of the audit of old gold: problems, counts, and passages that are made anew.

API of the search beside the work.

API of what people did that a corpus version does not take over."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.loaders import enter_aspect, enter_query, get_domain_passage, is_blind
from annotate.models import Aspect, EscalationCase, GoldPassage, ProblemTag
from annotate.workspace import aspects as aspect_verbs
from annotate.workspace import gold as gold_verbs
from annotate.workspace import problems
from annotate.workspace.api.aspects import (
    AuditCountsSerializer,
    NewProblemTagSerializer,
    OfferSerializer,
    ProblemTagSerializer,
    RemakeSerializer,
)
from annotate.workspace.carrying import uncarried_work
from annotate.workspace.gold import DiscardReason
from annotate.workspace.remaking import proposal, remake, take_back
from annotate.workspace.views.beside import Result, find
from annotate.workspace.views.board import read_board
from corpus.access import enter, get_query
from corpus.models import Role
from corpus.views.versions import READERS, get_version
from kit.api import Route


class AspectSerializer(serializers.ModelSerializer):
    """An aspect; `version` is what a write has to be based on.

    The weight is null until somebody chooses one. Weight, rationale and version are null while
    they are kept from a reviewer who may have to score the weights blind.
    """

    aspect_id = serializers.CharField(read_only=True)
    weight = serializers.IntegerField(source="chosen_weight", allow_null=True, read_only=True)
    rationale = serializers.CharField(allow_null=True, read_only=True)
    version = serializers.IntegerField(allow_null=True, read_only=True)

    class Meta:
        model = Aspect
        fields = ["id", "aspect_id", "content", "rationale", "weight", "scale", "version"]


class NewAspectSerializer(serializers.Serializer):
    """An aspect to add."""

    content = serializers.CharField(allow_blank=True, default="")
    weight = serializers.IntegerField(allow_null=True, default=None)


class AspectWriteSerializer(serializers.Serializer):
    """Texts and weight to write over the version that was read; without one the weight stays."""

    version = serializers.IntegerField()
    content = serializers.CharField(allow_blank=True)
    rationale = serializers.CharField(allow_blank=True, default="")
    weight = serializers.IntegerField(allow_null=True, default=None)


class DirectionSerializer(serializers.Serializer):
    """Where an aspect moves."""

    direction = serializers.ChoiceField(["up", "down"])


class AssignSerializer(serializers.Serializer):
    """The aspect a passage supports."""

    aspect = serializers.IntegerField()


class DiscardSerializer(serializers.Serializer):
    """Why a passage is no gold."""

    reason = serializers.ChoiceField(DiscardReason.choices)
    note = serializers.CharField(allow_blank=True, default="")


class GoldPassageSerializer(serializers.ModelSerializer):
    """A passage with the aspect it supports."""

    passage_id = serializers.CharField(source="passage.pid")
    aspect_id = serializers.CharField(source="aspect.aspect_id")

    class Meta:
        model = GoldPassage
        fields = ["id", "passage", "passage_id", "aspect", "aspect_id"]


class CaseListSerializer(serializers.ModelSerializer):
    """A case as reviewers and admins see it; the label only once it is closed."""

    domain = serializers.CharField(source="query.domain.name")
    query = serializers.CharField(source="query.qid")
    passage = serializers.CharField(source="passage.pid")

    kind = serializers.CharField(allow_null=True)

    class Meta:
        model = EscalationCase
        fields = ["id", "kind", "status", "domain", "query", "passage", "label", "closed_at"]


class Aspects(Route):
    """Aspects of a query, and adding one."""

    @extend_schema(responses=AspectSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug)
        query = get_query(access, pk)
        rows = Aspect.objects.filter(query=query).present().select_related("query__domain")
        answer = self.page(rows, AspectSerializer)
        if is_blind(access, query):  # who may have to score them does not see weights
            for row in answer.data["results"]:
                row |= dict.fromkeys(("weight", "rationale", "version"))
        return answer

    @extend_schema(request=NewAspectSerializer, responses={201: AspectSerializer})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, query = enter_query(self.person(), slug, pk)
        given = self.read(NewAspectSerializer)
        added = aspect_verbs.add_aspect(query=query, actor=access.user, **given)
        return Response(AspectSerializer(added).data, status=201)


class OneAspect(Route):
    """Writing and removing an aspect."""

    @extend_schema(request=AspectWriteSerializer, responses=AspectSerializer)
    def put(self, request: Request, slug: str, pk: int) -> Response:
        access, aspect = enter_aspect(self.person(), slug, pk)
        given = self.read(AspectWriteSerializer)
        expected = given.pop("version")
        written = aspect_verbs.save_aspect(
            aspect=aspect, actor=access.user, expected=expected, **given
        )
        return Response(AspectSerializer(written).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        access, aspect = enter_aspect(self.person(), slug, pk)
        aspect_verbs.remove_aspect(aspect=aspect, actor=access.user)
        return Response(status=204)


class AspectRestore(Route):
    """Bringing a removed aspect back."""

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, aspect = enter_aspect(self.person(), slug, pk)
        aspect_verbs.restore_aspect(aspect=aspect, actor=access.user)
        return Response(status=204)


class AspectMove(Route):
    """Moving an aspect up or down."""

    @extend_schema(request=DirectionSerializer, responses={204: None})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, aspect = enter_aspect(self.person(), slug, pk)
        given = self.read(DirectionSerializer)
        aspect_verbs.move_aspect(aspect=aspect, actor=access.user, **given)
        return Response(status=204)


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
        access, query = enter_query(self.person(), slug, pk)
        chosen = self.read(AssignSerializer)["aspect"]
        gold = gold_verbs.assign_passage(
            query=query,
            passage=get_domain_passage(query, passage_pk),
            aspect=get_object_or_404(query.aspects, pk=chosen),
            actor=access.user,
        )
        return Response(GoldPassageSerializer(gold).data)


class Discard(Route):
    """Saying that a passage is no gold, and why."""

    @extend_schema(request=DiscardSerializer, responses={204: None})
    def post(self, request: Request, slug: str, pk: int, passage_pk: int) -> Response:
        access, query = enter_query(self.person(), slug, pk)
        given = self.read(DiscardSerializer)
        passage = get_domain_passage(query, passage_pk)
        gold_verbs.discard_passage(query=query, passage=passage, actor=access.user, **given)
        return Response(status=204)


class Undo(Route):
    """Taking a verdict on a passage back."""

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, slug: str, pk: int, passage_pk: int) -> Response:
        access, query = enter_query(self.person(), slug, pk)
        passage = get_domain_passage(query, passage_pk)
        take_back(query=query, passage=passage, actor=access.user)
        return Response(status=204)


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
_ASPECT = "b/<slug:slug>/aspects/<int:pk>"
_PASSAGE = f"{_QUERY}/passages/<int:passage_pk>"
urlpatterns = [
    path(f"{_QUERY}/aspects/", Aspects.as_view(), name="api-aspects"),
    path(f"{_QUERY}/gold-passages/", GoldPassages.as_view(), name="api-gold-passages"),
    path(f"{_ASPECT}/", OneAspect.as_view(), name="api-aspect"),
    path(f"{_ASPECT}/restore/", AspectRestore.as_view(), name="api-aspect-restore"),
    path(f"{_ASPECT}/move/", AspectMove.as_view(), name="api-aspect-move"),
    path(f"{_PASSAGE}/assign/", Assign.as_view(), name="api-passage-assign"),
    path(f"{_PASSAGE}/discard/", Discard.as_view(), name="api-passage-discard"),
    path(f"{_PASSAGE}/undo/", Undo.as_view(), name="api-passage-undo"),
    path("b/<slug:slug>/cases/", Cases.as_view(), name="api-cases"),
]


class Audit(Route):
    """How many originals have which verdict and problem."""

    @extend_schema(responses=AuditCountsSerializer)
    def get(self, request: Request, slug: str) -> Response:
        rows = problems.audited(enter(self.person(), slug).benchmark)
        counts = {
            "verdicts": problems.count_verdicts(rows),
            "problems": problems.count_problems(rows),
        }
        return Response(counts)


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
                "text": proposal([rows[pk].passage for pk in run])[-1],
            }
            for run in sorted(runs)
        ]
        return Response(OfferSerializer(offers, many=True).data)

    @extend_schema(request=RemakeSerializer, responses={201: GoldPassageSerializer})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, query = enter_query(self.person(), slug, pk)
        given = self.read(RemakeSerializer)
        gold = remake(
            query=query,
            passages=[get_domain_passage(query, key) for key in dict.fromkeys(given["passages"])],
            aspect=get_object_or_404(query.aspects.filter(removed_at=None), pk=given["aspect"]),
            actor=access.user,
            start=given["start"],
            end=given["end"],
            text=given["text"] or None,
        )
        return Response(GoldPassageSerializer(gold).data, status=201)


urlpatterns += [
    path("b/<slug:slug>/audit/", Audit.as_view(), name="api-audit"),
    path(f"{_QUERY}/problems/", Problems.as_view(), name="api-query-problems"),
    path(f"{_QUERY}/problems/<int:tag_pk>/", OneProblem.as_view(), name="api-query-problem"),
    path(f"{_QUERY}/remake/", Remake.as_view(), name="api-query-remake"),
]


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


class Beside(Route):
    """The ten passages that score best for a text, such as an aspect's."""

    @extend_schema(
        parameters=[OpenApiParameter("text", str, required=True, description="What to find.")],
        responses=FoundSerializer(many=True),
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access, query = enter_query(self.person(), slug, pk)
        text = request.query_params.get("text", "")[:10_000].replace("\x00", " ")
        return Response(FoundSerializer(find(access, query, text), many=True).data)


urlpatterns += [
    path("b/<slug:slug>/queries/<int:pk>/beside/", Beside.as_view(), name="api-query-beside"),
]


class LostCitationSerializer(serializers.Serializer):
    """Words in brackets of a published answer that cite no passage of the version."""

    query = serializers.IntegerField(source="query.pk")
    cited = serializers.CharField()
    why = serializers.CharField()


class LostSupportSerializer(serializers.Serializer):
    """A gold passage of an aspect that no passage of the version takes over."""

    aspect = serializers.IntegerField(source="aspect.pk")
    query = serializers.IntegerField(source="aspect.query_id")
    passage = serializers.IntegerField(source="passage.pk")


class UncarriedWorkSerializer(serializers.Serializer):
    """What people did that has no place in a version."""

    citations = LostCitationSerializer(many=True)
    support = LostSupportSerializer(many=True)


class VersionWork(Route):
    """Citations of answers, and gold passages of aspects, that a version does not take over."""

    @extend_schema(responses=UncarriedWorkSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        version = get_version(enter(self.person(), slug, *READERS), pk)
        found: Any = uncarried_work(version)
        return Response(UncarriedWorkSerializer(found).data)


urlpatterns += [
    path("b/<slug:slug>/versions/<int:pk>/work/", VersionWork.as_view(), name="api-version-work"),
]
