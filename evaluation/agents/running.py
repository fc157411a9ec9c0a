"""Driving a run of search agents: their rule asks models and the index, many queries at a time."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from corpus.computing.searching import Payer, Searcher
from corpus.models import Domain
from corpus.versions.excluded import excluded_in
from corpus.versions.services import stored
from evaluation.agents.models import AgentItem, AgentRun, AgentState
from evaluation.agents.protocol.asking import Task
from evaluation.agents.protocol.loop import MAX_ITERATIONS, Trace, search_agent
from evaluation.agents.protocol.measures import round_count
from evaluation.agents.protocol.tools import SEARCH, Found, Hit, Lookup, ToolFault, Use
from evaluation.agents.services import settings_of
from kit.errors import Refused
from kit.runs.models import RunGroup
from llm.errors import LLMError
from llm.gateway import Gateways
from llm.pump import Pump, carry
from llm.requests import Reply, Request


@dataclass(frozen=True)
class Job:
    """A waiting query with its index, and then with its trace; or why there is none."""

    row: AgentItem
    task: Task
    searcher: Searcher
    trace: Trace | None = None
    failure: LLMError | None = None


class AgentPump(Pump[Job, Job]):
    """One worker's drive of its share of an agent run."""

    run: AgentRun
    words = ("query", "queries")

    def prepare(self) -> None:
        """What every query is run with."""
        self.settings = settings_of(self.run)
        if self.run.retrieval_run is None:
            raise Refused(f"The retrieval run {self.run.retriever} is gone.")
        self._searchers: dict[int, Searcher] = {}
        # Searching holds a processor for milliseconds: never in the thread of calls.
        self._search = ThreadPoolExecutor(2, thread_name_prefix="agent-search")

    def read_group(self, group: RunGroup) -> Sequence[Job]:
        """Waiting queries with what they exclude, and the index of their domain."""
        rows = list(group.within(self.run.waiting_items()).select_related("query__domain"))
        run = self.run.retrieval_run
        assert run is not None  # see prepare
        version = stored(self.run.benchmark, run.corpus_version_id)
        queries = [each.query for each in rows]
        excluded = excluded_in(version, queries) if version else {}
        return [
            Job(
                row,
                Task(row.query.text, frozenset(excluded.get(row.query_id, ())), row.repetition),
                self._searcher(row.query.domain),
            )
            for row in rows
        ]

    async def work(self, item: Job, gateways: Gateways) -> Job:
        """Carry one query through."""
        steps = search_agent(item.task, self.settings, self.key)
        trace = await carry(steps, lambda asked: self._answer(asked, item, gateways))
        return replace(item, trace=trace)

    async def _answer(
        self, asked: Request | Lookup, item: Job, gateways: Gateways
    ) -> Reply | Found:
        if isinstance(asked, Lookup):
            return await self._look_up(asked, item, gateways)
        return await gateways.complete(asked, f"{asked.role}:{item.row.pk}")

    async def _look_up(self, asked: Lookup, item: Job, gateways: Gateways) -> Found:
        """What the index holds; its fault is the tool's output, a model's ends the query."""
        search = partial(ranked, item.searcher, asked, item.task.excluded)
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._search, search)
            return await gateways.in_database(partial(hits, item.searcher, found))
        except Refused as refusal:
            return ToolFault(refusal.message)

    def store(self, results: Sequence[Job]) -> int:
        """Traces of a group."""
        for each in results:
            store_trace(each.row, each.trace, each.failure)
        return len(results)

    def _searcher(self, domain: Domain) -> Searcher:
        if domain.pk not in self._searchers:
            run = self.run.retrieval_run
            assert run is not None  # see prepare
            payer = Payer(self.run.account, subject=f"agent-search:{self.run.pk}")
            self._searchers[domain.pk] = Searcher(
                run, domain, self.settings.tools.k, payer=payer, step=lambda _: self._share.keep()
            )
        return self._searchers[domain.pk]


def ranked(searcher: Searcher, asked: Lookup, excluded: Collection[str]) -> dict[str, float | None]:
    """The ids that a look-up is about, the best first, with their scores. Raises what
    `Searcher.search` does."""
    if asked.tool != SEARCH:
        return {asked.text: None}
    return dict(searcher.search(asked.text, excluded=excluded))


def hits(searcher: Searcher, found: Mapping[str, float | None]) -> list[Hit]:
    """These documents with their texts; unknown ids are left out."""
    texts = searcher.texts(list(found))
    return [Hit(pid, score, texts[pid]) for pid, score in found.items() if pid in texts]


def store_trace(row: AgentItem, trace: Trace | None, failure: LLMError | None = None) -> None:
    """What an agent did, or why it failed; in a transaction of the caller."""
    if trace is None:
        row.state = AgentState.FAILED
        row.error = failure.words if failure else "The agent gave no trace."
    else:
        is_stopped = trace.status == MAX_ITERATIONS
        row.state = AgentState.MAX_ITERATIONS if is_stopped else AgentState.FINISHED
        row.turns, row.answers = turns_of(trace), answers_of(trace)
        row.round_count = round_count(row.rounds)
        row.error = ""
    row.save()


def turns_of(trace: Trace) -> list[dict[str, Any]]:
    """The turns as they are kept: ids, not texts; the transcript is in the ledger."""
    return [
        {
            "round": turn.round,
            "text": turn.text,
            "call": turn.call,
            "uses": [kept(use) for use in turn.uses],
        }
        for turn in trace.turns
    ]


def kept(use: Use) -> dict[str, Any]:
    """The use of a tool as it is kept."""
    return {
        "id": use.call_id,
        "tool": use.tool,
        "arguments": use.arguments,
        "text": use.text,
        "docids": list(use.docids),
        "scores": list(use.scores),
        "fault": use.fault,
    }


def answers_of(trace: Trace) -> list[dict[str, Any]]:
    """The answers as they are kept."""
    return [
        {
            "round": each.round,
            "text": each.text,
            "confidence": each.confidence,
            "call": each.call,
        }
        for each in trace.answers
    ]
