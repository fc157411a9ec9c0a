"""The report of a cleaning: counts, histograms, cost, and the rows behind each number."""

from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET

from corpus.access import enter
from corpus.cleaning_forms import WidthForm
from corpus.models import CleaningPreset
from corpus.services.cleaning_forecast import advise
from corpus.services.cleaning_report import Widths, report
from corpus.services.cleaning_rows import rows_of
from corpus.views.cleaning import READERS, get_done
from corpus.views.cleaning_chart import bars
from kit import htmx
from kit.csvfile import csv_response
from kit.sheets import csv_header, csv_rows
from llm import endpoints


@require_GET
def cleaning_report(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Counts, histograms, cost and what could not be carried."""
    access = enter(request.user, slug, *READERS)
    run = get_done(access, pk)
    widths = read_widths(request.GET)
    found = report(run, widths)
    endpoint = next((e for e in endpoints.available() if e.name == run.endpoint), None)
    context = {
        "access": access,
        "tab": "versions",
        "run": run,
        "sheets": found.sheets,
        "charts": [
            bars("Lengths of passages, in tokens", *found.lengths),
            bars("Cosine of queries and their gold", *found.similarities),
        ],
        "advice": advise(run.source, endpoint, run.budget_usd, run.model)
        if run.has_agents
        else None,
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
    return csv_response(f"cleaning-{run.pk}-{name}.csv", csv_header(sheet), csv_rows(sheet))


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
        "tab": "versions",
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
