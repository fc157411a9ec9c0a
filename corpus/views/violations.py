"""Where agents departed from gold text: the list, and deciding about it by keyboard."""

from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from corpus.access import enter
from corpus.lists import is_key
from corpus.marcus.settings import SAFE_CLEAN, SPLITTER
from corpus.marcus.showing import side_by_side, window
from corpus.models import CleaningRun, Violation
from corpus.services.cleaning_decisions import (
    decide,
    following,
    last_of,
    may_undo,
    queue,
    undo,
)
from corpus.services.finding import begins_with
from corpus.views.cleaning import READERS, get_run
from kit import htmx
from kit.errors import Refused
from kit.tables import Column, Filter, Table

KINDS = (
    ("dropped", "dropped"),
    ("added", "added"),
    ("changed", "changed"),
    ("moved", "moved"),
    ("repaired", "characters repaired"),
    ("table", "table in words"),
)


STAGES = ((SAFE_CLEAN, "SafeClean"), (SPLITTER, "the Splitter"))


def _of_page(rows: QuerySet[Violation], words: str) -> QuerySet[Violation]:
    return rows.filter(begins_with("page__page_id", words))


def _decided(rows: QuerySet[Violation], value: str) -> QuerySet[Violation]:
    if value == "open":
        return rows.filter(decision="", is_violation=True)
    return rows.filter(decision=value)


TABLE = Table(
    search=_of_page,
    filters=(
        Filter("kind", "Kind", choices=KINDS),
        Filter("stage", "Found behind", choices=STAGES),
        Filter(
            "decision",
            "What became of it",
            choices=(
                ("open", "open"),
                ("accepted", "the agent's text"),
                ("repaired", "repaired"),
                ("original", "original kept"),
            ),
            apply=_decided,
        ),
    ),
    columns=(
        Column("page", "Page", order=("page__page_id", "pk")),
        Column("kind", "Kind"),
        Column("source", "In the source"),
        Column("output", "In the agent's text"),
        Column("decision", "What became of it"),
    ),
    order=("pk",),
)


@require_GET
def violations(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Every place that was listed."""
    access = enter(request.user, slug, *READERS)
    run = get_run(access, pk)
    rows = listed(run)
    context = {
        "access": access,
        "tab": "versions",
        "run": run,
        "waiting": queue(run).count(),
        "table": TABLE.read(rows, request.GET),
    }
    return htmx.render(request, "corpus/cleaning/violations.html", context, partial="results")


@require_GET
def next_violation(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The first that waits for a person, or the one behind `?after=`."""
    access = enter(request.user, slug, *READERS)
    run = get_run(access, pk)
    asked = request.GET.get("after", "")
    behind = listed(run).filter(pk=int(asked)).first() if is_key(asked) else None
    found = following(run, behind) if behind else queue(run).first()
    if found is not None:
        return htmx.redirect(request, reverse("cleaning-violation", args=[slug, pk, found.pk]))
    return htmx.redirect(request, reverse("cleaning-violations", args=[slug, pk]))


@require_GET
def violation(request: HttpRequest, slug: str, pk: int, violation_pk: int) -> HttpResponse:
    """One place: the source and the agent's text side by side."""
    access = enter(request.user, slug, *READERS)
    run = get_run(access, pk)
    found = get_violation(run, violation_pk)
    source, output = texts_of(found)
    context: dict[str, Any] = {
        "access": access,
        "tab": "versions",
        "run": run,
        "violation": found,
        "waiting": queue(run).count(),
        "before": window(source, found.start, found.end),
        "after": window(output, found.out_start, found.out_end),
        "sides": side_by_side(source, output),
        "can_decide": found.decision == "" and found.is_violation and not run.is_over,
        "following": following(run, found),
        "undoable": found if may_undo(found, run, access.user) else last_of(run, access.user),
    }
    return htmx.render(request, "corpus/cleaning/violation.html", context)


@require_POST
def violation_decide(request: HttpRequest, slug: str, pk: int, violation_pk: int) -> HttpResponse:
    """Decide, and go to the next."""
    access = enter(request.user, slug, *READERS)
    run = get_run(access, pk)
    found = get_violation(run, violation_pk)
    try:
        following = decide(
            violation=found, decision=request.POST.get("decision", ""), actor=access.user
        )
    except Refused as refusal:
        messages.error(request, refusal.message)
        return htmx.redirect(request, reverse("cleaning-violation", args=[slug, pk, found.pk]))
    if following is None:
        messages.success(request, "Nothing is left to decide. The run goes on by itself.")
        return htmx.redirect(request, reverse("cleaning", args=[slug, pk]))
    return htmx.redirect(request, reverse("cleaning-violation", args=[slug, pk, following.pk]))


@require_POST
def violation_undo(request: HttpRequest, slug: str, pk: int, violation_pk: int) -> HttpResponse:
    """Take one's decision back; its place waits again."""
    access = enter(request.user, slug, *READERS)
    found = get_violation(get_run(access, pk), violation_pk)
    try:
        undo(violation=found, actor=access.user)
    except Refused as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, "The decision was taken back. Decide again.")
    return htmx.redirect(request, reverse("cleaning-violation", args=[slug, pk, found.pk]))


def listed(run: CleaningRun) -> QuerySet[Violation]:
    """Every place of the run, with its page."""
    rows = Violation.objects.filter(page__run=run).select_related("page__domain", "decided_by")
    return rows.defer("page__result")  # both texts of the page, which a list shows no word of


def get_violation(run: CleaningRun, pk: int) -> Violation:
    """A violation of this run, or 404."""
    found = Violation.objects.filter(page__run=run, pk=pk).select_related("page").first()
    if found is None:
        raise Http404("No such violation.")
    return found


def texts_of(found: Violation) -> tuple[str, str]:
    """The two texts that were compared."""
    pairs = found.page.result.get("pairs", {})
    name = f"{found.stage}:{found.part}:{found.window}"
    source, output = pairs.get(name, (found.source, found.output))
    return source, output
