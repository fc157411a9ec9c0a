"""API of debate runs: planning, starting, listing and steering them."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import Access, enter
from corpus.models import Role
from debate.configuration import as_json
from debate.models import DebateRun
from debate.plan_serializers import ForecastSerializer, PlannedSerializer, PlanSerializer
from debate.run_lists import FILTERS, RUNS, run_choices
from debate.serializers import (
    BudgetSerializer,
    DebateRunSerializer,
    OneRunSerializer,
    RequeueSerializer,
)
from debate.services import requeue
from debate.services.figures import figures
from debate.services.forecast import forecast_plan, forecast_run
from debate.services.planning import Plan, plan_run, start_planned
from debate.services.prompts import PromptGone
from debate.views.loaders import READERS, get_debate, get_run
from debate.views.runs import VERBS
from kit.api import Route, find_verb, verb_parameter
from kit.errors import Refused
from llm import endpoints
from llm.ledger.accounts import set_budget


class Planning(Route):
    """What the routes share that read a plan."""

    def plan(self, access: Access) -> Plan:
        """The plan in the body."""
        form = PlanSerializer(data=self.request.data)
        form.is_valid(raise_exception=True)
        key, given = form.planned()
        pool = get_object_or_404(access.benchmark.pools, pk=key)
        endpoint = endpoints.chosen(given.pop("endpoint"))
        return plan_run(benchmark=access.benchmark, pool=pool, endpoint=endpoint, **given)


class Runs(Planning):
    """Debate runs of a benchmark, and starting one."""

    @extend_schema(
        responses=DebateRunSerializer(many=True),
        parameters=[OpenApiParameter(name, str) for name in ("q", "sort", *FILTERS)],
    )
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, *READERS)
        params = {name: str(value) for name, value in request.query_params.items()}
        is_narrowed = any(params.get(name) for name in FILTERS)
        choices = run_choices(access.benchmark) if is_narrowed else {}
        if unknown := RUNS.not_offered(params, choices=choices):
            raise ValidationError({name: f"No such {name}: {params[name]}." for name in unknown})
        runs = RUNS.matches(
            access.benchmark.debate_runs.select_related("account"), params, choices=choices
        )
        return self.page(runs, DebateRunSerializer)

    @extend_schema(request=PlanSerializer, responses={201: DebateRunSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        run = start_planned(plan=self.plan(access), actor=access.user)
        return Response(DebateRunSerializer(run).data, status=201)


class Forecasts(Planning):
    """What a run would take: nothing is stored, asked or paid."""

    @extend_schema(
        operation_id="debate_run_plan", request=PlanSerializer, responses=PlannedSerializer
    )
    def post(self, request: Request, slug: str) -> Response:
        plan = self.plan(enter(self.person(), slug, Role.ADMIN))
        told: dict[str, Any] = dict(ForecastSerializer(forecast_plan(plan)).data)
        told |= {"config": as_json(plan.config), "departures": plan.departures}
        return Response(PlannedSerializer(told | {"budget_usd": plan.budget_usd}).data)


class OneRun(Route):
    """One run with its counts."""

    @extend_schema(responses=OneRunSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        run = get_run(enter(self.person(), slug, *READERS), pk)
        return Response(_with_figures(run))


class RunForecast(Route):
    """What the waiting pairs of a run will take."""

    @extend_schema(operation_id="debate_run_forecast", responses=ForecastSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        run = get_run(enter(self.person(), slug, *READERS), pk)
        try:
            return Response(ForecastSerializer(forecast_run(run)).data)
        except PromptGone as gone:
            raise Refused(str(gone)) from None


class RunVerb(Route):
    """Pause, resume or cancel a run, or retry its failed pairs."""

    @extend_schema(
        operation_id="debate_run_verb",
        request=None,
        responses=DebateRunSerializer,
        parameters=[verb_parameter(VERBS)],
    )
    def post(self, request: Request, slug: str, pk: int, verb: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        run = get_run(access, pk)
        find_verb(VERBS, verb)(run=run, actor=access.user)
        return Response(DebateRunSerializer(run).data)


class Budget(Route):
    """What a run may spend from its next call on; null lifts the limit."""

    @extend_schema(
        operation_id="debate_run_budget", request=BudgetSerializer, responses=DebateRunSerializer
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        run = get_run(access, pk)
        usd = self.read(BudgetSerializer)["budget_usd"]
        set_budget(run, usd, actor=access.user, scope=access.benchmark.slug)
        return Response(DebateRunSerializer(run).data)


class Requeue(Route):
    """Trying the pairs again that failed in the same way."""

    @extend_schema(
        operation_id="debate_run_requeue", request=RequeueSerializer, responses=DebateRunSerializer
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        run = get_run(access, pk)
        error = self.read(RequeueSerializer)["error"]
        requeue.requeue_failures(run=run, error_class=error, actor=access.user)
        return Response(DebateRunSerializer(run).data)


class RequeueOne(Route):
    """Trying one failed pair again."""

    @extend_schema(request=None, responses=DebateRunSerializer)
    def post(self, request: Request, slug: str, pk: int, debate: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        run = get_run(access, pk)
        requeue.requeue_pair(run=run, debate=get_debate(run, debate), actor=access.user)
        return Response(DebateRunSerializer(run).data)


def _with_figures(run: DebateRun) -> dict[str, Any]:
    told: dict[str, Any] = dict(DebateRunSerializer(run).data)
    return told | {"figures": vars(figures(run)), "config": run.config}


_RUNS = "b/<slug:slug>/debate-runs"
_RUN = f"{_RUNS}/<int:pk>"
urlpatterns = [
    path(f"{_RUNS}/", Runs.as_view(), name="api-debate-runs"),
    path(f"{_RUNS}/forecast/", Forecasts.as_view(), name="api-debate-run-plan"),
    path(f"{_RUN}/", OneRun.as_view(), name="api-debate-run"),
    path(f"{_RUN}/forecast/", RunForecast.as_view(), name="api-debate-run-forecast"),
    path(f"{_RUN}/budget/", Budget.as_view(), name="api-debate-run-budget"),
    path(f"{_RUN}/requeue/", Requeue.as_view(), name="api-debate-run-requeue"),
    path(f"{_RUN}/debates/<int:debate>/requeue/", RequeueOne.as_view(), name="api-debate-requeue"),
    path(f"{_RUN}/<slug:verb>/", RunVerb.as_view(), name="api-debate-run-verb"),
]
