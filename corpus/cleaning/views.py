"""Screens of cleaning runs: starting one, its progress, its pages, deciding about violations."""

import contextlib
import json
from typing import Any

from django.contrib import messages
from django.db.models import Count, Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from corpus.access import Access, enter, first_or_404
from corpus.cleaning import services as verbs
from corpus.cleaning.decisions import decide, following, last_of, may_undo, queue, undo
from corpus.cleaning.forecast import forecast
from corpus.cleaning.forms import CleaningForm
from corpus.cleaning.services import DEFAULTS, advise, by_role, draft, read_option
from corpus.lists import domain_choices, is_key
from corpus.marcus.settings import SAFE_CLEAN, SPLITTER
from corpus.marcus.showing import side_by_side, window
from corpus.models import (
    CleanedPage,
    CleaningPreset,
    CleaningRun,
    CorpusVersion,
    PageState,
    Role,
    Violation,
)
from corpus.run_pages import PayingPages, states_of
from corpus.texts.finding import begins_with
from kit import htmx
from kit.errors import Refused
from kit.lists.tables import Column, Filter, Table
from kit.numbers import number
from kit.runs.moves import pause_run
from llm import endpoints

READERS = (Role.ADMIN, Role.REVIEWER)


def _of_id(rows: QuerySet[CleanedPage], words: str) -> QuerySet[CleanedPage]:
    return rows.filter(begins_with("page_id", words))


def _noted(rows: QuerySet[CleanedPage], value: str) -> QuerySet[CleanedPage]:
    """Pages with that flag, or with that count."""
    # As JSON writes it, between quotation marks, so that no flag is found in a longer one.
    rows = rows.annotate(as_text=Cast("flags", TextField()))
    return rows.filter(Q(as_text__contains=json.dumps(value)) | Q(counts__has_key=value))


def _notes(run: CleaningRun) -> list[tuple[str, str]]:
    names = [*run.figures.get("flags", {}), *run.figures.get("counts", {})]
    return [(name, name.replace(":", ": ")) for name in sorted(names)]


PAGES = Table(
    search=_of_id,
    filters=(
        Filter("domain", "Domain", lookup="domain__name"),
        Filter("state", "State", choices=tuple(PageState.choices)),
        Filter("note", "What came up", apply=_noted),
    ),
    columns=(
        Column("page", "Page", order=("page_id",)),
        Column("state", "State"),
        Column("notes", "What came up"),
        Column("places", "Places listed", numeric=True),
    ),
    order=("pk",),
)


@require_http_methods(["GET", "POST"])
def cleaning_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Set a cleaning up and start it."""
    access = enter(request.user, slug, Role.ADMIN)
    form = CleaningForm(
        request.POST if request.method == "POST" else None, benchmark=access.benchmark
    )
    run = htmx.submit(form, verbs.start_cleaning, benchmark=access.benchmark, actor=access.user)
    if run:
        return htmx.redirect(request, RUNS.url(run))
    current = CorpusVersion.objects.current(access.benchmark)
    context = {"access": access, "has_texts": current is not None}
    return htmx.render(request, "corpus/cleaning/new.html", context, form=form)


@require_GET
def cleaning_forecast(request: HttpRequest, slug: str) -> HttpResponse:
    """What a preset would take on a version; a part of the page that sets a run up."""
    access = enter(request.user, slug, Role.ADMIN)
    context = {"access": access} | forecast_of(access, request.GET)
    return htmx.render(request, "corpus/cleaning/forecast.html", context, partial="part")


@require_GET
def cleaning(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The progress of a run."""
    access = enter(request.user, slug, *READERS)
    run = get_run(access, pk)
    context = RUNS.context(access, run) | {
        "states": states_of(run.pages),
        "states_url": reverse("cleaning-pages", args=[slug, pk]),
        "waiting": queue(run).count() if run.has_agents else 0,
        "workers": run.groups.working().count(),
        "can_resume": run.can_resume and access.is_admin and run.version,
    }
    if not run.has_calls:
        context |= {"pays": False, "sets_budget": False}
    return RUNS.show(request, "corpus/cleaning/run.html", context)


@require_GET
def cleaning_pages(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The pages that agents worked on, and what came up."""
    access = enter(request.user, slug, *READERS)
    run = get_run(access, pk)
    rows = run.pages.select_related("domain").defer("result").annotate(places=Count("violations"))
    choices = {"domain": domain_choices(access.benchmark), "note": _notes(run)}
    table = PAGES.read(rows, request.GET, choices=choices)
    context = {"access": access, "run": run, "table": table}
    return htmx.render(request, "corpus/cleaning/pages.html", context, partial="results")


def get_run(access: Access, pk: int) -> CleaningRun:
    """A cleaning run of this benchmark, or 404."""
    rows = CleaningRun.objects.filter(benchmark=access.benchmark, pk=pk)
    rows = rows.select_related("benchmark", "source", "version", "account")
    return first_or_404(rows, "cleaning run")


def get_done(access: Access, pk: int) -> CleaningRun:
    """The same, done: only then there is something to report."""
    run = get_run(access, pk)
    if run.status != "done" or run.version is None:
        raise Http404("This run has no report yet.")
    return run


RUNS = PayingPages(
    CleaningRun,
    get=get_run,
    verbs={
        "pause": pause_run,
        "resume": verbs.resume_cleaning,
        "cancel": verbs.cancel_cleaning,
    },
    readers=READERS,
)


def forecast_of(access: Access, params: Any) -> dict[str, Any]:
    """Forecast and advice for what is chosen; by default MARCUS on the current version."""
    ready = CorpusVersion.objects.ready().filter(benchmark=access.benchmark)
    asked = params.get("source", "")
    chosen = ready.filter(pk=number(asked) or 0).first()
    source = chosen or CorpusVersion.objects.current(access.benchmark)
    preset = params.get("preset", "")
    preset = preset if preset in CleaningPreset.values else CleaningPreset.MARCUS
    known = endpoints.available("cleaner")
    endpoint = next((e for e in known if e.name == params.get("endpoint")), None)
    if endpoint is None and not by_role():
        endpoint = next(iter(known), None)
    if source is None:
        return {"forecast": None, "advice": None}
    also = params.getlist("also") if hasattr(params, "getlist") else []
    presets = [preset, *(each for each in also if each in CleaningPreset.values)]
    options = _options(params)
    model = params.get("model", "")[:120]
    has_calls = [
        draft(source=source, preset=each, endpoint=endpoint, model=model, options=options)[
            0
        ].has_calls
        for each in presets
    ]
    return {
        "forecast": forecast(source, preset, endpoint, model, also=presets[1:], options=options),
        "advice": advise(access.benchmark),
        "has_calls": any(has_calls),
        "presets": dict(CleaningPreset.choices),
    }


def _options(params: Any) -> dict[str, Any]:
    """The options that are given and can be read; a run refuses the others in words."""
    found: dict[str, Any] = {}
    for name in DEFAULTS:
        with contextlib.suppress(Refused):
            if params.get(name, ""):
                found |= dict([read_option(name, params[name])])
    return found


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
    # The two texts that were compared.
    pairs = found.page.result.get("pairs", {})
    name = f"{found.stage}:{found.part}:{found.window}"
    source, output = pairs.get(name, (found.source, found.output))
    undoable = found if may_undo(found, run, access.user) else last_of(run, access.user)
    asks = ""
    if undoable and undoable != found:
        what = f"“{undoable.get_decision_display()}” in {undoable.page.page_id}"
        asks = f"Undo {what}? You leave this violation for that one."
    context: dict[str, Any] = {
        "access": access,
        "run": run,
        "violation": found,
        "waiting": queue(run).count(),
        "before": window(source, found.start, found.end),
        "after": window(output, found.out_start, found.out_end),
        "sides": side_by_side(source, output),
        "can_decide": found.decision == "" and found.is_violation and not run.is_over,
        "following": following(run, found),
        "undoable": undoable,
        "undo_asks": asks,
    }
    return htmx.render(request, "corpus/cleaning/violation.html", context)


@require_POST
def violation_decide(request: HttpRequest, slug: str, pk: int, violation_pk: int) -> HttpResponse:
    """Decide, and go to the next."""
    access = enter(request.user, slug, *READERS)
    run = get_run(access, pk)
    found = get_violation(run, violation_pk)
    shown: Violation | None = found
    with htmx.refusal_shown(request):
        shown = decide(
            violation=found, decision=request.POST.get("decision", ""), actor=access.user
        )
    if shown is None:
        messages.success(request, "Nothing is left to decide. The run goes on by itself.")
        return htmx.redirect(request, reverse("cleaning", args=[slug, pk]))
    return htmx.redirect(request, reverse("cleaning-violation", args=[slug, pk, shown.pk]))


@require_POST
def violation_undo(request: HttpRequest, slug: str, pk: int, violation_pk: int) -> HttpResponse:
    """Take one's decision back; its place waits again."""
    access = enter(request.user, slug, *READERS)
    found = get_violation(get_run(access, pk), violation_pk)
    with htmx.refusal_shown(request):
        undo(violation=found, actor=access.user)
        messages.success(request, "The decision was taken back. Decide again.")
    return htmx.redirect(request, reverse("cleaning-violation", args=[slug, pk, found.pk]))


def listed(run: CleaningRun) -> QuerySet[Violation]:
    """Every place of the run, with its page."""
    rows = Violation.objects.filter(page__run=run).select_related("page__domain", "decided_by")
    return rows.defer("page__result")  # both texts of the page, which a list shows no word of


def get_violation(run: CleaningRun, pk: int) -> Violation:
    """A violation of this run, or 404."""
    rows = Violation.objects.filter(page__run=run, pk=pk).select_related("page")
    return first_or_404(rows, "violation")
