"""Runs in which a model writes reference answers: setting up, watching, choosing what is sound."""

from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.answers.rights import hidden_queries, require_writer
from corpus.access import Access, enter, get_query
from corpus.models import Benchmark, Query, Role
from corpus.run_pages import PayingPages
from debate.answers import services as verbs
from debate.answers.services import candidates, choose_sound, forecast
from debate.models import AnswerItem, AnswerItemState, AnswerRun
from kit import htmx
from kit.errors import Refused
from kit.lists.tables import Column, Filter, Table
from kit.runs.moves import cancel_run, pause_run, resume_run
from llm import endpoints
from llm.endpoints import Endpoint, endpoint_choices
from llm.ledger.accounts import budget_field, effort_field

NO_ENDPOINT = "No model is set up. Start the practice model, or set OPENAI_API_KEY."
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
ITEMS = Table(
    filters=(
        Filter("domain", "Domain", lookup="query__domain__name"),
        Filter("state", "State", choices=tuple(AnswerItemState.choices)),
    ),
    columns=(
        Column("query", "Query", order=("query__domain__name", "query_id")),
        Column("state", "State", order=("state",)),
        Column("asked", "Asked", order=("asked",), numeric=True),
        Column("error", "What came up"),
    ),
    order=("pk",),
)


class RunForm(forms.Form):
    """Which queries, which model, for how much."""

    domain = forms.ChoiceField(required=False)
    again = forms.BooleanField(
        label="Also those that a model has answered",
        required=False,
        help_text="What a model was asked before in the same words costs nothing again.",
    )
    endpoint = forms.ChoiceField(label="Model endpoint")
    with_weights = forms.BooleanField(
        label="Tell the model the weights", required=False, initial=True
    )
    temperature = forms.FloatField(min_value=0, max_value=2, initial=0.0)
    reasoning_effort = effort_field()
    budget_usd = budget_field()

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = [(each.name, each.name) for each in benchmark.domains.ready()]
        self.fields["domain"].choices = [("", "All"), *names]  # type: ignore[attr-defined]
        self.fields["endpoint"].choices = endpoint_choices("answerer")  # type: ignore[attr-defined]


@require_GET
def answer_runs(request: HttpRequest, slug: str) -> HttpResponse:
    """Every run."""
    access = enter(request.user, slug, Role.ADMIN, Role.REVIEWER)
    rows = AnswerRun.objects.filter(benchmark=access.benchmark)
    context = {"access": access, "table": LIST.read(rows, request.GET)}
    return htmx.render(request, "debate/answers/runs.html", context, partial="results")


@require_http_methods(["GET", "POST"])
def answer_run_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Set a run up and start it."""
    access = enter(request.user, slug, Role.ADMIN)
    form = RunForm(request.POST if request.method == "POST" else None, benchmark=access.benchmark)
    if request.method == "POST" and form.is_valid():
        given = dict(form.cleaned_data)
        queries = candidates(access.benchmark, domain=given.pop("domain"), again=given.pop("again"))
        given["endpoint"] = endpoints.get(given["endpoint"])
        try:
            run = verbs.start_answers(
                benchmark=access.benchmark, queries=queries, actor=access.user, **given
            )
        except Refused as refusal:
            form.add_error(refusal.field if refusal.field in form.fields else None, refusal.message)
        else:
            return htmx.redirect(request, RUNS.url(run))
    context = {"access": access, "form": form}
    context["no_endpoint"] = "" if endpoints.available() else NO_ENDPOINT
    show = htmx.invalid if form.is_bound else htmx.render
    return show(request, "debate/answers/new.html", context)


@require_GET
def answer_forecast(request: HttpRequest, slug: str) -> HttpResponse:
    """What a run would take; a part of the page that sets one up."""
    access = enter(request.user, slug, Role.ADMIN)
    context = {"access": access, "forecast": forecast_of(access, request.GET)}
    return htmx.render(request, "debate/answers/forecast.html", context, partial="part")


@require_GET
def answer_run(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The run monitor of a run with its queries."""
    access = enter(request.user, slug)
    run = get_run(access, pk)
    counts = dict(run.items.order_by().values_list("state").annotate(n=Count("pk")))
    domains = [(each.name, each.name) for each in access.benchmark.domains.ready()]
    only = run.items.select_related("query").first() if run.total == 1 else None
    context = RUNS.context(access, run) | {
        "states": [(label, name, counts.get(name, 0)) for name, label in AnswerItemState.choices],
        "table": ITEMS.read(item_rows(run), request.GET, choices={"domain": domains}),
        "hidden": set(hidden_queries(access).values_list("pk", flat=True)),
        "only": only.query if only else None,
    }
    if htmx.is_fragment(request, "results"):
        return htmx.render(request, "debate/answers/run.html", context, partial="results")
    return RUNS.show(request, "debate/answers/run.html", context)


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


def generate(access: Access, query: Query, endpoint: str = "") -> AnswerRun:
    """A run of one query; for admins and for whoever may write its answer."""
    if not access.is_admin:
        require_writer(access, query)
    return verbs.start_answers(
        benchmark=access.benchmark,
        queries=Query.objects.filter(pk=query.pk),
        endpoint=pick_endpoint(endpoint),
        actor=access.user,
    )


def pick_endpoint(name: str) -> Endpoint:
    """The endpoint of that name, or the first one. Raises Refused."""
    known = endpoints.available("answerer")
    if not known:
        raise Refused(NO_ENDPOINT, field="endpoint")
    return endpoints.get(name) if name else known[0]


def forecast_of(access: Access, params: Any) -> Any:
    """The forecast for what is chosen in the form."""
    known = endpoints.available("answerer")
    endpoint = next((e for e in known if e.name == params.get("endpoint")), next(iter(known), None))
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
    found = runs.select_related("benchmark", "account", "created_by").first()
    if found is None:
        raise Http404("No such answer run.")
    if not access.is_admin and found.created_by_id != access.user.pk:
        raise PermissionDenied("Admins watch answer runs, and whoever started one.")
    return found


RUNS = PayingPages(
    "answer-run",
    get=get_run,
    verbs={
        "pause": pause_run,
        "resume": partial(resume_run, pause_reason=""),
        "cancel": cancel_run,
    },
    readers=(),
)
