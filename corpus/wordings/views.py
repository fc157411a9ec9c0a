"""Screens of queries in other words: their sources, expansions, one with its rounds."""

from dataclasses import replace
from functools import partial
from typing import Any, Final

from django import forms
from django.db.models import Count, OuterRef, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_GET, require_http_methods

from corpus.access import Access, enter, enter_unblinded, finder
from corpus.lists import domain_choices
from corpus.models import (
    Benchmark,
    ExpansionItem,
    ExpansionMethod,
    ExpansionRound,
    ExpansionRun,
    ExpansionState,
    Passage,
    QuerySource,
    RetrievalRun,
    Role,
)
from corpus.options import fields_of
from corpus.run_pages import Kind, PayingPages, asking_verbs, items_table, runs_table
from corpus.runs.views import keys_of
from corpus.texts.finding import query_matches
from corpus.texts.tokens import names
from corpus.versions.forms import RunField
from corpus.versions.services import stored
from corpus.wordings import asking
from corpus.wordings import services as verbs
from corpus.wordings.services import CHOICES, ROLE, SETTINGS, retrievers_of
from kit import htmx
from kit.lists.tables import Column, Filter, Table
from llm import endpoints
from llm.ledger.accounts import budget_field, endpoint_field

ABOUT: Final = {
    asking.REWRITE: "A model names the problem behind each query, reasons about what would help, "
    "and drafts an answer; that stands in the query’s place. One call a query.",
    asking.QEXPAND: "A model writes a passage that answers each query from what a retriever finds, "
    "and betters it with what that passage finds in turn. The final query is the original with "
    "the last passage behind it.",
}
_WORDS: Final[dict[str, tuple[str, str]]] = {
    "profile": (
        "Profile",
        "reference: two samples a call, the last handed on; passages are excluded by their text, "
        "two rounds back.",
    ),
    "rounds": ("Rounds", "Each becomes a query source and a retrieval run of its own."),
    "passages": ("Passages shown in a round", "None that was shown before."),
    "passage_tokens": ("Maximum tokens per passage", "What is longer is cut and counted."),
    "tokenizer": ("Tokenizer", "What these sizes are counted in."),
    "prompt_tokens": ("Maximum prompt tokens", ""),
    "output_tokens": ("Maximum output tokens", "As the model counts them."),
    "samples": ("Samples of a call", "Left empty, as many as the profile draws."),
    "stops_early": (
        "Stop early",
        f"A query whose first {asking.TOP} places a round left as they were is done.",
    ),
    "reasoning_free": (
        "Without reasoning",
        "The answer begins behind an empty block of thoughts, for servers that go on from one, as "
        "vLLM and SGLang do.",
    ),
    "depth": ("Passages kept a query", "In the retrieval runs."),
    "temperature": ("Temperature", ""),
    "top_p": ("top_p", ""),
}


class ExpansionForm(forms.Form):
    """Who words the queries, with which retriever, how, for how much."""

    first: Final = ("retriever", "endpoint", "profile", "rounds", "budget_usd")

    def __init__(self, *args: Any, method: str, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.method = method
        hidden = forms.CharField(widget=forms.HiddenInput, required=False, initial=method)
        self.fields["method"] = hidden
        is_needed = method == asking.QEXPAND
        self.fields["retriever"] = RunField(
            retrievers_of(benchmark),
            required=is_needed,
            empty_label=None if is_needed else "none: other words alone",
            help_text="" if is_needed else "With one, its ranking of the new words is a run, too.",
        )
        self.fields["endpoint"] = endpoint_field(ROLE)
        self.fields.update(
            fields_of(SETTINGS[method], _WORDS, CHOICES | {"tokenizer": names()}, {})
        )
        self.fields["name"] = forms.CharField(
            max_length=180, required=False, help_text="Left empty, one is made up."
        )
        self.fields["budget_usd"] = budget_field()

    def clean_method(self) -> str:
        """The one whose fields these are."""
        return self.method


READERS = (Role.ADMIN, Role.REVIEWER)
SOURCES = Table(
    search=("name",),
    columns=(
        Column("name", "Query source", order=("name",)),
        Column("from", "From"),
        Column("queries", "Queries in other words", order=("query_count",), numeric=True),
        Column("runs", "Retrieval runs"),
        Column("at", "Made", order=("pk",)),
    ),
    order=("name",),
)
LIST = runs_table(
    "Expansion",
    Column("method", "Method", order=("method",)),
    Column("retriever", "Retriever", order=("retriever__name",)),
    search=("name", "model", "retriever__name"),
    filters=(Filter("method", "Method", choices=tuple(ExpansionMethod.choices)),),
)
ITEMS = items_table(ExpansionState.choices, Column("rounds", "Rounds", numeric=True))
WORDINGS = Table(
    filters=(Filter("domain", "Domain", lookup="query__domain__name"),),
    columns=(
        Column("query", "Query", order=("query__domain__name", "query_id")),
        Column("original", "As it is"),
        Column("wording", "In other words"),
    ),
    order=("pk",),
)


@require_GET
def query_sources(request: HttpRequest, slug: str) -> HttpResponse:
    """Where other wordings are from, and what was retrieved with them."""
    access = enter_unblinded(request.user, slug, *READERS)
    table = SOURCES.read(access.benchmark.query_sources.all(), request.GET)
    runs = runs_by_source(access, [each.name for each in table.rows])
    rows = [(each, runs.get(each.name, [])) for each in table.rows]
    return RUNS.index(request, access, "corpus/wordings/sources.html", table, rows=rows)


@require_GET
def query_source(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One source: its wordings beside the queries as they are."""
    access = enter_unblinded(request.user, slug, *READERS)
    source = get_source(access, pk)
    requested = partial(query_matches, benchmark=access.benchmark, at="query__")
    table = replace(WORDINGS, search=lambda rows, words: rows.filter(requested(words)))
    choices = {"domain": domain_choices(access.benchmark)}
    rows = source.wordings.select_related("query__domain")
    context = {
        "access": access,
        "source": source,
        "runs": runs_by_source(access, [source.name]).get(source.name, []),
        "expansion": source.provenance.get("expansion"),
        "table": table.read(rows, request.GET, choices=choices),
    }
    return htmx.render(request, "corpus/wordings/source.html", context, partial="results")


@require_http_methods(["GET", "POST"])
def expansion_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Set an expansion up and start it."""
    access = enter(request.user, slug, Role.ADMIN)
    sent = request.POST if request.method == "POST" else None
    method = method_of(request.POST if sent else request.GET)
    form = ExpansionForm(
        sent, method=method, benchmark=access.benchmark, initial={"method": method}
    )
    needs_run = method == asking.QEXPAND and not verbs.retrievers_of(access.benchmark).exists()
    missing = "No retrieval run was computed here, whose index could be asked." * needs_run
    return RUNS.begin(
        request,
        access,
        "corpus/wordings/new.html",
        form,
        partial(start, access=access),
        method=method,
        methods=ExpansionMethod.choices,
        description=ABOUT[method],
        needs_run=needs_run,
        missing=missing or ("" if endpoints.available(verbs.ROLE) else endpoints.NO_ENDPOINT),
    )


@require_GET
def expansion(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One expansion: its progress, what its rounds became, its queries."""
    access = enter_unblinded(request.user, slug, *READERS)
    run = get_expansion(access, pk)
    own = ExpansionRound.objects.filter(item=OuterRef("pk")).order_by().values("item")
    # Beside the items and not joined with them, whose states are counted.
    rounds = own.annotate(n=Count("pk")).values("n")
    became = run.report.get("rounds", ())
    found = RetrievalRun.objects.in_bulk([each["run"] or 0 for each in became])
    return RUNS.monitor(
        request,
        access,
        run,
        "corpus/wordings/run.html",
        table=ITEMS,
        rows=run.items.select_related("query__domain").annotate(round_count=Subquery(rounds)),
        choices={"domain": domain_choices(access.benchmark)},
        settings=[(k, v) for k, v in run.config.items() if k != "prompt" and v not in ("", False)],
        rounds=[(e["round"], e["source"], found.get(e["run"] or 0)) for e in became],
    )


@require_GET
def expansion_query(request: HttpRequest, slug: str, pk: int, query_pk: int) -> HttpResponse:
    """One query of an expansion, round by round: what was shown, written and found."""
    access = enter_unblinded(request.user, slug, *READERS)
    run = get_expansion(access, pk)
    item = get_object_or_404(run.items.select_related("query__domain"), query=query_pk)
    context = {"access": access, "run": run, "item": item, "rounds": _rounds(run, item)}
    return htmx.render(request, "corpus/wordings/query.html", context)


def _rounds(run: ExpansionRun, item: ExpansionItem) -> list[dict[str, Any]]:
    """Each round with its passages as far as they are here."""
    keys, rounds = {}, list(item.rounds.all())
    listed = [(each.shown, (each.pids or [])[: asking.TOP]) for each in rounds]
    if run.retriever:
        version = stored(run.benchmark, run.retriever.corpus_version_id)
        pids = sorted({pid for pair in listed for pids in pair for pid in pids})
        keys = keys_of(version, item.query, pids)
    passages = Passage.objects.order_by().in_bulk(keys.values())

    def placed(pids: list[str]) -> list[tuple[str, Passage | None]]:
        return [(pid, passages.get(keys.get(pid, 0))) for pid in pids]

    return [
        {"made": made, "shown": placed(shown), "found": placed(found)}
        for made, (shown, found) in zip(rounds, listed, strict=True)
    ]


def start(*, access: Access, method: str, **given: Any) -> ExpansionRun:
    """An expansion as a form or the API asks for it. Raises Refused."""
    endpoint = endpoints.chosen_endpoint(given.pop("endpoint", ""), verbs.ROLE)
    return verbs.start_expansion(
        benchmark=access.benchmark, method=method, endpoint=endpoint, actor=access.user, **given
    )


def forecast_of(access: Access, params: Any) -> dict[str, Any]:
    """The forecast for what is chosen in the form; what cannot be read is left at its default."""
    method = method_of(params)
    form = ExpansionForm(params, method=method, benchmark=access.benchmark)
    form.is_valid()
    given = form.cleaned_data
    options = {name: given.get(name) for name in verbs.SETTINGS[method]}
    endpoint = endpoints.asked_for(given.get("endpoint"), verbs.ROLE)
    config = verbs.checked_config(method, options)
    return verbs.forecast(access.benchmark, method, endpoint, config)


def method_of(params: Any) -> str:
    """The method that is asked for, QExpand by default."""
    given = params.get("method", "")
    return given if given in ExpansionMethod.values else ExpansionMethod.QEXPAND.value


def runs_by_source(access: Access, names: list[str]) -> dict[str, list[RetrievalRun]]:
    """The retrieval runs that searched for the wordings of each source."""
    rows = RetrievalRun.objects.filter(benchmark=access.benchmark, provenance__queries__in=names)
    found: dict[str, list[RetrievalRun]] = {}
    for run in rows.select_related("corpus_version").order_by("name"):
        found.setdefault(run.provenance["queries"], []).append(run)
    return found


get_source = finder(QuerySource, unblinded=True)


get_expansion = finder(
    ExpansionRun,
    "account",
    "created_by",
    "retriever__corpus_version",
    "source",
    "run",
    unblinded=True,
)


RUNS = PayingPages(
    ExpansionRun,
    kind=Kind(
        LIST,
        "corpus/wordings/expansions.html",
        lambda benchmark: benchmark.expansions.select_related(
            "account", "retriever__corpus_version"
        ),
        start,
        forecast_of,
        {
            "what": "an expansion",
            "list_name": "Expansions",
            "about": "By the mean length of the newest queries; passages count as long as they may "
            "be shown. Vectors of the new words, where the retriever is a model, come on top.",
        },
    ),
    get=get_expansion,
    verbs=asking_verbs(verbs.retry_failed) | {"keep": verbs.keep_failed},
    readers=READERS,
)
