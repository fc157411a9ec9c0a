"""API of webhooks."""

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from corpus.models import Delivery, Role, Webhook
from corpus.webhooks import services as verbs
from corpus.webhooks.views import DELIVERIES, get_delivery, get_webhook
from kit.api import Route


class NewWebhookSerializer(serializers.Serializer):
    """An address to tell, and of what."""

    url = serializers.CharField(max_length=2000)
    kinds = serializers.MultipleChoiceField(choices=[*verbs.KINDS])


class WebhookSerializer(serializers.ModelSerializer):
    """An address that is told of events of some kinds."""

    kinds = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = Webhook
        fields = ["id", "url", "kinds", "created_at"]


class MadeWebhookSerializer(WebhookSerializer):
    """A new one, with the secret that signs what it is told: said this once."""

    secret = serializers.CharField()

    class Meta(WebhookSerializer.Meta):
        fields = [*WebhookSerializer.Meta.fields, "secret"]


class DeliverySerializer(serializers.ModelSerializer):
    """An event told to a webhook; `status` 0 is no answer, `answer` then says why."""

    event = serializers.CharField(source="event.verb")
    event_id = serializers.IntegerField()

    class Meta:
        model = Delivery
        fields = ["id", "event_id", "event", "key", "state", "tries", "due_at"]
        fields += ["status", "answer", "tried_at"]


class Webhooks(Route):
    """Webhooks of a benchmark, and adding one."""

    @extend_schema(responses=WebhookSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        return self.page(access.benchmark.webhooks.all(), WebhookSerializer)

    @extend_schema(request=NewWebhookSerializer, responses={201: MadeWebhookSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewWebhookSerializer)
        made, _ = verbs.add_webhook(benchmark=access.benchmark, actor=access.user, **given)
        return Response(MadeWebhookSerializer(made).data, status=201)


class OneWebhook(Route):
    """What a webhook was told, the latest first; DELETE tells it nothing more."""

    @extend_schema(
        operation_id="b_webhooks_deliveries_list",
        responses=DeliverySerializer(many=True),
        parameters=[OpenApiParameter("state", str, description="waiting, taken or failed.")],
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        found = get_webhook(enter(self.person(), slug, Role.ADMIN), pk)
        rows = self.matches(DELIVERIES, found.deliveries.select_related("event"))
        return self.page(rows, DeliverySerializer)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        verbs.remove_webhook(webhook=get_webhook(access, pk), actor=access.user)
        return Response(status=204)


class DeliveryAgain(Route):
    """Send a delivery again, under the same key."""

    @extend_schema(request=None, responses=DeliverySerializer)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        verbs.send_again(delivery=get_delivery(access, pk), actor=access.user)
        return Response(DeliverySerializer(get_delivery(access, pk)).data)


urlpatterns = [
    path("b/<slug:slug>/webhooks/", Webhooks.as_view(), name="api-webhooks"),
    path("b/<slug:slug>/webhooks/<int:pk>/", OneWebhook.as_view(), name="api-webhook"),
    path(
        "b/<slug:slug>/webhooks/deliveries/<int:pk>/again/",
        DeliveryAgain.as_view(),
        name="api-delivery-again",
    ),
]
