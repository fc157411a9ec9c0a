"""Screens of debate runs: the list, setting one up, and the control room of one."""

from dataclasses import replace

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from corpus.access import enter
from corpus.models import Role
from debate.forms import BudgetForm
from debate.run_lists import RUNS, run_choices
from debate.services import requeue
from debate.services import runs as verbs
from debate.services.spending import run_spending as add_up
from debate.views.loaders import READERS, get_debate, get_run, run_url
from debate.views.room import room_context
from kit import htmx
from kit.errors import Refused
from kit.refusals import told
from llm.ledger.accounts import set_budget
from llm.ledger.reading import UNCOSTED

VERBS = {
    "pause": verbs.pause_run,
    "resume": verbs.resume_run,
    "cancel": verbs.cancel_run,
    "retry": verbs.retry_failed,
}


@require_GET
def run_list(request: HttpRequest, slug: str) -> HttpResponse:
    """All debate runs of the benchmark."""
    access = enter(request.user, slug, *READERS)
    choices = run_choices(access.benchmark)
    table = RUNS.read(access.benchmark.debate_runs.all(), request.GET, choices=choices)
    # A choice among one is none.
    offered = [each for each in table.filters if each.value or len(each.choices) > 1]
    table = replace(table, filters=offered)
    context = {"access": access, "tab": "debate-runs", "table": table}
    return htmx.render(request, "debate/runs.html", context, partial="results")


@require_GET
def run_detail(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The control room: live counts, what is waiting, what went wrong."""
    access = enter(request.user, slug, *READERS)
    run = get_run(access, pk)
    response = htmx.render(request, "debate/run.html", room_context(access, run), partial="live")
    finished = run.is_over and htmx.is_fragment(request)
    return htmx.stop_polling(response) if finished else response


@require_GET
def run_spending(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """What the run has used so far and is likely to use; a part of the control room."""
    access = enter(request.user, slug, *READERS)
    run = get_run(access, pk)
    context = {"access": access, "tab": "debate-runs", "run": run, "spending": add_up(run)}
    if access.is_admin and run.account_id:
        calls = f"{reverse('spending', args=[slug])}?run={run.account_id}"
        context |= {"calls_url": calls, "unsure_url": f"{calls}&state={UNCOSTED}"}
    response = htmx.render(request, "debate/spending.html", context, partial="part")
    finished = run.is_over and htmx.is_fragment(request)
    return htmx.stop_polling(response) if finished else response


@require_POST
def run_act(request: HttpRequest, slug: str, pk: int, verb: str) -> HttpResponse:
    """Pause, resume, cancel, or try the failed pairs again."""
    access = enter(request.user, slug, Role.ADMIN)
    run = get_run(access, pk)
    with told(request):
        VERBS[verb](run=run, actor=access.user)
    return htmx.redirect(request, run_url(run))


@require_POST
def run_budget(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Set what the run may spend, or lift the limit."""
    access = enter(request.user, slug, Role.ADMIN)
    run = get_run(access, pk)
    form = BudgetForm(request.POST)
    if not form.is_valid():
        for errors in form.errors.values():
            messages.error(request, " ".join(map(str, errors)))
    else:
        try:
            usd = form.cleaned_data["budget_usd"]
            set_budget(run, usd, actor=access.user, scope=access.benchmark.slug)
        except Refused as refusal:
            messages.error(request, refusal.message)
        else:
            messages.success(request, "The budget is set; a paused run has to be resumed.")
    return htmx.redirect(request, run_url(run))


@require_POST
def run_requeue(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Try the pairs again that failed in the words sent as `error`."""
    access = enter(request.user, slug, Role.ADMIN)
    run = get_run(access, pk)
    with told(request):
        requeue.requeue_failures(
            run=run, error_class=request.POST.get("error", ""), actor=access.user
        )
    return htmx.redirect(request, run_url(run))


@require_POST
def debate_requeue(request: HttpRequest, slug: str, pk: int, debate: int) -> HttpResponse:
    """Try one failed pair again."""
    access = enter(request.user, slug, Role.ADMIN)
    run = get_run(access, pk)
    found = get_debate(run, debate)
    with told(request):
        requeue.requeue_pair(run=run, debate=found, actor=access.user)
    return htmx.redirect(request, reverse("debate", args=[slug, run.pk, found.pk]))
