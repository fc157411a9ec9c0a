"""API of debating disputes again with people's reasons."""

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.models import Role
from debate.loaders import READERS, enter_run
from debate.rehearings.services import named_votes, rehear, rehearing_sheet
from kit.api import ReportTableSerializer, Route
from kit.lists.report_tables import as_data
from llm.ledger.serializers import BudgetField


class RehearSerializer(serializers.Serializer):
    """What the new run may spend, and whom it hears: by default the earliest voter of each case."""

    budget_usd = BudgetField(default=None)
    # "CASE/2": the second voter of a case.
    votes = serializers.ListField(child=serializers.CharField(max_length=60), default=list)


class ReheardSerializer(serializers.Serializer):
    """The run that was started, and how many cases it debates again."""

    debate_run = serializers.IntegerField()
    cases = serializers.IntegerField()


class ReasonSerializer(serializers.Serializer):
    """A vote whose reason agents have not heard; `vote` names it, and not who gave it."""

    vote = serializers.CharField()
    label: serializers.Field = serializers.IntegerField()  # type: ignore[assignment]
    reason = serializers.CharField()


class Reasons(Route):
    """Votes on a run's decided cases whose reasons its agents have not heard."""

    pagination_class = None

    @extend_schema(operation_id="debate_run_reasons", responses=ReasonSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        _, run = enter_run(self.person(), slug, pk, *READERS)
        rows = [
            {"vote": name, "label": vote.label, "reason": vote.reason}
            for name, vote in named_votes(run)
        ]
        return Response(ReasonSerializer(rows, many=True).data)


class Rehearings(Route):
    """Debating a run's disputes again; of such a run, what people's reasons changed."""

    pagination_class = None

    @extend_schema(operation_id="debate_run_rehearing", responses=ReportTableSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        _, run = enter_run(self.person(), slug, pk, *READERS)
        return Response(as_data([rehearing_sheet(run)])[0])

    @extend_schema(
        operation_id="debate_run_rehear",
        request=RehearSerializer,
        responses={202: ReheardSerializer},
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, run = enter_run(self.person(), slug, pk, Role.ADMIN)
        made = rehear(run=run, actor=access.user, **self.read(RehearSerializer))
        return Response({"debate_run": made.pk, "cases": made.total}, status=202)


urlpatterns = [
    path(
        "b/<slug:slug>/debate-runs/<int:pk>/reasons/",
        Reasons.as_view(),
        name="api-debate-run-reasons",
    ),
    path(
        "b/<slug:slug>/debate-runs/<int:pk>/rehearing/",
        Rehearings.as_view(),
        name="api-debate-run-rehearing",
    ),
]
