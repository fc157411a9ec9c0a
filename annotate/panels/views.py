"""Reference panels as admins and seniors see them: setting up, opening, report, items, log."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.models import PanelStatus, ReferenceItem, ReferencePanel
from annotate.panels import services as verbs
from annotate.panels.forms import PanelForm
from annotate.panels.labels import waiting_labels
from annotate.panels.lists import CHECKS, ITEMS, checks_listed, items_listed, log_rows
from annotate.panels.report import panel_sheets
from annotate.panels.spot_checks import waiting_checks
from annotate.voting.disputes import domain_choices
from corpus.access import Access, enter
from corpus.models import Role
from kit import htmx
from kit.csvfile import csv_response
from kit.errors import Refused
from kit.sheets import csv_header, csv_rows
from kit.tables import Table

READERS = (Role.REVIEWER, Role.ADMIN)
LOG_HEADER = (
    *("item", "domain", "query", "passage", "kind", "before", "label"),
    *("reason", "senior", "at", "replaced"),
)


@require_GET
def panels(request: HttpRequest, slug: str) -> HttpResponse:
    """Every panel, with what waits in it for this person."""
    access = enter(request.user, slug)
    rows = [
        {
            "panel": panel,
            "labels": waiting_labels(access, panel).count() if panel.is_open else 0,
            "checks": waiting_checks(access, panel).count(),
        }
        for panel in panels_seen(access)
    ]
    context = {"access": access, "tab": "panels", "rows": rows, "is_senior": is_reader(access)}
    return htmx.render(request, "annotate/panels.html", context)


@require_http_methods(["GET", "POST"])
def panel_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Draw a panel."""
    access = enter(request.user, slug, Role.ADMIN)
    form = PanelForm(request.POST if request.method == "POST" else None, benchmark=access.benchmark)
    if form.is_valid():
        try:
            panel = verbs.draw_panel(
                benchmark=access.benchmark, actor=access.user, **form.cleaned_data
            )
        except Refused as refusal:
            form.add_error(refusal.field or None, refusal.message)
        else:
            drawn = panel.items.count()
            messages.success(request, f"{drawn} item{'' if drawn == 1 else 's'} drawn.")
            return htmx.redirect(request, panel_url(panel))
    context = {"access": access, "tab": "panels", "form": form}
    show = htmx.invalid if form.is_bound else htmx.render
    return show(request, "annotate/panel_new.html", context)


@require_GET
def panel(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One panel: how far it is, what it found, what to do next."""
    access = enter(request.user, slug, *READERS)
    found = get_panel(access, pk)
    is_preparing = found.status == PanelStatus.PREPARING
    context = {
        "access": access,
        "tab": "panels",
        "panel": found,
        "is_preparing": is_preparing,
        "bare": found.items.without_hints().count() if found.shows_hints else 0,
        "short": verbs.missing_practice(found) if is_preparing else [],
        "checks": waiting_checks(access, found).count(),
        "labels": waiting_labels(access, found).count(),
        "sheets": [
            (sheet, reverse("panel-table", args=[slug, found.pk, sheet.name]))
            for sheet in panel_sheets(found)
        ],
    }
    return htmx.render(request, "annotate/panel.html", context)


@require_GET
def panel_table(request: HttpRequest, slug: str, pk: int, name: str) -> HttpResponseBase:
    """One table of the report as a file."""
    found = get_panel(enter(request.user, slug, *READERS), pk)
    for sheet in panel_sheets(found):
        if sheet.name == name:
            file = f"{slug}-panel-{found.pk}-{name}.csv"
            return csv_response(file, csv_header(sheet), csv_rows(sheet))
    raise Http404("No such table.")


@require_POST
def panel_open(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Let the experts begin; `bare` opens it although reasons are missing."""
    access = enter(request.user, slug, Role.ADMIN)
    found = get_panel(access, pk)
    act = partial(
        verbs.open_panel, panel=found, access=access, without_hints="bare" in request.POST
    )
    said = "The panel is open: its experts find it under Panels."
    return htmx.attempt(request, act, panel_url(found), said)


@require_POST
def panel_close(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """End a panel for good."""
    access = enter(request.user, slug, Role.ADMIN)
    found = get_panel(access, pk)
    act = partial(verbs.close_panel, panel=found, access=access)
    return htmx.attempt(request, act, panel_url(found))


@require_GET
def panel_items(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The items behind the numbers, without the state of an open one."""
    return _list(request, slug, pk, "annotate/panel_items.html", ITEMS, items_listed)


@require_GET
def override_log(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Every spot check, corrected ones too."""
    return _list(request, slug, pk, "annotate/override_log.html", CHECKS, checks_listed)


def _list(
    request: HttpRequest,
    slug: str,
    pk: int,
    template: str,
    table: Table,
    rows: Callable[[ReferencePanel], QuerySet[Any]],
) -> HttpResponse:
    access = enter(request.user, slug, *READERS)
    found = get_panel(access, pk)
    choices = {"domain": domain_choices(access.benchmark)}
    context = {
        "access": access,
        "tab": "panels",
        "panel": found,
        "table": table.read(rows(found), request.GET, choices=choices),
        "csv_query": request.GET.urlencode(),
    }
    return htmx.render(request, template, context, partial="results")


@require_GET
def override_log_csv(request: HttpRequest, slug: str, pk: int) -> HttpResponseBase:
    """The log as a file, by the same filters."""
    access = enter(request.user, slug, *READERS)
    found = get_panel(access, pk)
    choices = {"domain": domain_choices(access.benchmark)}
    rows = CHECKS.matches(checks_listed(found), request.GET, choices=choices)
    return csv_response(f"{slug}-panel-{found.pk}-overrides.csv", LOG_HEADER, log_rows(rows))


def is_reader(access: Access) -> bool:
    """Whether the person sees what a panel found."""
    return access.is_admin or access.is_reviewer


def panels_seen(access: Access) -> QuerySet[ReferencePanel]:
    """The panels of the benchmark; to whoever only labels, those that are or were open."""
    rows = ReferencePanel.objects.filter(benchmark=access.benchmark).select_related("benchmark")
    if not is_reader(access):
        rows = rows.exclude(status=PanelStatus.PREPARING)
    return rows


def get_panel(access: Access, pk: int) -> ReferencePanel:
    """A panel of this benchmark, or 404."""
    rows = ReferencePanel.objects.select_related("benchmark", "pool")
    return get_object_or_404(rows, pk=pk, benchmark=access.benchmark)


def get_item(panel: ReferencePanel, pk: int) -> ReferenceItem:
    """An item of this panel with its pair, or 404."""
    rows = panel.items.select_related("case__query__domain__benchmark", "case__passage__document")
    found = get_object_or_404(rows, pk=pk)
    found.panel = panel
    return found


def panel_url(panel: ReferencePanel, view: str = "panel", *more: Any) -> str:
    """A page of the panel."""
    return reverse(view, args=[panel.benchmark.slug, panel.pk, *more])
