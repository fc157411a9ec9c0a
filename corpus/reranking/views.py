"""Screens of rerankings: the list, setting one up with its forecast, one run with its queries."""

from functools import partial
from typing import Any

from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET, require_http_methods

from corpus.access import Access, enter, enter_unblinded, refuse_voter
from corpus.lists import domain_choices
from corpus.models import RerankMethod, RerankRun, RerankState, RetrievalRun, Role
from corpus.reranking import services as verbs
from corpus.reranking.forms import ABOUT, RerankForm
from corpus.run_pages import PayingPages
from kit import htmx
from kit.errors import Refused
from kit.lists.tables import Column, Filter, Table
from kit.runs.moves import cancel_run, pause_run, resume_run
from llm import endpoints

NO_ENDPOINT = "No {what} is set up (docs/endpoints.md). Oracle and merge ask nobody."
READERS = (Role.ADMIN, Role.REVIEWER)
LIST = Table(
    search=("name", "model", "source__name"),
    filters=(Filter("method", "Method", choices=tuple(RerankMethod.choices)),),
    columns=(
        Column("name", "Reranking", order=("name",)),
        Column("method", "Method", order=("method",)),
        Column("source", "Retrieval run", order=("source__name",)),
        Column("status", "Status", order=("status",)),
        Column("queries", "Queries", numeric=True),
        Column("at", "Started", order=("created_at",)),
    ),
    order=("-pk",),
)
ITEMS = Table(
    filters=(
        Filter("domain", "Domain", lookup="query__domain__name"),
        Filter("state", "State", choices=tuple(RerankState.choices)),
    ),
    columns=(
        Column("query", "Query", order=("query__domain__name", "query_id")),
        Column("state", "State", order=("state",)),
        Column("unread", "Unreadable replies", numeric=True),
        Column("truncated", "Passages cut", numeric=True),
        Column("error", "What came up"),
    ),
    order=("pk",),
)


@require_GET
def reranks(request: HttpRequest, slug: str) -> HttpResponse:
    """Every reranking."""
    access = enter_unblinded(request.user, slug, *READERS)
    rows = access.benchmark.rerank_runs.select_related("source__corpus_version")
    context = {"access": access, "table": LIST.read(rows, request.GET)}
    return htmx.render(request, "corpus/reranking/runs.html", context, partial="results")


@require_http_methods(["GET", "POST"])
def rerank_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Set a reranking up and start it."""
    access = enter(request.user, slug, Role.ADMIN)
    sent = request.POST if request.method == "POST" else None
    method = method_of(request.POST if sent else request.GET)
    chosen = {"source": request.GET.get("source")}
    form = RerankForm(sent, method=method, benchmark=access.benchmark, initial=chosen)
    made = htmx.submit(form, start, access=access, method=method)
    if made:
        return htmx.redirect(request, RUNS.url(made))
    role = verbs.role_of(method)
    what = "rerank server" if role == endpoints.RERANKER else "model"
    context = {
        "access": access,
        "form": form,
        "method": method,
        "source": request.GET.get("source", ""),
        "methods": [(value, RerankMethod(value).label) for value in RerankMethod.values],
        "about": ABOUT[method],
        "has_runs": RetrievalRun.objects.filter(benchmark=access.benchmark).exists(),
        "missing": (
            NO_ENDPOINT.format(what=what) if role and not endpoints.available(role) else ""
        ),
    }
    show = htmx.invalid if sent is not None else htmx.render
    return show(request, "corpus/reranking/new.html", context)


@require_GET
def rerank_forecast(request: HttpRequest, slug: str) -> HttpResponse:
    """What a reranking would take; a part of the page that sets one up."""
    access = enter(request.user, slug, Role.ADMIN)
    context = {"access": access, "forecast": forecast_of(access, request.GET)}
    return htmx.render(request, "corpus/reranking/forecast.html", context, partial="part")


@require_GET
def rerank_run(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One reranking: its progress, what was met, its queries."""
    access = enter_unblinded(request.user, slug, *READERS)
    run = get_run(access, pk)
    counts = dict(run.items.order_by().values_list("state").annotate(n=Count("pk")))
    rows = run.items.select_related("query__domain")
    hidden = ("prompt", "wire") if run.config.get("wire") == "" else ("prompt",)
    context = RUNS.context(access, run) | {
        "states": [(label, name, counts.get(name, 0)) for name, label in RerankState.choices],
        "settings": [(k, v) for k, v in run.config.items() if k not in hidden and v != ""],
        "table": ITEMS.read(
            rows, request.GET, choices={"domain": domain_choices(access.benchmark)}
        ),
        "has_failed": bool(counts.get(RerankState.FAILED)) and run.status == "failed",
    }
    if htmx.is_fragment(request, "results"):
        return htmx.render(request, "corpus/reranking/run.html", context, partial="results")
    return RUNS.show(request, "corpus/reranking/run.html", context)


def start(*, access: Access, method: str, **given: Any) -> RerankRun:
    """A reranking as a form or the API asks for it. Raises Refused."""
    role, name = verbs.role_of(method), given.pop("endpoint", "")
    endpoint = None
    if role:
        known = endpoints.available(role)
        if not known:
            what = "rerank server" if role == endpoints.RERANKER else "model"
            raise Refused(NO_ENDPOINT.format(what=what), field="endpoint")
        endpoint = endpoints.get(name) if name else known[0]
    return verbs.start_rerank(
        benchmark=access.benchmark, method=method, endpoint=endpoint, actor=access.user, **given
    )


def forecast_of(access: Access, params: Any) -> dict[str, Any] | None:
    """The forecast for what is chosen in the form; what cannot be read is left at its default.
    None where there is no run."""
    method = method_of(params)
    form = RerankForm(params, method=method, benchmark=access.benchmark)
    form.is_valid()
    given = form.cleaned_data
    source = given.get("source") or form.fields["source"].queryset.first()  # type: ignore[attr-defined]
    if source is None:
        return None
    options = {name: each.default for name, each in verbs.SETTINGS[method].items()}
    options |= {name: given[name] for name in options if given.get(name) is not None}
    known = endpoints.available(verbs.role_of(method)) if verbs.role_of(method) else []
    endpoint = next((e for e in known if e.name == given.get("endpoint")), next(iter(known), None))
    return verbs.forecast(source, method, endpoint, options)


def method_of(params: Any) -> str:
    """The method that is asked for, pointwise by default."""
    given = params.get("method", "")
    return given if given in RerankMethod.values else RerankMethod.POINTWISE.value


def get_run(access: Access, pk: int) -> RerankRun:
    """A reranking of this benchmark, or 404; kept from who votes."""
    refuse_voter(access)
    rows = RerankRun.objects.filter(benchmark=access.benchmark, pk=pk)
    related = ("benchmark", "account", "created_by", "source__corpus_version", "second", "run")
    found = rows.select_related(*related).first()
    if found is None:
        raise Http404("No such reranking.")
    return found


RUNS = PayingPages(
    "rerank-run",
    get=get_run,
    verbs={
        "pause": pause_run,
        "resume": partial(resume_run, pause_reason=""),
        "cancel": cancel_run,
        "retry": verbs.retry_failed,
        "keep": verbs.keep_failed,
    },
    readers=READERS,
)
