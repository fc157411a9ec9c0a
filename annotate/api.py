"""API of aspects, gold passages and cases: the verbs of the screens."""

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.models import Aspect, EscalationCase, GoldPassage
from annotate.serializers import (
    AspectSerializer,
    AspectWriteSerializer,
    AssignSerializer,
    CaseListSerializer,
    DirectionSerializer,
    DiscardSerializer,
    GoldPassageSerializer,
    NewAspectSerializer,
)
from annotate.services import aspects as aspect_verbs
from annotate.services import gold as gold_verbs
from annotate.services.remaking import take_back
from annotate.views.loaders import (
    enter_aspect,
    enter_query,
    get_domain_passage,
    is_blind,
)
from corpus.access import enter, get_query
from corpus.models import Role
from kit.api import Route


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
