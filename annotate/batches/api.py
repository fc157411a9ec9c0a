"""API of batches: take one, answer its items, submit or return it."""

from collections.abc import Callable
from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.batches.services import answer_item, return_batch, submit_batch, take_batch
from annotate.batches.views import get_item, get_own_batch, shown_item
from annotate.models import Batch, BatchItem, BatchStatus
from annotate.voting.api import AnswerSerializer, JudgedPairSerializer, as_pair, enter_voter
from annotate.voting.services import Answer
from corpus.access import Access, enter
from corpus.models import Role
from kit.api import Route
from kit.errors import Conflict


class NewItemAnswerSerializer(AnswerSerializer):
    """An answer to an item; `version` is that of the answer I saw."""

    version = serializers.IntegerField(min_value=0, required=False, allow_null=True)


class BatchSerializer(serializers.ModelSerializer):
    """My batch."""

    class Meta:
        model = Batch
        fields = ["id", "status", "size", "expires_at", "created_at", "ended_at", "lost_items"]


class RejectedBatchSerializer(serializers.ModelSerializer):
    """A batch as admins see it."""

    person = serializers.CharField(source="voter.username")

    class Meta:
        model = Batch
        fields = [*("id", "person", "status", "size"), *("failed_checks", "lost_items", "ended_at")]


class ItemAnswerSerializer(serializers.ModelSerializer):
    """My answer to an item of my batch so far."""

    class Meta:
        model = BatchItem
        fields = ["place", "version", "label", "reason", "first_label", "span_start", "span_end"]


class ItemSerializer(JudgedPairSerializer):
    """An item of my batch with my answer so far."""

    place = serializers.IntegerField()
    answered = serializers.BooleanField()
    version = serializers.IntegerField()
    label: serializers.Field = serializers.IntegerField(allow_null=True)  # type: ignore[assignment]
    reason = serializers.CharField()


class Batches(Route):
    """My batches, and taking one."""

    @extend_schema(responses=BatchSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        return self.page(Batch.objects.of(access.user.pk, access.benchmark), BatchSerializer)

    @extend_schema(request=None, responses={201: BatchSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access, plan = enter_voter(self, slug)
        batch = take_batch(access=access, plan=plan)
        return Response(BatchSerializer(batch).data, status=201)


class OneBatch(Route):
    """One batch of mine."""

    @extend_schema(responses=BatchSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        return Response(BatchSerializer(get_own_batch(access, pk)).data)


class Items(Route):
    """One item of my batch, and my answer to it while the batch is open."""

    @extend_schema(responses=ItemSerializer)
    def get(self, request: Request, slug: str, pk: int, place: int) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        return Response(_shown(access, get_item(get_own_batch(access, pk), place)))

    @extend_schema(request=NewItemAnswerSerializer, responses=ItemSerializer)
    def post(self, request: Request, slug: str, pk: int, place: int) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        batch, given = get_own_batch(access, pk), self.read(NewItemAnswerSerializer)
        expected = given.pop("version", None)
        try:
            answer_item(
                item=get_item(batch, place),
                access=access,
                answer=Answer(**given),
                expected=expected,
            )
        except Conflict as conflict:
            both = {"current": ItemAnswerSerializer(conflict.current).data, "sent": given}
            return Response({"detail": str(conflict), **both}, status=409)
        return Response(_shown(access, get_item(batch, place)))


class EndBatch(Route):
    """Handing my batch in, accepted or rejected as a whole; or giving it back."""

    verb: Callable[..., Batch] | None = None

    @extend_schema(request=None, responses=BatchSerializer)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        assert self.verb is not None  # the address names it
        batch = self.verb(batch=get_own_batch(access, pk), access=access)
        return Response(BatchSerializer(batch).data)


class RejectedBatches(Route):
    """Batches that were rejected, for admins."""

    @extend_schema(responses=RejectedBatchSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        rows = Batch.objects.filter(plan__benchmark=access.benchmark, status=BatchStatus.REJECTED)
        return self.page(rows.select_related("voter"), RejectedBatchSerializer)


def _shown(access: Access, item: BatchItem) -> dict[str, Any]:
    shown = shown_item(access, item)
    content = item.case or item.check_item
    return ItemSerializer(
        {
            **as_pair(content, shown),
            "place": item.place,
            "stage": shown["stage"],
            "first_label": item.first_label,
            "answered": item.is_answered,
            "version": item.version,
            "label": item.label,
            "reason": item.reason,
        }
    ).data


_BATCH = "b/<slug:slug>/batches/<int:pk>"
urlpatterns = [
    path("b/<slug:slug>/batches/", Batches.as_view(), name="api-batches"),
    path(f"{_BATCH}/", OneBatch.as_view(), name="api-batch"),
    path(f"{_BATCH}/items/<int:place>/", Items.as_view(), name="api-batch-item"),
    path(f"{_BATCH}/hand-in/", EndBatch.as_view(verb=submit_batch), name="api-batch-hand-in"),
    path(f"{_BATCH}/return/", EndBatch.as_view(verb=return_batch), name="api-batch-return"),
    path("b/<slug:slug>/voting/rejected/", RejectedBatches.as_view(), name="api-rejected-batches"),
]
