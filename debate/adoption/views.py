"""What becomes of a run's labels: adoption with its preview, its undo, the pool of a filter."""

from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from corpus.access import Access
from corpus.models import Role, Status
from debate.adoption.services import (
    adopt_run,
    opened_cases,
    preview_adoption,
    undo_adoption,
    why_not,
)
from debate.filters.services import keep_pairs
from debate.loaders import READERS, enter_run
from debate.models import DebateRun, RunKind
from debate.runs.figures import Address, pairs_url
from kit import htmx
from kit.runs.models import RunStatus


class KeepForm(forms.Form):
    """The name of the pool that a filter leaves."""

    name = forms.CharField(
        label="Name", max_length=120, required=False, help_text="Left empty, one is made up."
    )


@require_http_methods(["GET", "POST"])
def adoption(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """What adopting the run will change, or has changed; a POST adopts it."""
    roles = (Role.ADMIN,) if request.method == "POST" else READERS
    access, run = enter_run(request.user, slug, pk, *roles)
    if request.method == "POST":
        with htmx.refusal_shown(request):
            counts = adopt_run(run=run, actor=access.user)
            messages.success(
                request,
                f"{counts['standing']:,} labels are current now, {counts['weaker']:,} were "
                f"superseded by weightier ones, {counts['cases']:,} cases were opened.",
            )
        return htmx.redirect(request, _url(run))
    return htmx.render(request, "debate/adoption/adoption.html", _context(access, run))


@require_POST
def adoption_undo(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Take the adoption back, where nobody has voted since."""
    access, run = enter_run(request.user, slug, pk, Role.ADMIN)
    with htmx.refusal_shown(request):
        counts = undo_adoption(run=run, actor=access.user)
        messages.success(
            request,
            f"{counts['waiting']:,} labels are on trial again, {counts['restored']:,} that they "
            f"had displaced count again, {counts['cases']:,} cases were withdrawn.",
        )
    return htmx.redirect(request, _url(run))


@require_POST
def filter_keep(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Make a pool of what a filter did not discard, and go there."""
    access, run = enter_run(request.user, slug, pk, Role.ADMIN)
    with htmx.refusal_shown(request):
        name = request.POST.get("name", "").replace("\x00", "")
        pool = keep_pairs(run=run, name=name, actor=access.user)
        messages.success(request, f"The pool {pool.name} holds what the filter kept.")
        return htmx.redirect(request, reverse("pool", args=[slug, pool.pk]))
    return htmx.redirect(request, _url(run))


def _url(run: DebateRun) -> str:
    return reverse("debate-run-adoption", args=[run.benchmark.slug, run.pk])


def _context(access: Access, run: DebateRun) -> dict[str, Any]:
    to, is_done = pairs_url(run), run.status == RunStatus.DONE
    preview = preview_adoption(run) if is_done else {}
    return {
        "access": access,
        "run": run,
        "is_done": is_done,
        "planned": _planned(preview, to),
        "found": _found(run, to) if run.adopted_at else [],
        "why_not": why_not(run) if run.adopted_at else "",
        "opened": len(opened_cases(run)) if run.adopted_at else 0,
        "keep_form": KeepForm() if run.kind == RunKind.FILTER and is_done else None,
    }


def _planned(preview: dict[str, Any], to: Address) -> list[dict[str, Any]]:
    """The preview's numbers with the pairs behind them; none where adopting changes nothing."""
    names = {
        "stands": "Will stand where none does",
        "replaces": "Will take the place of a label",
        "weaker": "Will be superseded by a weightier one",
    }
    if not preview or not (preview["cases"] or any(preview[key]["total"] for key in names)):
        return []
    found = [
        {
            "name": name,
            "count": preview[key]["total"],
            "url": to(effect=key),
            "words": f"{preview[key]['relevant']:,} relevant, {preview[key]['irrelevant']:,} not",
        }
        for key, name in names.items()
    ]
    words = f"{preview['joined']:,} have a case already" if preview["joined"] else ""
    cases = {"name": "Pairs that come before people", "count": preview["cases"], "words": words}
    return [*found, cases | {"url": to(effect="cases")}]


def _found(run: DebateRun, to: Address) -> list[dict[str, Any]]:
    """How the labels and cases of an adopted run stand now."""
    rows = run.debates.order_by()
    stands, history = (
        rows.filter(Q(judgment__status=status) | Q(support__status=status))
        for status in (Status.STANDING, Status.SUPERSEDED)
    )
    numbers = (
        ("Current labels", stands, {"counts": "standing"}),
        ("Labels that are history", history, {"counts": "superseded"}),
        ("Pairs before people", rows.exclude(case=None), {"case": "any"}),
        ("Decided by people", rows.filter(case__status="closed"), {"case": "closed"}),
    )
    words = {"Labels that are history": "a weightier one counts"}
    return [
        {"name": name, "count": pairs.count(), "url": to(**at), "words": words.get(name, "")}
        for name, pairs, at in numbers
    ]
