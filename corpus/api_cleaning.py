"""API of cleanings: the verbs of their screens."""

from django.http import Http404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from corpus.models import CorpusVersion, Role
from corpus.serializers_cleaning import (
    CleaningBudgetSerializer,
    CleaningForecastSerializer,
    CleaningSerializer,
    DecisionSerializer,
    NewCleaningSerializer,
    NextViolationSerializer,
    ViolationSerializer,
)
from corpus.services import cleaning as verbs
from corpus.services.cleaning_decisions import decide, undo
from corpus.services.cleaning_report import SIDES, report
from corpus.services.cleaning_rows import rows_of
from corpus.views.cleaning import READERS, VERBS, forecast_of, get_done, get_run
from corpus.views.cleaning_report import read_widths
from corpus.views.violations import get_violation, listed
from kit.api import Route, SheetSerializer, find_verb, verb_parameter
from kit.errors import Refused
from kit.sheets import as_data
from llm import endpoints
from llm.ledger.accounts import set_budget

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
        endpoint = endpoints.chosen(name) if name else None
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
            for name in ("source", "preset", "endpoint", "model", "budget_usd")
        ],
        responses=CleaningForecastSerializer,
    )
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        found = forecast_of(access, request.query_params)
        if found["forecast"] is None:
            raise Http404("There is no corpus to clean yet.")
        advice = {"advised": found["advice"].preset, "why": found["advice"].why}
        return Response(CleaningForecastSerializer(vars(found["forecast"]) | advice).data)


class OneCleaning(Route):
    """One cleaning run."""

    @extend_schema(responses=CleaningSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        return Response(CleaningSerializer(get_run(access, pk)).data)


class CleaningVerb(Route):
    """Pause, resume or cancel."""

    @extend_schema(
        operation_id="cleaning_verb",
        request=None,
        responses=CleaningSerializer,
        parameters=[verb_parameter(VERBS)],
    )
    def post(self, request: Request, slug: str, pk: int, verb: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        run = get_run(access, pk)
        find_verb(VERBS, verb)(run=run, actor=access.user)
        return Response(CleaningSerializer(get_run(access, pk)).data)


class CleaningBudget(Route):
    """What a run may spend."""

    @extend_schema(request=CleaningBudgetSerializer, responses=CleaningSerializer)
    def put(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        run = get_run(access, pk)
        given = self.read(CleaningBudgetSerializer)
        set_budget(run, given["usd"], actor=access.user, scope=access.benchmark.slug)
        return Response(CleaningSerializer(run).data)


class CleaningReport(Route):
    """The tables of a run that is done."""

    @extend_schema(parameters=_WIDTHS, responses=SheetSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        widths = read_widths(request.query_params)
        return Response(as_data(report(get_done(access, pk), widths).sheets))


class CleaningRows(Route):
    """The rows behind one number of the report: of a bin, an agent, or what was dropped."""

    @extend_schema(
        parameters=[
            OpenApiParameter("of", enum=["lengths", "similarity", "agents", "dropped"]),
            OpenApiParameter("side", enum=list(SIDES)),
            OpenApiParameter("bin", int),
            OpenApiParameter("role"),
            *_WIDTHS,
        ],
        responses=SheetSerializer(many=True),
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


_RUN = "b/<slug:slug>/cleanings/<int:pk>"
urlpatterns = [
    path("b/<slug:slug>/cleanings/", Cleanings.as_view(), name="api-cleanings"),
    path(
        "b/<slug:slug>/cleaning-forecast/",
        CleaningForecast.as_view(),
        name="api-cleaning-forecast",
    ),
    path(f"{_RUN}/", OneCleaning.as_view(), name="api-cleaning"),
    path(f"{_RUN}/budget/", CleaningBudget.as_view(), name="api-cleaning-budget"),
    path(f"{_RUN}/report/", CleaningReport.as_view(), name="api-cleaning-report"),
    path(f"{_RUN}/report/rows/", CleaningRows.as_view(), name="api-cleaning-rows"),
    path(f"{_RUN}/violations/", Violations.as_view(), name="api-cleaning-violations"),
    path(
        f"{_RUN}/violations/<int:violation_pk>/",
        OneViolation.as_view(),
        name="api-cleaning-violation",
    ),
    path(
        f"{_RUN}/violations/<int:violation_pk>/undo/",
        UndoDecision.as_view(),
        name="api-cleaning-violation-undo",
    ),
    path(f"{_RUN}/<slug:verb>/", CleaningVerb.as_view(), name="api-cleaning-verb"),
]
