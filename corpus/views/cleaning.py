"""Cleaning runs: setting one up, watching it, its pages and its report."""

import json
from decimal import Decimal, InvalidOperation
from typing import Any

from django.db.models import Count, Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from corpus.access import Access, enter
from corpus.cleaning_forms import BudgetForm, CleaningForm
from corpus.models import CleanedPage, CleaningPreset, CleaningRun, CorpusVersion, PageState, Role
from corpus.services import cleaning as verbs
from corpus.services.cleaning_decisions import queue
from corpus.services.cleaning_forecast import advise, forecast
from corpus.services.cleaning_seats import by_role
from corpus.services.finding import begins_with
from kit import htmx
from kit.errors import Refused
from kit.refusals import told
from kit.tables import Column, Filter, Table
from llm import endpoints
from llm.ledger.accounts import set_budget

READERS = (Role.ADMIN, Role.REVIEWER)
VERBS = {
    "pause": verbs.pause_cleaning,
    "resume": verbs.resume_cleaning,
    "cancel": verbs.cancel_cleaning,
}


def _of_id(rows: QuerySet[CleanedPage], words: str) -> QuerySet[CleanedPage]:
    return rows.filter(begins_with("page_id", words))


def _noted(rows: QuerySet[CleanedPage], value: str) -> QuerySet[CleanedPage]:
    """Pages with that flag, or with that count."""
    # As JSON writes it, between quotation marks, so that no flag is found in a longer one.
    rows = rows.annotate(said=Cast("flags", TextField()))
    return rows.filter(Q(said__contains=json.dumps(value)) | Q(counts__has_key=value))


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
    if request.method == "POST" and form.is_valid():
        try:
            run = verbs.start_cleaning(
                benchmark=access.benchmark, actor=access.user, **form.as_verb()
            )
        except Refused as refusal:
            form.add_error(refusal.field if refusal.field in form.fields else None, refusal.message)
        else:
            return htmx.redirect(request, run_url(run))
    current = CorpusVersion.objects.current(access.benchmark)
    context = {"access": access, "tab": "versions", "form": form, "has_texts": current is not None}
    show = htmx.invalid if form.is_bound else htmx.render
    return show(request, "corpus/cleaning/new.html", context)


@require_GET
def cleaning_forecast(request: HttpRequest, slug: str) -> HttpResponse:
    """What a preset would take on a version; a part of the page that sets a run up."""
    access = enter(request.user, slug, Role.ADMIN)
    context = {"access": access, "tab": "versions"} | forecast_of(access, request.GET)
    return htmx.render(request, "corpus/cleaning/forecast.html", context, partial="part")


@require_GET
def cleaning(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The control room of a run."""
    access = enter(request.user, slug, *READERS)
    run = get_run(access, pk)
    states = dict(run.pages.order_by().values_list("state").annotate(n=Count("pk")))
    context = {
        "access": access,
        "tab": "versions",
        "run": run,
        "states": [(label, name, states.get(name, 0)) for name, label in PageState.choices],
        "waiting": queue(run).count() if run.has_agents else 0,
        "workers": run.groups.working().count(),
        "can_pause": run.status in ("queued", "running") and access.is_admin,
        "can_resume": run.status in ("paused", "failed") and access.is_admin and run.version,
        "budget_form": BudgetForm(initial={"usd": run.budget_usd}),
    }
    response = htmx.render(request, "corpus/cleaning/run.html", context, partial="live")
    finished = run.is_over and htmx.is_fragment(request)
    return htmx.stop_polling(response) if finished else response


@require_POST
def cleaning_act(request: HttpRequest, slug: str, pk: int, verb: str) -> HttpResponse:
    """Pause, resume or cancel."""
    access = enter(request.user, slug, Role.ADMIN)
    run = get_run(access, pk)
    with told(request):
        VERBS[verb](run=run, actor=access.user)
    return htmx.redirect(request, run_url(run))


@require_POST
def cleaning_budget(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Set or lift the limit on what the run may spend."""
    access = enter(request.user, slug, Role.ADMIN)
    run = get_run(access, pk)
    form = BudgetForm(request.POST)
    with told(request):
        if not form.is_valid():
            raise Refused("Give the budget in dollars and cents, or nothing.")
        set_budget(run, form.cleaned_data["usd"], actor=access.user, scope=access.benchmark.slug)
    return htmx.redirect(request, run_url(run))


@require_GET
def cleaning_pages(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The pages that agents worked on, and what came up."""
    access = enter(request.user, slug, *READERS)
    run = get_run(access, pk)
    rows = run.pages.select_related("domain").defer("result").annotate(places=Count("violations"))
    domains = [(d.name, d.name) for d in access.benchmark.domains.ready()]
    table = PAGES.read(rows, request.GET, choices={"domain": domains, "note": _notes(run)})
    context = {"access": access, "tab": "versions", "run": run, "table": table}
    return htmx.render(request, "corpus/cleaning/pages.html", context, partial="results")


def get_run(access: Access, pk: int) -> CleaningRun:
    """A cleaning run of this benchmark, or 404."""
    runs = CleaningRun.objects.filter(benchmark=access.benchmark, pk=pk)
    found = runs.select_related("benchmark", "source", "version", "account").first()
    if found is None:
        raise Http404("No such cleaning run.")
    return found


def get_done(access: Access, pk: int) -> CleaningRun:
    """The same, done: only then there is something to report."""
    run = get_run(access, pk)
    if run.status != "done" or run.version is None:
        raise Http404("This run has no report yet.")
    return run


def run_url(run: CleaningRun) -> str:
    """The control room of a run."""
    return reverse("cleaning", args=[run.benchmark.slug, run.pk])


def forecast_of(access: Access, params: Any) -> dict[str, Any]:
    """Forecast and advice for what is chosen; by default MARCUS on the current version."""
    ready = CorpusVersion.objects.ready().filter(benchmark=access.benchmark)
    asked = params.get("source", "")
    chosen = ready.filter(pk=int(asked)).first() if asked.isascii() and asked.isdigit() else None
    source = chosen or CorpusVersion.objects.current(access.benchmark)
    preset = params.get("preset", "")
    preset = preset if preset in CleaningPreset.values else CleaningPreset.MARCUS
    known = endpoints.available("cleaner")
    endpoint = next((e for e in known if e.name == params.get("endpoint")), None)
    if endpoint is None and not by_role():
        endpoint = next(iter(known), None)
    model = params.get("model", "")[:120]
    if source is None:
        return {"forecast": None, "advice": None}
    return {
        "forecast": forecast(source, preset, endpoint, model),
        "advice": advise(source, endpoint, _usd(params.get("budget_usd", "")), model),
        "has_agents": preset.startswith("marcus"),
        "has_calls": verbs.asks(preset),
        "presets": dict(CleaningPreset.choices),
    }


def _usd(given: str) -> Decimal | None:
    try:
        found = Decimal(given) if given else None
    except InvalidOperation:
        return None
    return found if found is None or found.is_finite() else None
