"""Setting a run up: a preset or settings by hand, what it will take, and the start."""

from collections.abc import Mapping
from typing import Any

from django.forms import BooleanField
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from corpus.access import Access, enter
from corpus.models import Role
from debate.configuration import Seat, role_of
from debate.models import RunKind
from debate.run_forms import LETTERS, RunForm, initial_of
from debate.services.forecast import forecast_plan
from debate.services.planning import Plan, plan_run, start_planned
from debate.services.presets import PRESETS, preset_config, preset_kind
from debate.views.loaders import run_url
from kit import htmx
from kit.errors import Refused
from llm import endpoints
from llm.endpoints import Endpoint

START, PRESET, SHAPE = "start", "preset", "shape"
# What stays as it was typed when another preset is chosen.
_KEPT = ("pool", "endpoint", "name", "budget_usd")


@require_http_methods(["GET", "POST"])
def run_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Set a run up, see what it will take, and start it.

    A POST without an intent asks for the forecast; `start` begins the run that the forecast was
    of; `preset` and `shape` give the form again with a preset's settings, or those of a kind.
    """
    access = enter(request.user, slug, Role.ADMIN)
    if request.method != "POST":
        return _page(request, access, _begun(access, request.GET))
    intent = request.POST.get("intent", "")
    if intent == PRESET:
        return _page(request, access, _begun(access, request.POST))
    if intent == SHAPE:
        form = RunForm(benchmark=access.benchmark, initial=_typed(access, request.POST))
        return _page(request, access, form)
    form = RunForm(request.POST, benchmark=access.benchmark)
    plan = _plan(access, form)
    if plan is None:
        return _page(request, access, form)
    seen = request.POST.get("seen", "")
    if intent == START and seen == plan.digest:
        try:
            run = start_planned(plan=plan, actor=access.user)
        except Refused as refusal:
            form.add_error(form.place_of(refusal.field), refusal.message)
            return _page(request, access, form)
        return htmx.redirect(request, run_url(run))
    return _page(request, access, form, plan, is_changed=intent == START)


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


def _page(
    request: HttpRequest,
    access: Access,
    form: RunForm,
    plan: Plan | None = None,
    *,
    is_changed: bool = False,
) -> HttpResponse:
    context = {
        "access": access,
        "tab": "debate-runs",
        "form": form,
        "plan": plan,
        "forecast": forecast_plan(plan) if plan else None,
        "is_changed": is_changed,
        "preset": PRESETS.get(str(form["preset"].value() or "")),
        "has_pools": access.benchmark.pools.exists(),
        "has_endpoint": bool(endpoints.available()),
    }
    show = htmx.invalid if form.is_bound and plan is None else htmx.render
    return show(request, "debate/run_new.html", context, partial="setup")


def _begun(access: Access, given: Mapping[str, str]) -> RunForm:
    """A form with the settings of the preset that is named, for the models that are."""
    typed = {name: given[name] for name in _KEPT if given.get(name)}
    preset = PRESETS.get(given.get("preset", ""))
    kind = preset_kind(preset.name) if preset else RunKind.DEBATE
    found = {each.name: each for each in endpoints.available(role_of(kind))}
    endpoint = found.get(given.get("endpoint", "")) or next(iter(found.values()), None)
    if endpoint is None or preset is None:
        return RunForm(benchmark=access.benchmark, initial=typed)
    main = Seat(endpoint.default_model, endpoint.name)
    models = _models(given, endpoint) or [main]
    models += [main] * max(0, preset.models - len(models))
    config = preset_config(preset.name, models=models)
    return RunForm(benchmark=access.benchmark, initial=initial_of(config, main=main) | typed)


def _models(given: Mapping[str, str], endpoint: Endpoint) -> list[Seat]:
    """The models named in a form, each once, in the order of the agents."""
    found = {each.name: each for each in endpoints.available()}
    seats = []
    for letter in LETTERS:
        place = found.get(given.get(f"{letter}_endpoint", "")) or endpoint
        if f"{letter}_model" in given:
            seats.append(Seat(given[f"{letter}_model"] or place.default_model, place.name))
    return list(dict.fromkeys(seats))


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
    blank = [Seat("model", "endpoint")] * 2
    if preset and preset_config(preset.name, models=blank).kind != given.get("kind"):
        typed["preset"] = ""
    return unticked | typed
