"""The ledger of a benchmark: the calls that its runs have paid for, one in full, and their sums."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_GET

from corpus.access import Access, enter
from corpus.models import Role
from kit import htmx
from kit.lists.csvfile import csv_response, table_response
from kit.lists.tables import Choices, query_string
from llm.ledger.accounts import PayingRun, paying_runs
from llm.ledger.reading import (
    CALLS,
    HEADER,
    TOTALS,
    UNCOSTED,
    Group,
    choices_of,
    grouped,
    is_asked,
    kept_groups,
    lines,
    summed,
    totals_sheets,
    transcript,
    without_texts,
)
from llm.models import Call

# The page of a run, by its kind.
_PAGES = {
    "debaterun": "debate-run",
    "answerrun": "answer-run",
    "cleaningrun": "cleaning",
    "runcomputation": "run-computation",
}


@dataclass(frozen=True)
class Ledger:
    """The calls that a benchmark's runs have paid for: those of no other are ever read."""

    calls: QuerySet[Call]
    runs: list[PayingRun]

    @cached_property
    def groups(self) -> list[Group]:
        """What they came to."""
        return kept_groups(run.account_id for run in self.runs)

    def choices(self, params: Mapping[str, str]) -> dict[str, Choices]:
        """The drop-downs of the list."""
        runs = [(str(run.account_id), _called(run)) for run in self.runs]
        return choices_of(self.groups, params, runs)

    def asked(self, params: Mapping[str, str], choices: dict[str, Choices]) -> QuerySet[Call]:
        """The calls that `params` ask for."""
        return CALLS.matches(self.calls, params, choices=choices)

    def sums(self, params: Mapping[str, str], choices: dict[str, Choices]) -> list[Group]:
        """What these calls came to; read anew only where a search or no group tells them apart."""
        asked = CALLS.asked(params, choices=choices)
        if "q" in asked or asked.get("state") == UNCOSTED:
            return grouped(self.asked(params, choices))
        return [each for each in self.groups if is_asked(each, asked)]


def ledger_of(access: Access) -> Ledger:
    """The ledger of this benchmark."""
    runs = paying_runs(access.benchmark.slug)
    paid = Call.objects.filter(account__in=[run.account_id for run in runs])
    return Ledger(paid, runs)


def get_call(ledger: Ledger, pk: int) -> Call:
    """A call that a run of the benchmark has paid for, or 404."""
    return get_object_or_404(ledger.calls.select_related("account"), pk=pk)


@require_GET
def call_list(request: HttpRequest, slug: str) -> HttpResponse:
    """Every call with what it came to, filtered, under their sum."""
    access = enter(request.user, slug, Role.ADMIN)
    ledger = ledger_of(access)
    choices = ledger.choices(request.GET)
    table = CALLS.read(without_texts(ledger.calls), request.GET, choices=choices)
    context = {
        "access": access,
        "table": table,
        "spending": summed(ledger.sums(request.GET, choices)),
        "unsure_url": query_string({**table.params, "state": UNCOSTED}),
    }
    return htmx.render(request, "debate/spending/calls.html", context, partial="results")


@require_GET
def call_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The same calls, all of them, as a file: to compare with a bill."""
    access = enter(request.user, slug, Role.ADMIN)
    ledger = ledger_of(access)
    asked = ledger.asked(request.GET, ledger.choices(request.GET))
    return csv_response(f"{slug}-calls.csv", HEADER, lines(asked))


@require_GET
def call_totals(request: HttpRequest, slug: str) -> HttpResponse:
    """What the calls came to by day and model, by role and by run."""
    access = enter(request.user, slug, Role.ADMIN)
    ledger = ledger_of(access)
    choices = ledger.choices(request.GET)
    groups, kept = ledger.sums(request.GET, choices), CALLS.asked(request.GET, choices=choices)
    calls_url = reverse("spending", args=[slug])

    def url(narrowed: dict[str, str]) -> str:
        return f"{calls_url}{query_string({**kept, **narrowed})}"

    context = {
        "access": access,
        "spending": summed(groups),
        "sheets": totals_sheets(groups, *TOTALS, url=url),
        "query": query_string(kept) if kept else "",
        "narrowed": [
            (each.label, dict(each.choices)[each.value])
            for each in CALLS.chosen(request.GET, choices)
            if each.value
        ],
    }
    return htmx.render(request, "debate/spending/totals.html", context)


@require_GET
def call_totals_csv(request: HttpRequest, slug: str, name: str) -> HttpResponseBase:
    """One table of sums as a file."""
    access = enter(request.user, slug, Role.ADMIN)
    if name not in TOTALS:
        raise Http404("No such table.")
    ledger = ledger_of(access)
    groups = ledger.sums(request.GET, ledger.choices(request.GET))
    (sheet,) = totals_sheets(groups, name)
    return table_response(f"{slug}-calls-{name}.csv", sheet)


@require_GET
def call_detail(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One call: what was asked, how, what came back, and what it came to."""
    access = enter(request.user, slug, Role.ADMIN)
    ledger = ledger_of(access)
    call = get_call(ledger, pk)
    run = next(run for run in ledger.runs if run.account_id == call.account_id)
    page = _PAGES.get(run._meta.model_name or "")
    context = {
        "access": access,
        "call": call,
        "prompt": transcript(call),
        "asked_as": call.request.get("asked_as"),
        "attempts": without_texts(ledger.calls.filter(key=call.key).exclude(pk=pk)),
        "run_name": _called(run),
        "run_url": reverse(page, args=[slug, run.pk]) if page else "",
        **_beside(ledger, call, request.GET),
    }
    return htmx.render(request, "debate/spending/call.html", context)


def _beside(ledger: Ledger, call: Call, params: Mapping[str, str]) -> dict[str, Any]:
    """The calls before and after this one in the list that it was opened from."""
    choices = ledger.choices(params) if params else None
    before, after = CALLS.neighbours(ledger.calls, call, params, choices=choices)
    kept = CALLS.asked(params, choices=choices)
    query = query_string(kept) if kept else ""
    return {"list_query": query, "previous_call": before, "next_call": after}


def _called(run: PayingRun) -> str:
    assert run.account is not None  # a run without one has paid for nothing
    name = str(run)
    return run.account.name if name == run.account.name else f"{run.account.name}: {name}"
