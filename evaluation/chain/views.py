"""Screens of chains: the list, a plan with its forecast, and one chain with what its steps did."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from corpus.access import Access, enter
from corpus.models import Role
from corpus.run_pages import BudgetForm, RunPages, page_of
from evaluation.chain import services as verbs
from evaluation.chain.effects import effect_chart, effect_table
from evaluation.chain.here import FORETOLD, work_in_words
from evaluation.chain.models import Chain, ChainStep, StepState
from evaluation.chain.plan import DEFAULT, SPECS
from kit import htmx
from kit.errors import Refused
from kit.lists.csvfile import table_response
from kit.lists.tables import Column, Table
from kit.runs.models import RunStatus
from kit.runs.moves import pause_run
from llm.ledger.accounts import budget_field

LIST = Table(
    search=("name",),
    columns=(
        Column("name", "Chain", order=("name",)),
        Column("waits", "Waits for"),
        Column("status", "Status", order=("status",)),
        Column("done", "Steps done", numeric=True),
        Column("at", "Started", order=("created_at",)),
    ),
    order=("-pk",),
)


class PlanForm(forms.Form):
    """A plan."""

    plan = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 24, "spellcheck": "false", "class": "code"}),
        help_text="TOML: one [[step]] after the other.",
    )


class ChainForm(PlanForm):
    """A plan, its name, and what it may spend."""

    field_order = ("name", "plan", "budget_usd")
    name = forms.CharField(max_length=190, required=False, help_text="Empty: Chain.")
    budget_usd = budget_field("Of all steps together; empty: no limit beyond those of the steps.")


# Where people do or read what a step without runs is about: the page, and what it is called.
PLACES = {
    "people": ("disputes", "Disputes"),
    "holes": ("holes", "Missing labels"),
    "aspects": ("assignments", "Assignments"),
    "review": ("reviews", "Reviews"),
}


@require_GET
def chains(request: HttpRequest, slug: str) -> HttpResponse:
    """Every chain of the benchmark."""
    access = enter(request.user, slug, Role.ADMIN)
    table = LIST.read(access.benchmark.chains.all(), request.GET)
    return RUNS.index(request, access, "evaluation/chain/chains.html", table)


@require_http_methods(["GET", "POST"])
def chain_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Write a plan and start it."""
    access = enter(request.user, slug, Role.ADMIN)
    sent = request.POST if request.method == "POST" else None
    start = partial(verbs.start_chain, benchmark=access.benchmark, actor=access.user)
    form = ChainForm(sent, initial={"plan": DEFAULT})
    told = _foretold(access, DEFAULT if sent is None else sent.get("plan", ""))
    told["specs"] = SPECS
    return RUNS.begin(request, access, "evaluation/chain/new.html", form, start, **told)


@require_POST
def chain_forecast(request: HttpRequest, slug: str) -> HttpResponse:
    """What the steps of a plan are likely to take; a part of the page that writes one."""
    access = enter(request.user, slug, Role.ADMIN)
    context = _foretold(access, request.POST.get("plan", "")) | {"access": access}
    return htmx.render(request, "evaluation/chain/forecast.html", context, partial="part")


def _foretold(access: Access, plan: str) -> dict[str, Any]:
    """The steps of a plan with what they are likely to take, or why it cannot be carried out."""
    try:
        steps = verbs.forecast_plan(access.benchmark, plan)
    except Refused as refusal:
        return {"fault": refusal.message}
    told = enumerate(steps, start=1)
    return {
        "steps": [
            (number, SPECS[each.do].label, each, dict.fromkeys(FORETOLD) | of, work_in_words(of))
            for number, (each, of) in told
        ]
    }


@require_GET
def chain(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One chain: its steps, what it waits for, and what each step did."""
    access = enter(request.user, slug, Role.ADMIN)
    run = get_chain(access, pk)
    return _page(request, access, run, PlanForm(initial={"plan": run.plan}))


def _page(request: HttpRequest, access: Access, run: Chain, form: PlanForm) -> HttpResponse:
    slug, pk = access.benchmark.slug, run.pk
    steps = list(run.steps.all())
    present = next((each for each in steps if each.state != StepState.DONE), None)
    context = RUNS.context(access, run) | {
        "steps": list(_shown(steps, slug)),
        "sheet": effect_table(steps),
        "chart": effect_chart(steps),
        "spent_usd": sum(each.spent_usd for each in steps),
        "may_begin_again": present is not None and verbs.went_wrong(run, present),
        "plan_form": form,
        "budget_url": reverse("chain-budget", args=[slug, pk]),
        "budget_form": BudgetForm(initial={"budget_usd": run.budget_usd}),
        "sets_budget": access.is_admin and run.status not in (RunStatus.DONE, RunStatus.CANCELLED),
    }
    return RUNS.show(request, "evaluation/chain/chain.html", context)


@require_GET
def chain_csv(request: HttpRequest, slug: str, pk: int) -> HttpResponseBase:
    """What each step did, as a file."""
    access = enter(request.user, slug, Role.ADMIN)
    sheet = effect_table(list(get_chain(access, pk).steps.all()))
    return table_response(f"{slug}-chain-{pk}.csv", sheet)


@require_POST
def chain_budget(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """What the steps may spend together."""
    access = enter(request.user, slug, Role.ADMIN)
    run, form = get_chain(access, pk), BudgetForm(request.POST)
    with htmx.refusal_shown(request):
        if not form.is_valid():
            raise Refused(" ".join(map(str, form.errors["budget_usd"])))
        usd = form.cleaned_data["budget_usd"]
        verbs.set_chain_budget(run=run, usd=usd, actor=access.user)
        messages.success(request, "The budget holds from the next step on.")
    return htmx.redirect(request, RUNS.url(run))


@require_POST
def chain_plan(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Another plan for the steps that have not begun; one that is refused stays in the form."""
    access = enter(request.user, slug, Role.ADMIN)
    run, form = get_chain(access, pk), PlanForm(request.POST)
    if form.is_valid():
        try:
            verbs.change_plan(run=run, plan=form.cleaned_data["plan"], actor=access.user)
        except Refused as refusal:
            form.add_error("plan", refusal.message)
        else:
            messages.success(request, "The steps that have not begun are those of this plan.")
            return htmx.redirect(request, RUNS.url(run))
    response = _page(request, access, run, form)
    response.status_code = 422
    return response


def get_chain(access: Access, pk: int) -> Chain:
    """A chain of this benchmark, or 404."""
    rows = Chain.objects.select_related("benchmark", "created_by")
    return get_object_or_404(rows, benchmark=access.benchmark, pk=pk)


def _shown(steps: list[ChainStep], slug: str) -> Iterator[tuple[Any, ...]]:
    """Each step, what people call it, its runs with their pages, where it takes place, and the
    work of people that was foretold."""
    for step in steps:
        name, words = PLACES.get(step.do, ("", ""))
        works = [(run, page_of(run)) for run in step.runs()]
        place = (words, name and reverse(name, args=[slug]))
        yield step, SPECS[step.do].label, works, *place, work_in_words(step.forecast)


RUNS = RunPages(
    Chain,
    get=get_chain,
    verbs={
        "pause": pause_run,
        "resume": verbs.resume_chain,
        "cancel": verbs.cancel_chain,
        "again": verbs.begin_again,
    },
    said={"again": "The step begins anew."},
)
