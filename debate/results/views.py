"""Screens of single debates: the list of a run's pairs, the list as a file, one in full.

After the run: its tables on a page, each as a file."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotate.loaders import may_write
from annotate.models import CaseStatus
from annotate.voting.snapshot import anchor, segments
from corpus.access import Access
from corpus.lists import is_key
from corpus.models import Role
from debate.audits.correcting import corrected_sheet
from debate.audits.forms import AuditForm, BlindAuditForm
from debate.audits.services import audit_sheet, audited_name, draw_audit
from debate.filters.services import filter_sheets
from debate.loaders import READERS, enter_run, get_debate
from debate.models import Debate, DebateRun, DebateStatus, RunKind
from debate.references import Reference, reference_called, references
from debate.rehearings.services import rehearing_sheet, unheard
from debate.rehearings.views import RehearForm
from debate.results.lists import FLAGS, debate_choices, debate_rows, debate_table
from debate.results.monitor import monitor_context
from debate.results.report import report
from debate.runs.views import RUNS
from debate.trials.report import adversarial_sheet
from kit import htmx
from kit.lists.csvfile import csv_response, named_table_response
from kit.lists.report_tables import ReportTable
from kit.lists.tables import query_string

# How a turn's quotes are marked: by what the agent began for, as on every screen.
SIDES = {"relevant": "a", "irrelevant": "b"}


def read_transcript(debate: Debate) -> dict[str, Any]:
    """The debate with its turns and calls, in one query, for its page.

    `rounds` holds the turns, each with its quotes: text, and the anchor of the mark where it
    begins, "" where it is not in the passage (`not_found`). `segments` is the passage, cut at the
    edges of every quote.
    """
    text = debate.passage.text or ""
    rounds: dict[int, list[dict[str, Any]]] = {}
    spans: list[tuple[int, int, str]] = []
    not_found: list[tuple[int, str, str]] = []
    for turn in debate.turns.select_related("call").order_by("round", "agent"):
        side, quotes = SIDES.get(turn.stance, "a"), []
        for row in turn.references:
            if not isinstance(row, dict):
                continue
            place, words = _place(row, text), str(row.get("text", ""))
            quotes.append({"text": words, "anchor": anchor(place[0]) if place else ""})
            if place:
                spans.append((*place, side))
            else:
                not_found.append((turn.round, turn.agent, words))
        asked = json.dumps(turn.call.request, indent=2, ensure_ascii=False) if turn.call else ""
        shown = {"turn": turn, "side": side, "quotes": quotes, "request": asked}
        rounds.setdefault(turn.round, []).append(shown)
    return {
        "rounds": sorted(rounds.items()),
        "segments": segments(text, spans),
        "not_found": not_found,
    }


def _place(row: dict[str, Any], passage: str) -> tuple[int, int] | None:
    """Where the quote stands, if it does: white space is forgiven, letters are not."""
    start, end = row.get("start"), row.get("end")
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(passage)):
        return None
    return (start, end) if passage[start:end].split() == str(row.get("text", "")).split() else None


_HEADER: list[str] = ["debate", "domain", "query", "query_text", "passage", "outcome"]
_HEADER += ["label", "round", "failure", "practice", "aspect"]
_CHUNK = 1_000


@require_GET
def run_detail(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The run monitor: live counts, what is waiting, what went wrong."""
    access, run = enter_run(request.user, slug, pk, *READERS)
    return RUNS.show(request, "debate/runs/run.html", monitor_context(access, run))


@require_GET
def debate_list(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Every pair of a run with its outcome."""
    access, run = enter_run(request.user, slug, pk, *READERS)
    choices = debate_choices(access, run, request.GET)
    table = debate_table(access, run).read(debate_rows(run), request.GET, choices=choices)
    context = {"access": access, "run": run, "table": table}
    return htmx.render(request, "debate/results/debates.html", context, partial="results")


@require_GET
def debate_csv(request: HttpRequest, slug: str, pk: int) -> HttpResponseBase:
    """The same list, all of it, as a file."""
    access, run = enter_run(request.user, slug, pk, *READERS)
    choices = debate_choices(access, run, request.GET)
    found = debate_table(access, run).matches(debate_rows(run), request.GET, choices=choices)
    return csv_response(f"{slug}-run-{run.pk}-pairs.csv", _HEADER, _lines(run, found))


@require_GET
def debate_detail(request: HttpRequest, slug: str, pk: int, debate: int) -> HttpResponse:
    """One debate in full: both agents, round by round, with the calls behind each turn."""
    access, run = enter_run(request.user, slug, pk, *READERS)
    found = get_debate(run, debate)
    context = {
        "access": access,
        "run": run,
        "debate": found,
        **_neighbours(request, access, run, found),
        "transcript": read_transcript(found),
        "flags": FLAGS,
        "can_requeue": access.is_admin
        and found.status == DebateStatus.FAILED
        and run.status in ("done", "failed", "paused"),
        **_case(access, found),
    }
    return htmx.render(request, "debate/results/debate.html", context)


def _case(access: Access, debate: Debate) -> dict[str, Any]:
    """The pair's case: who may still vote on it gets the vote, and nothing about it."""
    case = debate.case
    if case is None:
        return {"case": None}
    votes_here = may_write(access, debate.query) and case.status == CaseStatus.OPEN
    name = "vote-case" if votes_here else "dispute"
    return {
        "case": case,
        "case_url": reverse(name, args=[access.benchmark.slug, case.public_id]),
        "votes_here": votes_here,
        "is_closed": case.status == CaseStatus.CLOSED,
    }


def _neighbours(
    request: HttpRequest, access: Access, run: DebateRun, debate: Debate
) -> dict[str, Any]:
    """Addresses of the pairs before and after this one in the list that it was opened from."""
    choices = debate_choices(access, run, request.GET) if request.GET else None
    table = debate_table(access, run)
    before, after = table.neighbours(run.debates.all(), debate, request.GET, choices=choices)
    query = table.asked(request.GET, choices=choices)
    return {
        "list_query": query_string(query) if query else "",
        "previous_debate": before,
        "next_debate": after,
    }


def _lines(run: DebateRun, found: Any) -> Iterator[tuple[Any, ...]]:
    for debate in found.iterator(chunk_size=_CHUNK):
        yield (
            debate.pk,
            debate.query.domain.name,
            debate.query.qid,
            debate.query.text,
            debate.passage.pid,
            debate.status,
            debate.label,
            debate.round,
            debate.error,
            "yes" if run.practice else "no",
            debate.aspect.k if debate.aspect else None,
        )


@dataclass(frozen=True)
class Asked:
    """What a report is compared with."""

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
    """What the labels of a run are worth, compared with a reference and another run."""
    access, run = enter_run(request.user, slug, pk, *READERS)
    asked = read_asked(access, run, request.GET)
    context = {
        "access": access,
        "run": run,
        "asked": asked,
        "sheets": sheets(run, asked),
        "audited": audited_name(run),
        "can_bait": run.kind == RunKind.DEBATE and not run.pool.of_aspects,
        "unheard": len(unheard(run)) if run.is_over and run.kind == RunKind.DEBATE else 0,
        "rehear_form": RehearForm(auto_id="rehear-%s"),
        "audit_form": BlindAuditForm(prefix=""),
        "canary_form": AuditForm(initial={"size": 60, "seed": 1}, auto_id="canary-%s"),
        "references": references(access.benchmark),
        "others": access.benchmark.debate_runs.exclude(pk=run.pk)[:200],
    }
    return htmx.render(request, "debate/results/report.html", context, partial="tables")


@require_GET
def report_csv(request: HttpRequest, slug: str, pk: int, name: str) -> HttpResponseBase:
    """One table of the report as a file."""
    access, run = enter_run(request.user, slug, pk, *READERS)
    found = sheets(run, read_asked(access, run, request.GET))
    return named_table_response(f"{slug}-run-{run.pk}", found, name)


@require_POST
def audit_draw(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Put a sample of what was agreed on, discarded or labelled before people."""
    access, run = enter_run(request.user, slug, pk, Role.ADMIN)
    form = BlindAuditForm(request.POST)
    with htmx.refusal_shown(request):
        drawn = draw_audit(run=run, actor=access.user, **form.given()).items.count()
        messages.success(request, f"{drawn} pairs were drawn and wait among the cases.")
    return htmx.redirect(request, reverse("debate-run-report", args=[slug, run.pk]))


def read_asked(access: Access, run: DebateRun, params: Mapping[str, str]) -> Asked:
    """What the parameters name; what does not exist is not asked for."""
    other, key = None, params.get("other", "")
    if is_key(key):
        other = access.benchmark.debate_runs.filter(pk=int(key)).exclude(pk=run.pk).first()
    return Asked(reference_called(access.benchmark, params.get("reference", "")), other)


def sheets(run: DebateRun, asked: Asked) -> list[ReportTable]:
    """All tables, in the order of the page."""
    found = report(run, reference=asked.reference, other=asked.other)
    if run.reheard_of_id:
        found = [rehearing_sheet(run), *found]
    if run.kind == RunKind.FILTER:
        # Its models do not debate: there is nothing that could last.
        tables = [sheet for sheet in found if sheet.name != "persistence"]
        return [*filter_sheets(run), *_audits(run), *tables]
    return [*found, *_audits(run), adversarial_sheet(run)]


def _audits(run: DebateRun) -> list[ReportTable]:
    """The audits, and what they correct once people have decided something."""
    corrected = corrected_sheet(run)
    return [audit_sheet(run), *([corrected] if corrected.rows else [])]
