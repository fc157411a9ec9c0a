"""Screens of pipelines: methods by retrievers, setting one up, its steps; and one query in all
its wordings."""

from functools import partial
from typing import Any, Final

from django import forms
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from corpus.access import Access, enter, enter_unblinded, finder, get_query
from corpus.models import Benchmark, CorpusVersion, Query, RerankRun, Role, Wording
from corpus.options import Setting
from corpus.reranking.services import SETTINGS, role_of
from corpus.reranking.views import READERS
from corpus.reranking.views import get_run as get_rerank
from corpus.run_pages import Kind, RunPages, runs_table
from corpus.versions.forms import RunField
from corpus.versions.services import stored
from corpus.wordings import asking
from corpus.wordings.services import ROLE, retrievers_of
from evaluation.leaderboard.services import DEFAULT
from evaluation.leaderboard.views import sheet_context, version_of
from evaluation.pipelines import grid, plan, printed
from evaluation.pipelines import services as verbs
from evaluation.pipelines.models import PipelineRun
from evaluation.scores import sheets
from kit import htmx
from kit.lists.csvfile import named_table_response, table_response
from kit.lists.report_tables import ReportTable
from kit.lists.tables import Column
from llm import endpoints
from llm.ledger.accounts import budget_field, endpoint_field

DEPTH = Setting(int, 100, 1, 1000)


class PipelineForm(forms.Form):
    """Which version on which retriever, by whom, for how much."""

    first: Final = ("preset", "retriever", "expander", "reranker", "budget_usd")

    preset = forms.ChoiceField(label="Version", choices=plan.CHOICES)

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["retriever"] = RunField(
            retrievers_of(benchmark),
            empty_label=None,
            help_text="v3 is printed with another one than v1 and v2. One that is not BM25 gets a "
            "hybrid with it.",
        )
        self.fields["expander"] = endpoint_field(ROLE, label="Model that expands")
        role = role_of(plan.POINTWISE)
        self.fields["reranker"] = endpoint_field(role, label="Model that reranks")
        self.fields["profile"] = forms.ChoiceField(
            choices=[(each, each) for each in asking.PROFILES],
            help_text="reference: as the released scripts do, for expansion and replies alike.",
        )
        self.fields["depth"] = DEPTH.field(label="Passages reranked a query")
        self.fields["repeats"] = SETTINGS[plan.GROUPWISE]["repeats"].field(
            label="Repeats in groups",
            required=False,
            help_text="Of v3 alone. Left empty, 2 in strict, 6 in reference.",
        )
        self.fields["skip_probe"] = SETTINGS[plan.POINTWISE]["skip_probe"].field(
            label="Without the ten pairs",
            help_text="What is paid is tried on ten pairs of known order before it reranks.",
        )
        self.fields["name"] = forms.CharField(
            max_length=140, required=False, help_text="Left empty, that of the version."
        )
        self.fields["budget_usd"] = budget_field("For all steps together; empty for no limit.")


RERANK_ROLE: Final = role_of(plan.POINTWISE)
LIST: Final = runs_table(
    "Pipeline",
    Column("preset", "Version", order=("preset",)),
    Column("retriever", "Retriever", order=("retriever__name",)),
    counted="Steps",
)
_PAGES: Final = {"expand": "expansion", "compute": "run-computation", "hybrid": "run-computation"}


@require_GET
def pipelines(request: HttpRequest, slug: str) -> HttpResponse:
    """Every pipeline, and methods by retrievers: ours, what each helped, and as printed."""
    access = enter_unblinded(request.user, slug, *READERS)
    version = version_of(request, access)
    context = sheet_context(access, version) | {"sheets": tables_of(access, version)}
    context["asked"] = f"?version={version.pk}" if version else ""
    del context["access"]
    table = LIST.read(RUNS.kind.rows(access.benchmark), request.GET)
    return RUNS.index(request, access, RUNS.kind.template, table, **context)


@require_http_methods(["GET", "POST"])
def pipeline_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Set a pipeline up and start it."""
    access = enter(request.user, slug, Role.ADMIN)
    sent = request.POST if request.method == "POST" else None
    has_runs = retrievers_of(access.benchmark).exists()
    missing = "" if has_runs else "No retrieval run was computed here, whose index could be asked."
    return RUNS.begin(
        request,
        access,
        "evaluation/pipelines/new.html",
        PipelineForm(sent, benchmark=access.benchmark),
        partial(start, access=access),
        versions=[(plan.TITLES[name], words) for name, words in plan.ABOUT.items()],
        has_runs=has_runs,
        missing=missing if endpoints.available(ROLE) else endpoints.NO_ENDPOINT,
    )


@require_GET
def pipeline(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One pipeline: its steps, each with its run, its mean and the printed one."""
    access = enter_unblinded(request.user, slug, *READERS)
    run = get_pipeline(access, pk)
    version = stored(access.benchmark, run.retriever.corpus_version_id)
    context = sheet_context(access, version) | RUNS.context(access, run)
    context |= {
        "settings": run.config.items(),
        "spent": verbs.spent(run),
        "steps": [_step(access, each) for each in run.steps],
        "table": means_of(run),
    }
    return RUNS.show(request, "evaluation/pipelines/run.html", context)


@require_GET
def pipelines_csv(request: HttpRequest, slug: str, name: str) -> HttpResponseBase:
    """A table of the page of all as CSV."""
    access = enter_unblinded(request.user, slug, *READERS)
    found = tables_of(access, version_of(request, access))
    return named_table_response(f"{slug}-pipelines", found, name)


@require_GET
def rerank_means(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """A reranking beside the retriever alone and the oracle; a part of its page."""
    table = means_of(get_rerank(enter_unblinded(request.user, slug, *READERS), pk))
    context = {"sheet": table, "csv_url": reverse("rerank-means-csv", args=[slug, pk])}
    return htmx.render(request, "kit/report_table.html", context)


@require_GET
def rerank_means_csv(request: HttpRequest, slug: str, pk: int) -> HttpResponseBase:
    """The same as CSV."""
    table = means_of(get_rerank(enter_unblinded(request.user, slug, *READERS), pk))
    return table_response(f"{slug}-reranking-{pk}.csv", table)


@require_GET
def query_wordings(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One query in all its wordings beside the original, and what each helped."""
    access = enter_unblinded(request.user, slug, *READERS)
    query = get_query(access, pk)
    context = {"access": access, "query": query, "wordings": wordings_of(access, query),
               "metric": DEFAULT}  # fmt: skip
    return htmx.render(request, "evaluation/pipelines/query.html", context)


def wordings_of(access: Access, query: Query) -> list[dict[str, Any]]:
    """Each source's wording of a query, with the runs that searched for it: their value and what
    it gained over the query as it is."""
    sheet = sheets.latest(access.benchmark)
    helped = grid.helped_query(sheet, query) if sheet else {}
    rows = Wording.objects.filter(query=query).select_related("source").order_by("source__name")
    return [
        {
            "source": each.source,
            "text": each.text,
            # Of an expansion, what stands behind the query.
            "added": each.text.removeprefix(query.text).lstrip(),
            "runs": [
                {"run": run, "value": value, "gain": gain}
                for run, value, gain in helped.get(each.source.name, ())
            ],
        }
        for each in rows
    ]


def tables_of(access: Access, version: CorpusVersion | None) -> list[ReportTable]:
    """The tables of the page; ours as far as the runs were scored."""
    sheet = sheets.latest(access.benchmark, version)
    benchmark = access.benchmark
    found = []
    if sheet is not None:
        found = [grid.our_grid(sheet), grid.reranked_table(sheet)]
        found.append(grid.helped_table(benchmark, grid.helped_of(sheet)))
    cells = printed.printed_of(sheet)
    return [*found, printed.printed_grid(cells), printed.printed_table(benchmark, cells)]


def means_of(run: PipelineRun | RerankRun) -> ReportTable:
    """A pipeline's steps, or a reranking, beside the retriever alone and the oracle, as far as they
    were scored."""
    ranked = run.source if isinstance(run, RerankRun) else run.retriever
    sheet = sheets.latest(run.benchmark, stored(run.benchmark, ranked.corpus_version_id))
    if isinstance(run, RerankRun):
        return grid.rerank_means(run, sheet)
    return grid.pipeline_means(run, sheet)


def _step(access: Access, step: dict[str, Any]) -> dict[str, Any]:
    child = verbs.child_of(step)
    page = _PAGES.get(step["kind"], "rerank-run")
    url = reverse(page, args=[access.benchmark.slug, child.pk]) if child else ""
    return {"name": step["name"], "of": ", ".join(step["of"]), "child": child, "url": url}


def start(*, access: Access, expander: str = "", reranker: str = "", **given: Any) -> PipelineRun:
    """A pipeline as a form or the API asks for it. Raises Refused."""
    return verbs.start_pipeline(
        benchmark=access.benchmark,
        expander=endpoints.chosen_endpoint(expander, ROLE),
        reranker=endpoints.chosen_endpoint(reranker, RERANK_ROLE),
        actor=access.user,
        **given,
    )


def forecast_of(access: Access, params: Any) -> dict[str, Any] | None:
    """The forecast for what is chosen in the form; None where there is no retriever."""
    form = PipelineForm(params, benchmark=access.benchmark)
    form.is_valid()
    given = form.cleaned_data
    retriever = given.get("retriever") or retrievers_of(access.benchmark).first()
    if retriever is None:
        return None
    return verbs.forecast(
        access.benchmark,
        given.get("preset") or plan.V1,
        retriever,
        endpoints.asked_for(given.get("expander"), ROLE),
        endpoints.asked_for(given.get("reranker"), RERANK_ROLE),
        profile=given.get("profile") or "strict",
        depth=given.get("depth") or 100,
        repeats=given.get("repeats"),
        skip_probe=bool(given.get("skip_probe")),
    )


get_pipeline = finder(PipelineRun, "created_by", "retriever__corpus_version", unblinded=True)


RUNS = RunPages(
    PipelineRun,
    kind=Kind(
        LIST,
        "evaluation/pipelines/pipelines.html",
        lambda benchmark: benchmark.pipelines.select_related("retriever__corpus_version"),
        start,
        forecast_of,
        {
            "what": "a pipeline",
            "list_name": "Pipelines",
            "about": "All steps together. What was paid for before is not paid again.",
        },
    ),
    get=get_pipeline,
    verbs={"pause": verbs.pause, "resume": verbs.resume, "cancel": verbs.cancel},
    readers=READERS,
)
