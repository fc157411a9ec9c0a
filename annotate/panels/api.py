"""API of reference panels: drawing, opening, labelling, spot checks, the report and the log."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.models import ReferenceItem, ReferencePanel, SpotCheck
from annotate.panels import labels as panel_labels
from annotate.panels import services as verbs
from annotate.panels import spot_checks
from annotate.panels.labelling import shown_item
from annotate.panels.labels import practice_left, start_practice
from annotate.panels.lists import CHECKS, ITEMS, checks_listed, items_listed
from annotate.panels.report import panel_sheets
from annotate.panels.services import MAX_SEED
from annotate.panels.views import READERS, get_item, get_panel, panels_seen
from annotate.voting.api import AnswerSerializer, BinaryField, VoteSerializer, as_pair
from annotate.voting.disputes import domain_choices
from annotate.voting.forms import MAX_ELAPSED_MS
from annotate.voting.services import AlreadyVoted
from corpus.access import enter
from corpus.models import Domain, Pool, Role
from kit.api import Route, SheetSerializer
from kit.sheets import as_data

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

    tables = SheetSerializer(many=True)

    class Meta(PanelSerializer.Meta):
        fields = [*PanelSerializer.Meta.fields, "tables"]


class NewPanelSerializer(serializers.ModelSerializer):
    """What to draw; `pool` null draws from every pool."""

    pool = serializers.IntegerField(required=False, allow_null=True)
    seed = serializers.IntegerField(min_value=0, max_value=MAX_SEED, default=1)

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


class PanelSittingSerializer(serializers.Serializer):
    """The sitting to go on with (`exams/N/`)."""

    id = serializers.IntegerField()


class CheckedItemSerializer(PanelPairSerializer):
    """An item as a senior sees it: with the experts' labels, unnamed, and the label it has."""

    labels = serializers.ListField(child=serializers.IntegerField(allow_null=True))
    label: serializers.Field = serializers.IntegerField(allow_null=True)  # type: ignore[assignment]


class NextCheckSerializer(serializers.Serializer):
    """The next item for a senior, null when none waits."""

    item = CheckedItemSerializer(allow_null=True)


class NewCheckSerializer(serializers.Serializer):
    """A spot check; `replaces` names the one that it corrects."""

    label: serializers.Field = BinaryField()  # type: ignore[assignment]
    reason = serializers.CharField(allow_blank=True, default="", max_length=4000)
    elapsed_ms = serializers.IntegerField(
        min_value=0, max_value=MAX_ELAPSED_MS, required=False, allow_null=True
    )
    replaces = serializers.IntegerField(required=False, allow_null=True)

    def validate_label(self, label: Any) -> int:
        """The number itself."""
        return int(label)


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


class Panels(Route):
    """The panels of a benchmark, and drawing one."""

    @extend_schema(responses=PanelSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug)
        return self.page(panels_seen(access), PanelSerializer)

    @extend_schema(request=NewPanelSerializer, responses={201: PanelSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewPanelSerializer)
        pools = Pool.objects.filter(benchmark=access.benchmark)
        pool = get_object_or_404(pools, pk=given["pool"]) if given.get("pool") else None
        given["pool"] = pool
        panel = verbs.draw_panel(benchmark=access.benchmark, actor=access.user, **given)
        return Response(PanelSerializer(panel).data, status=201)


class OnePanel(Route):
    """A panel with the tables of its report."""

    @extend_schema(responses=OnePanelSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        panel = get_panel(enter(self.person(), slug, *READERS), pk)
        return Response(PanelSerializer(panel).data | {"tables": as_data(panel_sheets(panel))})


class OpenPanel(Route):
    """Letting the experts begin."""

    @extend_schema(
        operation_id="panel_open", request=OpenPanelSerializer, responses=PanelSerializer
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        panel = get_panel(access, pk)
        verbs.open_panel(panel=panel, access=access, **self.read(OpenPanelSerializer))
        return Response(PanelSerializer(panel).data)


class ClosePanel(Route):
    """Ending a panel for good."""

    @extend_schema(operation_id="panel_close", request=None, responses=PanelSerializer)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        panel = get_panel(access, pk)
        verbs.close_panel(panel=panel, access=access)
        return Response(PanelSerializer(panel).data)


class PanelItems(Route):
    """The items behind the numbers, by the filters of the screen."""

    @extend_schema(
        responses=PanelItemSerializer(many=True),
        parameters=[OpenApiParameter(name, str) for name in ("domain", "state", "label", "check")],
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        choices = {"domain": domain_choices(access.benchmark)}
        rows = items_listed(get_panel(access, pk))
        found = ITEMS.matches(rows, request.query_params, choices=choices)
        return self.page(found, PanelItemSerializer)


class PanelPractice(Route):
    """Beginning the practice before the first item of a domain."""

    @extend_schema(
        operation_id="panel_practice",
        request=PanelPracticeSerializer,
        responses={201: PanelSittingSerializer},
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        panel, given = get_panel(access, pk), self.read(PanelPracticeSerializer)
        domains = Domain.objects.filter(benchmark=access.benchmark)
        domain = get_object_or_404(domains, name=given["domain"])
        sitting = start_practice(access=access, panel=panel, domain=domain)
        return Response({"id": sitting.pk}, status=201)


class NextPanelItem(Route):
    """The next item for me to label; its place is kept for me for a while."""

    @extend_schema(responses=NextPanelItemSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        panel = get_panel(access, pk)
        item = panel_labels.next_item(access=access, panel=panel) if panel.is_open else None
        owed = practice_left(access, panel) if panel.is_open else []
        pair = _pair(item, shown_item(access, item)) if item else None
        return Response(
            {"item": pair, "practice": {each.name: left for each, left in owed if left}}
        )


class PanelLabels(Route):
    """Labelling an item, or correcting my label."""

    @extend_schema(
        operation_id="panel_label", request=PanelLabelSerializer, responses={201: VoteSerializer}
    )
    def post(self, request: Request, slug: str, pk: int, item: int) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        found, given = get_item(get_panel(access, pk), item), self.read(PanelLabelSerializer)
        given.pop("span", None)
        is_correction = given.pop("correct")
        verb = panel_labels.correct_label if is_correction else panel_labels.label_item
        try:
            vote = verb(item=found, access=access, **given)
        except AlreadyVoted as already:
            both = {"current": VoteSerializer(already.vote).data, "sent": given}
            return Response({"detail": already.message, "field": "", **both}, status=409)
        return Response(VoteSerializer(vote).data, status=201)


class NextCheck(Route):
    """The next item for a senior: of the spot check, or left undecided."""

    @extend_schema(responses=NextCheckSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        panel = get_panel(access, pk)
        key = spot_checks.waiting_checks(access, panel).values_list("pk", flat=True).first()
        return Response({"item": _checked(get_item(panel, key)) if key else None})


class Checks(Route):
    """Keeping, overriding or deciding a label; correcting a spot check."""

    @extend_schema(
        operation_id="panel_check", request=NewCheckSerializer, responses={201: SpotCheckSerializer}
    )
    def post(self, request: Request, slug: str, pk: int, item: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        found, given = get_item(get_panel(access, pk), item), self.read(NewCheckSerializer)
        try:
            check = spot_checks.check_item(item=found, access=access, **given)
        except spot_checks.AlreadyChecked as already:
            both = {"current": SpotCheckSerializer(already.check).data, "sent": given}
            return Response({"detail": already.message, "field": "", **both}, status=409)
        return Response(SpotCheckSerializer(check).data, status=201)


class Overrides(Route):
    """The log of what seniors did, by the filters of the screen."""

    @extend_schema(
        responses=SpotCheckSerializer(many=True),
        parameters=[OpenApiParameter(name, str) for name in ("domain", "kind", "now")],
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        choices = {"domain": domain_choices(access.benchmark)}
        rows = checks_listed(get_panel(access, pk))
        found = CHECKS.matches(rows, request.query_params, choices=choices)
        return self.page(found, SpotCheckSerializer)


def _pair(item: ReferenceItem, snapshot: dict[str, Any]) -> dict[str, Any]:
    return {"id": item.pk, **as_pair(item.case, {"raw": snapshot})}


def _checked(item: ReferenceItem) -> dict[str, Any]:
    votes = item.case.votes.standing().order_by("pk")
    labels = list(votes.values_list("label", flat=True))
    return _pair(item, item.case.snapshot) | {"labels": labels, "label": item.case.label}


_PANEL = "b/<slug:slug>/panels/<int:pk>"
urlpatterns = [
    path("b/<slug:slug>/panels/", Panels.as_view(), name="api-panels"),
    path(f"{_PANEL}/", OnePanel.as_view(), name="api-panel"),
    path(f"{_PANEL}/open/", OpenPanel.as_view(), name="api-panel-open"),
    path(f"{_PANEL}/close/", ClosePanel.as_view(), name="api-panel-close"),
    path(f"{_PANEL}/items/", PanelItems.as_view(), name="api-panel-items"),
    path(f"{_PANEL}/items/next/", NextPanelItem.as_view(), name="api-panel-next"),
    path(f"{_PANEL}/items/<int:item>/labels/", PanelLabels.as_view(), name="api-panel-label"),
    path(f"{_PANEL}/practice/", PanelPractice.as_view(), name="api-panel-practice"),
    path(f"{_PANEL}/checks/next/", NextCheck.as_view(), name="api-panel-next-check"),
    path(f"{_PANEL}/items/<int:item>/checks/", Checks.as_view(), name="api-panel-check"),
    path(f"{_PANEL}/overrides/", Overrides.as_view(), name="api-panel-overrides"),
]
