"""API of voting: cases one by one, batches, and the plan; the verbs of the screens.

How cases to judge, votes, batches and voting plans look in the API."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.forms import LONGEST_SITTING_MS
from annotate.loaders import get_own_case
from annotate.models import (
    ARMS,
    Batch,
    BatchItem,
    CaseKind,
    EscalationCase,
    Vote,
    VoteSlot,
    VotingPlan,
)
from annotate.plans.report import SHOWS, arms_sheet, pay_sheet, votes_behind
from annotate.plans.services import FIELDS, give_consent, needs_consent, order_seed, save_plan
from annotate.plans.views import wanted_votes
from annotate.voting import services as verbs
from annotate.voting.items import judged_context
from annotate.voting.services import commit_judgment, finish_abandoned
from annotate.voting.slots import hold, leave, next_slot
from corpus.access import Access, enter
from corpus.models import Role
from kit.api import Route, SheetSerializer
from kit.errors import Refused
from kit.sheets import as_data


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

    id = serializers.IntegerField()


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
        min_value=0, max_value=LONGEST_SITTING_MS, required=False, allow_null=True
    )

    def validate_label(self, label: Any) -> int:
        """The number itself."""
        return int(label)


class SpanSerializer(serializers.Serializer):
    """Words of the passage: code points, `end` excluded."""

    start = serializers.IntegerField(min_value=0)
    end = serializers.IntegerField(min_value=1)


class AnswerSerializer(serializers.Serializer):
    """An answer; label null says the pair cannot be judged and needs a reason."""

    label: serializers.Field = BinaryField(allow_null=True)  # type: ignore[assignment]
    reason = serializers.CharField(allow_blank=True, default="", max_length=4000)
    elapsed_ms = serializers.IntegerField(
        min_value=0, max_value=LONGEST_SITTING_MS, required=False, allow_null=True
    )
    span = SpanSerializer(required=False, allow_null=True)

    def validate_label(self, label: Any) -> int | None:
        """The number itself, or None."""
        return None if label in (None, "") else int(label)

    def validate_span(self, span: dict[str, int] | None) -> tuple[int, int] | None:
        """Its two ends."""
        return None if span is None else (span["start"], span["end"])


class NewVoteSerializer(AnswerSerializer):
    """A vote; `replaces` names my own vote that it corrects."""

    replaces = serializers.IntegerField(required=False, allow_null=True)


class NewItemAnswerSerializer(AnswerSerializer):
    """An answer to an item; `version` is that of the answer I saw."""

    version = serializers.IntegerField(min_value=0, required=False, allow_null=True)


class VoteSerializer(serializers.ModelSerializer):
    """My vote."""

    class Meta:
        model = Vote
        fields = [
            *("id", "case", "label", "reason", "arm", "saw_positions", "first_label"),
            *("span_start", "span_end", "created_at"),
        ]


class BatchSerializer(serializers.ModelSerializer):
    """My batch."""

    class Meta:
        model = Batch
        fields = ["id", "status", "size", "expires_at", "created_at", "ended_at", "lost_items"]


class RejectedBatchSerializer(serializers.ModelSerializer):
    """A batch as admins see it."""

    person = serializers.CharField(source="voter.username")

    class Meta:
        model = Batch
        fields = [*("id", "person", "status", "size"), *("failed_checks", "lost_items", "ended_at")]


class ItemAnswerSerializer(serializers.ModelSerializer):
    """My answer to an item of my batch so far."""

    class Meta:
        model = BatchItem
        fields = ["place", "version", "label", "reason", "first_label", "span_start", "span_end"]


class ItemSerializer(JudgedPairSerializer):
    """An item of my batch with my answer so far."""

    place = serializers.IntegerField()
    answered = serializers.BooleanField()
    version = serializers.IntegerField()
    label: serializers.Field = serializers.IntegerField(allow_null=True)  # type: ignore[assignment]
    reason = serializers.CharField()


class VotingPlanSerializer(serializers.ModelSerializer):
    """A version of the voting plan."""

    class Meta:
        model = VotingPlan
        fields = ["version", *FIELDS, "created_at"]
        read_only_fields = ["version", "created_at"]


class NewPlanSerializer(serializers.ModelSerializer):
    """What changes over version `expected`; 0 where none was written yet."""

    expected = serializers.IntegerField(min_value=0)

    class Meta:
        model = VotingPlan
        fields = ["expected", *FIELDS]


class TermsSerializer(serializers.Serializer):
    """What people agree to, and whether I am still asked."""

    version = serializers.IntegerField()
    text = serializers.CharField()
    minutes = serializers.IntegerField()
    pay = serializers.DecimalField(max_digits=9, decimal_places=2, allow_null=True)
    currency = serializers.CharField()
    asked = serializers.BooleanField()


class ArmVoteSerializer(serializers.Serializer):
    """One vote behind a number of the table of arms; nobody is named."""

    case = serializers.IntegerField(source="item")
    first_label = serializers.IntegerField(allow_null=True)
    label: serializers.Field = serializers.IntegerField(allow_null=True)  # type: ignore[assignment]
    expert = serializers.IntegerField(source="truth", allow_null=True)
    shown_first = serializers.ChoiceField(["yes", "no", ""])
    seconds = serializers.FloatField(allow_null=True)
    abandoned = serializers.BooleanField()


class ArmVotesSerializer(serializers.Serializer):
    """Votes, and how many more are on cases that are still judged or may be again."""

    votes = ArmVoteSerializer(many=True)
    kept_back = serializers.IntegerField()


class AgreeSerializer(serializers.Serializer):
    """The version that I read and agree to."""

    version = serializers.IntegerField(min_value=0)


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
