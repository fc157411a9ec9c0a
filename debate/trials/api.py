"""API of prompts and trials: the verbs of the screens."""

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from corpus.access import enter
from corpus.models import Role
from debate.audits.api import AuditSerializer
from debate.loaders import get_run
from debate.models import PromptVersion, Trial
from debate.references import reference_called
from debate.runs import prompts as verbs
from debate.trials import services as trials
from debate.trials.report import prompt_sheets
from debate.trials.views import get_trial
from kit.api import RUN_FIELDS, ReportTableSerializer, Route
from kit.lists.report_tables import as_data


class PromptSerializer(serializers.ModelSerializer):
    """A prompt that was written here; version null is a draft."""

    class Meta:
        model = PromptVersion
        fields = ["id", "role", "version", "sha256", "text", "created_at"]


class TrialSerializer(serializers.ModelSerializer):
    """A trial and how far it is."""

    class Meta:
        model = Trial
        fields = [*RUN_FIELDS, "run", "kind", "prompt", "seed"]


class OneTrialSerializer(TrialSerializer):
    """A trial with its tables."""

    tables = ReportTableSerializer(many=True)

    class Meta(TrialSerializer.Meta):
        fields = [*TrialSerializer.Meta.fields, "tables"]


class NewTrialSerializer(serializers.Serializer):
    """A template to try, and the run whose pairs it is tried on."""

    text = serializers.CharField(max_length=verbs.LONGEST, trim_whitespace=False)
    run = serializers.IntegerField(min_value=1, max_value=2**63 - 1)
    size = serializers.IntegerField(min_value=1, max_value=trials.MOST)
    seed = serializers.IntegerField(min_value=0, max_value=2**31 - 1, default=1)


class Prompts(Route):
    """Prompts written for a benchmark, and trying another one."""

    @extend_schema(responses=PromptSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        return self.page(PromptVersion.objects.filter(benchmark=access.benchmark), PromptSerializer)

    @extend_schema(request=NewTrialSerializer, responses={201: TrialSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewTrialSerializer)
        run = get_run(access, given.pop("run"))
        text = given.pop("text")
        prompt = verbs.write_prompt(benchmark=access.benchmark, text=text, actor=access.user)
        trial = trials.start_prompt_trial(run=run, prompt=prompt, actor=access.user, **given)
        return Response(TrialSerializer(trial).data, status=201)


class TrialRoutes(ViewSetMixin, Route):
    """Prompts of a benchmark and their trials."""

    @extend_schema(operation_id="prompt_adopt", request=None, responses=PromptSerializer)
    def adopt_prompt(self, request: Request, slug: str, pk: int) -> Response:
        """Making a prompt that of all runs from now on."""
        access = enter(self.person(), slug, Role.ADMIN)
        prompt = get_object_or_404(PromptVersion, pk=pk, benchmark=access.benchmark)
        verbs.adopt_prompt(prompt=prompt, actor=access.user)
        return Response(PromptSerializer(prompt).data)

    @extend_schema(responses=OneTrialSerializer, parameters=[OpenApiParameter("reference", str)])
    def one_trial(self, request: Request, slug: str, pk: int) -> Response:
        """A trial with its tables, compared with a reference where one is named."""
        access = enter(self.person(), slug, Role.ADMIN)
        trial = get_trial(access, pk)
        reference = reference_called(
            access.benchmark, str(request.query_params.get("reference", ""))
        )
        tables = as_data(prompt_sheets(trial, reference)) if trial.prompt else []
        return Response(TrialSerializer(trial).data | {"tables": tables})

    @extend_schema(operation_id="trial_cancel", request=None, responses=TrialSerializer)
    def cancel_trial(self, request: Request, slug: str, pk: int) -> Response:
        """Stopping a trial."""
        access = enter(self.person(), slug, Role.ADMIN)
        trial = get_trial(access, pk)
        trials.cancel_trial(trial=trial, actor=access.user)
        return Response(TrialSerializer(trial).data)

    @extend_schema(
        operation_id="debate_run_canaries",
        request=AuditSerializer,
        responses={201: TrialSerializer},
    )
    def adversarial_trials(self, request: Request, slug: str, pk: int) -> Response:
        """Sending adversarial passages through the agents of a run."""
        access = enter(self.person(), slug, Role.ADMIN)
        run = get_run(access, pk)
        given = self.read(AuditSerializer)
        trial = trials.start_adversarial_trial(run=run, actor=access.user, **given)
        return Response(TrialSerializer(trial).data, status=201)


_RUN = "b/<slug:slug>/debate-runs/<int:pk>"
_TRIAL = "b/<slug:slug>/trials/<int:pk>"
_PROMPT = "b/<slug:slug>/prompts"
_to = TrialRoutes.as_view
urlpatterns = [
    path(f"{_RUN}/canaries/", _to({"post": "adversarial_trials"}), name="api-debate-run-canaries"),
    path(f"{_PROMPT}/", Prompts.as_view(), name="api-prompts"),
    path(f"{_PROMPT}/<int:pk>/adopt/", _to({"post": "adopt_prompt"}), name="api-prompt-adopt"),
    path(f"{_TRIAL}/", _to({"get": "one_trial"}), name="api-trial"),
    path(f"{_TRIAL}/cancel/", _to({"post": "cancel_trial"}), name="api-trial-cancel"),
]
