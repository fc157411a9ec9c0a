"""API of debate runs: the verbs of the screens."""

from django.core.exceptions import PermissionDenied
from django.db.models import Prefetch
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from corpus.models import Role
from debate.lists import DEBATES, debate_choices, debate_table, is_narrowed
from debate.models import Turn
from debate.serializers import (
    AuditSerializer,
    DebateRunSerializer,
    DebateSerializer,
    NewRunSerializer,
    OneDebateSerializer,
    OneRunSerializer,
    RequeueSerializer,
    RoomSerializer,
)
from debate.services import requeue
from debate.services import runs as verbs
from debate.services.audits import draw_audit
from debate.services.figures import failure_classes, figures, outcomes
from debate.services.spending import spending
from debate.views.debates import judge_first
from debate.views.loaders import READERS, get_debate, get_run
from debate.views.report import read_asked, sheets
from debate.views.runs import VERBS
from kit.api import Route, SheetSerializer
from kit.errors import Refused
from kit.sheets import as_data
from llm import endpoints

FILTERS = [each.name for each in DEBATES.filters]


class Runs(Route):
    """Debate runs of a benchmark, and starting one."""

    @extend_schema(responses=DebateRunSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, *READERS)
        return self.page(access.benchmark.debate_runs.all(), DebateRunSerializer)

    @extend_schema(request=NewRunSerializer, responses={201: DebateRunSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewRunSerializer)
        pool = get_object_or_404(access.benchmark.pools, pk=given.pop("pool"))
        try:
            endpoint = endpoints.get(given.pop("endpoint"))
        except endpoints.UnknownEndpoint as error:
            raise Refused(str(error), field="endpoint") from None
        run = verbs.start_run(
            benchmark=access.benchmark, pool=pool, endpoint=endpoint, actor=access.user, **given
        )
        return Response(DebateRunSerializer(run).data, status=201)


class OneRun(Route):
    """One run with its counts."""

    @extend_schema(responses=OneRunSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        run = get_run(enter(self.person(), slug, *READERS), pk)
        data = DebateRunSerializer(run).data
        return Response(data | {"figures": vars(figures(run))})


class RunVerb(Route):
    """Pause, resume or cancel a run, or retry its failed pairs."""

    @extend_schema(operation_id="debate_run_verb", request=None, responses=DebateRunSerializer)
    def post(self, request: Request, slug: str, pk: int, verb: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        run = get_run(access, pk)
        if verb not in VERBS:
            raise Http404("No such verb.")
        VERBS[verb](run=run, actor=access.user)
        return Response(DebateRunSerializer(run).data)


class RunRoom(Route):
    """What the control room shows: counts by round and domain, failures by class, what was used."""

    @extend_schema(responses=RoomSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        run = get_run(enter(self.person(), slug, *READERS), pk)
        whole, domains = outcomes(run)
        room = {
            "run": whole,
            "domains": domains,
            "failures": failure_classes(run),
            "spending": spending(run),
        }
        return Response(RoomSerializer(room).data)


class RunReport(Route):
    """After the run: its tables, beside a reference and another run where these are named."""

    @extend_schema(
        operation_id="debate_run_report",
        responses=SheetSerializer(many=True),
        parameters=[
            OpenApiParameter("reference", str, description="people, experts or gold-ID"),
            OpenApiParameter("other", int, description="Another run of the benchmark."),
        ],
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        run = get_run(access, pk)
        params = {name: str(value) for name, value in request.query_params.items()}
        asked = read_asked(access, run, params)
        if params.get("reference") and not asked.reference:
            raise ValidationError({"reference": "This benchmark has no such reference."})
        if params.get("other") and not asked.other:
            raise ValidationError({"other": "This benchmark has no such other run."})
        return Response(as_data(sheets(run, asked)))


class Audits(Route):
    """Putting a blind sample of the agreed pairs before people."""

    @extend_schema(
        operation_id="debate_run_audit", request=AuditSerializer, responses={201: AuditSerializer}
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        run = get_run(access, pk)
        given = self.read(AuditSerializer)
        sample = draw_audit(run=run, actor=access.user, **given)
        return Response({"size": sample.items.count(), "seed": sample.seed}, status=201)


class Requeue(Route):
    """Trying the pairs again that failed with the same words."""

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


class Debates(Route):
    """Every pair of a run with its outcome, searched and filtered as the screen does."""

    @extend_schema(
        responses=DebateSerializer(many=True),
        parameters=[OpenApiParameter(name, str) for name in ("q", *FILTERS)],
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        run = get_run(access, pk)
        params = {name: str(value) for name, value in request.query_params.items()}
        table = debate_table(access, run)
        choices = debate_choices(access, run, params) if is_narrowed(params) else None
        if unknown := table.not_offered(params, choices=choices):
            raise ValidationError({name: f"No such {name}: {params[name]}." for name in unknown})
        rows = run.debates.select_related("query__domain", "passage")
        return self.page(table.matches(rows, params, choices=choices), DebateSerializer)


class OneDebate(Route):
    """One debate in full."""

    @extend_schema(responses=OneDebateSerializer)
    def get(self, request: Request, slug: str, pk: int, debate: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        run = get_run(access, pk)
        rows = run.debates.select_related("query__domain", "passage")
        rows = rows.prefetch_related(Prefetch("turns", Turn.objects.select_related("call")))
        found = get_object_or_404(rows, pk=debate)
        if judge_first(access, found):
            raise PermissionDenied("You may still vote on this pair. Judge it first.")
        return Response(OneDebateSerializer(found).data)


_RUN = "b/<slug:slug>/debate-runs/<int:pk>"
_PAIR = f"{_RUN}/debates/<int:debate>"
urlpatterns = [
    path("b/<slug:slug>/debate-runs/", Runs.as_view(), name="api-debate-runs"),
    path(f"{_RUN}/", OneRun.as_view(), name="api-debate-run"),
    path(f"{_RUN}/room/", RunRoom.as_view(), name="api-debate-run-room"),
    path(f"{_RUN}/report/", RunReport.as_view(), name="api-debate-run-report"),
    path(f"{_RUN}/audits/", Audits.as_view(), name="api-debate-run-audits"),
    path(f"{_RUN}/requeue/", Requeue.as_view(), name="api-debate-run-requeue"),
    path(f"{_RUN}/debates/", Debates.as_view(), name="api-debates"),
    path(f"{_PAIR}/", OneDebate.as_view(), name="api-debate"),
    path(f"{_PAIR}/requeue/", RequeueOne.as_view(), name="api-debate-requeue"),
    path(f"{_RUN}/<slug:verb>/", RunVerb.as_view(), name="api-debate-run-verb"),
]
