"""API of reference panels: drawing, opening, labelling, spot checks, the report and the log."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from annotate.models import ReferenceItem, ReferencePanel, SpotCheck
from annotate.panels import labels, settling
from annotate.panels import services as verbs
from annotate.panels.labelling_views import shown_item
from annotate.panels.report import panel_sheets
from annotate.panels.views import (
    CHECKS,
    ITEMS,
    READERS,
    checks_listed,
    get_item,
    get_panel,
    items_listed,
    panels_seen,
)
from annotate.voting.api import AnswerSerializer, FirstJudgmentSerializer, VoteSerializer, as_pair
from annotate.voting.disputes import domain_choices
from annotate.voting.services import AlreadyVoted
from corpus.access import Access, enter
from corpus.models import Domain, Pool, Role
from kit.api import ReportTableSerializer, Route
from kit.lists.report_tables import as_data

_SETTINGS = [
    *("name", "pool", "seed", "per_domain", "labels_per_item", "practice_items"),
    *("shows_hints", "check_percent"),
]


class PanelSerializer(serializers.ModelSerializer):
    """A panel and its state; `drawn` counts queries and items of each domain."""

    class Meta:
        model = ReferencePanel
        fields = ["id", "status", *_SETTINGS, "drawn", "dropped", "created_at", "opened_at"]


class OnePanelSerializer(PanelSerializer):
    """A panel with the tables of its report."""

    tables = ReportTableSerializer(many=True)

    class Meta(PanelSerializer.Meta):
        fields = [*PanelSerializer.Meta.fields, "tables"]


class NewPanelSerializer(serializers.ModelSerializer):
    """What to draw; `pool` null draws from every pool."""

    pool = serializers.IntegerField(required=False, allow_null=True)
    seed = serializers.IntegerField(min_value=0, max_value=verbs.MAX_SEED, default=1)

    class Meta:
        model = ReferencePanel
        fields = _SETTINGS


class OpenPanelSerializer(serializers.Serializer):
    """`without_hints` opens a panel although reasons are missing."""

    without_hints = serializers.BooleanField(default=False)


class PanelItemSerializer(serializers.ModelSerializer):
    """An item; label null while it has none. Nothing shows the state of an open one."""

    domain = serializers.CharField(source="case.query.domain.name")
    query = serializers.CharField(source="case.query.qid")
    passage = serializers.CharField(source="case.passage.pid")
    state = serializers.CharField(source="case.status")
    label: serializers.Field = serializers.IntegerField(  # type: ignore[assignment]
        source="case.label", allow_null=True
    )
    judgment = serializers.IntegerField(source="case.judgment_id", allow_null=True)

    class Meta:
        model = ReferenceItem
        fields = ["id", "domain", "query", "passage", "state", "label", "judgment", "hints"]


class PanelPairSerializer(serializers.Serializer):
    """An item to label: its texts, and both reasons in this reader's order."""

    id = serializers.IntegerField()
    domain = serializers.CharField()
    query = serializers.CharField()
    passage = serializers.CharField()
    text = serializers.CharField(allow_null=True)
    snapshot = serializers.JSONField()


class NextPanelItemSerializer(serializers.Serializer):
    """The next item for me, null when none waits; `practice` names what is owed before."""

    item = PanelPairSerializer(allow_null=True)
    practice = serializers.DictField(child=serializers.IntegerField())


class PanelLabelSerializer(AnswerSerializer):
    """My label of an item; `correct` replaces the one I gave, and needs a reason."""

    correct = serializers.BooleanField(default=False)


class PanelPracticeSerializer(serializers.Serializer):
    """The name of the domain to practise."""

    domain = serializers.CharField()


class PanelAttemptSerializer(serializers.Serializer):
    """The attempt to go on with (`exams/N/`)."""

    id = serializers.IntegerField()


class CheckedItemSerializer(PanelPairSerializer):
    """An item as a senior sees it: with the experts' labels, unnamed, and the label it has."""

    labels = serializers.ListField(child=serializers.IntegerField(allow_null=True))
    label: serializers.Field = serializers.IntegerField(allow_null=True)  # type: ignore[assignment]


class NextCheckSerializer(serializers.Serializer):
    """The next item for a senior, null when none waits."""

    item = CheckedItemSerializer(allow_null=True)


class NewCheckSerializer(FirstJudgmentSerializer):
    """A spot check; `replaces` names the one that it corrects."""

    reason = serializers.CharField(allow_blank=True, default="", max_length=4000)
    replaces = serializers.IntegerField(required=False, allow_null=True)


class SpotCheckSerializer(serializers.ModelSerializer):
    """One spot check."""

    domain = serializers.CharField(source="item.case.query.domain.name")
    query = serializers.CharField(source="item.case.query.qid")
    passage = serializers.CharField(source="item.case.passage.pid")
    senior = serializers.CharField(source="checker.username")

    class Meta:
        model = SpotCheck
        fields = [
            *("id", "item", "domain", "query", "passage", "kind", "before", "label"),
            *("reason", "senior", "judgment", "is_standing", "replaced_by", "created_at"),
        ]


class Panels(ViewSetMixin, Route):
    """The panels of a benchmark: drawn, opened and closed by admins, read by seniors."""

    def enter(self, *roles: str) -> tuple[Access, ReferencePanel]:
        """The panel that is asked for, with the person's access; they need one of the roles."""
        access = enter(self.person(), self.kwargs["slug"], *roles)
        return access, get_panel(access, self.kwargs["pk"])

    @extend_schema(responses=PanelSerializer(many=True))
    def list(self, request: Request, slug: str) -> Response:
        """The panels of a benchmark, and drawing one."""
        return self.page(panels_seen(enter(self.person(), slug)), PanelSerializer)

    @extend_schema(request=NewPanelSerializer, responses={201: PanelSerializer})
    def create(self, request: Request, slug: str) -> Response:
        """The panels of a benchmark, and drawing one."""
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewPanelSerializer)
        pools = Pool.objects.filter(benchmark=access.benchmark)
        given["pool"] = get_object_or_404(pools, pk=given["pool"]) if given.get("pool") else None
        panel = verbs.draw_panel(benchmark=access.benchmark, actor=access.user, **given)
        return Response(PanelSerializer(panel).data, status=201)

    @extend_schema(responses=OnePanelSerializer)
    def retrieve(self, request: Request, slug: str, pk: int) -> Response:
        """A panel with the tables of its report."""
        _, panel = self.enter(*READERS)
        return Response(PanelSerializer(panel).data | {"tables": as_data(panel_sheets(panel))})

    @extend_schema(
        operation_id="panel_open", request=OpenPanelSerializer, responses=PanelSerializer
    )
    def open(self, request: Request, slug: str, pk: int) -> Response:
        """Letting the experts begin."""
        access, panel = self.enter(Role.ADMIN)
        verbs.open_panel(panel=panel, access=access, **self.read(OpenPanelSerializer))
        return Response(PanelSerializer(panel).data)

    @extend_schema(operation_id="panel_close", request=None, responses=PanelSerializer)
    def close(self, request: Request, slug: str, pk: int) -> Response:
        """Ending a panel for good."""
        access, panel = self.enter(Role.ADMIN)
        verbs.close_panel(panel=panel, access=access)
        return Response(PanelSerializer(panel).data)

    @extend_schema(
        responses=PanelItemSerializer(many=True),
        parameters=[OpenApiParameter(name, str) for name in ("domain", "state", "label", "check")],
    )
    def items(self, request: Request, slug: str, pk: int) -> Response:
        """The items behind the numbers, by the filters of the screen."""
        access, panel = self.enter(*READERS)
        choices = {"domain": domain_choices(access.benchmark)}
        found = ITEMS.matches(items_listed(panel), request.query_params, choices=choices)
        return self.page(found, PanelItemSerializer)

    @extend_schema(
        responses=SpotCheckSerializer(many=True),
        parameters=[OpenApiParameter(name, str) for name in ("domain", "kind", "now")],
    )
    def overrides(self, request: Request, slug: str, pk: int) -> Response:
        """The log of what seniors did, by the filters of the screen."""
        access, panel = self.enter(*READERS)
        choices = {"domain": domain_choices(access.benchmark)}
        found = CHECKS.matches(checks_listed(panel), request.query_params, choices=choices)
        return self.page(found, SpotCheckSerializer)

    @extend_schema(
        operation_id="panel_practice",
        request=PanelPracticeSerializer,
        responses={201: PanelAttemptSerializer},
    )
    def practice(self, request: Request, slug: str, pk: int) -> Response:
        """Beginning the practice before the first item of a domain."""
        access, panel = self.enter(Role.ANNOTATOR)
        domains = Domain.objects.filter(benchmark=access.benchmark)
        domain = get_object_or_404(domains, name=self.read(PanelPracticeSerializer)["domain"])
        attempt = labels.start_practice(access=access, panel=panel, domain=domain)
        return Response({"id": attempt.pk}, status=201)

    @extend_schema(responses=NextPanelItemSerializer)
    def next_item(self, request: Request, slug: str, pk: int) -> Response:
        """The next item for me to label; its place is kept for me for a while."""
        access, panel = self.enter(Role.ANNOTATOR)
        item = labels.next_item(access=access, panel=panel) if panel.is_open else None
        owed = labels.practice_left(access, panel) if panel.is_open else []
        pair = _pair(item, shown_item(access, item)) if item else None
        return Response(
            {"item": pair, "practice": {each.name: left for each, left in owed if left}}
        )

    @extend_schema(
        operation_id="panel_label", request=PanelLabelSerializer, responses={201: VoteSerializer}
    )
    def label(self, request: Request, slug: str, pk: int, item: int) -> Response:
        """Labelling an item, or correcting my label."""
        access, panel = self.enter(Role.ANNOTATOR)
        found, given = get_item(panel, item), self.read(PanelLabelSerializer)
        given.pop("span", None)
        correct = given.pop("correct")
        try:
            vote = labels.label_item(item=found, access=access, correct=correct, **given)
        except AlreadyVoted as already:
            both = {"current": VoteSerializer(already.vote).data, "sent": given}
            return Response({"detail": already.message, "field": "", **both}, status=409)
        return Response(VoteSerializer(vote).data, status=201)

    @extend_schema(responses=NextCheckSerializer)
    def next_check(self, request: Request, slug: str, pk: int) -> Response:
        """The next item for a senior: of the spot check, or left undecided."""
        access, panel = self.enter(*READERS)
        waiting = settling.waiting_checks(access, panel).first()
        if waiting is None:
            return Response({"item": None})
        item = get_item(panel, waiting.pk)
        votes = item.case.votes.standing().order_by("pk")
        labels = {"labels": [each.label for each in votes], "label": item.case.label}
        return Response({"item": _pair(item, item.case.snapshot) | labels})

    @extend_schema(
        operation_id="panel_check", request=NewCheckSerializer, responses={201: SpotCheckSerializer}
    )
    def check(self, request: Request, slug: str, pk: int, item: int) -> Response:
        """Keeping, overriding or deciding a label; correcting a spot check."""
        access, panel = self.enter(*READERS)
        found, given = get_item(panel, item), self.read(NewCheckSerializer)
        try:
            check = settling.check_item(item=found, access=access, **given)
        except settling.AlreadyChecked as already:
            both = {"current": SpotCheckSerializer(already.check).data, "sent": given}
            return Response({"detail": already.message, "field": "", **both}, status=409)
        return Response(SpotCheckSerializer(check).data, status=201)


def _pair(item: ReferenceItem, snapshot: dict[str, Any]) -> dict[str, Any]:
    return {"id": item.pk, **as_pair(item.case, {"raw": snapshot})}


_ROUTES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("api-panels", "", {"get": "list", "post": "create"}),
    ("api-panel", "<int:pk>/", {"get": "retrieve"}),
    ("api-panel-open", "<int:pk>/open/", {"post": "open"}),
    ("api-panel-close", "<int:pk>/close/", {"post": "close"}),
    ("api-panel-items", "<int:pk>/items/", {"get": "items"}),
    ("api-panel-next", "<int:pk>/items/next/", {"get": "next_item"}),
    ("api-panel-label", "<int:pk>/items/<int:item>/labels/", {"post": "label"}),
    ("api-panel-practice", "<int:pk>/practice/", {"post": "practice"}),
    ("api-panel-next-check", "<int:pk>/checks/next/", {"get": "next_check"}),
    ("api-panel-check", "<int:pk>/items/<int:item>/checks/", {"post": "check"}),
    ("api-panel-overrides", "<int:pk>/overrides/", {"get": "overrides"}),
)
urlpatterns = [
    path(
        f"b/<slug:slug>/panels/{route}",
        Panels.as_view(actions, get_takes_a_place="next_item" in actions.values()),
        name=name,
    )
    for name, route, actions in _ROUTES
]
