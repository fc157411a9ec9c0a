"""Screens of generated answers: runs, one answer, gradings, and the board of RAGAlign."""

from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.grading.services import close_sample, source_of
from annotate.grading.views import get_sample
from corpus.access import Access, enter, enter_unblinded, finder
from corpus.models import Passage, Role
from corpus.run_pages import PayingPages, asking_verbs
from evaluation.agents.views import READERS
from evaluation.rag import board as boards
from evaluation.rag import grading as grade_verbs
from evaluation.rag import people
from evaluation.rag import services as verbs
from evaluation.rag.alignment import BY_RULE, CELLS, GOLD, queries_in
from evaluation.rag.forms import DrawForm, GradeForm, RagForm
from evaluation.rag.models import (
    AnswerState,
    GradeRun,
    GradeState,
    RagAnswer,
    RagRun,
    RagSource,
    SourceKind,
)
from evaluation.rag.protocol.answering import Harness
from evaluation.rag.reading import VIEWS, board_of, generators
from evaluation.rag.running import texts_of
from evaluation.scores.services import GoldView
from kit import htmx
from kit.errors import Refused
from kit.lists.csvfile import named_table_response
from kit.lists.report_tables import ReportTable
from kit.lists.tables import Column, Filter, Table
from kit.numbers import number
from llm import endpoints
from llm.endpoints import NO_ENDPOINT, chosen_endpoint

_ROWS = 50
LIST = Table(
    search=("name", "model"),
    columns=(
        Column("name", "Run", order=("name",)),
        Column("model", "Generator", order=("model",)),
        Column("harness", "Answers", order=("harness",)),
        Column("sources", "Sources", numeric=True),
        Column("status", "Status", order=("status",)),
        Column("done", "Done", numeric=True),
        Column("at", "Started", order=("created_at",)),
    ),
    order=("-pk",),
)
ANSWERS = Table(
    filters=(
        Filter("source", "Source"),
        Filter("state", "State", choices=tuple(AnswerState.choices)),
    ),
    columns=(
        Column("query", "Query", order=("query__domain__name", "query_id", "pk")),
        Column("source", "Source", order=("source_id", "pk")),
        Column("answer", "Answer"),
        Column("accuracy", "Accuracy", order=("accuracy",), numeric=True),
        Column("f1", "F1", order=("f1",), numeric=True),
    ),
    order=("pk",),
)
GRADES = Table(
    filters=(Filter("state", "State", choices=tuple(GradeState.choices)),),
    columns=(
        Column("query", "Query", order=("answer__query_id", "pk")),
        Column("source", "Source", order=("answer__source_id", "pk")),
        Column("answer", "Answer"),
        Column("value", "Grade", order=("value",), numeric=True),
        Column("said", "What the grader said"),
    ),
    order=("pk",),
)


@require_GET
def rag_runs(request: HttpRequest, slug: str) -> HttpResponse:
    """Every run of a generator."""
    access = enter_unblinded(request.user, slug, *READERS)
    rows = access.benchmark.rag_runs.annotate(source_count=Count("sources"))
    table = LIST.read(rows, request.GET)
    return RUNS.index(request, access, "evaluation/rag/runs.html", table)


@require_http_methods(["GET", "POST"])
def rag_run_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Set a run up and start it."""
    access = enter(request.user, slug, Role.ADMIN)
    form = RagForm(request.POST if request.method == "POST" else None, benchmark=access.benchmark)
    return RUNS.begin(
        request,
        access,
        "evaluation/rag/new.html",
        form,
        lambda **given: start(access, given),
        missing="" if endpoints.available() else NO_ENDPOINT,
    )


@require_GET
def rag_forecast(request: HttpRequest, slug: str) -> HttpResponse:
    """What a run would take; a part of the page that sets one up."""
    access = enter(request.user, slug, Role.ADMIN)
    return RUNS.forecast(
        request,
        access,
        forecast_of(access, request.GET, len(request.GET.getlist("runs"))),
        what="a RAG run",
        list_name="RAG",
        counted="Queries with a true answer",
        about="Each source asks every query once. Sources that give the same passages share a "
        "call. Grading comes on top.",
    )


@require_GET
def rag_run(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The run monitor of a run with its answers, and who graded them."""
    access = enter_unblinded(request.user, slug, *READERS)
    run = get_run(access, pk)
    sources = [(str(each.pk), each.name) for each in run.sources.all()]
    more: dict[str, Any] = {"sources": sources, "grade_runs": run.grade_runs.all()}
    more |= {"samples": people.samples(run), "sample_close": "rag-sample-close"}
    if run.status == "done" and access.is_admin and not htmx.is_fragment(request):
        more |= {"draw_form": DrawForm(), "grade_form": GradeForm()}
        more["forecast"] = grade_forecast(run, request.GET)
    return RUNS.monitor(
        request,
        access,
        run,
        "evaluation/rag/run.html",
        table=ANSWERS,
        rows=run.answers.select_related("query__domain", "source"),
        choices={"source": sources},
        **more,
    )


@require_GET
def rag_answer(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One answer with the passages behind it, the true ones, and every grade."""
    access = enter_unblinded(request.user, slug, *READERS)
    answer = get_answer(access, pk)
    texts = texts_of(answer.run, [answer])[answer.source.corpus_version_id, answer.query.domain_id]
    known = Passage.objects.shown().filter(domain=answer.query.domain_id, pid__in=answer.passages)
    keys = dict(known.values_list("pid", "pk"))
    others = RagAnswer.objects.filter(query=answer.query_id, run=answer.run_id).exclude(pk=pk)
    truths = verbs.truths_of(access.benchmark, [answer.query], answer.run.harness)
    context = {
        "access": access,
        "answer": answer,
        "passages": [(pid, keys.get(pid), texts.get(pid, "")) for pid in answer.passages],
        "truths": truths[answer.query_id],
        "grades": answer.grades.select_related("run"),
        "others": others.select_related("source").order_by("source"),
    }
    return htmx.render(request, "evaluation/rag/answer.html", context)


@require_http_methods(["GET", "POST"])
def rag_grade(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Let a model grade the run's answers; to look at, what that would take."""
    access = enter(request.user, slug, Role.ADMIN)
    run = get_run(access, pk)
    if request.method != "POST":
        return RUNS.forecast(
            request,
            access,
            grade_forecast(run, request.GET),
            what="a grading",
            list_name="RAG",
            counted="Answers",
            new_url=RUNS.url(run),
        )
    form = GradeForm(request.POST)
    return GRADINGS.press(
        request,
        form,
        lambda **given: start_grading(access, run, given),
        said="The grading has begun.",
        back=RUNS.url(run),
    )


@require_POST
def rag_draw(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Let people judge some of the run's answers."""
    access = enter(request.user, slug, Role.ADMIN)
    run = get_run(access, pk)
    draw = partial(people.draw, access=access, run=run)
    said = "Experts of the domains are asked now."
    return htmx.press(request, DrawForm(request.POST), draw, said=said, back=RUNS.url(run))


@require_POST
def rag_sample_close(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Ask nobody about a sample any more."""
    access = enter(request.user, slug, Role.ADMIN)
    sample = get_sample(access, pk, *people.KINDS)
    back = RUNS.url(get_run(access, source_of(sample)))
    act = partial(close_sample, sample=sample, access=access)
    return htmx.attempt(request, act, back, "The sample is closed.")


@require_GET
def grade_run(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One grading with its grades."""
    access = enter_unblinded(request.user, slug, *READERS)
    run = get_grade_run(access, pk)
    return GRADINGS.monitor(
        request,
        access,
        run,
        "evaluation/rag/grading.html",
        table=GRADES,
        rows=run.grades.select_related("answer__query__domain", "answer__source"),
        failed=(GradeState.FAILED, GradeState.UNREADABLE),
    )


@require_GET
def rag_board(request: HttpRequest, slug: str) -> HttpResponse:
    """What a generator made of each system's passages, and whether retrieval foretells it."""
    access = enter_unblinded(request.user, slug, *READERS)
    context: dict[str, Any] = {"access": access, "generators": generators(access.benchmark)}
    if context["generators"]:
        run, found = chosen(access, request.GET)
        context |= {
            "run": run,
            "shown": found,
            "query": urlencode({"generator": run.pk, "outcome": found.outcome}),
        }
    return htmx.render(request, "evaluation/rag/board.html", context)


@require_GET
def rag_board_csv(request: HttpRequest, slug: str, name: str) -> HttpResponseBase:
    """One table of the board as a file."""
    access = enter_unblinded(request.user, slug, *READERS)
    return named_table_response(f"{slug}-rag", tables_of(access, request.GET), name)


@require_GET
def rag_cell(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The queries of one cell of RAGAlign."""
    access = enter_unblinded(request.user, slug, *READERS)
    source = get_source(access, pk)
    view, cell, queries = cell_of(access, source, request.GET)
    page = Paginator(queries, _ROWS).get_page(request.GET.get("page"))
    rows = RagAnswer.objects.filter(source=source, query__in=list(page.object_list))
    context = {
        "access": access,
        "source": source,
        "words": CELLS[cell],
        "gold": GOLD[view] if source.kind == SourceKind.RUN else BY_RULE,
        "page": page,
        "answers": rows.select_related("query__domain").order_by("query__domain__name", "query"),
        "asked": urlencode(
            {name: request.GET.get(name, "") for name in ("view", "cell", "outcome")}
        ),
    }
    return htmx.render(request, "evaluation/rag/cell.html", context)


def start(access: Access, given: dict[str, Any]) -> RagRun:
    """A run as a form or the API asks for it. Raises Refused."""
    given["endpoint"] = chosen_endpoint(given.pop("endpoint"), verbs.ROLE)
    return verbs.start_answers(
        benchmark=access.benchmark, actor=access.user, runs=list(given.pop("runs")), **given
    )


def start_grading(access: Access, run: RagRun, given: dict[str, Any]) -> GradeRun:
    """A grading as a form or the API asks for it. Raises Refused."""
    endpoint = chosen_endpoint(given.pop("endpoint"), grade_verbs.ROLE)
    return grade_verbs.start_grading(rag_run=run, endpoint=endpoint, actor=access.user, **given)


def forecast_of(access: Access, params: Any, runs: int) -> dict[str, Any]:
    """The forecast for what is chosen in the form; what cannot be read is left at its default."""
    endpoint = endpoints.asked_for(params.get("endpoint"), verbs.ROLE)
    harness = params.get("harness")
    harness = harness if harness in list(Harness) else Harness.SHORT.value
    k = str(params.get("k") or "")
    domain = params.get("domain") or ""
    return verbs.forecast(
        verbs.candidates(access.benchmark, harness=harness, domain=domain),
        endpoint,
        runs=runs,
        harness=harness,
        k=min(10 if (asked := number(k)) is None else asked, verbs.LIMITS["k"][1]),
        baselines=bool(params.get("baselines")),
        reasoning_effort=params.get("reasoning_effort") or "",
    )


def grade_forecast(run: RagRun, params: Any) -> dict[str, Any]:
    """What grading would take by whom the form or the address names, else the first grader."""
    endpoint = endpoints.asked_for(params.get("endpoint"), grade_verbs.ROLE)
    effort = params.get("reasoning_effort") or ""
    return grade_verbs.forecast(run, endpoint, reasoning_effort=effort)


def chosen(access: Access, params: Any) -> tuple[RagRun, boards.Shown]:
    """The generator that is asked for, by default the newest, with its board by the outcome that
    is. Raises Refused where nothing was answered."""
    known = generators(access.benchmark)
    if not known:
        raise Refused("No model has answered from retrieved passages here yet.")
    asked = [each for each in known if str(each.pk) == params.get("generator")]
    run = (asked or known)[0]
    return run, boards.shown(run, params.get("outcome") or "")


def tables_of(access: Access, params: Any) -> Sequence[ReportTable]:
    """The tables of the board that is asked for; none where nothing was answered yet."""
    return chosen(access, params)[1].tables if generators(access.benchmark) else ()


def cell_of(access: Access, source: RagSource, params: Any) -> tuple[GoldView, str, list[int]]:
    """(gold view, cell, its queries) that are asked for, by default misses that are correct after
    holes were filled; 404 where the board holds no such source."""
    view = next((each for each in VIEWS if each == params.get("view")), VIEWS[-1])
    cell = params.get("cell")
    cell = cell if cell in CELLS else "miss_correct"
    same = [each for each in generators(access.benchmark)
            if each.generator == source.run.generator]  # fmt: skip
    if not same:
        raise Http404("Nothing was answered yet.")
    board, outcome = board_of(same[0]), params.get("outcome")
    outcome = outcome if outcome in board.outcomes else next(iter(board.outcomes))
    if not board.is_binary(outcome):
        raise Http404("This outcome is neither right nor wrong.")
    rows = [row for row, each in enumerate(board.systems) if each.pk == source.pk]
    if not rows:
        raise Http404("Other answers of this system stand on the board: to more queries, or newer.")
    columns = queries_in(board, outcome, rows[0], view, cell)
    return view, cell, [board.queries[column][0] for column in columns]


get_run = finder(RagRun, "account", "created_by", unblinded=True)


get_source = finder(RagSource, at="run__benchmark")


get_answer = finder(RagAnswer, "source", "query__domain", at="run__benchmark")


get_grade_run = finder(GradeRun, "account", "created_by", "rag_run", unblinded=True)


RUNS = PayingPages(RagRun, get=get_run, verbs=asking_verbs(verbs.retry_failed), readers=READERS)
GRADINGS = PayingPages(
    GradeRun, get=get_grade_run, verbs=asking_verbs(grade_verbs.retry_failed), readers=READERS
)
