"""After the run: its tables on a page, each as a file."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from corpus.access import Access, enter
from corpus.lists import is_key
from corpus.models import Role
from debate.forms import AuditForm
from debate.models import DebateRun, RunKind
from debate.services.audits import audit_sheet, audited_words, draw_audit
from debate.services.filter_report import filter_sheets
from debate.services.references import Reference, reference_called, references
from debate.services.report import report
from debate.services.trial_report import canary_sheet
from debate.views.loaders import READERS, get_run
from kit import htmx
from kit.csvfile import csv_response
from kit.errors import Refused
from kit.sheets import Sheet, csv_header, csv_rows
from kit.table_pages import query_string


@dataclass(frozen=True)
class Asked:
    """What a report is asked to be held against."""

    reference: Reference | None
    other: DebateRun | None

    @property
    def query(self) -> str:
        """The same as parameters of a link."""
        params = {
            "reference": self.reference.key if self.reference else "",
            "other": str(self.other.pk) if self.other else "",
        }
        return query_string({name: value for name, value in params.items() if value})


@require_GET
def run_report(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """What the labels of a run are worth, beside a reference and another run."""
    access = enter(request.user, slug, *READERS)
    run = get_run(access, pk)
    asked = read_asked(access, run, request.GET)
    context = {
        "access": access,
        "tab": "debate-runs",
        "run": run,
        "asked": asked,
        "sheets": sheets(run, asked),
        "audited": audited_words(run),
        "can_bait": run.kind == RunKind.DEBATE,
        "audit_form": AuditForm(prefix=""),
        "canary_form": AuditForm(initial={"size": 60, "seed": 1}, auto_id="canary-%s"),
        "references": references(access.benchmark),
        "others": access.benchmark.debate_runs.exclude(pk=run.pk)[:200],
    }
    return htmx.render(request, "debate/report.html", context, partial="tables")


@require_GET
def report_csv(request: HttpRequest, slug: str, pk: int, name: str) -> HttpResponseBase:
    """One table of the report as a file."""
    access = enter(request.user, slug, *READERS)
    run = get_run(access, pk)
    for sheet in sheets(run, read_asked(access, run, request.GET)):
        if sheet.name == name:
            return csv_response(
                f"{slug}-run-{run.pk}-{name}.csv", csv_header(sheet), csv_rows(sheet)
            )
    raise Http404("No such table.")


@require_POST
def audit_draw(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Put a sample of what was agreed on, discarded or labelled before people."""
    access = enter(request.user, slug, Role.ADMIN)
    run = get_run(access, pk)
    form = AuditForm(request.POST)
    if not form.is_valid():
        for errors in form.errors.values():
            messages.error(request, " ".join(map(str, errors)))
    else:
        try:
            sample = draw_audit(run=run, actor=access.user, **form.cleaned_data)
        except Refused as refusal:
            messages.error(request, refusal.message)
        else:
            drawn = sample.items.count()
            messages.success(request, f"{drawn} pairs were drawn and wait among the cases.")
    return htmx.redirect(request, reverse("debate-run-report", args=[slug, run.pk]))


def read_asked(access: Access, run: DebateRun, params: Mapping[str, str]) -> Asked:
    """What the parameters name; what does not exist is not asked for."""
    other, key = None, params.get("other", "")
    if is_key(key):
        other = access.benchmark.debate_runs.filter(pk=int(key)).exclude(pk=run.pk).first()
    return Asked(reference_called(access.benchmark, params.get("reference", "")), other)


def sheets(run: DebateRun, asked: Asked) -> list[Sheet]:
    """All tables, in the order of the page."""
    found = report(run, reference=asked.reference, other=asked.other)
    if run.kind == RunKind.FILTER:
        # Its models do not debate: there is nothing that could last.
        beside = [sheet for sheet in found if sheet.name != "persistence"]
        return [*filter_sheets(run), audit_sheet(run), *beside]
    return [*found, audit_sheet(run), canary_sheet(run)]
