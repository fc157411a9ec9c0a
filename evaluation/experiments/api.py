"""API of experiments: the verbs of the screens."""

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter, enter_unblinded
from corpus.models import Role
from evaluation.experiments import services as verbs
from evaluation.experiments.models import Experiment
from evaluation.experiments.views import READERS, get_experiment
from kit.api import KeyField, ReportTableSerializer, Route
from kit.errors import Refused
from kit.lists.report_tables import as_data


class ExperimentSerializer(serializers.ModelSerializer):
    """Which runs are compared, and with what."""

    class Meta:
        model = Experiment
        fields = ["id", "name", "reference", "runs", "created_at"]


class OneExperimentSerializer(ExperimentSerializer):
    """An experiment with its table and what it cost, measured as things stand."""

    table = ReportTableSerializer()
    costs = ReportTableSerializer(many=True)

    class Meta(ExperimentSerializer.Meta):
        fields = [*ExperimentSerializer.Meta.fields, "table", "costs"]


class NewExperimentSerializer(serializers.Serializer):
    """Runs to compare: their ids, and people, experts or gold-ID as the reference."""

    name = serializers.CharField(max_length=120)
    reference = serializers.CharField(max_length=40)
    runs = serializers.ListField(child=KeyField(), max_length=verbs.MAX_RUNS)


class Experiments(Route):
    """Experiments of a benchmark, and making one."""

    @extend_schema(responses=ExperimentSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter_unblinded(self.person(), slug, *READERS)
        rows = access.benchmark.experiments.prefetch_related("runs")
        return self.page(rows, ExperimentSerializer)

    @extend_schema(request=NewExperimentSerializer, responses={201: ExperimentSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewExperimentSerializer)
        keys = set(given.pop("runs"))
        runs = list(access.benchmark.debate_runs.filter(pk__in=keys))
        if len(runs) < len(keys):
            raise Refused("A run is not of this benchmark.", field="runs")
        made = verbs.create_experiment(
            benchmark=access.benchmark, runs=runs, actor=access.user, **given
        )
        return Response(ExperimentSerializer(made).data, status=201)


class OneExperiment(Route):
    """One experiment with its table, and forgetting it."""

    @extend_schema(responses=OneExperimentSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        experiment = get_experiment(enter_unblinded(self.person(), slug, *READERS), pk)
        table, *costs = as_data(verbs.sheets(experiment, verbs.measure(experiment)))
        found = ExperimentSerializer(experiment).data
        return Response(found | {"table": table, "costs": costs})

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        verbs.delete_experiment(experiment=get_experiment(access, pk), actor=access.user)
        return Response(status=204)


urlpatterns = [
    path("b/<slug:slug>/experiments/", Experiments.as_view(), name="api-experiments"),
    path("b/<slug:slug>/experiments/<int:pk>/", OneExperiment.as_view(), name="api-experiment"),
]
