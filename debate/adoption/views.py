"""What becomes of a run's labels: adoption with its preview, its undo, the pool of a filter."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from corpus.access import Access, enter
from corpus.models import Role, Status
from debate.adoption.preview import preview_adoption
from debate.adoption.services import adopt_run, opened_cases, undo_adoption, why_not
from debate.filters.services import keep_pairs
from debate.forms import KeepForm
from debate.loaders import READERS, get_run
from debate.models import DebateRun, RunKind
from debate.results.report import pairs_url
from kit import htmx
from kit.errors import Refused
from kit.runs import RunStatus


@require_http_methods(["GET", "POST"])
def adoption(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """What adopting the run will change, or has changed; a POST adopts it."""
    roles = (Role.ADMIN,) if request.method == "POST" else READERS
    access = enter(request.user, slug, *roles)
    run = get_run(access, pk)
    if request.method == "POST":
        try:
            counts = adopt_run(run=run, actor=access.user)
        except Refused as refusal:
            messages.error(request, refusal.message)
        else:
            messages.success(
                request,
                f"{counts.standing:,} labels stand now, {counts.weaker:,} are history beside "
                f"weightier ones, {counts.cases:,} cases were opened.",
            )
        return htmx.redirect(request, _url(run))
    return htmx.render(request, "debate/adoption.html", _context(access, run))


@require_POST
def adoption_undo(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Take the adoption back, where nobody has voted since."""
    access = enter(request.user, slug, Role.ADMIN)
    run = get_run(access, pk)
    try:
        counts = undo_adoption(run=run, actor=access.user)
    except Refused as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(
            request,
            f"{counts.waiting:,} labels are on trial again, {counts.restored:,} that they had "
            f"displaced stand again, {counts.cases:,} cases were withdrawn.",
        )
    return htmx.redirect(request, _url(run))


@require_POST
def filter_keep(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Make a pool of what a filter did not discard, and go there."""
    access = enter(request.user, slug, Role.ADMIN)
    run = get_run(access, pk)
    try:
        name = request.POST.get("name", "").replace("\x00", "")
        pool = keep_pairs(run=run, name=name, actor=access.user)
    except Refused as refusal:
        messages.error(request, refusal.message)
        return htmx.redirect(request, _url(run))
    messages.success(request, f"The pool {pool.name} holds what the filter kept.")
    return htmx.redirect(request, reverse("pool", args=[slug, pool.pk]))


def _url(run: DebateRun) -> str:
    return reverse("debate-run-adoption", args=[run.benchmark.slug, run.pk])


def _context(access: Access, run: DebateRun) -> dict[str, Any]:
    to, is_done = pairs_url(run), run.status == RunStatus.DONE
    preview = preview_adoption(run) if is_done else None
    return {
        "access": access,
        "tab": "debate-runs",
        "run": run,
        "is_done": is_done,
        "preview": preview,
        "planned": _planned(preview, to) if preview and not preview.is_empty else [],
        "found": _found(run, to) if run.adopted_at else [],
        "why_not": why_not(run) if run.adopted_at else "",
        "opened": len(opened_cases(run)) if run.adopted_at else 0,
        "keep_form": KeepForm() if run.kind == RunKind.FILTER and is_done else None,
    }


def _planned(preview: Any, to: Any) -> list[dict[str, Any]]:
    """The preview's numbers with the pairs behind them."""
    rows = [
        ("Will stand where none does", preview.stands, "stands"),
        ("Will take the place of a label", preview.replaces, "replaces"),
        ("Will be history beside a weightier one", preview.weaker, "weaker"),
    ]
    found = [
        {
            "name": name,
            "count": effect.total,
            "url": to(effect=key),
            "words": f"{effect.relevant:,} relevant, {effect.irrelevant:,} not",
        }
        for name, effect, key in rows
    ]
    words = f"{preview.joined:,} have a case already" if preview.joined else ""
    cases = {"name": "Pairs that come before people", "count": preview.cases, "words": words}
    return [*found, cases | {"url": to(effect="cases")}]


def _found(run: DebateRun, to: Any) -> list[dict[str, Any]]:
    """How the labels and cases of an adopted run stand now."""
    rows = run.debates.order_by()
    return [
        {
            "name": "Labels that stand",
            "count": rows.filter(judgment__status=Status.STANDING).count(),
            "url": to(counts=Status.STANDING.value),
            "words": "",
        },
        {
            "name": "Labels that are history",
            "count": rows.filter(judgment__status=Status.SUPERSEDED).count(),
            "url": to(counts=Status.SUPERSEDED.value),
            "words": "a weightier one stands",
        },
        {
            "name": "Pairs before people",
            "count": rows.exclude(case=None).count(),
            "url": to(case="any"),
            "words": "",
        },
        {
            "name": "Decided by people",
            "count": rows.filter(case__status="closed").count(),
            "url": to(case="closed"),
            "words": "",
        },
    ]
