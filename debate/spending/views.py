"""The ledger of a benchmark: the calls that its runs have paid for, one in full, and their sums."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Max, QuerySet
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
    grouped,
    lines,
    period,
    summed,
    totals_sheets,
    transcript,
    without_texts,
)
from llm.models import Call

_AWAITED = (Call.Status.INTENT, Call.Status.POSSIBLY_PAID)
_KEPT_S = 86_400
# Months that the list can be narrowed to.
_MONTHS = 120
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
        """What they came to, of each account read anew where a call was begun or settled.

        A call that is answered or failed never changes again, and one that is begun has a higher
        key than all before: so an account with the same last key and as many calls in each of the
        other states has the same sums.
        """
        calls = self.calls.order_by()
        open_calls = calls.filter(status__in=_AWAITED).values_list("account", "status")
        counts = {(account, state): n for account, state, n in open_calls.annotate(Count("pk"))}
        keys = {}
        for account, last in calls.values_list("account").annotate(Max("pk")):
            parts = "calls", account, last, *(counts.get((account, each), 0) for each in _AWAITED)
            keys[account] = ":".join(map(str, parts))
        kept: dict[str, list[Group]] = cache.get_many(keys.values())
        if anew := [account for account, key in keys.items() if key not in kept]:
            found: dict[str, list[Group]] = {keys[account]: [] for account in anew}
            for group in grouped(calls.filter(account__in=anew)):
                found[keys[group[0]["account"]]].append(group)
            cache.set_many(found, _KEPT_S)
            kept |= found
        return [group for key in keys.values() for group in kept[key]]

    def choices(self, params: Mapping[str, str]) -> dict[str, Choices]:
        """The drop-downs of the list: what the calls hold, and a day that a link names."""
        keys = [key for key, _ in self.groups]
        begun = sorted({f"{key['day']:%Y-%m}" for key in keys}, reverse=True)[:_MONTHS]
        asked = params.get("begun", "")
        if asked not in begun and period(asked):
            begun = [asked, *begun]
        held: dict[str, list[str]] = {"begun": begun}
        for name in ("role", "model", "endpoint"):
            held[name] = sorted({key[name] for key in keys} - {""})
        runs = [(str(run.account_id), _called(run)) for run in self.runs]
        return {"run": runs, **{name: [(v, v) for v in held[name]] for name in held}}

    def asked(self, params: Mapping[str, str], choices: dict[str, Choices]) -> QuerySet[Call]:
        """The calls that `params` ask for."""
        return CALLS.matches(self.calls, params, choices=choices)

    def sums(self, params: Mapping[str, str], choices: dict[str, Choices]) -> list[Group]:
        """What these calls came to; read anew only where a search or no group tells them apart."""
        asked = CALLS.asked(params, choices=choices)
        if "q" in asked or asked.get("state") == UNCOSTED:
            return grouped(self.asked(params, choices))
        days = period(asked.get("begun", ""))

        def is_asked(key: dict[str, Any]) -> bool:
            key = {**key, "run": str(key["account"]), "state": key["status"]}
            is_then = days is None or days[0] <= key["day"] < days[1]
            return is_then and all(key[name] == asked[name] for name in asked if name in key)

        return [each for each in self.groups if is_asked(each[0])]


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
