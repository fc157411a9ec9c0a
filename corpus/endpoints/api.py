"""API of the models that are set up, and of trying them."""

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from corpus.endpoints.views import known, try_for
from corpus.models import Role
from kit.api import Route
from llm.endpoints import ROLES


class ModelSerializer(serializers.Serializer):
    """A model at an endpoint: for what, how it is asked, its price, and its last trial.

    Without a time it was never tried; `fault` says why the last trial had no answer. Tokens and
    USD are given of a trial just made, null where they are not known.
    """

    endpoint = serializers.CharField(source="endpoint.name")
    model = serializers.CharField()
    roles = serializers.ListField(child=serializers.CharField())
    practice = serializers.BooleanField(source="endpoint.is_practice")
    asked = serializers.CharField()
    refusals = serializers.ListField(child=serializers.CharField())
    price = serializers.CharField()
    tried_at = serializers.DateTimeField(source="known.tried_at", allow_null=True)
    seconds = serializers.FloatField(source="known.latency_s", allow_null=True)
    fault = serializers.CharField(source="known.fault")
    input_tokens = serializers.IntegerField(source="call.input_tokens", allow_null=True)
    output_tokens = serializers.IntegerField(source="call.output_tokens", allow_null=True)
    usd = serializers.DecimalField(
        max_digits=18, decimal_places=12, source="call.usd", allow_null=True
    )


class TrySerializer(serializers.Serializer):
    """Which endpoint is tried, by name; all its models, or that of one role."""

    endpoint = serializers.CharField(max_length=60)
    role = serializers.ChoiceField(choices=[*ROLES], allow_blank=True, default="")


class Endpoints(Route):
    """The models that are set up here, by the names of their endpoints."""

    pagination_class = None

    @extend_schema(responses=ModelSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        enter(self.person(), slug, Role.ADMIN)
        return Response(ModelSerializer(known(), many=True).data)


class EndpointTry(Route):
    """One tiny call to each model of an endpoint; it is paid for, and charged to no budget."""

    @extend_schema(request=TrySerializer, responses=ModelSerializer(many=True))
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(TrySerializer)
        outcomes = try_for(access, given["endpoint"], given["role"])
        return Response(ModelSerializer(outcomes, many=True).data)


urlpatterns = [
    path("b/<slug:slug>/endpoints/", Endpoints.as_view(), name="api-endpoints"),
    path("b/<slug:slug>/endpoints/try/", EndpointTry.as_view(), name="api-endpoint-try"),
]
