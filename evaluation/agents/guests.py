"""Guest runs: an agent from outside searches by tokens and is measured as ours (docs/agents.md).

A token opens the tools of one query in one repetition. Every call is a round of the trace, whose
row is locked while the call takes its place in it: two calls at once do not pass the limit. The
index is asked in between, so that nobody waits for a search.
"""

import secrets
import threading
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from corpus.benchmarks.archive import refuse_archived
from corpus.computing.searching import Payer, Searcher
from corpus.models import Benchmark, Query, RetrievalRun
from corpus.versions.excluded import excluded_in
from corpus.versions.services import stored
from evaluation.agents.models import AgentItem, AgentRun, AgentState
from evaluation.agents.protocol.asking import citations, read_answer
from evaluation.agents.protocol.loop import use_tools
from evaluation.agents.protocol.measures import round_count
from evaluation.agents.protocol.tools import Found, Lookup, ToolFault, Use, definitions
from evaluation.agents.running import hits, kept, ranked
from evaluation.agents.services import checked_config, make_run, tools_of
from kit.account.links import digest
from kit.errors import Refused
from kit.runs.models import RunStatus
from kit.runs.moves import move_run, note
from llm.errors import LLMError
from llm.parsing import UNSTORABLE
from llm.requests import ToolCall

# Found in a file, it says what it opens.
_PREFIX: Final = "assay_guest_"
TOKEN_FIELDS: Final = ("query_id", "domain", "repetition", "query", "token")
_CONFIG: Final = ("rounds", "k", "snippet_tokens", "tokenizer", "documents", "max_iterations")
# Characters of one call's arguments: more than any query, and little beside a body.
LONGEST: Final = 20_000
_UNFINISHED: Final = "This call was not finished."
_OVER: Final = "This query is over: nothing more can be searched or handed in for it."
# Open indexes that a process keeps, by run and domain.
_KEPT: Final = 16
_searchers: dict[tuple[int, int], Searcher] = {}
_opening = threading.Lock()


class Away(Exception):
    """The retriever's model does not answer: the call was not counted."""


def open_guest(
    *,
    benchmark: Benchmark,
    queries: QuerySet[Query],
    retriever: RetrievalRun,
    agent: str,
    actor: User | None,
    name: str = "",
    rounds: int | None = None,
    repetitions: int = 1,
    budget_usd: Decimal | None = None,
    **options: Any,
) -> AgentRun:
    """Let an agent from outside, of this name, answer these queries; tokens are issued apart.

    `options` are k, snippet_tokens, tokenizer, documents and, for rounds of None, max_iterations:
    calls at most. The budget is for searches that ask a model. Raises Refused, naming the field.
    """
    if not agent.strip():
        raise Refused("Name the agent from outside.", field="guest")
    config = checked_config(None, rounds=rounds, **options)
    run = AgentRun(
        benchmark=benchmark,
        name=name,
        retrieval_run=retriever,
        repetitions=repetitions,
        config={key: config[key] for key in _CONFIG} | {"guest": True},
        endpoint="",
        model=agent.strip()[:120],
        budget_usd=budget_usd,
        created_by=actor,
        status=RunStatus.RUNNING,
        started_at=timezone.now(),
    )
    with transaction.atomic():
        make_run(run, queries, verb="open guest run")
    return run


def issue_tokens(*, run: AgentRun, actor: User | None) -> list[dict[str, Any]]:
    """A new token for every query that is not over, which nobody can read again; those from before
    open nothing any more. Raises Refused where the run is none that takes guests."""
    with transaction.atomic():
        _locked_run(run)
        run.items.update(token_hash=None)
        waiting = run.waiting_items().select_related("query__domain").order_by("pk")
        tokens = {item: _PREFIX + secrets.token_urlsafe(32) for item in waiting}
        for item, token in tokens.items():
            item.token_hash = digest(token)
        AgentItem.objects.bulk_update(list(tokens), ["token_hash"], batch_size=500)
        note(run, actor, "issue guest tokens", tokens=len(tokens))
    return [
        {
            "query_id": item.query.qid,
            "domain": item.query.domain.name,
            "repetition": item.repetition,
            "query": item.query.text,
            "token": token,
        }
        for item, token in tokens.items()
    ]


def revoke_tokens(*, run: AgentRun, actor: User | None) -> None:
    """No token of the run opens anything any more; it stays open, and new ones can be issued."""
    with transaction.atomic():
        _locked_run(run)
        revoked = run.items.exclude(token_hash=None).update(token_hash=None)
        note(run, actor, "revoke guest tokens", tokens=revoked)


def close_run(*, run: AgentRun, actor: User | None) -> None:
    """End the run; queries that were not answered in full have failed. Raises Refused."""
    with transaction.atomic():
        _locked_run(run)
        move_run(
            run,
            RunStatus.DONE,
            actor=actor,
            verb="close guest run",
            done=run.total,
            ended_at=timezone.now(),
        )
        waiting, failed = run.waiting_items(), AgentState.FAILED
        waiting.exclude(answers=[]).update(state=failed, error="Not every round was answered.")
        waiting.update(state=failed, error="Never answered.")


def tokens_of(run: AgentRun) -> dict[str, int]:
    """How many queries have a token, were asked about, and are answered."""
    items, answered = run.items.all(), (AgentState.FINISHED, AgentState.MAX_ITERATIONS)
    return {
        "issued": items.exclude(token_hash=None).count(),
        "used": items.exclude(turns=[], answers=[]).count(),
        "answered": items.filter(state__in=answered).count(),
    }


def guest_of(token: str) -> AgentItem | None:
    """The query that a token opens."""
    rows = AgentItem.objects.filter(token_hash=digest(token))
    related = ("run__benchmark", "run__account", "run__retrieval_run", "query__domain")
    return rows.select_related(*related).first()


def task_of(item: AgentItem) -> dict[str, Any]:
    """What an agent is to do, within which limits, and what is left of them."""
    run = item.run
    is_open = run.status == RunStatus.RUNNING and item.state == AgentState.WAITING
    return {
        "query": item.query.text,
        "is_open": is_open,
        "rounds": run.rounds,
        "calls_left": (_most(run) - len(item.turns)) * is_open,
        "answers_left": ((run.rounds or 1) - len(item.answers)) * is_open,
        **{name: run.config[name] for name in ("k", "snippet_tokens", "tokenizer", "documents")},
        "tools": list(definitions(tools_of(run))),
    }


def call_tool(item: AgentItem, tool: str, arguments: str) -> Use:
    """One call of a tool, a round of its own in the trace: what is wrong with it is its output.

    `arguments` are a JSON text. Raises Refused where no call is left or can be kept, and Away.
    """
    if len(tool + arguments) > LONGEST or UNSTORABLE.search(tool + arguments):
        raise Refused(f"Arguments of a tool are at most {LONGEST:,} characters, none of them NUL.")
    _refuse_closed(item.run)
    round = _take_place(item, tool, arguments)
    call = ToolCall(id=f"call_{round}", name=tool, arguments=arguments)
    excluded = _excluded(item)
    steps = use_tools([call], tools_of(item.run), excluded)
    try:
        (asked,) = next(steps)
        steps.send([_look_up(item, asked, excluded)])
    except StopIteration as end:
        (use,) = end.value
    except LLMError as error:
        _give_back(item, round)
        raise Away("The retriever does not answer now; the call was not counted.") from error
    with transaction.atomic():
        _keep(_locked(item), round, use)
    return use


def hand_in(
    item: AgentItem, *, text: str, cited: Sequence[str] = (), confidence: float | None = None
) -> AgentItem:
    """The answer, or that of the next round where they are fixed; the last one ends the query, and
    that of the last query the run.

    The text is read as our own agent's; ids that are cited beside it are added to it in brackets.

    Raises Refused where all is handed in.
    """
    said = read_answer(text, 0)
    beside = [each for each in dict.fromkeys(cited) if each not in citations(said.text)]
    with transaction.atomic():
        # In this order, as everywhere: first the run, then its queries.
        run = AgentRun.objects.select_for_update(no_key=True).get(pk=item.run_id)
        _refuse_closed(run)
        row = _locked(item)
        fixed = run.rounds
        round = len(row.answers) + 1 if fixed else max(1, len(row.turns))
        whole = " ".join([said.text, *(f"[{each}]" for each in beside)])
        stated = said.confidence if confidence is None else confidence
        row.answers.append({"round": round, "text": whole, "confidence": stated, "call": 0})
        if len(row.answers) == (fixed or 1):
            is_stopped = fixed is None and len(row.turns) >= _most(run)
            row.state = AgentState.MAX_ITERATIONS if is_stopped else AgentState.FINISHED
            row.round_count = round_count(row.rounds)
        row.save(update_fields=["answers", "state", "round_count"])
        if row.state != AgentState.WAITING:
            AgentRun.objects.filter(pk=run.pk).update(done=F("done") + 1)
            if not run.waiting_items().exists():
                run.finish()
    item.answers, item.state = row.answers, row.state
    return item


def _take_place(item: AgentItem, tool: str, arguments: str) -> int:
    """The round of a call that begins now, which its trace shows from here on. Raises Refused."""
    with transaction.atomic():
        row = _locked(item)
        round, answered, run = len(row.turns) + 1, len(row.answers), item.run
        if run.rounds is not None and round <= answered:
            raise Refused(
                f"The answer after round {answered} is handed in, so the search is over: hand in "
                "the answers that are left."
            )
        if run.rounds is not None and round > answered + 1:
            raise Refused(f"Hand in the answer after round {answered + 1} first.")
        if round > _most(run):
            raise Refused(f"All {_most(run)} calls are made. Hand in the answer.")
        begun = Use(f"call_{round}", tool, arguments, "", fault=_UNFINISHED)
        row.turns.append({"round": round, "text": "", "call": 0, "uses": [kept(begun)]})
        row.save(update_fields=["turns"])
    return round


def _keep(row: AgentItem, round: int, use: Use) -> None:
    row.turns[round - 1]["uses"] = [kept(use)]
    row.save(update_fields=["turns"])


def _give_back(item: AgentItem, round: int) -> None:
    """Take a call that came to nothing out of the trace, unless there is a later one."""
    with transaction.atomic():
        row = _locked(item)
        if len(row.turns) == round:
            row.turns.pop()
            row.save(update_fields=["turns"])


def _look_up(item: AgentItem, asked: Lookup, excluded: set[str]) -> Found:
    """What the index holds, or why it cannot be asked."""
    try:
        searcher = _searcher(item)
        return hits(searcher, ranked(searcher, asked, excluded))
    except Refused as refusal:
        return ToolFault(refusal.message)


def _searcher(item: AgentItem) -> Searcher:
    """The open index; a process opens it once, for all agents of the run. Raises Refused."""
    run, domain = item.run, item.query.domain
    if run.retrieval_run is None:
        raise Refused(f"The retrieval run {run.retriever} is gone.")
    key = run.pk, domain.pk
    found = _searchers.get(key)
    if found is None:
        with _opening:
            found = _searchers.get(key)
            if found is None:
                payer, k = Payer(run.account, subject=f"agent-search:{run.pk}"), tools_of(run).k
                found = Searcher(run.retrieval_run, domain, k, payer=payer, step=lambda _: None)
                _searchers[key] = found
            while len(_searchers) > _KEPT:
                del _searchers[next(iter(_searchers))]
    return found


def _excluded(item: AgentItem) -> set[str]:
    run = item.run.retrieval_run
    version = stored(item.run.benchmark, run.corpus_version_id) if run else None
    return set(excluded_in(version, [item.query]).get(item.query_id, ())) if version else set()


def _locked(item: AgentItem) -> AgentItem:
    """The row, locked; raises Refused where it is over or its token was revoked meanwhile."""
    rows = AgentItem.objects.select_for_update(no_key=True)
    row = rows.filter(pk=item.pk, token_hash=item.token_hash, state=AgentState.WAITING).first()
    if row is None:
        raise Refused(_OVER)
    return row


def _locked_run(run: AgentRun) -> None:
    """Lock a guest run that is open; raises Refused for any other."""
    AgentRun.objects.select_for_update(no_key=True).get(pk=run.pk)
    run.refresh_from_db(fields=["status"])
    if not run.is_guest:
        raise Refused("A model of ours searches in this run: it has no tokens, and ends by itself.")
    _refuse_closed(run)


def _refuse_closed(run: AgentRun) -> None:
    refuse_archived(run.benchmark)
    if run.status != RunStatus.RUNNING:
        raise Refused(f"This run is {run.get_status_display().lower()}: it takes no guests now.")


def _most(run: AgentRun) -> int:
    """Calls at most, which is rounds."""
    most: int = run.config["max_iterations"] if run.rounds is None else run.rounds
    return most
