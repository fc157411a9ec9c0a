"""API of voting: cases one by one, batches, and the plan; the verbs of the screens."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.models import ARMS, CaseKind, EscalationCase, Vote, VoteSlot, VotingPlan
from annotate.serializers_voting import (
    AgreeSerializer,
    ArmVotesSerializer,
    CaseSerializer,
    FirstJudgmentSerializer,
    NewPlanSerializer,
    NewVoteSerializer,
    NextCaseSerializer,
    TermsSerializer,
    VoteSerializer,
    VotingPlanSerializer,
)
from annotate.services import votes as verbs
from annotate.services.abandoned import finish_abandoned
from annotate.services.arms import order_seed
from annotate.services.arms_report import SHOWS, arms_sheet, votes_behind
from annotate.services.first_judgments import commit_judgment
from annotate.services.pay_report import pay_sheet
from annotate.services.plans import give_consent, needs_consent, save_plan
from annotate.services.slots import hold, leave, next_slot
from annotate.views.judging import judged_context
from annotate.views.loaders import get_own_case
from annotate.views.voting import wanted_votes
from corpus.access import Access, enter
from corpus.models import Role
from kit.api import Route, SheetSerializer
from kit.errors import Refused
from kit.sheets import as_data

TERMS = "Read and accept the terms first."


class NextCase(Route):
    """The next case that waits for my vote; its place is kept for me for a while."""

    @extend_schema(responses=NextCaseSerializer)
    def get(self, request: Request, slug: str) -> Response:
        access, plan = enter_voter(self, slug)
        if plan.has_batches:
            raise Refused("Here people vote in batches. Take one first.")
        slot = next_slot(access=access, plan=plan)
        if slot is None and finish_abandoned(plan):
            slot = next_slot(access=access, plan=plan)
        return Response({"case": shown_case(access, slot) if slot else None})


class FirstJudgment(Route):
    """Saying what the passage alone tells me; the answer shows the positions."""

    @extend_schema(request=FirstJudgmentSerializer, responses={201: CaseSerializer})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, plan = enter_voter(self, slug)
        case = get_own_case(access, pk)
        given = self.read(FirstJudgmentSerializer)
        slot = hold(access=access, plan=plan, case=case)
        if slot is None:
            raise Refused(verbs.FULL)
        commit_judgment(slot=slot, voter=access.user, **given)
        return Response(shown_case(access, slot), status=201)


class Leave(Route):
    """Leaving a case for later: its place is free for others."""

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        leave(voter_id=access.user.pk, case=get_own_case(access, pk))
        return Response(status=204)


class Votes(Route):
    """Giving my vote on a case."""

    @extend_schema(request=NewVoteSerializer, responses={201: VoteSerializer})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, plan = enter_voter(self, slug)
        case, given = get_own_case(access, pk), self.read(NewVoteSerializer)
        try:
            vote = verbs.cast_vote(case=case, voter=access.user, access=access, plan=plan, **given)
        except verbs.AlreadyVoted as already:
            both = {"current": VoteSerializer(already.vote).data, "sent": given}
            return Response({"detail": already.message, "field": "", **both}, status=409)
        return Response(VoteSerializer(vote).data, status=201)


class OneVote(Route):
    """Taking my vote back while its case is open."""

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        mine = Vote.objects.standing().filter(
            voter=access.user, case__query__domain__benchmark=access.benchmark
        )
        mine = mine.exclude(case__kind=CaseKind.REFERENCE)
        rows = mine.select_related("case__query__domain__benchmark")
        verbs.withdraw_vote(vote=get_object_or_404(rows, pk=pk), actor=access.user)
        return Response(status=204)


class Terms(Route):
    """What I agree to before I vote."""

    @extend_schema(responses=TermsSerializer)
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        return Response(_terms(access, VotingPlan.objects.current(access.benchmark)))

    @extend_schema(request=AgreeSerializer, responses=TermsSerializer)
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        plan = VotingPlan.objects.current(access.benchmark)
        give_consent(plan=plan, access=access, **self.read(AgreeSerializer))
        return Response(_terms(access, plan))


class Plan(Route):
    """How people vote in the benchmark: every version, the newest first, and writing one."""

    @extend_schema(responses=VotingPlanSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        return self.page(access.benchmark.voting_plans.all(), VotingPlanSerializer)

    @extend_schema(request=NewPlanSerializer, responses={201: VotingPlanSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewPlanSerializer)
        new = save_plan(benchmark=access.benchmark, actor=access.user, **given)
        return Response(VotingPlanSerializer(new).data, status=201)


class Arms(Route):
    """Accuracy, time and over-reliance per arm."""

    @extend_schema(responses=SheetSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        return Response(as_data([arms_sheet(access.benchmark)]))


class ArmsItems(Route):
    """The votes behind a number of the table of arms."""

    @extend_schema(
        parameters=[
            OpenApiParameter("arm", str, required=True, enum=list(ARMS)),
            OpenApiParameter("show", str, enum=list(SHOWS)),
        ],
        responses=ArmVotesSerializer,
    )
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        votes, kept_back = votes_behind(access, *wanted_votes(request.query_params))
        return Response(ArmVotesSerializer({"votes": votes, "kept_back": kept_back}).data)


class Pay(Route):
    """Measured seconds an item, and what they earn an hour, beside the plan's."""

    @extend_schema(responses=SheetSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        plan = VotingPlan.objects.current(access.benchmark)
        return Response(as_data([pay_sheet(access.benchmark, plan)]))


def enter_voter(route: Route, slug: str) -> tuple[Access, VotingPlan]:
    """An annotator's access and the plan in force; Refused before they agreed to its terms."""
    access = enter(route.person(), slug, Role.ANNOTATOR)
    plan = VotingPlan.objects.current(access.benchmark)
    if needs_consent(plan, access):
        raise Refused(TERMS, field="consent")
    return access, plan


def shown_case(access: Access, slot: VoteSlot) -> dict[str, Any]:
    """The case of a place as its holder may see it now."""
    case: EscalationCase = slot.case
    seed = order_seed(access.user.pk, case.pk)
    shown = judged_context(case, arm=slot.arm, seed=seed, committed=slot.is_committed)
    pair = {"id": case.pk, "stage": shown["stage"], "first_label": slot.first_label}
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


def _terms(access: Access, plan: VotingPlan) -> dict[str, Any]:
    items = plan.batch_size or 10
    return TermsSerializer(
        {
            "version": plan.version,
            "text": plan.consent_text,
            "minutes": plan.minutes(items),
            "pay": plan.pay(items),
            "currency": plan.currency,
            "asked": needs_consent(plan, access),
        }
    ).data


_CASE = "b/<slug:slug>/cases/<int:pk>"
urlpatterns = [
    path("b/<slug:slug>/cases/next/", NextCase.as_view(), name="api-next-case"),
    path(f"{_CASE}/first-judgment/", FirstJudgment.as_view(), name="api-first-judgment"),
    path(f"{_CASE}/leave/", Leave.as_view(), name="api-leave-case"),
    path(f"{_CASE}/votes/", Votes.as_view(), name="api-votes"),
    path("b/<slug:slug>/votes/<int:pk>/", OneVote.as_view(), name="api-vote"),
    path("b/<slug:slug>/voting/terms/", Terms.as_view(), name="api-voting-terms"),
    path("b/<slug:slug>/voting/plan/", Plan.as_view(), name="api-voting-plan"),
    path("b/<slug:slug>/voting/arms/", Arms.as_view(), name="api-voting-arms"),
    path("b/<slug:slug>/voting/arms/items/", ArmsItems.as_view(), name="api-voting-arms-items"),
    path("b/<slug:slug>/voting/pay/", Pay.as_view(), name="api-voting-pay"),
]
