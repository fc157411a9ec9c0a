"""Screens of pipelines: methods by retrievers, setting one up, its steps; and one query in all
its wordings."""

from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from corpus.access import Access, enter, enter_unblinded, get_query, refuse_voter
from corpus.models import CorpusVersion, Query, RetrievalRun, Role, Wording
from corpus.reranking.services import role_of
from corpus.run_pages import RunPages
from corpus.versions.services import stored
from corpus.wordings.services import ROLE, retrievers_of
from evaluation.leaderboard.services import DEFAULT, leaderboard_of
from evaluation.leaderboard.views import sheet_context, version_of
from evaluation.pipelines import grid, plan
from evaluation.pipelines import services as verbs
from evaluation.pipelines.forms import PipelineForm
from evaluation.pipelines.models import PipelineRun
from evaluation.published.services import tables
from evaluation.scores import sheets
from kit import htmx
from kit.errors import Refused
from kit.lists.report_tables import Cell, ReportTable, text
from llm import endpoints
from llm.endpoints import Endpoint

READERS: Final = (Role.ADMIN, Role.REVIEWER)
_PAGES: Final = {"expand": "expansion", "compute": "run-computation", "hybrid": "run-computation"}


@require_GET
def pipelines(request: HttpRequest, slug: str) -> HttpResponse:
    """Every pipeline, and methods by retrievers: ours, what each helped, and as printed."""
    access = enter_unblinded(request.user, slug, *READERS)
    version = version_of(request, access)
    context = sheet_context(access, version) | {
        "pipelines": access.benchmark.pipelines.select_related("retriever"),
        "sheets": tables_of(access, version),
    }
    return htmx.render(request, "evaluation/pipelines/pipelines.html", context)


@require_http_methods(["GET", "POST"])
def pipeline_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Set a pipeline up and start it."""
    access = enter(request.user, slug, Role.ADMIN)
    sent = request.POST if request.method == "POST" else None
    form = PipelineForm(sent, benchmark=access.benchmark)
    made = htmx.submit(form, start, access=access)
    if made:
        return htmx.redirect(request, RUNS.url(made))
    context = {
        "access": access,
        "form": form,
        "about": [(plan.TITLES[name], words) for name, words in plan.ABOUT.items()],
        "has_runs": retrievers_of(access.benchmark).exists(),
        "has_models": bool(endpoints.available(ROLE)),
    }
    show = htmx.invalid if sent is not None else htmx.render
    return show(request, "evaluation/pipelines/new.html", context)


@require_GET
def pipeline_forecast(request: HttpRequest, slug: str) -> HttpResponse:
    """What a pipeline would take; a part of the page that sets one up."""
    access = enter(request.user, slug, Role.ADMIN)
    context = {"access": access, "forecast": forecast_of(access, request.GET)}
    return htmx.render(request, "evaluation/pipelines/forecast.html", context, partial="part")


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
        "table": means_of(run, version),
    }
    return RUNS.show(request, "evaluation/pipelines/run.html", context)


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
        found = [grid.our_grid(sheet), grid.helped_table(benchmark, grid.helped_of(sheet))]
    printed = grid.printed_of(sheet)
    return [*found, grid.printed_grid(printed), grid.printed_table(benchmark, printed)]


def means_of(run: PipelineRun, version: CorpusVersion | None) -> ReportTable:
    """The means of a pipeline's steps beside the printed ones, as far as they were scored."""
    sheet = sheets.latest(run.benchmark, version)
    board = leaderboard_of(sheet, metric=DEFAULT, view=grid.VIEW) if sheet else None
    lines = {line.run.pk: line for line in board.lines} if board else {}
    known = RetrievalRun.objects.in_bulk([each["run"] or 0 for each in run.steps])
    places = [(plan.RETRIEVER, run.retriever)]
    places += [(e["name"], known[e["run"]]) for e in run.steps if e["run"] in known]
    rows = []
    for name, made in places:
        line = lines.get(made.pk)
        printed = _printed(run.preset, name, is_last=name == run.steps[-1]["name"])
        url = reverse("retrieval-run", args=[run.benchmark.slug, made.pk])
        domains = [Cell(value, "points") for value in (line.domains if line else ())]
        domains += [Cell(None, "points")] * (len(board.domains) - len(domains) if board else 0)
        rows.append((
            text(name), text(made.name, url), Cell(line.mean if line else None, "points"),
            Cell(printed, "points"), *domains,
        ))  # fmt: skip
    header = ("step", "run", "mean", "printed", *(board.domains if board else ()))
    notes = (f"{DEFAULT}, {grid.VIEW} gold. Printed: DIVER, the mean over its twelve sets.",)
    return ReportTable("steps", "Means by step", header, tuple(rows), notes)


def _printed(preset: str, step: str, *, is_last: bool) -> float | None:
    place = plan.printed_of(preset, step, is_last=is_last)
    if place is None:
        return None
    name, row, number = place
    found = [values[0] for printed, values in tables()[name].rows if printed == row]
    value = found[number]
    return None if value is None else value / 100


def _step(access: Access, step: dict[str, Any]) -> dict[str, Any]:
    child = verbs.child_of(step)
    page = _PAGES.get(step["kind"], "rerank-run")
    url = reverse(page, args=[access.benchmark.slug, child.pk]) if child else ""
    return {"name": step["name"], "of": ", ".join(step["of"]), "child": child, "url": url}


def start(*, access: Access, expander: str = "", reranker: str = "", **given: Any) -> PipelineRun:
    """A pipeline as a form or the API asks for it. Raises Refused."""
    if not endpoints.available(ROLE):
        raise Refused("No model is set up (docs/endpoints.md).", field="expander")
    return verbs.start_pipeline(
        benchmark=access.benchmark,
        expander=_endpoint(expander, ROLE),
        reranker=_endpoint(reranker, role_of(plan.POINTWISE)),
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
        _endpoint(given.get("expander") or "", ROLE),
        _endpoint(given.get("reranker") or "", role_of(plan.POINTWISE)),
        profile=given.get("profile") or "strict",
        depth=given.get("depth") or 100,
    )


def _endpoint(name: str, role: str) -> Endpoint | None:
    known = endpoints.available(role)
    return endpoints.get(name) if name else next(iter(known), None)


def get_pipeline(access: Access, pk: int) -> PipelineRun:
    """A pipeline of this benchmark, or 404; kept from who votes."""
    refuse_voter(access)
    rows = PipelineRun.objects.filter(benchmark=access.benchmark, pk=pk)
    related = ("benchmark", "created_by", "retriever__corpus_version")
    found = rows.select_related(*related).first()
    if found is None:
        raise Http404("No such pipeline.")
    return found


RUNS = RunPages(
    "pipeline",
    get=get_pipeline,
    verbs={"pause": verbs.pause, "resume": verbs.resume, "cancel": verbs.cancel},
    readers=READERS,
)
