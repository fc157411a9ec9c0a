"""Screens of rerankings: the list, setting one up with its forecast, one run with its queries."""

from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET, require_http_methods

from corpus.access import Access, enter, enter_unblinded, finder
from corpus.lists import domain_choices
from corpus.models import RerankMethod, RerankRun, RerankState, RetrievalRun, Role
from corpus.reranking import services as verbs
from corpus.reranking.forms import ABOUT, RerankForm
from corpus.run_pages import Kind, PayingPages, asking_verbs, items_table, runs_table
from kit.lists.tables import Column, Filter
from llm import endpoints

READERS = (Role.ADMIN, Role.REVIEWER)
LIST = runs_table(
    "Reranking",
    Column("method", "Method", order=("method",)),
    Column("source", "Retrieval run", order=("source__name",)),
    search=("name", "model", "source__name"),
    filters=(Filter("method", "Method", choices=tuple(RerankMethod.choices)),),
)
_MET = (
    Column("unread", "Unreadable replies", numeric=True),
    Column("truncated", "Passages cut", numeric=True),
)
ITEMS = items_table(RerankState.choices, *_MET)
REPEATED = items_table(RerankState.choices, *_MET, Column("spread", "Mean spread", numeric=True))


@require_http_methods(["GET", "POST"])
def rerank_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Set a reranking up and start it."""
    access = enter(request.user, slug, Role.ADMIN)
    sent = request.POST if request.method == "POST" else None
    method = method_of(request.POST if sent else request.GET)
    chosen = {"source": request.GET.get("source"), "method": method}
    form = RerankForm(sent, method=method, benchmark=access.benchmark, initial=chosen)
    has_runs = RetrievalRun.objects.filter(benchmark=access.benchmark).exists()
    missing = "" if has_runs else "There is no retrieval run to rerank yet."
    role = verbs.role_of(method)
    return RUNS.begin(
        request,
        access,
        "corpus/reranking/new.html",
        form,
        partial(start, access=access),
        method=method,
        source=request.GET.get("source", ""),
        methods=RerankMethod.choices,
        description=ABOUT[method],
        has_runs=has_runs,
        missing=_no_endpoint(role) if role and not endpoints.available(role) else missing,
    )


@require_GET
def rerank_run(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One reranking: its progress, what was met, its queries."""
    access = enter_unblinded(request.user, slug, *READERS)
    run = get_run(access, pk)
    hidden = ("prompt", "wire") if run.config.get("wire") == "" else ("prompt",)
    return RUNS.monitor(
        request,
        access,
        run,
        "corpus/reranking/run.html",
        table=REPEATED if run.method == RerankMethod.GROUPWISE else ITEMS,
        rows=run.items.select_related("query__domain"),
        choices={"domain": domain_choices(access.benchmark)},
        settings=[
            (k, v) for k, v in run.config.items() if k not in hidden and v != "" and v is not False
        ],
    )


def start(*, access: Access, method: str, **given: Any) -> RerankRun:
    """A reranking as a form or the API asks for it. Raises Refused."""
    role, name = verbs.role_of(method), given.pop("endpoint", "")
    endpoint = endpoints.chosen_endpoint(name, role, none=_no_endpoint(role)) if role else None
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
    role = verbs.role_of(method)
    endpoint = endpoints.asked_for(given.get("endpoint"), role) if role else None
    return verbs.forecast(source, method, endpoint, options)


def _no_endpoint(role: str) -> str:
    what = "rerank server" if role == endpoints.RERANKER else "model"
    return f"No {what} is set up (docs/endpoints.md). Oracle and merge ask nobody."


def method_of(params: Any) -> str:
    """The method that is asked for, pointwise by default."""
    given = params.get("method", "")
    return given if given in RerankMethod.values else RerankMethod.POINTWISE.value


get_run = finder(
    RerankRun, "account", "created_by", "source__corpus_version", "second", "run", unblinded=True
)


RUNS = PayingPages(
    RerankRun,
    kind=Kind(
        LIST,
        "corpus/reranking/runs.html",
        lambda benchmark: benchmark.rerank_runs.select_related("account", "source__corpus_version"),
        start,
        forecast_of,
        {
            "what": "a reranking",
            "list_name": "Rerankings",
            "about": "By the mean length of the newest passages and queries. Replies that cannot "
            "be read are asked for once more, and what was paid for before is not paid again.",
        },
    ),
    get=get_run,
    verbs=asking_verbs(verbs.retry_failed) | {"keep": verbs.keep_failed},
    readers=READERS,
)
