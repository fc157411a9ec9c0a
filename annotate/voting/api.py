"""API of voting: the list of cases, the next case, first judgments, votes."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.loaders import get_own_case
from annotate.models import EscalationCase, Vote, VoteSlot, VotingPlan
from annotate.plans.services import NEEDS_CONSENT, needs_consent, order_seed
from annotate.voting.forms import MAX_ELAPSED_MS
from annotate.voting.items import judged_context
from annotate.voting.services import (
    FULL,
    AlreadyVoted,
    cast_vote,
    commit_judgment,
    finish_abandoned,
    withdraw_vote,
)
from annotate.voting.slots import leave, next_slot, reserve
from corpus.access import Access, enter
from corpus.models import Role
from kit.api import Route
from kit.errors import Refused


class JudgedPairSerializer(serializers.Serializer):
    """A pair as its voter sees it now: nothing of anybody's vote, nor why it came before them.

    `stage` says what the next answer is: the `first` judgment (from the passage alone), the
    `final` one after the positions, or the `only` one.
    """

    domain = serializers.CharField()
    query = serializers.CharField()
    passage = serializers.CharField()
    text = serializers.CharField(allow_null=True)
    snapshot = serializers.JSONField()
    stage = serializers.ChoiceField(["only", "first", "final"])
    first_label = serializers.IntegerField(allow_null=True)


class CaseSerializer(JudgedPairSerializer):
    """A case to judge."""

    id = serializers.UUIDField()


class NextCaseSerializer(serializers.Serializer):
    """The next case for me, null when none waits."""

    case = CaseSerializer(allow_null=True)


class BinaryField(serializers.ChoiceField):
    """0 or 1."""

    def __init__(self, **more: Any) -> None:
        super().__init__([0, 1], **more)


class FirstJudgmentSerializer(serializers.Serializer):
    """What I say from the passage alone."""

    label: serializers.Field = BinaryField()  # type: ignore[assignment]
    elapsed_ms = serializers.IntegerField(
        min_value=0, max_value=MAX_ELAPSED_MS, required=False, allow_null=True
    )


class SpanSerializer(serializers.Serializer):
    """Words of the passage: code points, `end` excluded."""

    start = serializers.IntegerField(min_value=0)
    end = serializers.IntegerField(min_value=1)


class AnswerSerializer(serializers.Serializer):
    """An answer; label null says the pair cannot be judged and needs a reason."""

    label: serializers.Field = BinaryField(allow_null=True)  # type: ignore[assignment]
    reason = serializers.CharField(allow_blank=True, default="", max_length=4000)
    elapsed_ms = serializers.IntegerField(
        min_value=0, max_value=MAX_ELAPSED_MS, required=False, allow_null=True
    )
    span = SpanSerializer(required=False, allow_null=True)

    def validate_span(self, span: dict[str, int] | None) -> tuple[int, int] | None:
        """Its two ends."""
        return None if span is None else (span["start"], span["end"])


class NewVoteSerializer(AnswerSerializer):
    """A vote; `replaces` names my own vote that it corrects."""

    replaces = serializers.IntegerField(required=False, allow_null=True)


class VoteSerializer(serializers.ModelSerializer):
    """My vote."""

    case = serializers.UUIDField(source="case.public_id")

    class Meta:
        model = Vote
        fields = [
            *("id", "case", "label", "reason", "arm", "saw_positions", "first_label"),
            *("span_start", "span_end", "created_at"),
        ]


class CaseListSerializer(serializers.ModelSerializer):
    """A case as reviewers and admins see it; the label only once it is closed.

    `aspect` is the number of the query's aspect that it is about, null where about none.
    """

    aspect = serializers.IntegerField(source="aspect.k", default=None, allow_null=True)

    id = serializers.UUIDField(source="public_id")
    domain = serializers.CharField(source="query.domain.name")
    query = serializers.CharField(source="query.qid")
    passage = serializers.CharField(source="passage.pid")

    kind = serializers.CharField(allow_null=True)

    class Meta:
        model = EscalationCase
        fields = ["id", "kind", "status", "domain", "query", "passage", "aspect", "label"]
        fields += ["closed_at"]


class Cases(Route):
    """Every case of the benchmark, for reviewers and admins."""

    @extend_schema(responses=CaseListSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.REVIEWER, Role.ADMIN)
        rows = EscalationCase.objects.in_benchmark(access.benchmark).of_voters()
        rows = rows.select_related("query__domain", "passage", "aspect").order_by("public_id")
        answer = self.page(rows, CaseListSerializer)
        if access.is_annotator:  # who may vote is not told why a case came before people
            for row in answer.data["results"]:
                row["kind"] = None
        return answer


class NextCase(Route):
    """The next case that waits for my vote; its place is kept for me for a while."""

    get_takes_a_place = True

    @extend_schema(responses=NextCaseSerializer)
    def get(self, request: Request, slug: str) -> Response:
        access, plan = enter_voter(self, slug)
        if plan.has_batches:
            raise Refused("Here people vote in batches. Take one first.")
        slot = next_slot(access=access, plan=plan)
        if slot is None and finish_abandoned(plan):
            slot = next_slot(access=access, plan=plan)
        return Response({"case": shown_case(access, plan, slot) if slot else None})


class FirstJudgment(Route):
    """Saying what the passage alone tells me; the answer shows the positions."""

    @extend_schema(request=FirstJudgmentSerializer, responses={201: CaseSerializer})
    def post(self, request: Request, slug: str, case: UUID) -> Response:
        access, plan = enter_voter(self, slug)
        found = get_own_case(access, case)
        given = self.read(FirstJudgmentSerializer)
        slot = reserve(access=access, plan=plan, case=found)
        if slot is None:
            raise Refused(FULL)
        commit_judgment(slot=slot, plan=plan, voter=access.user, **given)
        return Response(shown_case(access, plan, slot), status=201)


class Leave(Route):
    """Leaving a case for later: its place is free for others."""

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, slug: str, case: UUID) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        leave(voter_id=access.user.pk, case=get_own_case(access, case))
        return Response(status=204)


class Votes(Route):
    """Giving my vote on a case."""

    @extend_schema(request=NewVoteSerializer, responses={201: VoteSerializer})
    def post(self, request: Request, slug: str, case: UUID) -> Response:
        access, plan = enter_voter(self, slug)
        found, given = get_own_case(access, case), self.read(NewVoteSerializer)
        try:
            vote = cast_vote(case=found, voter=access.user, access=access, plan=plan, **given)
        except AlreadyVoted as already:
            already.vote.case = found
            both = {"current": VoteSerializer(already.vote).data, "sent": given}
            return Response({"detail": already.message, "field": "", **both}, status=409)
        vote.case = found
        return Response(VoteSerializer(vote).data, status=201)


class OneVote(Route):
    """Taking my vote back while its case is open."""

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        mine = Vote.objects.of_voters(access.benchmark).filter(voter=access.user)
        rows = mine.select_related("case__query__domain__benchmark")
        withdraw_vote(vote=get_object_or_404(rows, pk=pk), actor=access.user)
        return Response(status=204)


def enter_voter(route: Route, slug: str) -> tuple[Access, VotingPlan]:
    """An annotator's access and the current plan; Refused before they consented to its terms."""
    access = enter(route.person(), slug, Role.ANNOTATOR)
    plan = VotingPlan.objects.current(access.benchmark)
    if needs_consent(plan, access):
        raise Refused(NEEDS_CONSENT, field="consent")
    return access, plan


def shown_case(access: Access, plan: VotingPlan, slot: VoteSlot) -> dict[str, Any]:
    """The case of a vote slot as its voter may see it now."""
    case: EscalationCase = slot.case
    seed = order_seed(access.user.pk, case.pk)
    shown = judged_context(case, plan=plan, arm=slot.arm, seed=seed, committed=slot.is_committed)
    pair = {"id": case.public_id, "stage": shown["stage"], "first_label": slot.first_label}
    return pair | as_pair(case, shown)


def as_pair(item: Any, shown: dict[str, Any]) -> dict[str, Any]:
    """The texts of a case or check, and of its snapshot what may be seen."""
    return {
        "domain": item.query.domain.name,
        "query": item.query.qid,
        "passage": item.passage.pid,
        "text": item.passage.text,
        "snapshot": shown["raw"],
    }


_CASE = "b/<slug:slug>/cases/<uuid:case>"
urlpatterns = [
    path("b/<slug:slug>/cases/", Cases.as_view(), name="api-cases"),
    path("b/<slug:slug>/cases/next/", NextCase.as_view(), name="api-next-case"),
    path(f"{_CASE}/first-judgment/", FirstJudgment.as_view(), name="api-first-judgment"),
    path(f"{_CASE}/leave/", Leave.as_view(), name="api-leave-case"),
    path(f"{_CASE}/votes/", Votes.as_view(), name="api-votes"),
    path("b/<slug:slug>/votes/<int:pk>/", OneVote.as_view(), name="api-vote"),
]
