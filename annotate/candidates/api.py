"""API of candidates for gold of aspects, and the machine gold that stands beside the experts'."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.candidates.reading import STATES, candidates_of, inheriting_refusals
from annotate.candidates.views import decide, get_candidate, rows_for, table_for
from annotate.models import SupportLabel
from corpus.access import enter, enter_unblinded
from corpus.lists import domain_choices
from kit.api import Page, Route


class CandidateSerializer(serializers.Serializer):
    """A passage that was proposed for an aspect.

    `label` is 1 where it supports it, 0 where not, null where nobody said or the person may not
    know. `rivals` are numbers of other aspects that it supports; `is_stale`: the aspect was
    written anew since.
    """

    id = serializers.IntegerField(source="entry.pk")
    domain = serializers.CharField(source="entry.query.domain.name")
    query = serializers.CharField(source="entry.query.qid")
    aspect = serializers.CharField(source="aspect.aspect_id")
    passage = serializers.CharField(source="entry.passage.pid")
    state = serializers.ChoiceField(choices=STATES)
    label: serializers.Field = serializers.IntegerField(  # type: ignore[assignment]
        source="label.label", default=None, allow_null=True
    )
    given_by = serializers.CharField(source="label.source", default=None, allow_null=True)
    practice = serializers.BooleanField(source="label.practice", default=False)
    rivals = serializers.ListField(child=serializers.IntegerField())
    is_stale = serializers.BooleanField()


class RefusalSerializer(serializers.Serializer):
    """Why the passage does not support the aspect."""

    reason = serializers.CharField(max_length=4000)


class MachineGoldSerializer(serializers.ModelSerializer):
    """A passage that supports one aspect of its query, as machines or voters say."""

    aspect = serializers.CharField(source="aspect.aspect_id")
    passage = serializers.CharField(source="passage.pid")

    class Meta:
        model = SupportLabel
        fields = ["aspect", "passage", "source", "round", "practice"]


class Candidates(Route):
    """Passages proposed for aspects."""

    @extend_schema(responses=CandidateSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug)
        choices = {"domain": domain_choices(access.benchmark)}
        rows = self.matches(table_for(access), rows_for(access), choices)
        pages = Page()
        found = candidates_of(access, pages.paginate_queryset(rows, request, view=self))
        return pages.get_paginated_response(CandidateSerializer(found, many=True).data)


class OneCandidate(Route):
    """One of them."""

    @extend_schema(responses=CandidateSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug)
        return Response(CandidateSerializer(get_candidate(access, pk)).data)


class CandidateVerb(Route):
    """An expert's verdict on a candidate."""

    verdict: str = ""

    @extend_schema(request=RefusalSerializer, responses=CandidateSerializer)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug)
        found = get_candidate(access, pk)
        given: dict[str, Any] = {"reason": ""}
        if self.verdict == "refuse":
            given = self.read(RefusalSerializer)
        decide(found, verdict=self.verdict, actor=access.user, **given)
        return Response(CandidateSerializer(get_candidate(access, pk)).data)


class MachineGold(Route):
    """What stands as machine gold of aspects: not for who votes."""

    @extend_schema(responses=MachineGoldSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter_unblinded(self.person(), slug)
        rows = SupportLabel.objects.in_benchmark(access.benchmark).machine_gold()
        rows = rows.exclude(pk__in=inheriting_refusals(rows, "aspect__query_id")).order_by("pk")
        rows = rows.select_related("aspect__query__domain", "passage").defer("passage__text")
        return self.page(rows, MachineGoldSerializer)


_ONE = "b/<slug:slug>/candidates/<int:pk>/"
urlpatterns = [
    path("b/<slug:slug>/candidates/", Candidates.as_view(), name="api-candidates"),
    path("b/<slug:slug>/candidates/gold/", MachineGold.as_view(), name="api-machine-gold"),
    path(_ONE, OneCandidate.as_view(), name="api-candidate"),
    *(
        path(
            f"{_ONE}{name}/",
            CandidateVerb.as_view(verdict=verdict),
            name=f"api-candidate-{name}",
        )
        for name, verdict in (("confirm", "confirm"), ("refuse", "refuse"), ("take-back", "back"))
    ),
]
