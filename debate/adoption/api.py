"""API of what becomes of a run's labels: adoption, its preview and undo, a filter's pool."""

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.models import Role
from debate.adoption.services import adopt_run, preview_adoption, undo_adoption, why_not
from debate.filters.services import keep_pairs
from debate.loaders import READERS, enter_run
from kit.api import Route
from kit.errors import Refused
from kit.runs.models import RunStatus


class EffectSerializer(serializers.Serializer):
    """Labels, by whether they say relevant."""

    relevant = serializers.IntegerField()
    irrelevant = serializers.IntegerField()
    total = serializers.IntegerField()


class PreviewSerializer(serializers.Serializer):
    """What adopting would change now; `joined` of the cases exist already.

    `undo` says why an adoption cannot be undone; it is empty where it can.
    """

    stands = EffectSerializer()
    replaces = EffectSerializer()
    weaker = EffectSerializer()
    cases = serializers.IntegerField()
    joined = serializers.IntegerField()
    undo = serializers.CharField(allow_blank=True)


class AdoptedSerializer(serializers.Serializer):
    """Labels that stand now, labels that a weightier one kept out, cases that were opened."""

    standing = serializers.IntegerField()
    weaker = serializers.IntegerField()
    cases = serializers.IntegerField()


class UndoneSerializer(serializers.Serializer):
    """Labels on trial again, how many of them stood, labels that stand again, cases withdrawn."""

    waiting = serializers.IntegerField()
    stood = serializers.IntegerField()
    restored = serializers.IntegerField()
    cases = serializers.IntegerField()


class KeepSerializer(serializers.Serializer):
    """The name of the pool; empty makes one up."""

    name = serializers.CharField(max_length=120, default="", allow_blank=True)


class KeptSerializer(serializers.Serializer):
    """The pool that was made."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    pairs = serializers.IntegerField()


class Adoption(Route):
    """Adopting a run: what it would change, and doing it."""

    @extend_schema(operation_id="debate_run_adoption", responses=PreviewSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        _, run = enter_run(self.person(), slug, pk, *READERS)
        if run.status != RunStatus.DONE:
            raise Refused("Only a run that is done can be adopted.")
        found = preview_adoption(run)
        return Response(PreviewSerializer(found | {"undo": why_not(run)}).data)

    @extend_schema(operation_id="debate_run_adopt", request=None, responses=AdoptedSerializer)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, run = enter_run(self.person(), slug, pk, Role.ADMIN)
        counts = adopt_run(run=run, actor=access.user)
        return Response(AdoptedSerializer(counts).data)


class UndoAdoption(Route):
    """Undoing an adoption, where nobody has voted since."""

    @extend_schema(operation_id="debate_run_unadopt", request=None, responses=UndoneSerializer)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, run = enter_run(self.person(), slug, pk, Role.ADMIN)
        counts = undo_adoption(run=run, actor=access.user)
        return Response(UndoneSerializer(counts).data)


class Keep(Route):
    """A pool of what a filter run did not discard."""

    @extend_schema(
        operation_id="debate_run_keep", request=KeepSerializer, responses={201: KeptSerializer}
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, run = enter_run(self.person(), slug, pk, Role.ADMIN)
        pool = keep_pairs(run=run, actor=access.user, **self.read(KeepSerializer))
        data = {"id": pool.pk, "name": pool.name, "pairs": pool.entries.count()}
        return Response(KeptSerializer(data).data, status=201)


_RUN = "b/<slug:slug>/debate-runs/<int:pk>"
urlpatterns = [
    path(f"{_RUN}/adoption/", Adoption.as_view(), name="api-debate-run-adoption"),
    path(f"{_RUN}/adoption/undo/", UndoAdoption.as_view(), name="api-debate-run-unadopt"),
    path(f"{_RUN}/keep/", Keep.as_view(), name="api-debate-run-keep"),
]
