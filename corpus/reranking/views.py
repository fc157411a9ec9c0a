"""Screens of rerankings: the list, setting one up with its forecast, one run with its queries."""

from functools import partial
from typing import Any, Final

from django import forms
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET, require_http_methods

from corpus.access import Access, enter, enter_unblinded, finder
from corpus.lists import domain_choices
from corpus.models import Benchmark, RerankMethod, RerankRun, RerankState, RetrievalRun, Role
from corpus.options import fields_of
from corpus.reranking import asking
from corpus.reranking import services as verbs
from corpus.reranking.rules import PARSERS
from corpus.reranking.services import CHOICES, MIX_WORDS, SETTINGS, role_of
from corpus.run_pages import Kind, PayingPages, asking_verbs, items_table, runs_table
from corpus.versions.forms import RunField, runs_of
from kit.lists.tables import Column, Filter
from llm import endpoints
from llm.ledger.accounts import budget_field, endpoint_field

ABOUT: Final = {
    asking.POINTWISE: "A model scores each passage from 0 to 10, one call a passage.",
    asking.LISTWISE: "A model orders all passages of a query in one call.",
    asking.GROUPWISE: "A model scores passages side by side in shuffled groups; repeats are "
    "averaged, and their spread is kept.",
    asking.ENDPOINT: "A cross-encoder behind a rerank server scores the passages. It is tried on "
    "ten pairs of known order before it is paid.",
    asking.ORACLE: "Relevant passages first, by the gold: what no reranker of this run can exceed. "
    "Asks nobody.",
    asking.MERGE: "Two runs made one by their ranks, such as a pointwise and a "
    "listwise reranking. Asks nobody.",
}
_WORDS: Final[dict[str, tuple[str, str]]] = {
    "depth": ("First passages of a query", ""),
    "mix": ("The final score is", ""),
    "weight": ("Weight of the reranker", "The retriever has the rest."),
    "parser": ("Replies are read", "What cannot be read never becomes a score in strict."),
    "family": ("Prompt", "auto: by the name of the domain, as BRIGHT has them."),
    "document_chars": ("Characters shown of a passage", "What is longer is cut and counted."),
    "group_size": ("Passages of a group", ""),
    "repeats": ("Repeats", ""),
    "seed": ("Seed of the shuffles", ""),
    "temperature": ("Temperature", ""),
    "top_p": ("top_p", ""),
    "output_tokens": ("Maximum output tokens", ""),
    "query_template": (
        "Template of the query",
        "With {query} in it, for models that want their texts in a form of their own.",
    ),
    "document_template": ("Template of each passage", "With {document} in it."),
    "skip_probe": (
        "Without the ten pairs",
        "What is paid is tried on ten pairs of known order first, and the run stops where it does "
        "not tell them apart.",
    ),
    "fusion": ("Ranks count", "log-rank: by -ln(rank), DIVER's; rrf: by 1 / (60 + rank)."),
}


def _words(method: str) -> dict[str, tuple[str, str]]:
    """The words of a method's settings; of those that its parser decides, what they are then."""
    strict, reference = (asking.SAMPLING.get((each, method), {}) for each in PARSERS)
    usual = {
        name: (
            _WORDS[name][0],
            f"Left empty, {value:g} in strict, {reference[name]:g} in reference.",
        )
        for name, value in strict.items()
    }
    return _WORDS | usual


class RerankForm(forms.Form):
    """Which run is reranked, how, by whom, for how much."""

    first: Final = ("source", "second", "endpoint", "depth", "mix", "budget_usd")

    def __init__(self, *args: Any, method: str, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.method = method
        hidden = forms.CharField(widget=forms.HiddenInput, required=False, initial=method)
        self.fields["method"] = hidden
        runs = runs_of(benchmark)
        self.fields["source"] = RunField(runs, label="Retrieval run", empty_label=None)
        if method == asking.MERGE:
            self.fields["source"].label = "First run, such as a pointwise one"
            self.fields["second"] = RunField(runs, label="Second run, such as a listwise one")
        if role := role_of(method):
            self.fields["endpoint"] = endpoint_field(role)
        self.fields.update(fields_of(SETTINGS[method], _words(method), CHOICES, MIX_WORDS))
        self.fields["name"] = forms.CharField(
            max_length=190, required=False, help_text="Left empty, one is made up."
        )
        if role:
            self.fields["budget_usd"] = budget_field()

    def clean_method(self) -> str:
        """The one whose fields these are."""
        return self.method


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
