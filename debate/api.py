"""API of what a debate run found: its control room, its tables, its pairs."""

from django.core.exceptions import PermissionDenied
from django.db.models import Prefetch
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
    DebateSerializer,
    OneDebateSerializer,
    RoomSerializer,
)
from debate.services.audits import draw_audit
from debate.services.figures import failure_classes, outcomes
from debate.services.spending import run_spending
from debate.views.debates import judge_first
from debate.views.loaders import READERS, get_run
from debate.views.report import read_asked, sheets
from kit.api import Route, SheetSerializer
from kit.sheets import as_data

FILTERS = [each.name for each in DEBATES.filters]


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
            "spending": run_spending(run),
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
    path(f"{_RUN}/room/", RunRoom.as_view(), name="api-debate-run-room"),
    path(f"{_RUN}/report/", RunReport.as_view(), name="api-debate-run-report"),
    path(f"{_RUN}/audits/", Audits.as_view(), name="api-debate-run-audits"),
    path(f"{_RUN}/debates/", Debates.as_view(), name="api-debates"),
    path(f"{_PAIR}/", OneDebate.as_view(), name="api-debate"),
]
