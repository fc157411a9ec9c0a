"""API of debate runs: planning, starting, listing and steering them.

What the API takes to plan a run, and how it tells what the run will take."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import Access, enter, enter_unblinded
from corpus.models import Role
from corpus.run_routes import RunBudget, RunVerb
from debate.baselines.calibrations import MODELS
from debate.loaders import READERS, enter_run, get_debate
from debate.models import DebateRun, RunKind
from debate.runs import services as requeue
from debate.runs.configuration import (
    BOUNDS,
    CHOICES,
    LARA_BOUNDS,
    LARA_MODES,
    MAX_TEMPERATURE,
    STANCES,
    as_json,
)
from debate.runs.figures import figures
from debate.runs.forecast import forecast_plan, forecast_run
from debate.runs.offers import offers
from debate.runs.planning import Plan, pairs_left, plan_run, start_planned
from debate.runs.prompts import PromptGone
from debate.runs.views import FILTERS, LIST, RUNS, run_choices
from kit.api import RUN_FIELDS, Route
from kit.errors import Refused
from llm import endpoints
from llm.ledger.serializers import PAID_FIELDS, BudgetField, PaidSerializer
from llm.requests import EFFORTS

_OF_PLAN = ("endpoint", "preset", "models", "prompt_version", "name", "budget_usd")


def _whole(name: str, **more: Any) -> Any:
    least, most = (BOUNDS | LARA_BOUNDS)[name]
    return serializers.IntegerField(min_value=least, max_value=most, required=False, **more)


def _one_of(name: str) -> Any:
    return serializers.ChoiceField(choices=CHOICES[name], required=False)


class FiguresSerializer(serializers.Serializer):
    """Counts of a run by outcome."""

    total = serializers.IntegerField()
    agreed_1 = serializers.IntegerField()
    agreed_later = serializers.IntegerField()
    escalated = serializers.IntegerField()
    unreadable = serializers.IntegerField()
    failed = serializers.IntegerField()
    skipped = serializers.IntegerField()
    waiting = serializers.IntegerField()


class DebateRunSerializer(PaidSerializer, serializers.ModelSerializer):
    """A debate run."""

    class Meta:
        model = DebateRun
        fields = [
            *RUN_FIELDS,
            *("name", "pool", "endpoint", "model", "practice", "kind", "preset", "is_trial"),
            "adopted_at",
            *PAID_FIELDS,
            *(
                "pause_reason",
                "priority",
                "rounds",
                "temperature",
                "prompt_version",
                "prompt_sha256",
            ),
        ]


class OneRunSerializer(DebateRunSerializer):
    """A debate run with its counts."""

    figures = FiguresSerializer()
    config = serializers.JSONField()

    class Meta(DebateRunSerializer.Meta):
        fields = [*DebateRunSerializer.Meta.fields, "config", "figures"]


class RequeueSerializer(serializers.Serializer):
    """The words of the failures to try again."""

    error = serializers.CharField(allow_blank=True, max_length=20_000)


class ModelChoiceSerializer(serializers.Serializer):
    """An agent: without an endpoint the run's own, without a model the endpoint's own."""

    model = serializers.CharField(max_length=120, default="", allow_blank=True)
    endpoint = serializers.CharField(max_length=60, default="", allow_blank=True)
    stance = serializers.ChoiceField(choices=STANCES, default="", allow_blank=True)


class LaraSerializer(serializers.Serializer):
    """LARA's options; what is left out stays as the preset has it."""

    variant = serializers.ChoiceField(choices=list(MODELS), required=False)
    mode = serializers.ChoiceField(choices=LARA_MODES, required=False)
    batch = _whole("batch")
    budget = serializers.FloatField(min_value=0, max_value=1, required=False)
    smooth = serializers.BooleanField(required=False)
    groups = _whole("groups")
    seed = _whole("seed")
    verbalised = serializers.BooleanField(required=False)


class PlanSerializer(serializers.Serializer):
    """A run to plan or to start: a pool's id, an endpoint's name, a preset or settings, a budget.

    `models` are those of a preset, the main one first; `agents` names each agent. Whatever is left
    out stays as the preset has it, or as DREAM does.
    """

    pool = serializers.IntegerField()
    endpoint = serializers.CharField()
    preset = serializers.CharField(max_length=40, required=False, allow_blank=True)
    models = ModelChoiceSerializer(many=True, required=False)
    prompt_version = serializers.IntegerField(min_value=1, required=False, allow_null=True)
    name = serializers.CharField(max_length=120, required=False, allow_blank=True)
    budget_usd = BudgetField(required=False)
    kind = serializers.ChoiceField(choices=RunKind.choices, required=False)
    agents = ModelChoiceSerializer(many=True, required=False)
    adjudicator = ModelChoiceSerializer(required=False, allow_null=True)
    first = _one_of("first")
    rounds = _whole("rounds")
    continue_to = _whole("continue_to")
    temperature = serializers.FloatField(min_value=0, max_value=MAX_TEMPERATURE, required=False)
    max_tokens = _whole("max_tokens", allow_null=True)
    reasoning_effort = serializers.ChoiceField(choices=EFFORTS, required=False, allow_blank=True)
    on_refusal = _one_of("on_refusal")
    instead = ModelChoiceSerializer(required=False, allow_null=True)
    replicate = _whole("replicate")
    history_labels = serializers.BooleanField(required=False)
    history_for_people = serializers.BooleanField(required=False)
    samples = _whole("samples")
    profile = _one_of("profile")
    coerce = serializers.BooleanField(required=False)
    threshold = _whole("threshold")
    rule = _one_of("rule")
    lara = LaraSerializer(required=False)
    trial = serializers.BooleanField(required=False)
    audit = _whole("audit")
    decoys = _whole("decoys")
    canaries = _whole("canaries")

    def to_internal_value(self, data: Any) -> Any:
        """Refuse what no run has: a misspelt setting must not cost a run that was not meant."""
        unknown = sorted(set(data) - set(self.fields)) if isinstance(data, dict) else []
        if unknown:
            words = "A run has no such setting."
            raise serializers.ValidationError({str(name): [words] for name in unknown})
        return super().to_internal_value(data)

    def planned(self) -> tuple[int, dict[str, Any]]:
        """The pool's id, and what `debate.runs.planning.plan_run` is given; checked before."""
        given = dict(self.validated_data)
        pool = given.pop("pool")
        of_plan = {name: given.pop(name) for name in _OF_PLAN if name in given}
        return pool, of_plan | {"settings": given}


class RangeSerializer(serializers.Serializer):
    """A total as it is expected, and its bounds."""

    low = serializers.FloatField()
    likely = serializers.FloatField()
    high = serializers.FloatField()


class WorkloadSerializer(serializers.Serializer):
    """What a run asks of people: cases, votes and seconds, null where nothing tells.

    `basis`: whether cases are told from `sample` pairs that were decided in the same way
    (measured), from what was published for DREAM (published), or by the settings; empty with null.
    `audit` agreed pairs come on top. A vote takes `seconds_a_vote`: the mean of the benchmark's
    latest `votes_timed` votes, or, of 0, what the voting plan supposes.
    """

    cases = RangeSerializer(allow_null=True)
    basis = serializers.CharField(allow_blank=True)
    sample = serializers.IntegerField()
    after_adoption = serializers.BooleanField()
    audit = serializers.IntegerField()
    votes_a_case = serializers.IntegerField()
    votes = RangeSerializer(allow_null=True)
    seconds_a_vote = serializers.FloatField()
    votes_timed = serializers.IntegerField()
    seconds = RangeSerializer(allow_null=True)


class KnownAccuracySerializer(serializers.Serializer):
    """Balanced accuracy with its 95 % interval."""

    value = serializers.FloatField()
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


class OfferedModelSerializer(serializers.Serializer):
    """A model that could be asked instead: USD of 1,000 pairs, and how right it was here.

    `accuracy` is that of `run`, its newest finished one of the kind, on `known` labels.
    """

    endpoint = serializers.CharField()
    model = serializers.CharField()
    practice = serializers.BooleanField()
    usd = RangeSerializer(allow_null=True)
    is_measured = serializers.BooleanField()
    accuracy = KnownAccuracySerializer(allow_null=True)
    known = serializers.IntegerField()
    run = serializers.IntegerField(allow_null=True)


class ForecastSerializer(serializers.Serializer):
    """What so many pairs will take; usd and seconds are null where they are not known.

    `is_measured`: the ranges are 95 % intervals from pairs that were decided in the same way; else
    the least and the most that a pair can take.
    """

    pairs = serializers.IntegerField()
    calls = RangeSerializer()
    input_tokens = RangeSerializer()
    output_tokens = RangeSerializer()
    usd = RangeSerializer(allow_null=True)
    seconds = RangeSerializer(allow_null=True)
    sample = serializers.IntegerField()
    is_measured = serializers.BooleanField()
    people = WorkloadSerializer()


class PlannedSerializer(ForecastSerializer):
    """A forecast with the configuration that it is of, and the budget.

    `pairs_left`: how many of the pool's pairs have no label (those of the practice model apart), no
    case before people and no run under way. `models`: those that are offered, if there are several.
    """

    models = OfferedModelSerializer(many=True)

    pairs_left = serializers.IntegerField()
    config = serializers.JSONField()
    departures = serializers.ListField(child=serializers.CharField())
    budget_usd = serializers.DecimalField(max_digits=12, decimal_places=2, allow_null=True)


class Planning(Route):
    """What the routes share that read a plan."""

    def plan(self, access: Access) -> Plan:
        """The plan in the body."""
        form = PlanSerializer(data=self.request.data)
        form.is_valid(raise_exception=True)
        key, given = form.planned()
        pool = get_object_or_404(access.benchmark.pools, pk=key)
        endpoint = endpoints.get(given.pop("endpoint"))
        return plan_run(benchmark=access.benchmark, pool=pool, endpoint=endpoint, **given)


class Runs(Planning):
    """Debate runs of a benchmark, and starting one."""

    @extend_schema(
        responses=DebateRunSerializer(many=True),
        parameters=[OpenApiParameter(name, str) for name in ("q", "sort", *FILTERS)],
    )
    def get(self, request: Request, slug: str) -> Response:
        access = enter_unblinded(self.person(), slug, *READERS)
        params = {name: str(value) for name, value in request.query_params.items()}
        is_narrowed = any(params.get(name) for name in FILTERS)
        choices = run_choices(access.benchmark) if is_narrowed else {}
        rows = access.benchmark.debate_runs.select_related("account")
        return self.page(self.matches(LIST, rows, choices), DebateRunSerializer)

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
        data: dict[str, Any] = dict(ForecastSerializer(forecast_plan(plan)).data)
        data |= {"config": as_json(plan.config), "departures": plan.departures}
        data["models"] = offers(plan)
        data["pairs_left"] = pairs_left(plan.benchmark, pool=plan.pool).get(plan.pool.pk, 0)
        return Response(PlannedSerializer(data | {"budget_usd": plan.budget_usd}).data)


class OneRun(Route):
    """One run with its counts."""

    @extend_schema(responses=OneRunSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        _, run = enter_run(self.person(), slug, pk, *READERS)
        data: dict[str, Any] = dict(DebateRunSerializer(run).data)
        return Response(data | {"figures": figures(run), "config": run.config})


class RunForecast(Route):
    """What the waiting pairs of a run will take."""

    @extend_schema(operation_id="debate_run_forecast", responses=ForecastSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        _, run = enter_run(self.person(), slug, pk, *READERS)
        try:
            return Response(ForecastSerializer(forecast_run(run)).data)
        except PromptGone as gone:
            raise Refused(str(gone)) from None


class Requeue(Route):
    """Trying the pairs again that failed in the same way."""

    @extend_schema(
        operation_id="debate_run_requeue", request=RequeueSerializer, responses=DebateRunSerializer
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, run = enter_run(self.person(), slug, pk, Role.ADMIN)
        error = self.read(RequeueSerializer)["error"]
        requeue.requeue_failures(run=run, error_class=error, actor=access.user)
        return Response(DebateRunSerializer(run).data)


class RequeueOne(Route):
    """Trying one failed pair again."""

    @extend_schema(request=None, responses=DebateRunSerializer)
    def post(self, request: Request, slug: str, pk: int, debate: int) -> Response:
        access, run = enter_run(self.person(), slug, pk, Role.ADMIN)
        requeue.requeue_pair(run=run, debate=get_debate(run, debate), actor=access.user)
        return Response(DebateRunSerializer(run).data)


_KIND: Any = {"pages": RUNS, "serializer_class": DebateRunSerializer}
_RUNS = "b/<slug:slug>/debate-runs"
_RUN = f"{_RUNS}/<int:pk>"
urlpatterns = [
    path(f"{_RUNS}/", Runs.as_view(), name="api-debate-runs"),
    path(f"{_RUNS}/forecast/", Forecasts.as_view(), name="api-debate-run-plan"),
    path(f"{_RUN}/", OneRun.as_view(), name="api-debate-run"),
    path(f"{_RUN}/forecast/", RunForecast.as_view(), name="api-debate-run-forecast"),
    path(f"{_RUN}/budget/", RunBudget.as_view(**_KIND), name="api-debate-run-budget"),
    path(f"{_RUN}/requeue/", Requeue.as_view(), name="api-debate-run-requeue"),
    path(f"{_RUN}/debates/<int:debate>/requeue/", RequeueOne.as_view(), name="api-debate-requeue"),
    path(f"{_RUN}/<slug:verb>/", RunVerb.as_view(**_KIND), name="api-debate-run-verb"),
]
