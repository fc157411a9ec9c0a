"""What the run monitor of a run shows: counts with the pairs behind them, setup, audits."""

from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from corpus.access import Access
from debate.audits.services import audited, audited_name
from debate.lara.services import budget_progress
from debate.models import DebateRun, DebateStatus, RunKind
from debate.results.lists import FLAGS
from debate.runs.configuration import PERSON, SKIP
from debate.runs.figures import (
    Outcomes,
    candidates,
    failure_classes,
    flag_counts,
    outcomes,
    seconds_left,
)
from debate.runs.kinds import config_of
from debate.runs.planning import departures
from debate.runs.views import RUNS
from kit.templatetags.assay import in_words
from llm import endpoints
from llm.endpoints import SettingsError
from llm.models import ModelProfile


def monitor_context(access: Access, run: DebateRun) -> dict[str, Any]:
    """Everything that the template of the run monitor reads."""
    whole, domains = outcomes(run)
    counts = whole.figures()
    pairs = reverse("debates", args=[access.benchmark.slug, run.pk])
    rounds = sorted({number for each in (whole, *domains) for number in each.agreed} | {1})
    proposed = candidates(run.pool)
    return {
        **RUNS.context(access, run),
        "figures": counts,
        "whole": whole,
        "pairs_url": pairs,
        "rounds": [(number, whole.agreed.get(number, 0)) for number in rounds],
        "others": [(in_words(name).capitalize(), name, n) for name, n in whole.others],
        "candidates": proposed[0] if proposed else None,
        "domains": [
            _domain_row(each, rounds, pairs, proposed[1] if proposed else {}) for each in domains
        ],
        "bar_parts": _bar(whole, rounds, pairs),
        "failures": [
            (each, f"{pairs}?{urlencode({'status': each['status'], 'error': each['name']})}")
            for each in failure_classes(run)
        ],
        "flags": [
            {"name": FLAGS.get(flag, in_words(flag)), "count": count, "url": f"{pairs}?flag={flag}"}
            for flag, count in flag_counts(run)
        ],
        "awaited": budget_progress(run),
        "seconds_left": seconds_left(run, counts["waiting"]),
        "can_retry": run.status in ("done", "failed") and counts["failed"] and access.is_admin,
        "can_requeue": run.status in ("done", "failed", "paused") and access.is_admin,
        **_unchanging(access, run),
    }


def _unchanging(access: Access, run: DebateRun) -> dict[str, Any]:
    """What does not change while the run goes on."""
    config = config_of(run)
    return {
        "setup": _setup(run),
        "asked": how_asked(run),
        "departures": departures(config) if run.preset else [],
        "audits": audited(run) if run.is_over else [],
        "audited": audited_name(run),
        # Nobody pays where people judge alone.
        **({} if run.model_choices else {"sets_budget": False}),
        "has_labels_page": run.is_trial or run.kind == RunKind.FILTER or bool(run.adopted_at),
    }


_SETTINGS = {
    RunKind.DEBATE: ("rounds", "continue_to", "temperature", "history_labels"),
    RunKind.GRADED: ("samples", "temperature", "threshold", "profile"),
    RunKind.VOTE: ("samples", "rule", "temperature"),
    RunKind.HUMAN_ONLY: (),
}


def _setup(run: DebateRun) -> list[tuple[str, str]]:
    """The settings that its kind has, in words."""
    config = config_of(run)
    found = [("Kind", run.get_kind_display())]
    found += [
        (f"Agent {letter}", f"{choice.model} at {choice.endpoint}, {choice.stance}".rstrip(", "))
        for letter, choice in zip("ABCDEF", config.agents, strict=False)
    ]
    if config.adjudicator:
        judge = config.adjudicator
        found.append(("Adjudicator", f"{judge.model} at {judge.endpoint}"))
    for name in _SETTINGS.get(RunKind(run.kind), ("temperature",)):
        value = getattr(config, name)
        words = {True: "yes", False: "no"}[value] if isinstance(value, bool) else f"{value}"
        found.append((in_words(name).capitalize(), words))
    if config.reasoning_effort:
        found.append(("Reasoning effort", config.reasoning_effort))
    if config.agents:
        other = f"asked of {config.instead.model}" if config.instead else ""
        refused = other or {PERSON: "for people", SKIP: "left without a label"}[config.on_refusal]
        found.append(("Pairs that a model will not answer about", refused))
    if run.kind == RunKind.DEBATE:
        shown = "yes" if config.history_for_people else "no"
        found.append(("People see the debate", shown))
    if run.kind == RunKind.LARA:
        found += [("LARA", config.lara.variant), ("Share for people", f"{config.lara.budget:.1%}")]
    found.append(("Calls in flight", f"{run.calls_in_flight} a worker"))
    return found


def how_asked(run: DebateRun) -> list[tuple[str, str, tuple[str, ...]]]:
    """Each model with how it is asked, in words, and the refusals that taught it.

    Models of endpoints that are no longer set up are left out.
    """
    found = []
    for name, model in dict.fromkeys(run.asked):
        with suppress(SettingsError):
            if model:
                endpoint = endpoints.get(name)
                known = ModelProfile.objects.of(endpoint, model)
                found.append((f"{model} at {name}", *known.told(endpoint)))
    return found


def _domain_row(
    found: Outcomes, rounds: list[int], pairs: str, proposed: dict[str, int]
) -> dict[str, Any]:
    """A line of DREAM's Table 8; every number leads to its rows."""
    counts, domain = found.figures(), urlencode({"domain": found.name})
    cells: list[tuple[str, int, str]] = []
    for number in rounds:
        agreed = found.agreed.get(number, 0)
        cells.append((f"Agreed, round {number}", agreed, f"status=agreed&round={number}"))
        cells.append((f"Open after round {number}", found.open_after(number), f"open={number}"))
    cells += [
        ("Disputed", counts["escalated"], "status=escalated"),
        ("Unreadable or failed", counts["unreadable"] + counts["failed"], "status=broken"),
        ("Waiting", counts["waiting"], "status=waiting"),
        ("Relevant found", found.relevant, "label=1"),
    ]
    return {
        "name": found.name,
        "candidates": proposed.get(found.name, 0),
        "total": counts["total"],
        "url": f"{pairs}?{domain}",
        "escalation": found.escalation,
        "escalation_url": f"{pairs}?{domain}&status=escalated",
        "cells": [(name, count, f"{pairs}?{domain}&{query}") for name, count, query in cells],
    }


def _bar(whole: Outcomes, rounds: list[int], url: str) -> list[dict[str, Any]]:
    counts = whole.figures()
    broken = counts["unreadable"] + counts["failed"]
    agreed = {n: whole.agreed.get(n, 0) for n in rounds}
    css = {1: "r1"}
    rows = [
        *(
            (f"Agreed in round {n}", count, css.get(n, "r2"), f"status=agreed&round={n}")
            for n, count in agreed.items()
        ),
        *((in_words(name).capitalize(), n, "r2", f"status={name}") for name, n in whole.others),
        ("Disputed", counts["escalated"], "esc", f"status={DebateStatus.ESCALATED}"),
        ("Unreadable or failed", broken, "broken", "status=broken"),
        ("Skipped", counts["skipped"], "wait", f"status={DebateStatus.SKIPPED_NO_ANSWER}"),
        ("Waiting", counts["waiting"], "wait", f"status={DebateStatus.WAITING}"),
    ]
    return [
        {"name": name, "value": value, "css": css, "url": f"{url}?{query}"}
        for name, value, css, query in rows
    ]
