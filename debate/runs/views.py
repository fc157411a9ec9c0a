"""Screens of debate runs: the list, setting one up, and the run monitor of one.

Setting a run up: a preset or settings by hand, what it will take, and the start.

The list of a benchmark's debate runs: its search and filters, for the screen and the API."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.db.models import QuerySet
from django.forms import BooleanField
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from corpus.access import Access, enter, enter_unblinded
from corpus.models import Benchmark, Role
from corpus.run_pages import PayingPages
from debate.loaders import READERS, enter_run, get_debate, get_run
from debate.models import DebateRun, RunKind
from debate.runs import services as requeue
from debate.runs.configuration import ModelChoice, role_of
from debate.runs.figures import run_spending as add_up
from debate.runs.forecast import forecast_plan
from debate.runs.forms import LETTERS, RunForm, initial_of
from debate.runs.offers import offers
from debate.runs.planning import Plan, plan_run, start_planned
from debate.runs.presets import PRESETS, preset_config, preset_kind
from debate.runs.services import retry_failed
from kit import htmx
from kit.errors import Refused
from kit.lists.tables import Choices, Column, Filter, Table
from kit.runs.models import RunStatus
from kit.runs.moves import cancel_run, pause_run, resume_run
from llm import endpoints
from llm.endpoints import Endpoint
from llm.ledger.reading import UNCOSTED

COUNTS = (("standing", "count"), ("trial", "are on trial"), ("adopted", "were adopted"))


def _by_counting(runs: QuerySet[DebateRun], value: str) -> QuerySet[DebateRun]:
    if value == "adopted":
        return runs.exclude(adopted_at=None)
    return runs.filter(is_trial=value == "trial", adopted_at=None)


LIST = Table(
    search=("name",),
    filters=(
        Filter("status", "Status", choices=RunStatus.choices),
        Filter("kind", "Kind", choices=RunKind.choices),
        Filter("labels", "Labels that", choices=COUNTS, apply=_by_counting),
        Filter("preset", "Preset"),
        Filter("model", "Model"),
        Filter("pool", "Pairs of"),
    ),
    columns=(
        Column("name", "Run", order=("name", "pk")),
        Column("status", "Status"),
        Column("kind", "Kind"),
        Column("model", "Model"),
        Column("pairs", "Pairs", order=("total", "pk"), numeric=True),
        Column("done", "Done", numeric=True),
        Column("budget", "Budget", numeric=True),
    ),
    order=("-pk",),
)
FILTERS = [each.name for each in LIST.filters]


def run_choices(benchmark: Benchmark) -> Mapping[str, Choices]:
    """Drop-downs that are known only now: what the benchmark's runs were made from."""
    runs = benchmark.debate_runs.order_by()
    presets = runs.exclude(preset="").values_list("preset", flat=True).distinct()
    models = runs.exclude(model="").values_list("model", flat=True).distinct()
    pools = runs.values_list("pool_id", "pool__name").distinct()
    return {
        "preset": [(each, each) for each in sorted(presets)],
        "model": [(each, each) for each in sorted(models)],
        "pool": [(str(pk), name) for pk, name in sorted(pools, key=lambda each: each[1])],
    }


RUNS = PayingPages(
    DebateRun,
    get=get_run,
    verbs={
        "pause": pause_run,
        "resume": resume_run,
        "cancel": cancel_run,
        "retry": retry_failed,
    },
    readers=READERS,
)


@require_GET
def run_list(request: HttpRequest, slug: str) -> HttpResponse:
    """All debate runs of the benchmark."""
    access = enter_unblinded(request.user, slug, *READERS)
    choices = run_choices(access.benchmark)
    table = LIST.read(access.benchmark.debate_runs.all(), request.GET, choices=choices)
    # A choice among one is none.
    offered = [each for each in table.filters if each.value or len(each.choices) > 1]
    table = replace(table, filters=offered)
    context = {"access": access, "table": table}
    return htmx.render(request, "debate/runs/runs.html", context, partial="results")


@require_GET
def run_spending(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """What the run has used so far and is likely to use; a part of the run monitor."""
    access, run = enter_run(request.user, slug, pk, *READERS)
    context = {"access": access, "run": run, "spending": add_up(run)}
    if access.is_admin and run.account_id:
        calls = f"{reverse('spending', args=[slug])}?run={run.account_id}"
        context |= {"calls_url": calls, "unsure_url": f"{calls}&state={UNCOSTED}"}
    response = htmx.render(request, "debate/runs/spending.html", context, partial="part")
    finished = run.is_over and htmx.is_fragment(request)
    return htmx.stop_polling(response) if finished else response


@require_POST
def run_requeue(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Try the pairs again that failed in the words sent as `error`."""
    access, run = enter_run(request.user, slug, pk, Role.ADMIN)
    with htmx.refusal_shown(request):
        requeue.requeue_failures(
            run=run, error_class=request.POST.get("error", ""), actor=access.user
        )
    return htmx.redirect(request, RUNS.url(run))


@require_POST
def debate_requeue(request: HttpRequest, slug: str, pk: int, debate: int) -> HttpResponse:
    """Try one failed pair again."""
    access, run = enter_run(request.user, slug, pk, Role.ADMIN)
    found = get_debate(run, debate)
    with htmx.refusal_shown(request):
        requeue.requeue_pair(run=run, debate=found, actor=access.user)
    return htmx.redirect(request, reverse("debate", args=[slug, run.pk, found.pk]))


START, PRESET, SHAPE = "start", "preset", "shape"
# What stays as it was typed when another preset is chosen.
_KEPT = ("pool", "endpoint", "name", "budget_usd")


@require_http_methods(["GET", "POST"])
def run_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Set a run up, with what it will take beside its settings, and start it.

    A POST without an intent asks for the forecast; `start` begins the run that the forecast was
    of; `preset` and `shape` give the form again with a preset's settings, or those of a kind.
    """
    access = enter(request.user, slug, Role.ADMIN)
    intent = request.POST.get("intent", "")
    if request.method != "POST" or intent == PRESET:
        return _page(request, _context(access, _begun(access, request.POST or request.GET)))
    if intent == SHAPE:
        form = RunForm(benchmark=access.benchmark, initial=_typed(access, request.POST))
        return _page(request, _context(access, form))
    form = RunForm(request.POST, benchmark=access.benchmark)
    context = _context(access, form)
    plan = context["plan"]
    if htmx.is_fragment(request, "forecast"):  # a setting changed
        return htmx.render(request, "debate/runs/forecast.html", context)
    if plan and intent == START and request.POST.get("seen", "") == plan.digest:
        try:
            run = start_planned(plan=plan, actor=access.user)
        except Refused as refusal:
            form.add_error(form.place_of(refusal.field), refusal.message)
        else:
            return htmx.redirect(request, RUNS.url(run))
    return _page(request, context | {"is_changed": intent == START and not form.errors})


def _plan(access: Access, form: RunForm) -> Plan | None:
    """The plan that the form asks for; None where it says what is wrong with it."""
    if not form.is_valid():
        return None
    given = form.cleaned_data
    try:
        return plan_run(
            benchmark=access.benchmark,
            pool=given["pool"],
            endpoint=endpoints.get(given["endpoint"]),
            preset=given["preset"],
            settings=form.settings(),
            prompt_version=given.get("prompt_version"),
            name=given["name"],
            budget_usd=given.get("budget_usd"),
        )
    except Refused as refusal:
        form.add_error(form.place_of(refusal.field), refusal.message)
    return None


def _page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    form, benchmark = context["form"], context["access"].benchmark
    context |= {
        "preset": PRESETS.get(str(form["preset"].value() or "")),
        "has_pools": benchmark.pools.exists(),
        "has_endpoint": bool(endpoints.available()),
    }
    show = htmx.invalid if form.is_bound and form.errors else htmx.render
    return show(request, "debate/runs/run_new.html", context, partial="setup")


def _context(access: Access, form: RunForm) -> dict[str, Any]:
    """The form with the forecast of what it says; without one where that cannot be a run."""
    sent = form if form.is_bound else RunForm(form.as_sent(), benchmark=access.benchmark)
    plan = _plan(access, sent)
    told = {"forecast": forecast_plan(plan), "models": offers(plan)} if plan else {}
    return {"access": access, "form": form, "sent": sent, "plan": plan, **told}


def _begun(access: Access, given: Mapping[str, str]) -> RunForm:
    """A form with the settings of the preset that is named, for the models that are."""
    typed = {name: given[name] for name in _KEPT if given.get(name)}
    preset = PRESETS.get(given.get("preset", ""))
    kind = preset_kind(preset.name) if preset else RunKind.DEBATE
    found = {each.name: each for each in endpoints.available(role_of(kind))}
    endpoint = found.get(given.get("endpoint", "")) or next(iter(found.values()), None)
    if endpoint is None or preset is None:
        return RunForm(benchmark=access.benchmark, initial=typed)
    main = ModelChoice(endpoint.default_model, endpoint.name)
    models = _models(given, endpoint) or [main]
    models += [main] * max(0, preset.models - len(models))
    config = preset_config(preset.name, models=models)
    return RunForm(benchmark=access.benchmark, initial=initial_of(config, main=main) | typed)


def _models(given: Mapping[str, str], endpoint: Endpoint) -> list[ModelChoice]:
    """The models named in a form, each once, in the order of the agents."""
    found = {each.name: each for each in endpoints.available()}
    choices = []
    for letter in LETTERS:
        place = found.get(given.get(f"{letter}_endpoint", "")) or endpoint
        if f"{letter}_model" in given:
            choices.append(ModelChoice(given[f"{letter}_model"] or place.default_model, place.name))
    return list(dict.fromkeys(choices))


def _typed(access: Access, given: Mapping[str, str]) -> dict[str, Any]:
    """What was typed, for a form that is shown again unchecked, maybe with another kind."""
    shown = RunForm(benchmark=access.benchmark, initial={"kind": given.get("shown", "")})
    # A box without a tick sends nothing.
    unticked = {
        name: False
        for name, field in shown.fields.items()
        if isinstance(field, BooleanField) and name not in given
    }
    typed = {name: value for name, value in given.items() if name != "csrfmiddlewaretoken"}
    preset = PRESETS.get(given.get("preset", ""))
    if preset and preset_kind(preset.name) != given.get("kind"):
        typed["preset"] = ""
    return unticked | typed
