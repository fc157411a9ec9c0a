"""Screens of debate runs: the list, setting one up, and the control room of one."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from corpus.access import Access, enter
from corpus.models import Role
from debate.lists import FLAGS
from debate.models import DebateRun, DebateStatus
from debate.run_lists import RUNS, run_choices
from debate.services import requeue
from debate.services import runs as verbs
from debate.services.figures import (
    FailureClass,
    Outcomes,
    failure_classes,
    flag_counts,
    outcomes,
    seconds_left,
)
from debate.services.spending import spending
from debate.views.loaders import READERS, get_debate, get_run, run_url
from kit import htmx
from kit.errors import Refused
from kit.templatetags.assay import in_words

VERBS = {
    "pause": verbs.pause_run,
    "resume": verbs.resume_run,
    "cancel": verbs.cancel_run,
    "retry": verbs.retry_failed,
}


@require_GET
def run_list(request: HttpRequest, slug: str) -> HttpResponse:
    """All debate runs of the benchmark."""
    access = enter(request.user, slug, *READERS)
    choices = run_choices(access.benchmark)
    table = RUNS.read(access.benchmark.debate_runs.all(), request.GET, choices=choices)
    context = {"access": access, "tab": "debate-runs", "table": table}
    return htmx.render(request, "debate/runs.html", context, partial="results")


@require_GET
def run_detail(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The control room: live counts, what is waiting, what went wrong."""
    access = enter(request.user, slug, *READERS)
    run = get_run(access, pk)
    response = htmx.render(request, "debate/run.html", _context(access, run), partial="live")
    finished = run.is_over and htmx.is_fragment(request)
    return htmx.stop_polling(response) if finished else response


@require_GET
def run_spending(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """What the run has used so far and is likely to use; a part of the control room."""
    access = enter(request.user, slug, *READERS)
    run = get_run(access, pk)
    context = {"access": access, "tab": "debate-runs", "run": run, "spending": spending(run)}
    response = htmx.render(request, "debate/spending.html", context, partial="part")
    finished = run.is_over and htmx.is_fragment(request)
    return htmx.stop_polling(response) if finished else response


@require_POST
def run_act(request: HttpRequest, slug: str, pk: int, verb: str) -> HttpResponse:
    """Pause, resume, cancel, or try the failed pairs again."""
    access = enter(request.user, slug, Role.ADMIN)
    run = get_run(access, pk)
    try:
        VERBS[verb](run=run, actor=access.user)
    except Refused as refusal:
        messages.error(request, refusal.message)
    return htmx.redirect(request, run_url(run))


@require_POST
def run_requeue(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Try the pairs again that failed in the words sent as `error`."""
    access = enter(request.user, slug, Role.ADMIN)
    run = get_run(access, pk)
    try:
        requeue.requeue_failures(
            run=run, error_class=request.POST.get("error", ""), actor=access.user
        )
    except Refused as refusal:
        messages.error(request, refusal.message)
    return htmx.redirect(request, run_url(run))


@require_POST
def debate_requeue(request: HttpRequest, slug: str, pk: int, debate: int) -> HttpResponse:
    """Try one failed pair again."""
    access = enter(request.user, slug, Role.ADMIN)
    run = get_run(access, pk)
    found = get_debate(run, debate)
    try:
        requeue.requeue_pair(run=run, debate=found, actor=access.user)
    except Refused as refusal:
        messages.error(request, refusal.message)
    return htmx.redirect(request, reverse("debate", args=[slug, run.pk, found.pk]))


def _context(access: Access, run: DebateRun) -> dict[str, Any]:
    whole, domains = outcomes(run)
    counts = whole.figures()
    pairs = reverse("debates", args=[access.benchmark.slug, run.pk])
    rounds = sorted({number for each in (whole, *domains) for number in each.agreed} | {1})
    return {
        "access": access,
        "tab": "debate-runs",
        "run": run,
        "figures": counts,
        "pairs_url": pairs,
        "rounds": [(number, whole.agreed.get(number, 0)) for number in rounds],
        "others": [(in_words(name).capitalize(), name, n) for name, n in whole.others],
        "domains": [_domain_row(each, rounds, pairs) for each in domains],
        "bar_parts": _bar(whole, rounds, pairs),
        "failures": [_failure(each, pairs) for each in failure_classes(run)],
        "flags": [
            {"name": FLAGS.get(flag, in_words(flag)), "count": count, "url": f"{pairs}?flag={flag}"}
            for flag, count in flag_counts(run)
        ],
        "seconds_left": seconds_left(run, counts.waiting),
        "can_pause": run.status in ("queued", "running") and access.is_admin,
        "can_resume": run.status in ("paused", "failed") and access.is_admin,
        "can_retry": run.status in ("done", "failed") and counts.failed and access.is_admin,
        "can_requeue": run.status in ("done", "failed", "paused") and access.is_admin,
    }


def _failure(found: FailureClass, pairs: str) -> dict[str, Any]:
    query = urlencode({"status": found.status, "error": found.name})
    return {"of": found, "url": f"{pairs}?{query}"}


def _domain_row(found: Outcomes, rounds: list[int], pairs: str) -> dict[str, Any]:
    """A line of the table by domain; every number leads to its rows."""
    counts, domain = found.figures(), urlencode({"domain": found.name})
    agreed = [(n, found.agreed.get(n, 0)) for n in rounds]
    cells = [
        *((f"Agreed, round {n}", count, f"status=agreed&round={n}") for n, count in agreed),
        ("Disputed", counts.escalated, "status=escalated"),
        ("Unreadable or failed", counts.unreadable + counts.failed, "status=broken"),
        ("Waiting", counts.waiting, "status=waiting"),
        ("Relevant found", found.relevant, "label=1"),
    ]
    return {
        "name": found.name,
        "total": counts.total,
        "url": f"{pairs}?{domain}",
        "escalation": counts.escalation,
        "cells": [(name, count, f"{pairs}?{domain}&{query}") for name, count, query in cells],
    }


def _bar(whole: Outcomes, rounds: list[int], url: str) -> list[dict[str, Any]]:
    counts = whole.figures()
    rows = [
        *(
            (f"Agreed in round {n}", whole.agreed.get(n, 0), _css(n), f"status=agreed&round={n}")
            for n in rounds
        ),
        *((in_words(name).capitalize(), n, "r2", f"status={name}") for name, n in whole.others),
        ("Disputed", counts.escalated, "esc", f"status={DebateStatus.ESCALATED}"),
        ("Unreadable or failed", counts.unreadable + counts.failed, "broken", "status=broken"),
        ("Skipped", counts.skipped, "wait", f"status={DebateStatus.SKIPPED_NO_ANSWER}"),
        ("Waiting", counts.waiting, "wait", f"status={DebateStatus.WAITING}"),
    ]
    return [
        {"name": name, "value": value, "css": css, "url": f"{url}?{query}"}
        for name, value, css, query in rows
    ]


def _css(round: int) -> str:
    return "r1" if round == 1 else "r2"
