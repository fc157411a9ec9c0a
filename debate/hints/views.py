"""Having the reasons of a panel written: the runs, what the last one is at, and a new one."""

from functools import partial
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotate.models import ReferencePanel
from annotate.panels.views import get_panel
from corpus.access import Access, enter, finder
from corpus.models import Role
from corpus.run_pages import PayingPages
from debate.hints import services as verbs
from debate.models import HintRun, HintStatus
from kit import htmx
from kit.runs.models import OVER
from kit.runs.moves import cancel_run, pause_run
from llm import endpoints
from llm.ledger.accounts import budget_field, endpoint_field


class HintForm(forms.Form):
    """Who writes the reasons of a panel, for how much."""

    endpoint = endpoint_field("agents")
    model = forms.CharField(
        label="Model",
        max_length=120,
        required=False,
        help_text="Left empty: the endpoint’s own.",
    )
    budget_usd = budget_field()


TEMPLATE = "debate/hints/hints.html"


@require_http_methods(["GET", "POST"])
def panel_hints(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Every hint run of the panel; a POST starts one."""
    access = enter(request.user, slug, Role.ADMIN)
    panel = get_panel(access, pk)
    form = HintForm(request.POST if request.method == "POST" else None)
    if htmx.submit(form, partial(_start, access, panel)) is not None:
        # The page of a panel's reasons.
        return htmx.redirect(request, reverse("panel-hints", args=[panel.benchmark.slug, panel.pk]))
    context = _context(access, panel) | {"form": form}
    if form.is_bound:
        return htmx.invalid(request, TEMPLATE, context)
    run = context["run"]
    if run is not None and htmx.is_fragment(request, f"progress-{run.pk}"):
        response = htmx.render(request, TEMPLATE, context, partial="live")
        return htmx.stop_polling(response) if run.is_over else response
    return htmx.render(request, TEMPLATE, context)


get_hint_run = finder(HintRun, "account", at="panel__benchmark")


RUNS = PayingPages(
    HintRun,
    name="hint-run",
    get=get_hint_run,
    verbs={"pause": pause_run, "resume": verbs.resume_hints, "cancel": cancel_run},
)


def _start(access: Access, panel: ReferencePanel, *, endpoint: str, **given: Any) -> HintRun:
    return verbs.start_hints(
        panel=panel,
        endpoint=endpoints.get(endpoint),
        actor=access.user,
        access=access,
        **given,
    )


def _context(access: Access, panel: ReferencePanel) -> dict[str, Any]:
    runs = list(panel.hint_runs.select_related("account"))
    run = runs[0] if runs else None
    context = {
        "access": access,
        "panel": panel,
        "runs": [(each, _counts(each)) for each in runs],
        "run": run,
        "bare": panel.items.without_hints().count(),
        "items": panel.items.count(),
        "prompt": verbs.hint_prompt(),
        "can_start": panel.shows_hints
        and panel.status == "preparing"
        and (run is None or run.status in OVER),
    }
    if run is not None:
        context |= RUNS.context(access, run)
        context["cancel_question"] = "Stop this run for good? What is written stays."
    return context


def _counts(run: HintRun) -> dict[str, int]:
    given = list(run.hints.values_list("status", flat=True))
    return {each.value: given.count(each.value) for each in HintStatus}
