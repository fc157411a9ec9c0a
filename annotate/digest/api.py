"""API of my own digest."""

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.digest.services import CHOICES, choose_digest, chosen
from kit.api import Route


class DigestSerializer(serializers.Serializer):
    """How often what waits for me is mailed to me."""

    every = serializers.ChoiceField(choices=[*CHOICES])


class MyDigest(Route):
    """How often what waits for me is mailed to me; never by default."""

    pagination_class = None

    @extend_schema(responses=DigestSerializer)
    def get(self, request: Request) -> Response:
        return Response({"every": chosen(self.person())})

    @extend_schema(request=DigestSerializer, responses=DigestSerializer)
    def put(self, request: Request) -> Response:
        every = self.read(DigestSerializer)["every"]
        site = request.build_absolute_uri("/").rstrip("/")
        choose_digest(user=self.person(), every=every, site=site)
        return Response({"every": chosen(self.person())})


urlpatterns = [path("digest/", MyDigest.as_view(), name="api-digest")]
