"""API of the audit of old gold: problems, counts, and passages that are made anew."""

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.models import ProblemTag
from annotate.serializers import GoldPassageSerializer
from annotate.serializers_aspects import (
    AuditCountsSerializer,
    NewProblemTagSerializer,
    OfferSerializer,
    ProblemTagSerializer,
    RemakeSerializer,
)
from annotate.services import problems
from annotate.services.remaking import proposal, remake
from annotate.views.board import read_board
from annotate.views.loaders import enter_query, get_domain_passage
from corpus.access import enter, get_query
from kit.api import Route


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


_QUERY = "b/<slug:slug>/queries/<int:pk>"
urlpatterns = [
    path("b/<slug:slug>/audit/", Audit.as_view(), name="api-audit"),
    path(f"{_QUERY}/problems/", Problems.as_view(), name="api-query-problems"),
    path(f"{_QUERY}/problems/<int:tag_pk>/", OneProblem.as_view(), name="api-query-problem"),
    path(f"{_QUERY}/remake/", Remake.as_view(), name="api-query-remake"),
]
