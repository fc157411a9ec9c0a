"""Agreement of people: coefficients with their intervals, and the items behind every number."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET

from annotate.agreement.slices import Slice
from corpus.access import Access, enter
from corpus.models import Role
from evaluation.agreement import tables
from evaluation.agreement.items import item_links, read_items, wanted_items
from evaluation.agreement.services import READINGS, Reading, may_read
from kit import htmx
from kit.charts.drawing import Drawing
from kit.charts.plots import Square, forest, heat_map
from kit.lists.csvfile import csv_response, named_table_response
from kit.lists.report_tables import ReportTable
from kit.lists.tables import ListPage, page_of

READERS = (Role.ADMIN, Role.REVIEWER)
WIDTH = 0.1
PAGE = 50
LABELS = "labels"


@require_GET
def agreement(request: HttpRequest, slug: str, what: str = "votes") -> HttpResponse:
    """Everything about one kind of labels, on one page."""
    access, reading = open_reading(request.user, slug, what)
    width = target_width(request.GET)
    found = tables.whole(reading)
    parts = tables.parts(reading)
    slices = [("all", found)]
    slices += [(each.key, each) for by in ("domain", "month") for each in parts[by]]
    context: dict[str, Any] = {
        "access": access,
        "reading": reading,
        "kinds": [(key, title) for key, (title, _) in READINGS.items() if may_read(access, key)],
        "found": found,
        "is_enough": found.n_shared >= tables.ENOUGH or "few" in request.GET,
        "enough": tables.ENOUGH,
        "in_short": tables.in_short(reading, found),
        "width": width,
        "forest": forest(
            "agreement",
            tables.NAMES[reading.headline],
            [(name, each.coefficient(reading.headline)) for name, each in slices],
        )
        if found.n_shared
        else None,
        "heat": _met(reading, found, reverse("agreement-items", args=[slug, what])),
        "share": _share(found.table),
        "sheets": [
            (sheet, reverse("agreement-table", args=[slug, what, sheet.name]))
            for sheet in sheets(access, reading, width, found, parts)
        ],
    }
    return htmx.render(request, "evaluation/agreement/agreement.html", context)


@require_GET
def agreement_table(request: HttpRequest, slug: str, what: str, name: str) -> HttpResponseBase:
    """One table as a file; `labels` gives the labels themselves, as `manage.py agreement` reads."""
    access, reading = open_reading(request.user, slug, what)
    prefix = f"{slug}-agreement-{what}"
    if name == LABELS:
        header = ["item", "rater", "label", "domain", "month", "guideline"]
        return csv_response(f"{prefix}-{name}.csv", header, _labels(reading))
    found = sheets(access, reading, target_width(request.GET))
    return named_table_response(prefix, found, name)


@require_GET
def agreement_items(request: HttpRequest, slug: str, what: str) -> HttpResponse:
    """The items behind a number, with who said what."""
    access, reading = open_reading(request.user, slug, what)
    items, words = wanted_items(reading, request.GET.dict())
    page: ListPage[Any] = page_of(items, request.GET.dict(), size=PAGE)
    table = replace(page, rows=list(read_items(access.benchmark, reading, page.rows)))
    context = {
        "access": access,
        "reading": reading,
        "words": words,
        "table": table,
    }
    return htmx.render(request, "evaluation/agreement/items.html", context)


def sheets(
    access: Access,
    reading: Reading,
    width: float,
    found: Slice | None = None,
    parts: tables.Parts | None = None,
) -> list[ReportTable]:
    """Every table of the page, in its order, of what was measured or is measured now."""
    found, parts = found or tables.whole(reading), parts or tables.parts(reading)
    base = reverse("agreement-items", args=[access.benchmark.slug, reading.key])
    to = tables.link_to(base)
    shown = [tables.coefficient_table(reading, found, to), tables.plan_table(reading, found, width)]
    shown.append(tables.met_table(reading, found))
    shown += [tables.slice_table(reading, by, slices, to) for by, slices in parts.items()]
    if reading.people:
        shown += [tables.pair_table(reading, to), tables.people_table(reading, to)]
        shown.append(tables.model_table(reading, item_links(access.benchmark, reading)))
    return shown


def open_reading(user: User | AnonymousUser, slug: str, what: str) -> tuple[Access, Reading]:
    """What was read, for those who may: 404 for no such kind, 403 where it is not for them."""
    access = enter(user, slug, *READERS)
    if what not in READINGS:
        raise Http404("No such kind of labels.")
    if not may_read(access, what):
        raise PermissionDenied("Weights are shown to admins only: reviewers may still score them.")
    _, read = READINGS[what]
    return access, read(access)


def target_width(params: Mapping[str, str]) -> float:
    """The width that the sample size estimate aims at; the default for no sensible number."""
    try:
        width = float(params.get("width", WIDTH))
    except ValueError:
        return WIDTH
    return width if 0.005 <= width < 2 else WIDTH


def _met(reading: Reading, found: Slice, items: str) -> Drawing | None:
    """How often one label met another; a cell leads to its items."""
    names, to = list(reading.label_names.values()), tables.link_to(items)
    cells = [
        [
            Square(
                cell,
                f"{cell:.0f}" if float(cell).is_integer() else f"{cell:.1f}",
                "agrees" if row == column else "parts",
                to(show="met", label=row, other=column) if cell else "",
                f"{names[row]} met {names[column]}: {cell:g}",
            )
            for column, cell in enumerate(line)
        ]
        for row, line in enumerate(found.table)
    ]
    note = "The numbers say how often: on the diagonal both agree, dashed cells differ."
    return heat_map("met", "Which labels met on one item", names, names, cells, note=note)


def _share(table: tuple[tuple[float, ...], ...]) -> float | None:
    """The share of the commonest label among those that met another."""
    sums = [sum(row) for row in table]
    return max(sums) / sum(sums) if sum(sums) else None


def _labels(reading: Reading) -> Iterator[list[Any]]:
    for each in reading.ratings:
        yield [each.item, each.rater, each.label, each.domain, each.month, each.guideline]
