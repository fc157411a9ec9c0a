"""Reference panels as admins and seniors see them: setting up, opening, report, items, log."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.models import (
    CaseStatus,
    CheckKind,
    PanelStatus,
    ReferenceItem,
    ReferencePanel,
    SpotCheck,
)
from annotate.panels import services as verbs
from annotate.panels.labels import waiting_labels
from annotate.panels.models import MAX_PER_DOMAIN
from annotate.panels.report import panel_sheets
from annotate.panels.settling import waiting_checks
from annotate.voting.disputes import domain_choices
from corpus.access import Access, enter, finder
from corpus.models import Benchmark, Pool, Role
from kit import htmx
from kit.lists.csvfile import csv_response, named_table_response
from kit.lists.tables import Column, Filter, Table

READERS = (Role.REVIEWER, Role.ADMIN)
LOG_HEADER = (
    *("item", "domain", "query", "passage", "kind", "before", "label"),
    *("reason", "senior", "at", "replaced"),
)

STATES = (("waiting", "Waiting"), ("labelled", "Labelled"), ("undecided", "Undecided"))
_STATUS = {
    "waiting": CaseStatus.OPEN,
    "labelled": CaseStatus.CLOSED,
    "undecided": CaseStatus.EXPERT,
}
LABELS = (("1", "Relevant"), ("0", "Not relevant"))
CHECK_CHOICES = (("drawn", "Drawn"), ("waiting", "Drawn, waiting"), ("override", "Overridden"))


def _by_check(rows: QuerySet[ReferenceItem], value: str) -> QuerySet[ReferenceItem]:
    checks = SpotCheck.objects.standing().filter(item=OuterRef("pk"))
    if value == "override":
        return rows.filter(Exists(checks.filter(kind=CheckKind.OVERRIDE)))
    # Of an item that is being labelled nobody learns whether a senior will check it.
    drawn = rows.filter(in_spot_check=True).exclude(case__status=CaseStatus.OPEN)
    return drawn if value == "drawn" else drawn.exclude(Exists(checks))


ITEMS = Table(
    search=("case__query__qid", "case__query__text", "case__passage__pid"),
    filters=(
        Filter("domain", "Domain", lookup="case__query__domain__name"),
        Filter(
            "state",
            "State",
            choices=STATES,
            apply=lambda rows, value: rows.filter(case__status=_STATUS[value]),
        ),
        Filter("label", "Label", choices=LABELS, lookup="case__label"),
        Filter("check", "Spot check", choices=CHECK_CHOICES, apply=_by_check),
        Filter(
            "reasons",
            "Reasons",
            choices=(("none", "Without"), ("some", "With")),
            apply=lambda rows, value: (
                rows.filter(hints={}) if value == "none" else rows.exclude(hints={})
            ),
        ),
    ),
    columns=(
        Column("item", "Item", order=("pk",)),
        Column("domain", "Domain", order=("case__query__domain__name",)),
        Column("passage", "Passage", order=("case__passage__pid",)),
        Column("state", "State", order=("case__status",)),
        Column("label", "Label", order=("case__label",)),
        Column("check", "Spot check"),
    ),
)
CHECKS = Table(
    search=("item__case__query__qid", "item__case__query__text", "reason"),
    filters=(
        Filter("domain", "Domain", lookup="item__case__query__domain__name"),
        Filter("kind", "What was done", choices=CheckKind.choices),
        Filter(
            "now",
            "Standing",
            choices=(("yes", "Standing"), ("no", "Corrected since")),
            apply=lambda rows, value: rows.filter(is_standing=value == "yes"),
        ),
    ),
    columns=(
        Column("look", "Check", order=("pk",)),
        Column("query", "Query", order=("item__case__query__domain__name",)),
        Column("kind", "Done", order=("kind",)),
        Column("change", "Label"),
        Column("senior", "Senior", order=("checker__username",)),
        Column("at", "When", order=("created_at",)),
    ),
    order=("-pk",),
)


def _number(label: str, least: int, most: int, initial: int, help_text: str = "") -> Any:
    return forms.IntegerField(
        label=label, min_value=least, max_value=most, initial=initial, help_text=help_text
    )


class PanelForm(forms.Form):
    """What is drawn, and what is asked of the experts; DREAM's numbers to begin with."""

    name = forms.CharField(label="Name", max_length=120)
    pool = forms.ModelChoiceField(
        Pool.objects.none(),
        label="Drawn from",
        required=False,
        empty_label="every pool",
        help_text="One random pooled passage of each query.",
    )
    per_domain = _number(
        "Queries of each domain", 1, MAX_PER_DOMAIN, 100, "All of them where there are fewer."
    )
    seed = _number("Seed", 0, verbs.MAX_SEED, 1, "The same seed draws the same pairs again.")
    labels_per_item = forms.TypedChoiceField(
        label="Labels of each item",
        coerce=int,
        choices=[(1, "one expert"), (2, "two experts, blind to each other")],
        initial=1,
    )
    practice_items = _number(
        "Practice items", 0, verbs.MAX_PRACTICE, 5, "With feedback, before the first real item."
    )
    shows_hints = forms.BooleanField(
        label="Each item is shown with two reasons, one for and one against",
        required=False,
        initial=True,
        help_text="A model writes them before the panel opens.",
    )
    check_percent = _number(
        "Spot check, in percent of the items", 0, 100, 10, "A senior looks at these."
    )

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        pools = Pool.objects.filter(benchmark=benchmark)
        self.fields["pool"].queryset = pools  # type: ignore[attr-defined]


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
    context = {"access": access, "rows": rows, "is_senior": is_reader(access)}
    return htmx.render(request, "annotate/panels/panels.html", context)


@require_http_methods(["GET", "POST"])
def panel_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Draw a panel."""
    access = enter(request.user, slug, Role.ADMIN)
    form = PanelForm(request.POST if request.method == "POST" else None, benchmark=access.benchmark)
    if panel := htmx.submit(form, verbs.draw_panel, benchmark=access.benchmark, actor=access.user):
        drawn = panel.items.count()
        messages.success(request, f"{drawn} item{'' if drawn == 1 else 's'} drawn.")
        return htmx.redirect(request, panel_url(panel))
    context = {"access": access}
    return htmx.render(request, "annotate/panels/new.html", context, form=form)


@require_GET
def panel(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One panel: how far it is, what it found, what to do next."""
    access = enter(request.user, slug, *READERS)
    found = get_panel(access, pk)
    is_preparing = found.status == PanelStatus.PREPARING
    context = {
        "access": access,
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
    return htmx.render(request, "annotate/panels/panel.html", context)


@require_GET
def panel_table(request: HttpRequest, slug: str, pk: int, name: str) -> HttpResponseBase:
    """One table of the report as a file."""
    found = get_panel(enter(request.user, slug, *READERS), pk)
    return named_table_response(f"{slug}-panel-{found.pk}", panel_sheets(found), name)


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
    return _list(request, slug, pk, "annotate/panels/items.html", ITEMS, items_listed)


@require_GET
def override_log(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Every spot check, corrected ones too."""
    return _list(request, slug, pk, "annotate/panels/override_log.html", CHECKS, checks_listed)


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
    return csv_response(f"{slug}-panel-{found.pk}-overrides.csv", LOG_HEADER, _log_rows(rows))


def items_listed(panel: ReferencePanel) -> QuerySet[ReferenceItem]:
    """The items with their pairs and the standing check of each."""
    checks = SpotCheck.objects.standing().filter(item=OuterRef("pk"))
    rows = panel.items.select_related("case__query__domain", "case__passage")
    rows = rows.defer("case__snapshot", "case__passage__text")
    return rows.annotate(check_kind=checks.values("kind")[:1])


def checks_listed(panel: ReferencePanel) -> QuerySet[SpotCheck]:
    """Every spot check with its pair, corrected ones included, the last first."""
    related = ("item__case__query__domain", "item__case__passage", "checker")
    rows = SpotCheck.objects.filter(item__panel=panel).select_related(*related).order_by("-pk")
    return rows.defer("item__case__snapshot", "item__case__passage__text")


def _log_rows(checks: QuerySet[SpotCheck]) -> Iterator[list[Any]]:
    """The log as rows of a file."""
    case = ("item__case__query__domain__name", "item__case__query__qid", "item__case__passage__pid")
    columns = ("item", *case, "kind", "before", "label", "reason", "checker__username")
    rows = checks.values_list(*columns, "created_at", "is_standing")
    for *row, at, is_standing in rows.iterator(chunk_size=500):
        yield [*row, at.isoformat(), "" if is_standing else "yes"]


def is_reader(access: Access) -> bool:
    """Whether the person sees what a panel found."""
    return access.is_admin or access.is_reviewer


def panels_seen(access: Access) -> QuerySet[ReferencePanel]:
    """The panels of the benchmark; to whoever only labels, those that are or were open."""
    rows = ReferencePanel.objects.filter(benchmark=access.benchmark).select_related("benchmark")
    if not is_reader(access):
        rows = rows.exclude(status=PanelStatus.PREPARING)
    return rows


get_panel = finder(ReferencePanel, "pool")


def get_item(panel: ReferencePanel, pk: int) -> ReferenceItem:
    """An item of this panel with its pair, or 404."""
    rows = panel.items.select_related("case__query__domain__benchmark", "case__passage__document")
    found = get_object_or_404(rows, pk=pk)
    found.panel = panel
    return found


def panel_url(panel: ReferencePanel, view: str = "panel", *more: Any) -> str:
    """A page of the panel."""
    return reverse(view, args=[panel.benchmark.slug, panel.pk, *more])
