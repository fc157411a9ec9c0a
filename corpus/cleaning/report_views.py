"""Screens of a cleaning's report: counts, histograms, cost, and the rows behind each number."""

from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET

from corpus.access import enter
from corpus.cleaning.forms import WidthForm
from corpus.cleaning.report import Widths, bin_name, report, rows_of
from corpus.cleaning.services import advise
from corpus.cleaning.views import READERS, get_done
from corpus.marcus.figures import Bin
from corpus.models import CleaningPreset
from kit import htmx
from kit.charts.drawing import Drawing
from kit.charts.plots import histograms
from kit.lists.csvfile import table_response


def bars(name: str, title: str, before: list[Bin], after: list[Bin]) -> Drawing | None:
    """Two histograms as pairs of bars, in shares."""
    totals = [sum(b.count for b in side) or 1 for side in (before, after)]
    shares = [
        (bin_name(a), a.count / totals[0], b.count / totals[1])
        for a, b in zip(before, after, strict=True)
    ]
    return histograms(name, title, shares)


@require_GET
def cleaning_report(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Counts, histograms, cost and the labels that were not inherited."""
    access = enter(request.user, slug, *READERS)
    run = get_done(access, pk)
    widths = read_widths(request.GET)
    found = report(run, widths)
    context = {
        "access": access,
        "run": run,
        "sheets": found.sheets,
        "charts": [
            bars("lengths", "Lengths of passages, in tokens", *found.lengths),
            bars("cosines", "Cosine of queries and their gold", *found.similarities),
        ],
        "advice": advise(access.benchmark),
        "presets": dict(CleaningPreset.choices),
        "form": WidthForm(initial=widths.params),
        "query": f"?{urlencode(widths.params)}" if widths.params else "",
    }
    return htmx.render(request, "corpus/cleaning/report.html", context)


@require_GET
def cleaning_table(request: HttpRequest, slug: str, pk: int, name: str) -> HttpResponseBase:
    """One table of the report as CSV."""
    access = enter(request.user, slug, *READERS)
    run = get_done(access, pk)
    widths = read_widths(request.GET)
    is_rows = name == "rows"
    sheet = rows_of(run, request.GET, widths) if is_rows else report(run, widths).sheet(name)
    if sheet is None:
        raise Http404("No such table.")
    return table_response(f"cleaning-{run.pk}-{name}.csv", sheet)


@require_GET
def cleaning_rows(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The rows behind one number of the report."""
    access = enter(request.user, slug, *READERS)
    run = get_done(access, pk)
    sheet = rows_of(run, request.GET, read_widths(request.GET))
    if sheet is None:
        return htmx.redirect(request, reverse("cleaning-report", args=[slug, pk]))
    csv_url = reverse("cleaning-table", args=[slug, pk, "rows"])
    context = {
        "access": access,
        "run": run,
        "sheet": sheet,
        "csv_url": f"{csv_url}?{request.GET.urlencode()}",
    }
    return htmx.render(request, "corpus/cleaning/rows.html", context)


def read_widths(params: Any) -> Widths:
    """The widths that the parameters ask for; what cannot be is left out."""
    form = WidthForm(params)
    form.is_valid()
    given = form.cleaned_data
    return Widths(given.get("tokens"), given.get("cosine"))
