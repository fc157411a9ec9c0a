"""API of blind audits."""

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.models import Role
from debate.audits.services import HIGHEST_SEED, MOST, draw_audit
from debate.loaders import enter_run
from kit.api import Route


class AuditSerializer(serializers.Serializer):
    """How many agreed pairs are drawn, and with which seed."""

    size = serializers.IntegerField(min_value=1, max_value=MOST)
    seed = serializers.IntegerField(min_value=0, max_value=HIGHEST_SEED, default=1)


class BlindAuditSerializer(AuditSerializer):
    """The same, and whether more is drawn of the label that earlier audits are least sure of."""

    by_error = serializers.BooleanField(default=False)


class Audits(Route):
    """Putting a blind sample of the agreed pairs before people."""

    @extend_schema(
        operation_id="debate_run_audit",
        request=BlindAuditSerializer,
        responses={201: BlindAuditSerializer},
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, run = enter_run(self.person(), slug, pk, Role.ADMIN)
        given = self.read(BlindAuditSerializer)
        sample = draw_audit(run=run, actor=access.user, **given)
        return Response(
            {"size": sample.items.count(), "seed": sample.seed, "by_error": sample.by_error},
            status=201,
        )


urlpatterns = [
    path(
        "b/<slug:slug>/debate-runs/<int:pk>/audits/", Audits.as_view(), name="api-debate-run-audits"
    ),
]
