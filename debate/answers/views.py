"""Runs in which a model writes reference answers: setting up, watching, choosing what is sound."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.answers.rights import hidden_queries, require_writer
from corpus.access import Access, enter, first_or_404, get_query
from corpus.lists import domain_choices
from corpus.models import Benchmark, Query, Role
from corpus.run_pages import PayingPages, asking_verbs, items_table
from debate.answers import services as verbs
from debate.answers.services import candidates, choose_sound, forecast
from debate.models import AnswerItem, AnswerItemState, AnswerRun
from kit import htmx
from kit.errors import Refused
from kit.lists.tables import Column, Table
from llm import endpoints
from llm.endpoints import chosen_endpoint
from llm.ledger.accounts import budget_field, effort_field, endpoint_field

LIST = Table(
    columns=(
        Column("run", "Run", order=("pk",)),
        Column("model", "Model", order=("model",)),
        Column("status", "Status", order=("status",)),
        Column("queries", "Queries", numeric=True),
        Column("at", "Started", order=("created_at",)),
    ),
    order=("-pk",),
)
ITEMS = items_table(
    AnswerItemState.choices, Column("asked", "Asked", order=("asked",), numeric=True)
)


class RunForm(forms.Form):
    """Which queries, which model, for how much."""

    domain = forms.ChoiceField(required=False)
    again = forms.BooleanField(
        label="Also those that a model has answered",
        required=False,
        help_text="What a model was asked before in the same words costs nothing again.",
    )
    endpoint = endpoint_field("answerer")
    with_weights = forms.BooleanField(
        label="Tell the model the weights", required=False, initial=True
    )
    temperature = forms.FloatField(min_value=0, max_value=2, initial=0.0)
    reasoning_effort = effort_field()
    budget_usd = budget_field()

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = domain_choices(benchmark)
        self.fields["domain"].choices = [("", "All"), *names]  # type: ignore[attr-defined]


@require_GET
def answer_runs(request: HttpRequest, slug: str) -> HttpResponse:
    """Every run."""
    access = enter(request.user, slug, Role.ADMIN, Role.REVIEWER)
    table = LIST.read(AnswerRun.objects.filter(benchmark=access.benchmark), request.GET)
    return RUNS.index(request, access, "debate/answers/runs.html", table)


@require_http_methods(["GET", "POST"])
def answer_run_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Set a run up and start it."""
    access = enter(request.user, slug, Role.ADMIN)
    return RUNS.begin(
        request,
        access,
        "debate/answers/new.html",
        RunForm(request.POST if request.method == "POST" else None, benchmark=access.benchmark),
        lambda **given: start(access, given),
        missing="" if endpoints.available() else endpoints.NO_ENDPOINT,
        submit="Start writing",
    )


@require_GET
def answer_forecast(request: HttpRequest, slug: str) -> HttpResponse:
    """What a run would take; a part of the page that sets one up."""
    access = enter(request.user, slug, Role.ADMIN)
    found = forecast_of(access, request.GET)
    return RUNS.forecast(request, access, found, what="writing answers", list_name="Answer runs")


@require_GET
def answer_run(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The run monitor of a run with its queries."""
    access = enter(request.user, slug)
    run = get_run(access, pk)
    only = run.items.select_related("query").first() if run.total == 1 else None
    return RUNS.monitor(
        request,
        access,
        run,
        "debate/answers/run.html",
        table=ITEMS,
        rows=item_rows(run),
        choices={"domain": domain_choices(access.benchmark)},
        hidden=set(hidden_queries(access).values_list("pk", flat=True)),
        only=only.query if only else None,
    )


@require_POST
def answer_run_choose(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Publish every sound answer of the run where nothing is published yet."""
    access = enter(request.user, slug, Role.ADMIN)
    run = get_run(access, pk)
    chosen, left = choose_sound(run=run, actor=access.user)
    messages.success(request, f"{chosen:,} answers are published, {left:,} were left as they are.")
    return htmx.redirect(request, RUNS.url(run))


@require_POST
def answer_generate(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Let a model write the answer of one query."""
    access = enter(request.user, slug, Role.ADMIN, Role.ANNOTATOR)
    query = get_query(access, pk)
    try:
        run = generate(access, query)
    except Refused as refusal:
        messages.warning(request, refusal.message)
        return htmx.redirect(request, reverse("answer", args=[slug, pk]))
    return htmx.redirect(request, RUNS.url(run))


def start(access: Access, given: dict[str, Any]) -> AnswerRun:
    """A run as a form or the API asks for it. Raises Refused."""
    benchmark, endpoint = access.benchmark, chosen_endpoint(given.pop("endpoint"), "answerer")
    queries = candidates(benchmark, domain=given.pop("domain"), again=given.pop("again"))
    return verbs.start_answers(
        benchmark=benchmark, queries=queries, endpoint=endpoint, actor=access.user, **given
    )


def generate(access: Access, query: Query, endpoint: str = "") -> AnswerRun:
    """A run of one query; for admins and for whoever may write its answer."""
    if not access.is_admin:
        require_writer(access, query)
    return verbs.start_answers(
        benchmark=access.benchmark,
        queries=Query.objects.filter(pk=query.pk),
        endpoint=chosen_endpoint(endpoint, "answerer"),
        actor=access.user,
    )


def forecast_of(access: Access, params: Any) -> Any:
    """The forecast for what is chosen in the form."""
    endpoint = endpoints.asked_for(params.get("endpoint"), "answerer")
    queries = candidates(
        access.benchmark, domain=params.get("domain", ""), again=bool(params.get("again"))
    )
    return forecast(queries, endpoint, with_weights=bool(params.get("with_weights", True)))


def item_rows(run: AnswerRun) -> QuerySet[AnswerItem]:
    """The run's queries."""
    return run.items.select_related("query__domain")


def get_run(access: Access, pk: int) -> AnswerRun:
    """A run of this benchmark: for admins, and for whoever started it."""
    runs = AnswerRun.objects.filter(benchmark=access.benchmark, pk=pk)
    found = first_or_404(runs.select_related("benchmark", "account", "created_by"), "answer run")
    if not access.is_admin and found.created_by_id != access.user.pk:
        raise PermissionDenied("Admins watch answer runs, and whoever started one.")
    return found


RUNS = PayingPages(AnswerRun, get=get_run, verbs=asking_verbs(), readers=())
