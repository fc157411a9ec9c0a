"""Screens of single debates: the list of a run's pairs, the list as a file, one in full."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET

from annotate.loaders import may_write
from annotate.models import CaseStatus, EscalationCase
from annotate.voting.eligibility import must_judge_first
from corpus.access import Access, enter
from debate.lists import FLAGS, debate_choices, debate_rows, debate_table
from debate.models import Debate, DebateRun, DebateStatus
from debate.services.transcript import read_transcript
from debate.views.loaders import READERS, get_debate, get_run
from kit import htmx, keyset
from kit.csvfile import csv_response
from kit.table_pages import query_string

_HEADER: tuple[str, ...] = (
    "debate",
    "domain",
    "query",
    "query_text",
    "passage",
    "outcome",
    "label",
    "round",
)
_HEADER += ("failure", "practice")
_CHUNK = 1_000


@require_GET
def debate_list(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Every pair of a run with its outcome."""
    access = enter(request.user, slug, *READERS)
    run = get_run(access, pk)
    choices = debate_choices(access, run, request.GET)
    table = keyset.read(debate_table(access, run), debate_rows(run), request.GET, choices=choices)
    table = replace(table, filters=[each for each in table.filters if each.choices])
    context = {"access": access, "tab": "debate-runs", "run": run, "table": table}
    return htmx.render(request, "debate/debates.html", context, partial="results")


@require_GET
def debate_csv(request: HttpRequest, slug: str, pk: int) -> HttpResponseBase:
    """The same list, all of it, as a file."""
    access = enter(request.user, slug, *READERS)
    run = get_run(access, pk)
    choices = debate_choices(access, run, request.GET)
    found = debate_table(access, run).matches(debate_rows(run), request.GET, choices=choices)
    return csv_response(f"{slug}-run-{run.pk}-pairs.csv", _HEADER, _lines(run, found))


@require_GET
def debate_detail(request: HttpRequest, slug: str, pk: int, debate: int) -> HttpResponse:
    """One debate in full: both agents, round by round, with the calls behind each turn."""
    access = enter(request.user, slug, *READERS)
    run = get_run(access, pk)
    found = get_debate(run, debate)
    if judge_first(access, found):
        return _judge_first(request, access, run, found)
    context = {
        "access": access,
        "tab": "debate-runs",
        "run": run,
        "debate": found,
        "transcript": read_transcript(found),
        "flags": FLAGS,
        "can_requeue": access.is_admin
        and found.status == DebateStatus.FAILED
        and run.status in ("done", "failed", "paused"),
        **_case(access, found),
        **_neighbours(request, access, run, found),
    }
    return htmx.render(request, "debate/debate.html", context)


def judge_first(access: Access, debate: Debate) -> EscalationCase | None:
    """The case that this person may still vote on; before they did, the debate is not theirs."""
    return must_judge_first(
        access,
        query_id=debate.query_id,
        passage_id=debate.passage_id,
        domain_id=debate.query.domain_id,
    )


def _judge_first(
    request: HttpRequest, access: Access, run: DebateRun, debate: Debate
) -> HttpResponse:
    context = {
        "access": access,
        "tab": "debate-runs",
        "run": run,
        "debate": debate,
        "case": judge_first(access, debate),
        **_neighbours(request, access, run, debate),
    }
    return htmx.render(request, "debate/judge_first.html", context)


def _case(access: Access, debate: Debate) -> dict[str, Any]:
    """The pair's case: who may still vote on it is led to the vote, and told nothing of it."""
    case = debate.case
    if case is None:
        return {"case": None}
    votes_here = may_write(access, debate.query) and case.status == CaseStatus.OPEN
    name = "vote-case" if votes_here else "dispute"
    return {
        "case": case,
        "case_url": reverse(name, args=[access.benchmark.slug, case.pk]),
        "votes_here": votes_here,
        "is_closed": case.status == CaseStatus.CLOSED,
    }


def _neighbours(
    request: HttpRequest, access: Access, run: DebateRun, debate: Debate
) -> dict[str, Any]:
    """Addresses of the pairs before and after this one in the list that it was opened from."""
    choices = debate_choices(access, run, request.GET) if request.GET else None
    table = debate_table(access, run)
    before, after = keyset.neighbours(
        table, run.debates.all(), debate, request.GET, choices=choices
    )
    query = table.bind(request.GET, choices=choices).params
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
        )
