"""API of quotas."""

from django.http import Http404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import Access, enter
from corpus.models import Role
from corpus.quotas.services import asking_run, quota_of, set_quota, used_by
from corpus.quotas.views import enter_as_staff
from kit.api import Route
from kit.runs.turns import Priority, level_of, named
from llm.ledger.accounts import AskingRun, set_priority


class LimitsSerializer(serializers.Serializer):
    """What a benchmark may use; null is no limit."""

    bytes = serializers.IntegerField(min_value=0, max_value=2**62, allow_null=True)
    calls = serializers.IntegerField(min_value=0, max_value=2**62, allow_null=True)
    usd = serializers.DecimalField(
        min_value=0, max_digits=9, decimal_places=2, allow_null=True, coerce_to_string=False
    )
    # Left out they stay as they are: earlier clients do not know them.
    usd_month = serializers.DecimalField(
        min_value=0,
        max_digits=9,
        decimal_places=2,
        allow_null=True,
        coerce_to_string=False,
        required=False,
    )
    in_flight = serializers.IntegerField(
        min_value=1, max_value=10_000, allow_null=True, required=False
    )
    # Of its runs of every kind about which nobody said anything; null leaves it to their size.
    priority = serializers.ChoiceField(choices=Priority.labels, allow_null=True, required=False)


class UsedSerializer(serializers.Serializer):
    """What it has used; USD with what calls of unknown cost may come to."""

    bytes = serializers.IntegerField()
    calls = serializers.IntegerField()
    usd = serializers.FloatField()
    usd_month = serializers.FloatField()
    in_flight = serializers.IntegerField()


class QuotaSerializer(LimitsSerializer):
    """What a benchmark may use and has used."""

    used = UsedSerializer()


class Quotas(Route):
    """What a benchmark uses and may use; staff of the site who are its admins set it."""

    pagination_class = None

    @extend_schema(responses=QuotaSerializer)
    def get(self, request: Request, slug: str) -> Response:
        return self._answer(enter(self.person(), slug, Role.ADMIN))

    @extend_schema(request=LimitsSerializer, responses=QuotaSerializer)
    def put(self, request: Request, slug: str) -> Response:
        access = enter_as_staff(enter(self.person(), slug, Role.ADMIN))
        quota = quota_of(access.benchmark)
        kept = {"usd_month": quota.usd_month, "in_flight": quota.in_flight}
        given = kept | self.read(LimitsSerializer)
        given["priority"] = named(given.get("priority", level_of(quota.priority)))
        set_quota(benchmark=access.benchmark, actor=access.user, **given)
        return self._answer(access)

    def _answer(self, access: Access) -> Response:
        quota = quota_of(access.benchmark)
        said = {"priority": level_of(quota.priority)}
        used = {"used": UsedSerializer(used_by(access.benchmark)).data}
        return Response({**LimitsSerializer(quota).data, **said, **used})


class PrioritySerializer(serializers.Serializer):
    """Whom a run goes before; null leaves it to its benchmark's priority, or to its size."""

    priority = serializers.ChoiceField(choices=Priority.labels, allow_null=True)


class RunPriority(Route):
    """Whom a run goes before where several wait for the same workers or endpoint.

    `kind` is a task's name, such as debate.run, corpus.cleaning or evaluation.agent_run.
    """

    pagination_class = None

    @extend_schema(responses=PrioritySerializer)
    def get(self, request: Request, slug: str, kind: str, pk: int) -> Response:
        return self._answer(self._find(slug, kind, pk)[1])

    @extend_schema(request=PrioritySerializer, responses=PrioritySerializer)
    def put(self, request: Request, slug: str, kind: str, pk: int) -> Response:
        access, run = self._find(slug, kind, pk)
        label = self.read(PrioritySerializer)["priority"]
        set_priority(run=run, priority=named(label), actor=access.user)
        return self._answer(run)

    def _find(self, slug: str, kind: str, pk: int) -> tuple[Access, AskingRun]:
        access = enter(self.person(), slug, Role.ADMIN)
        run = asking_run(access.benchmark, kind, pk)
        if run is None:
            raise Http404("No such run.")
        return access, run

    def _answer(self, run: AskingRun) -> Response:
        return Response({"priority": level_of(run.priority)})


_RUN = "b/<slug:slug>/priorities/<str:kind>/<int:pk>/"
urlpatterns = [
    path("b/<slug:slug>/quotas/", Quotas.as_view(), name="api-quotas"),
    path(_RUN, RunPriority.as_view(), name="api-run-priority"),
]
