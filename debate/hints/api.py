"""API of hint runs: having the reasons of a panel written."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.panels.views import get_panel
from corpus.access import enter
from corpus.models import Role
from corpus.run_routes import OneRun, RunBudget, RunVerb
from debate.hints import services as verbs
from debate.hints.views import RUNS
from debate.models import HintRun
from kit.api import RUN_FIELDS, Route
from llm import endpoints
from llm.ledger.serializers import PAID_FIELDS, BudgetField, PaidSerializer


class HintRunSerializer(PaidSerializer, serializers.ModelSerializer):
    """A hint run and how far it is."""

    class Meta:
        model = HintRun
        fields = [
            *RUN_FIELDS,
            *("panel", "endpoint", "model", "practice", "prompt_version", "prompt_sha256"),
            *PAID_FIELDS,
            "pause_reason",
            "priority",
        ]


class NewHintRunSerializer(serializers.Serializer):
    """Who writes the reasons: an endpoint by name, its model unless another is named."""

    endpoint = serializers.CharField(max_length=60)
    model = serializers.CharField(max_length=120, default="", allow_blank=True)
    budget_usd = BudgetField(required=False)


class HintRuns(Route):
    """The hint runs of a panel, and starting one."""

    @extend_schema(responses=HintRunSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        panel = get_panel(enter(self.person(), slug, Role.ADMIN), pk)
        runs = HintRun.objects.filter(panel=panel).select_related("account")
        return self.page(runs, HintRunSerializer)

    @extend_schema(request=NewHintRunSerializer, responses={201: HintRunSerializer})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        panel, given = get_panel(access, pk), self.read(NewHintRunSerializer)
        endpoint = endpoints.get(given.pop("endpoint"))
        run = verbs.start_hints(
            panel=panel, endpoint=endpoint, actor=access.user, access=access, **given
        )
        return Response(HintRunSerializer(run).data, status=201)


_KIND: Any = {"pages": RUNS, "serializer_class": HintRunSerializer}
_RUN = "b/<slug:slug>/hint-runs/<int:pk>"
urlpatterns = [
    path("b/<slug:slug>/panels/<int:pk>/hint-runs/", HintRuns.as_view(), name="api-hint-runs"),
    path(f"{_RUN}/", OneRun.as_view(**_KIND), name="api-hint-run"),
    path(f"{_RUN}/budget/", RunBudget.as_view(**_KIND), name="api-hint-run-budget"),
    path(f"{_RUN}/<slug:verb>/", RunVerb.as_view(**_KIND), name="api-hint-run-verb"),
]
