"""Setting up runs of search agents: which queries, which agent, what they would take."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from annotate.models import Aspect
from corpus.lists import unused_name
from corpus.models import Benchmark, Passage, Query, RetrievalRun, RunComputation
from corpus.texts import tokens
from evaluation.agents.models import AgentItem, AgentRun
from evaluation.agents.protocol.asking import (
    AGENT,
    ANSWER,
    AgentSettings,
    Task,
    first_request,
    prompt_of,
)
from evaluation.agents.protocol.tools import ToolSettings
from kit.errors import Refused
from kit.runs.models import RunStatus, begin
from kit.runs.moves import note, resume_run, retry_items
from llm.endpoints import Endpoint, fence_key, in_role
from llm.ledger.accounts import asked_of, check_budget, check_sampling, open_account
from llm.prices import costs
from llm.profiles import likely_input, likely_thoughts, likely_tokens
from llm.requests import Usage

SEED: Final = 42
EACH: Final = 25
TASKS: Final = (
    "biology",
    "earth_science",
    "economics",
    "psychology",
    "robotics",
    "stackoverflow",
    "sustainable_living",
)
Draw = Callable[[Sequence[str], int], list[str]]


def fixed_sample(
    ids: Mapping[str, Sequence[str]], draw: Draw, each: int = EACH
) -> dict[str, list[str]]:
    """So many ids of every task, by (length, id), drawn task by task in the published order.

    `ids` stand in the order of the examples' files, on which the draw depends; `draw` is
    `random.Random(SEED).sample`: one generator, used up in this order. A task with no more ids
    than asked for gives all of them and draws nothing. Tasks beyond the published ones follow by
    name.
    """
    known = [task for task in TASKS if task in ids]
    found: dict[str, list[str]] = {}
    for task in [*known, *sorted(ids.keys() - set(known))]:
        all_ids = list(ids[task])
        is_drawn = len(all_ids) > each
        drawn = draw(all_ids, each) if is_drawn else []
        found[task] = sorted(drawn, key=lambda i: (len(i), i)) if is_drawn else all_ids
    return found


ROLE: Final = "agents"
MOST_ROUNDS: Final = 10
MOST_REPETITIONS: Final = 20
# Limits of what a run may be set to, both ends: k, tokens of a snippet, iterations, tokens.
LIMITS: Final[dict[str, tuple[int, int]]] = {
    "k": (1, 100),
    "snippet_tokens": (1, 32_000),
    "max_iterations": (1, 100),
    "max_tokens": (100, 200_000),
    "answer_tokens": (100, 200_000),
}
# What the paper's agents took on average, for forecasts of those that decide themselves; and
# tokens of what a model writes in a turn and as an answer, a guess.
_LIKELY_ROUNDS: Final = 6
_LIKELY_TURN: Final = 120
_LIKELY_ANSWER: Final = 800


def candidates(benchmark: Benchmark, *, domain: str = "", sample: bool = False) -> QuerySet[Query]:
    """Queries that an agent can be measured on: with a text, and aspects that say what counts.

    Of one domain or all; with `sample` the fixed one of 25 a domain (docs/protocol.md 3.4).
    """
    written = Exists(Aspect.objects.filter(query=OuterRef("pk"), removed_at=None))
    found = Query.objects.in_benchmark(benchmark).filter(written, domain__is_ready=True)
    found = found.exclude(text="")
    if sample:
        ids: dict[str, list[str]] = {}
        keys: dict[tuple[str, str], int] = {}
        for pk, name, qid in found.order_by("pk").values_list("pk", "domain__name", "qid"):
            ids.setdefault(name, []).append(qid)
            keys[name, qid] = pk
        drawn = fixed_sample(ids, random.Random(SEED).sample)  # noqa: S311
        chosen = [keys[name, qid] for name, qids in drawn.items() for qid in qids]
        found = found.filter(pk__in=chosen)
    if domain:
        found = found.filter(domain__name=domain)
    return found.select_related("domain__benchmark").order_by("pk")


def retrievers(benchmark: Benchmark) -> QuerySet[RetrievalRun]:
    """Retrieval runs with an index to ask: those that were computed here."""
    made = RunComputation.objects.filter(run=OuterRef("pk"))
    return RetrievalRun.objects.filter(Exists(made), benchmark=benchmark).order_by("name", "pk")


def start_agent(
    *,
    benchmark: Benchmark,
    queries: QuerySet[Query],
    retriever: RetrievalRun,
    endpoint: Endpoint,
    actor: User | None,
    name: str = "",
    rounds: int | None = None,
    repetitions: int = 1,
    budget_usd: Decimal | None = None,
    claimed: bool = False,
    **options: Any,
) -> AgentRun:
    """Make a run of an agent over these queries, and wake a worker.

    `rounds` of None lets the agent decide; `options` are k, snippet_tokens, tokenizer, documents,
    max_iterations, max_tokens, answer_tokens, temperature and reasoning_effort. `claimed` keeps it
    for the calling process. Raises Refused, naming the field.
    """
    endpoint = in_role(endpoint, ROLE)
    run = AgentRun(
        benchmark=benchmark,
        name=name,
        retrieval_run=retriever,
        repetitions=repetitions,
        config=checked_config(endpoint, rounds=rounds, **options),
        **asked_of(endpoint),
        budget_usd=budget_usd,
        created_by=actor,
    )
    with transaction.atomic():
        make_run(run, queries, verb="start search agent")
        begin(run, claimed=claimed)
    return run


def make_run(run: AgentRun, queries: QuerySet[Query], *, verb: str) -> None:
    """Store a new run with its queries and its account; in a transaction of the caller.

    Without a name it is named by its parts. Raises Refused, naming the field.
    """
    retriever, benchmark = run.retrieval_run, run.benchmark
    assert retriever is not None  # a new run has one
    if not 1 <= run.repetitions <= MOST_REPETITIONS:
        raise Refused(f"Repetitions are 1 to {MOST_REPETITIONS}.", field="repetitions")
    if not retrievers(benchmark).filter(pk=retriever.pk).exists():
        raise Refused(
            f"{retriever.name} was not computed here, so it has no index to search.",
            field="retriever",
        )
    chosen = list(queries)
    if not chosen:
        raise Refused("No query has aspects yet, which say what an answer needs.")
    check_budget(run.budget_usd, run.asked)
    taken = set(benchmark.agent_runs.values_list("name", flat=True))
    kind = "adaptive" if run.rounds is None else f"{run.rounds} rounds"
    name = run.name.strip()[:190] or f"{run.model}, {retriever.name}, {kind}"[:190]
    run.name, run.retriever = unused_name(name, taken), retriever.name
    run.total = len(chosen) * run.repetitions
    run.save()
    items = [
        AgentItem(run=run, query=query, repetition=number)
        for query in chosen
        for number in range(run.repetitions)
    ]
    AgentItem.objects.bulk_create(items, batch_size=1000)
    open_account(run)
    note(run, run.created_by, verb, queries=len(chosen), repetitions=run.repetitions)


def resume_agent(*, run: AgentRun, actor: User | None) -> None:
    """Go on where it stopped; a guest run is open again at once, and no worker takes it."""
    with transaction.atomic():
        resume_run(run=run, actor=actor, pause_reason="")
        if run.is_guest:
            run.move(RunStatus.RUNNING, error="")


def retry_failed(*, run: AgentRun, actor: User | None) -> None:
    """Run the failed queries of a finished or failed run again, and these alone.

    What was answered comes from the ledger and is not paid again. Raises Refused where none failed.
    """
    if run.is_guest:
        raise Refused("What an agent from outside left unanswered stays so: open another run.")
    items = run.items.all()
    retry_items(run, items, actor=actor, noun="query", nouns="queries", turns=[], answers=[])


def checked_config(
    endpoint: Endpoint | None, *, rounds: int | None, **options: Any
) -> dict[str, Any]:
    """What a run is frozen to, checked. Raises Refused, naming the field."""
    tools = {k: options.pop(k) for k in ("k", "snippet_tokens", "tokenizer", "documents")
             if k in options}  # fmt: skip
    if rounds is not None and not 1 <= rounds <= MOST_ROUNDS:
        raise Refused(f"Fixed rounds are 1 to {MOST_ROUNDS}.", field="rounds")
    found = AgentSettings(
        endpoint.name if endpoint else "",
        endpoint.default_model if endpoint else "",
        rounds=rounds,
        tools=ToolSettings(**tools),
        **options,
    )
    config = {**asdict(found), **asdict(found.tools)}
    del config["tools"], config["endpoint"], config["model"]
    for field, (low, high) in LIMITS.items():
        if not low <= config[field] <= high:
            raise Refused(f"{field} is a number from {low:,} to {high:,}.", field=field)
    tokens.check(config["tokenizer"])
    check_sampling(config["temperature"], config["reasoning_effort"])
    prompts = {role: prompt_of(role).sha256 for role in (AGENT, ANSWER)}
    return config | {"prompts": prompts, "prompt_version": prompt_of(AGENT).version}


def settings_of(run: AgentRun) -> AgentSettings:
    """The agent as it was frozen. Raises Refused where a prompt changed since."""
    config = dict(run.config)
    prompts = config.pop("prompts")
    if any(prompt_of(role).sha256 != digest for role, digest in prompts.items()):
        raise Refused("A prompt changed since this run was made; start a new run.")
    del config["prompt_version"]
    tools = tools_of(run)
    for name in asdict(tools):
        del config[name]
    return AgentSettings(run.endpoint, run.model, tools=tools, **config)


def tools_of(run: AgentRun) -> ToolSettings:
    """The tools as they were frozen."""
    return ToolSettings(**{name: run.config[name] for name in asdict(ToolSettings())})


def forecast(
    queries: QuerySet[Query],
    endpoint: Endpoint | None,
    *,
    rounds: int | None = None,
    repetitions: int = 1,
    k: int = 5,
    snippet_tokens: int = 2_048,
    reasoning_effort: str = "medium",
) -> dict[str, Any]:
    """What a run is likely to take; judging comes on top.

    Every turn sends all that was found before. Of an agent that decides itself six rounds are
    taken, the mean of the published ones. `usd` is None where the model has no known price.
    """
    chosen = list(queries)
    turns = _LIKELY_ROUNDS + 1 if rounds is None else rounds
    searches = _LIKELY_ROUNDS if rounds is None else rounds
    shown = k * min(snippet_tokens, mean_tokens(chosen)) + 60
    shape = AgentSettings("", "")
    firsts = [likely_input(first_request(Task(q.text), shape, fence_key())) for q in chosen]
    model = endpoint.default_model if endpoint else ""
    thoughts = likely_thoughts(model, reasoning_effort) // 8
    per_turn = sum(number * (shown + _LIKELY_TURN) for number in range(turns))
    given = sum(turns * first + per_turn for first in firsts)
    taken = len(firsts) * (searches * (_LIKELY_TURN + thoughts))
    if rounds is None:
        taken += len(firsts) * (_LIKELY_ANSWER + thoughts)
    else:
        evidence = sum(number * shown for number in range(1, rounds + 1))
        given += sum(rounds * first + evidence for first in firsts)
        taken += len(firsts) * rounds * (_LIKELY_ANSWER + thoughts)
    usage = Usage(input=repetitions * round(given), output=repetitions * taken)
    many = len(firsts) * repetitions
    calls = many * (turns + (rounds or 0))
    return {"queries": many, "calls": calls, **costs(usage, endpoint)}


def mean_tokens(queries: list[Query]) -> int:
    """Of a passage, over the newest of the domains that are asked in."""
    return likely_tokens("x" * Passage.objects.mean_length(queries))
