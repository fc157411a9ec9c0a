"""API of quotas."""

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import Access, enter
from corpus.models import Role
from corpus.quotas.services import quota_of, set_quota, used_by
from corpus.quotas.views import enter_as_staff
from kit.api import Route


class LimitsSerializer(serializers.Serializer):
    """What a benchmark may use; null is no limit."""

    bytes = serializers.IntegerField(min_value=0, max_value=2**62, allow_null=True)
    calls = serializers.IntegerField(min_value=0, max_value=2**62, allow_null=True)
    usd = serializers.DecimalField(
        min_value=0, max_digits=9, decimal_places=2, allow_null=True, coerce_to_string=False
    )


class UsedSerializer(serializers.Serializer):
    """What it has used; USD with what calls of unknown cost may come to."""

    bytes = serializers.IntegerField()
    calls = serializers.IntegerField()
    usd = serializers.FloatField()


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
        given = self.read(LimitsSerializer)
        set_quota(benchmark=access.benchmark, actor=access.user, **given)
        return self._answer(access)

    def _answer(self, access: Access) -> Response:
        quota = quota_of(access.benchmark)
        limits = LimitsSerializer(quota).data
        return Response({**limits, "used": UsedSerializer(used_by(access.benchmark)).data})


urlpatterns = [path("b/<slug:slug>/quotas/", Quotas.as_view(), name="api-quotas")]
