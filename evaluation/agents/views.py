"""Screens of search agents: runs, one trace, judging, and the board of retriever by agent."""

import json
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from corpus.access import Access, enter, enter_unblinded, finder, first_or_404
from corpus.lists import domain_choices
from corpus.models import Benchmark, Role
from corpus.run_pages import Kind, PayingPages, asking_verbs, runs_table
from evaluation.agents import board, guests
from evaluation.agents import judging as judge_verbs
from evaluation.agents import services as verbs
from evaluation.agents.forms import AgentForm, JudgeForm
from evaluation.agents.judging import trial_of
from evaluation.agents.models import (
    AgentItem,
    AgentRun,
    AgentState,
    JudgeRun,
    VerdictState,
)
from evaluation.agents.protocol.measures import GAMMA
from evaluation.agents.reading import judges, study
from evaluation.agents.trust.forms import BridgeForm
from evaluation.agents.trust.noise import tables_of
from kit import htmx
from kit.errors import Refused
from kit.lists.csvfile import csv_response, named_table_response
from kit.lists.tables import Column, Filter, Table
from kit.numbers import number
from llm import endpoints
from llm.endpoints import chosen_endpoint

READERS = (Role.ADMIN, Role.REVIEWER)
LIST = runs_table(
    "Run",
    Column("model", "Agent", order=("model",)),
    Column("retriever", "Retriever", order=("retriever",)),
    Column("rounds", "Rounds"),
    search=("name", "retriever", "model"),
)
ITEMS = Table(
    filters=(
        Filter("domain", "Domain", lookup="query__domain__name"),
        Filter("state", "State", choices=tuple(AgentState.choices)),
    ),
    columns=(
        Column("query", "Query", order=("query__domain__name", "query_id", "repetition")),
        Column("state", "State", order=("state",)),
        Column("rounds", "Rounds", order=("round_count",), numeric=True),
        Column("error", "What came up"),
    ),
    order=("pk",),
)
VERDICTS = Table(
    filters=(Filter("state", "State", choices=tuple(VerdictState.choices)),),
    columns=(
        Column("query", "Query", order=("query_id", "round", "pk")),
        Column("answer", "Answer"),
        Column("completeness", "Completeness", order=("completeness",), numeric=True),
        Column("quality", "Quality", order=("quality",), numeric=True),
        Column("said", "What the judge said"),
    ),
    order=("pk",),
)


@require_GET
def agent_runs(request: HttpRequest, slug: str) -> HttpResponse:
    """Every run of an agent, and the trials of judges."""
    access = enter_unblinded(request.user, slug, *READERS)
    return RUNS.index(
        request,
        access,
        RUNS.kind.template,
        LIST.read(RUNS.kind.rows(access.benchmark), request.GET),
        trials=access.benchmark.judge_runs.filter(agent_run=None, bridge_from=None)[:10],
        trial_form=JudgeForm(),
    )


@require_http_methods(["GET", "POST"])
def agent_run_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Set a run up and start it."""
    access = enter(request.user, slug, Role.ADMIN)
    missing = "No retrieval run was computed here yet: an agent needs an index."
    return RUNS.begin(
        request,
        access,
        "evaluation/agents/new.html",
        AgentForm(request.POST if request.method == "POST" else None, benchmark=access.benchmark),
        partial(start, access=access),
        has_endpoint=bool(endpoints.available()),
        missing="" if verbs.retrievers(access.benchmark).exists() else missing,
    )


@require_GET
def agent_run(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The run monitor of a run with its queries, and who judged it."""
    access = enter_unblinded(request.user, slug, *READERS)
    run = get_run(access, pk)
    return RUNS.monitor(
        request,
        access,
        run,
        "evaluation/agents/run.html",
        table=ITEMS,
        rows=run.items.select_related("query__domain"),
        choices={"domain": domain_choices(access.benchmark)},
        judge_runs=run.judge_runs.all(),
        judge_form=JudgeForm(auto_id="judge_%s"),
        tokens=guests.tokens_of(run) if run.is_guest else None,
        door_url=request.build_absolute_uri(reverse("api-guest-task")).removesuffix("task/"),
    )


@require_POST
def agent_tokens(request: HttpRequest, slug: str, pk: int) -> HttpResponseBase:
    """New tokens of a guest run as a file, which is all that will ever show them."""
    access = enter(request.user, slug, Role.ADMIN)
    run = get_run(access, pk)
    with htmx.refusal_shown(request):
        tokens = guests.issue_tokens(run=run, actor=access.user)
        name = f"{slug}-guest-{run.pk}"
        if request.POST.get("format") == "csv":
            rows = ([token[key] for key in guests.TOKEN_FIELDS] for token in tokens)
            return csv_response(f"{name}.csv", guests.TOKEN_FIELDS, rows)
        lines = "".join(f"{json.dumps(token, ensure_ascii=False)}\n" for token in tokens)
        response = HttpResponse(lines, content_type="application/x-ndjson")
        response["Content-Disposition"] = f'attachment; filename="{name}.jsonl"'
        return response
    return htmx.redirect(request, RUNS.url(run))


@require_GET
def agent_trace(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One query of a run: rounds as columns, aspects as rows, and its steps one by one."""
    access = enter_unblinded(request.user, slug, *READERS)
    item = get_item(access, pk)
    given = request.GET.get("step", "")
    step = 1 if (asked := number(given)) is None else asked
    turn = next((each for each in item.turns if each["round"] == step), None)
    others = AgentItem.objects.filter(query=item.query_id, run__benchmark=access.benchmark).exclude(
        pk=pk
    )
    context = {
        "access": access,
        "item": item,
        "study": study(item, turn),
        "turn": turn,
        "step": step,
        "last": len(item.turns),
        "others": others.select_related("run").order_by("run__name", "repetition")[:20],
    }
    return htmx.render(request, "evaluation/agents/trace.html", context)


@require_POST
def agent_judge(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Let a model judge the run's answers."""
    access = enter(request.user, slug, Role.ADMIN)
    return _judge(request, access, get_run(access, pk))


@require_POST
def judge_trial(request: HttpRequest, slug: str) -> HttpResponse:
    """Try a judge on answers of known order."""
    return _judge(request, enter(request.user, slug, Role.ADMIN), None)


@require_GET
def judge_run(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One judge run with its verdicts."""
    access = enter_unblinded(request.user, slug, *READERS)
    run = get_judge_run(access, pk)
    return JUDGES.monitor(
        request,
        access,
        run,
        "evaluation/agents/judge.html",
        table=VERDICTS,
        rows=run.verdicts.select_related("query__domain"),
        trial=trial_of(run) if run.is_trial else None,
        sheets=tables_of(run),
        bridge_form=BridgeForm() if access.is_admin and run.agent_run_id else None,
    )


@require_GET
def agent_board(request: HttpRequest, slug: str) -> HttpResponse:
    """Retriever by agent, under one judge."""
    access = enter_unblinded(request.user, slug, *READERS)
    judge, gamma = chosen(access.benchmark, request.GET)
    found = board.board_of(access.benchmark, judge, gamma=gamma)
    context = {
        "access": access,
        "judges": judges(access.benchmark),
        "judge": judge,
        "gamma": gamma,
        "sheets": board.tables(found, judge, gamma=gamma),
        "charts": board.charts(found),
        "query": urlencode({"judge": judge.pk if judge else "", "gamma": gamma}),
    }
    return htmx.render(request, "evaluation/agents/board.html", context)


@require_GET
def agent_board_csv(request: HttpRequest, slug: str, name: str) -> HttpResponseBase:
    """One table of the board as a file."""
    access = enter_unblinded(request.user, slug, *READERS)
    judge, gamma = chosen(access.benchmark, request.GET)
    found = board.board_of(access.benchmark, judge, gamma=gamma)
    return named_table_response(f"{slug}-agents", board.tables(found, judge, gamma=gamma), name)


def start(*, access: Access, **given: Any) -> AgentRun:
    """A run as a form or the API asks for it. Raises Refused."""
    benchmark = access.benchmark
    queries = verbs.candidates(benchmark, domain=given.pop("domain"), sample=given.pop("sample"))
    retriever = verbs.retrievers(benchmark).filter(pk=given.pop("retriever")).first()
    if retriever is None:
        raise Refused("Choose a retrieval run that was computed here.", field="retriever")
    who: dict[str, Any] = {"benchmark": benchmark, "retriever": retriever, "actor": access.user}
    name, guest = given.pop("endpoint"), given.pop("guest")
    if guest:
        del given["temperature"], given["reasoning_effort"]
        return guests.open_guest(queries=queries, agent=guest, **who, **given)
    endpoint = chosen_endpoint(name, verbs.ROLE)
    return verbs.start_agent(queries=queries, endpoint=endpoint, **who, **given)


def start_judge(access: Access, run: AgentRun | None, given: dict[str, Any]) -> JudgeRun:
    """A judge run as a form or the API asks for it. Raises Refused."""
    endpoint = chosen_endpoint(given.pop("endpoint"), judge_verbs.ROLE)
    return judge_verbs.start_judging(
        benchmark=access.benchmark, agent_run=run, endpoint=endpoint, actor=access.user, **given
    )


def forecast_of(access: Access, params: Any) -> dict[str, Any]:
    """The forecast for what is chosen in the form; what cannot be read is left at its default."""
    endpoint = endpoints.asked_for(params.get("endpoint"), verbs.ROLE)

    def whole(name: str, usual: int, high: int) -> int:
        text = str(params.get(name) or "")
        return min(number(text) or usual, high)

    queries = verbs.candidates(
        access.benchmark, domain=params.get("domain") or "", sample=bool(params.get("sample"))
    )
    if params.get("guest"):  # whose model is not asked here
        many = queries.count() * whole("repetitions", 1, verbs.MOST_REPETITIONS)
        return {"queries": many, "calls": 0, "input_tokens": 0, "output_tokens": 0, "usd": 0}
    return verbs.forecast(
        queries,
        endpoint,
        rounds=whole("rounds", 0, verbs.MOST_ROUNDS) or None,
        repetitions=whole("repetitions", 1, verbs.MOST_REPETITIONS),
        k=whole("k", 5, 100),
        snippet_tokens=whole("snippet_tokens", 2048, 32_000),
        reasoning_effort=params.get("reasoning_effort") or "",
    )


def chosen(benchmark: Benchmark, params: Any) -> tuple[JudgeRun | None, float]:
    """The judge and gamma that a board is asked for; by default the newest judge and .05."""
    known = judges(benchmark)
    judge = next((each for each in known if str(each.pk) == params.get("judge")), None)
    try:
        gamma = float(params.get("gamma") or GAMMA)
    except ValueError:
        gamma = GAMMA
    return judge or next(iter(known), None), gamma if 0 <= gamma <= 1 else GAMMA


get_run = finder(AgentRun, "account", "created_by", "retrieval_run", unblinded=True)


def get_item(access: Access, pk: int) -> AgentItem:
    """A query of an agent run, or 404."""
    rows = AgentItem.objects.filter(run__benchmark=access.benchmark, pk=pk)
    rows = rows.select_related("run__benchmark", "run__retrieval_run", "query__domain")
    return first_or_404(rows, "trace")


get_judge_run = finder(JudgeRun, "account", "created_by", "agent_run", unblinded=True)


def _judge(request: HttpRequest, access: Access, run: AgentRun | None) -> HttpResponse:
    return JUDGES.press(
        request,
        JudgeForm(request.POST),
        lambda **given: start_judge(access, run, given),
        said="The judge has begun.",
        back=RUNS.url(run) if run else reverse("agent-runs", args=[access.benchmark.slug]),
    )


RUNS = PayingPages(
    AgentRun,
    kind=Kind(
        LIST,
        "evaluation/agents/runs.html",
        lambda benchmark: benchmark.agent_runs.select_related("account"),
        start,
        forecast_of,
        {
            "what": "a search agent",
            "list_name": "Search agents",
            "counted": "Queries, with repetitions",
            "about": "Each turn sends all that was found before. Of an agent that decides itself "
            "six rounds are assumed. Judging comes on top.",
        },
    ),
    get=get_run,
    verbs=asking_verbs(verbs.retry_failed)
    | {
        "resume": verbs.resume_agent,
        "revoke": guests.revoke_tokens,
        "close": guests.close_run,
    },
    said={"revoke": "No token of this run opens anything any more.", "close": "The run is closed."},
    readers=READERS,
)
JUDGES = PayingPages(
    JudgeRun, get=get_judge_run, verbs=asking_verbs(judge_verbs.retry_failed), readers=READERS
)
