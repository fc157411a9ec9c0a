"""API of corpus versions and cleanings: the verbs of their screens."""

from django.http import Http404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from corpus.models import CorpusVersion, Passage, Role
from corpus.serializers_cleaning import (
    CarriedSerializer,
    CleaningBudgetSerializer,
    CleaningForecastSerializer,
    CleaningSerializer,
    DecisionSerializer,
    NewCleaningSerializer,
    NextViolationSerializer,
    PassageDiffSerializer,
    VersionSerializer,
    ViolationSerializer,
    diff_data,
)
from corpus.services import cleaning as verbs
from corpus.services.cleaning_decisions import decide
from corpus.services.cleaning_report import report
from corpus.services.crosswalk import labels_of
from corpus.views.cleaning import READERS, VERBS, forecast_of, get_done, get_run
from corpus.views.versions import came_from, compare, get_version
from corpus.views.violations import get_violation, listed
from kit.api import Route, SheetSerializer
from kit.errors import Refused
from kit.sheets import as_data
from llm import endpoints


class Versions(Route):
    """Corpus versions that are ready."""

    @extend_schema(responses=VersionSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, *READERS)
        rows = CorpusVersion.objects.ready().filter(benchmark=access.benchmark)
        return self.page(rows, VersionSerializer)


class VersionLabels(Route):
    """Labels as they hold for a version's passages, read through its crosswalks."""

    @extend_schema(responses=CarriedSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        return Response(CarriedSerializer(labels_of(get_version(access, pk))).data)


class VersionPassage(Route):
    """A passage of a version beside what it came from, word by word."""

    @extend_schema(responses=PassageDiffSerializer)
    def get(self, request: Request, slug: str, pk: int, passage_pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        version = get_version(access, pk)
        passage = Passage.objects.in_version(version).filter(pk=passage_pk).first()
        if passage is None:
            raise Http404("No such passage in this version.")
        links = list(came_from(passage))
        return Response(diff_data(passage, links, compare(passage, links)))


class Cleanings(Route):
    """Cleaning runs, and starting one."""

    @extend_schema(responses=CleaningSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, *READERS)
        return self.page(access.benchmark.cleaning_runs.all(), CleaningSerializer)

    @extend_schema(request=NewCleaningSerializer, responses={202: CleaningSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewCleaningSerializer)
        ready = CorpusVersion.objects.ready().filter(benchmark=access.benchmark)
        source = ready.filter(pk=given.pop("source")).first()
        if source is None:
            raise Refused("There is no such corpus version here.", field="source")
        name = given.pop("endpoint")
        try:
            endpoint = endpoints.get(name) if name else None
        except endpoints.UnknownEndpoint as error:
            raise Refused(str(error), field="endpoint") from None
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
        parameters=[OpenApiParameter(n) for n in ("source", "preset", "endpoint", "budget_usd")],
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
        parameters=[OpenApiParameter("verb", enum=list(VERBS), location=OpenApiParameter.PATH)],
    )
    def post(self, request: Request, slug: str, pk: int, verb: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        run = get_run(access, pk)
        if verb not in VERBS:
            raise Http404("No such verb.")
        VERBS[verb](run=run, actor=access.user)
        return Response(CleaningSerializer(get_run(access, pk)).data)


class CleaningBudget(Route):
    """What a run may spend."""

    @extend_schema(request=CleaningBudgetSerializer, responses=CleaningSerializer)
    def put(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        run = get_run(access, pk)
        given = self.read(CleaningBudgetSerializer)
        verbs.set_budget(run=run, usd=given["usd"], actor=access.user)
        return Response(CleaningSerializer(run).data)


class CleaningReport(Route):
    """The tables of a run that is done."""

    @extend_schema(responses=SheetSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        return Response(as_data(report(get_done(access, pk)).sheets))


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


_RUN = "b/<slug:slug>/cleanings/<int:pk>"
urlpatterns = [
    path("b/<slug:slug>/versions/", Versions.as_view(), name="api-versions"),
    path(
        "b/<slug:slug>/versions/<int:pk>/labels/",
        VersionLabels.as_view(),
        name="api-version-labels",
    ),
    path(
        "b/<slug:slug>/versions/<int:pk>/passages/<int:passage_pk>/",
        VersionPassage.as_view(),
        name="api-version-passage",
    ),
    path("b/<slug:slug>/cleanings/", Cleanings.as_view(), name="api-cleanings"),
    path(
        "b/<slug:slug>/cleaning-forecast/",
        CleaningForecast.as_view(),
        name="api-cleaning-forecast",
    ),
    path(f"{_RUN}/", OneCleaning.as_view(), name="api-cleaning"),
    path(f"{_RUN}/budget/", CleaningBudget.as_view(), name="api-cleaning-budget"),
    path(f"{_RUN}/report/", CleaningReport.as_view(), name="api-cleaning-report"),
    path(f"{_RUN}/violations/", Violations.as_view(), name="api-cleaning-violations"),
    path(
        f"{_RUN}/violations/<int:violation_pk>/",
        OneViolation.as_view(),
        name="api-cleaning-violation",
    ),
    path(f"{_RUN}/<slug:verb>/", CleaningVerb.as_view(), name="api-cleaning-verb"),
]
