"""API of voting plans: the plan, consent, and the tables of conditions and of time and pay."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.models import CONDITIONS, VotingPlan
from annotate.plans.report import SHOWS, conditions_sheet, pay_sheet, votes_behind
from annotate.plans.services import (
    FIELDS,
    checks_of,
    choose_checks,
    give_consent,
    needs_consent,
    save_plan,
)
from annotate.plans.views import wanted_votes
from corpus.access import Access, enter
from corpus.models import Role
from kit.api import ReportTableSerializer, Route
from kit.lists.report_tables import as_data


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
    """One vote behind a number of the table of conditions; nobody is named."""

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


class ChecksSerializer(serializers.Serializer):
    """Which checks gate people's labels."""

    exam = serializers.BooleanField()
    batches = serializers.BooleanField()
    consent = serializers.BooleanField()
    audit = serializers.BooleanField()


class ChosenChecksSerializer(serializers.Serializer):
    """Which checks gate people's labels; null where nobody has chosen yet."""

    checks = ChecksSerializer(allow_null=True)


class AgreeSerializer(serializers.Serializer):
    """The version that I read and agree to."""

    version = serializers.IntegerField(min_value=0)


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
    """Accuracy, time and over-reliance per condition."""

    pagination_class = None

    @extend_schema(responses=ReportTableSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        return Response(as_data([conditions_sheet(access.benchmark)]))


class ArmsItems(Route):
    """The votes behind a number of the table of conditions."""

    @extend_schema(
        parameters=[
            OpenApiParameter("arm", str, required=True, enum=list(CONDITIONS)),
            OpenApiParameter("show", str, enum=list(SHOWS)),
        ],
        responses=ArmVotesSerializer,
    )
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        votes, kept_back = votes_behind(access, *wanted_votes(request.query_params))
        return Response(ArmVotesSerializer({"votes": votes, "kept_back": kept_back}).data)


class Pay(Route):
    """Measured seconds an item, and what they earn an hour, compared with the plan's."""

    pagination_class = None

    @extend_schema(responses=ReportTableSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        plan = VotingPlan.objects.current(access.benchmark)
        return Response(as_data([pay_sheet(access.benchmark, plan)]))


class LabelChecks(Route):
    """Which of exam, batches with attention checks, consent and blind audit gate people's labels.

    PUT turns each on or off, in a new version of the voting plan and in the qualification rule.
    """

    pagination_class = None

    @extend_schema(responses=ChosenChecksSerializer)
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        return Response({"checks": checks_of(access.benchmark) or None})

    @extend_schema(request=ChecksSerializer, responses=ChosenChecksSerializer)
    def put(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(ChecksSerializer)
        choose_checks(benchmark=access.benchmark, actor=access.user, **given)
        return Response({"checks": checks_of(access.benchmark)})


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


urlpatterns = [
    path("b/<slug:slug>/checks/", LabelChecks.as_view(), name="api-label-checks"),
    path("b/<slug:slug>/voting/terms/", Terms.as_view(), name="api-voting-terms"),
    path("b/<slug:slug>/voting/plan/", Plan.as_view(), name="api-voting-plan"),
    path("b/<slug:slug>/voting/arms/", Arms.as_view(), name="api-voting-arms"),
    path("b/<slug:slug>/voting/arms/items/", ArmsItems.as_view(), name="api-voting-arms-items"),
    path("b/<slug:slug>/voting/pay/", Pay.as_view(), name="api-voting-pay"),
]
