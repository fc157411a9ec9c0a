"""API of cleanings: the verbs of their screens."""

from typing import Any

from django.http import Http404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from corpus.cleaning import services as verbs
from corpus.cleaning.decisions import decide, undo
from corpus.cleaning.report import SIDES, report, rows_of
from corpus.cleaning.report_views import read_widths
from corpus.cleaning.services import DEFAULTS
from corpus.cleaning.views import (
    READERS,
    RUNS,
    forecast_of,
    get_done,
    get_run,
    get_violation,
    listed,
)
from corpus.models import (
    CleaningPreset,
    CleaningRun,
    CorpusVersion,
    Role,
    Violation,
    ViolationPolicy,
)
from corpus.run_routes import OneRun, RunLimit, RunVerb
from kit.api import RUN_FIELDS, ReportTableSerializer, Route
from kit.errors import Refused
from kit.lists.report_tables import as_data
from llm import endpoints
from llm.ledger.serializers import PAID_FIELDS, BudgetField, PaidSerializer


class CleaningSerializer(PaidSerializer, serializers.ModelSerializer):
    """A cleaning run; `version` can be read once it is done."""

    class Meta:
        model = CleaningRun
        fields = [
            *RUN_FIELDS,
            *("name", "source", "version", "preset", "policy", "config", "endpoint", "model"),
            "practice",
            *PAID_FIELDS,
            *("pause_reason", "follows", "figures"),
        ]


class NewCleaningSerializer(serializers.Serializer):
    """A new run; options as in docs/cleaning.md."""

    source = serializers.IntegerField(  # type: ignore[assignment]
        help_text="Key of the corpus version to clean."
    )
    preset = serializers.ChoiceField(choices=CleaningPreset.choices)
    policy = serializers.ChoiceField(
        choices=ViolationPolicy.choices, default=ViolationPolicy.REPAIR
    )
    endpoint = serializers.CharField(
        allow_blank=True,
        default="",
        help_text="Asked by every agent; without one the models of the roles are, if set up.",
    )
    model = serializers.CharField(
        max_length=120,
        allow_blank=True,
        default="",
        help_text="Asked at the endpoint instead of its own; for dchunk an embedding model.",
    )
    name = serializers.CharField(max_length=80, allow_blank=True, default="")
    budget_usd = BudgetField(default=None)
    options = serializers.DictField(default=dict)
    also = serializers.ListField(
        child=serializers.ChoiceField(choices=CleaningPreset.choices),
        default=list,
        help_text="Further presets of the same job: a run each, which follows the one before.",
    )


class ViolationSerializer(serializers.ModelSerializer):
    """A place where an agent's text departs from gold text."""

    page = serializers.CharField(source="page.page_id")
    domain = serializers.CharField(source="page.domain.name")

    class Meta:
        model = Violation
        fields = ["id", "page", "domain", "stage", "part", "window", "number", "kind"]
        fields += ["is_violation", "start", "end", "out_start", "out_end", "source", "output"]
        fields += ["decision", "decided_at"]


class DecisionSerializer(serializers.Serializer):
    """What becomes of a violation."""

    decision = serializers.ChoiceField(choices=["accepted", "repaired", "original"])


class NextViolationSerializer(serializers.Serializer):
    """The next violation that waits; null when none does."""

    next = serializers.IntegerField(allow_null=True)


class CleaningForecastSerializer(serializers.Serializer):
    """What a preset would take, and what is advised."""

    preset = serializers.CharField()
    pages = serializers.IntegerField()
    gold_pages = serializers.IntegerField()
    calls = serializers.IntegerField()
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    usd = serializers.DecimalField(max_digits=18, decimal_places=6, allow_null=True)
    answered = serializers.IntegerField(
        help_text="Calls that were paid for already; not in the others."
    )
    pages_read = serializers.IntegerField(help_text="Pages that the forecast was made from.")
    measured_calls = serializers.IntegerField(
        help_text="Earlier calls of the model that correct the tokens."
    )
    advised = serializers.CharField(help_text="A preset; empty where no gain was measured.")
    why = serializers.CharField()


_WIDTHS = [
    OpenApiParameter("tokens", int, description="Tokens in a bin of the lengths."),
    OpenApiParameter("cosine", float, description="Cosine in a bin of the similarities."),
]


class Cleanings(Route):
    """Cleaning runs, and starting one."""

    @extend_schema(responses=CleaningSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, *READERS)
        runs = access.benchmark.cleaning_runs.select_related("account")
        return self.page(runs, CleaningSerializer)

    @extend_schema(request=NewCleaningSerializer, responses={202: CleaningSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewCleaningSerializer)
        ready = CorpusVersion.objects.ready().filter(benchmark=access.benchmark)
        source = ready.filter(pk=given.pop("source")).first()
        if source is None:
            raise Refused("There is no such corpus version here.", field="source")
        name = given.pop("endpoint")
        endpoint = endpoints.get(name) if name else None
        run = verbs.start_cleaning(
            benchmark=access.benchmark,
            source=source,
            endpoint=endpoint,
            actor=access.user,
            **given,
        )
        return Response(CleaningSerializer(run).data, status=202)


class CleaningForecast(Route):
    """What a preset would take on a version, and what is advised for a budget."""

    @extend_schema(
        parameters=[
            OpenApiParameter(name)
            for name in ("source", "preset", "endpoint", "model", "budget_usd", *DEFAULTS)
        ]
        + [OpenApiParameter("also", many=True, description="Further presets of the same job.")],
        responses=CleaningForecastSerializer,
    )
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        found = forecast_of(access, request.query_params)
        if found["forecast"] is None:
            raise Http404("There is no corpus to clean yet.")
        advice = {"advised": found["advice"].preset, "why": found["advice"].why}
        return Response(CleaningForecastSerializer(found["forecast"] | advice).data)


class CleaningReport(Route):
    """The tables of a run that is done."""

    pagination_class = None

    @extend_schema(parameters=_WIDTHS, responses=ReportTableSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        widths = read_widths(request.query_params)
        return Response(as_data(report(get_done(access, pk), widths).sheets))


class CleaningRows(Route):
    """The rows behind one number of the report: of a bin, an agent, or what was dropped."""

    pagination_class = None

    @extend_schema(
        parameters=[
            OpenApiParameter("of", enum=["lengths", "similarity", "agents", "dropped"]),
            OpenApiParameter("side", enum=list(SIDES)),
            OpenApiParameter("bin", int),
            OpenApiParameter("role"),
            *_WIDTHS,
        ],
        responses=ReportTableSerializer(many=True),
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        run, widths = get_done(access, pk), read_widths(request.query_params)
        sheet = rows_of(run, request.query_params, widths)
        if sheet is None:
            raise Http404("No such number.")
        return Response(as_data([sheet]))


class Violations(Route):
    """Places where agents departed from gold text."""

    @extend_schema(responses=ViolationSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        return self.page(listed(get_run(access, pk)).order_by("pk"), ViolationSerializer)


class OneViolation(Route):
    """Deciding about one place."""

    @extend_schema(request=DecisionSerializer, responses=NextViolationSerializer)
    def post(self, request: Request, slug: str, pk: int, violation_pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        found = get_violation(get_run(access, pk), violation_pk)
        given = self.read(DecisionSerializer)
        following = decide(violation=found, decision=given["decision"], actor=access.user)
        return Response({"next": following.pk if following else None})


class UndoDecision(Route):
    """Taking a decision of one's own back, until the page is cleaned with it."""

    @extend_schema(request=None, responses=ViolationSerializer)
    def post(self, request: Request, slug: str, pk: int, violation_pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        run = get_run(access, pk)
        undo(violation=get_violation(run, violation_pk), actor=access.user)
        return Response(ViolationSerializer(get_violation(run, violation_pk)).data)


_HERE = "b/<slug:slug>"
_RUN = f"{_HERE}/cleanings/<int:pk>"
_ONE = f"{_RUN}/violations/<int:violation_pk>"
_KIND: Any = {"pages": RUNS, "serializer_class": CleaningSerializer}
urlpatterns = [
    path(f"{_HERE}/cleanings/", Cleanings.as_view(), name="api-cleanings"),
    path(f"{_HERE}/cleaning-forecast/", CleaningForecast.as_view(), name="api-cleaning-forecast"),
    path(f"{_RUN}/", OneRun.as_view(**_KIND), name="api-cleaning"),
    path(f"{_RUN}/budget/", RunLimit.as_view(**_KIND), name="api-cleaning-budget"),
    path(f"{_RUN}/report/", CleaningReport.as_view(), name="api-cleaning-report"),
    path(f"{_RUN}/report/rows/", CleaningRows.as_view(), name="api-cleaning-rows"),
    path(f"{_RUN}/violations/", Violations.as_view(), name="api-cleaning-violations"),
    path(f"{_ONE}/", OneViolation.as_view(), name="api-cleaning-violation"),
    path(f"{_ONE}/undo/", UndoDecision.as_view(), name="api-cleaning-violation-undo"),
    path(f"{_RUN}/<slug:verb>/", RunVerb.as_view(**_KIND), name="api-cleaning-verb"),
]
