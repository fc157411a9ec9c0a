"""Driving a debate run: its rule (debate.runs.kinds) yields questions, the gateways answer them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from corpus.models import Passage, Query
from debate import dream
from debate.models import Debate, DebateRun, Rehearing
from debate.runs.kinds import Rule, rule_of
from debate.runs.outcomes import Outcome, store_outcomes
from debate.runs.prompts import PromptGone
from kit.errors import Refused
from kit.runs.models import RunGroup
from llm.errors import LLMError, Refusal, worst
from llm.gateway import Gateways
from llm.pump import Pump as CallPump
from llm.pump import carry
from llm.requests import Reply, Request

NO_TEXT = "The passage's text is not loaded."


class PairRow(Protocol):
    """A row that asks about a pair: a debate, a hint, a trial."""

    @property
    def pk(self) -> Any: ...
    @property
    def query(self) -> Query: ...
    @property
    def passage(self) -> Passage: ...


class PairCalls:
    """Asks what the rules want to know, and remembers what the asking met with.

    `subject` begins the name under which the calls are in the ledger; `instead`, a model choice of
    the run's configuration, is asked where a model would not answer. `more` is what
    its Pair holds beside query, answers and passage.
    """

    def __init__(
        self,
        debate: PairRow,
        *,
        gateways: Gateways,
        max_tokens: int,
        subject: str = "debate",
        instead: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        self._more = more or {}
        self._debate, self._gateways, self._max_tokens = debate, gateways, max_tokens
        self._subject, self._instead = subject, instead
        self._replaced: dict[tuple[int, str], str] = {}
        self._calls: dict[tuple[int, str], int] = {}
        self._errors: list[LLMError] = []

    async def verdict(self, rule: Rule, key: bytes) -> Outcome:
        """Put the pair through the rule to its verdict."""
        debate = self._debate
        if debate.passage.text is None:
            return Outcome(debate.pk, dream.Verdict("failed", detail=NO_TEXT))
        pair = dream.Pair(
            query=debate.query.text,
            answers=tuple(debate.query.answers),
            passage=debate.passage.text,
            **self._more,
        )
        verdict = await carry(rule(pair, key), self._ask)
        failure = worst(self._errors)
        if failure and verdict.status in ("failed", "refused"):
            verdict = replace(verdict, detail=failure.words)
        return Outcome(debate.pk, verdict, self._calls, failure, self._replaced)

    async def _ask(self, request: dream.Question) -> dream.Answer:
        subject = f"{self._subject}:{self._debate.pk}:r{request.round}:{request.agent.name}"
        try:
            reply = await self._answer(request, subject)
        except LLMError as error:
            self._errors.append(error)
            return error
        self._calls[request.round, request.agent.name] = reply.call_id
        return request.answer(reply)

    async def _answer(self, request: dream.Question, subject: str) -> Reply:
        """The model's reply, or that of the one which is asked in its place."""
        asked = self._bounded(request)
        try:
            return await self._gateways.complete(asked, subject)
        except Refusal:
            if self._instead is None:
                raise
        model, endpoint = self._instead["model"], self._instead["endpoint"]
        reply = await self._gateways.complete(
            replace(asked, model=model, endpoint=endpoint), subject
        )
        self._replaced[request.round, request.agent.name] = model
        return reply

    def _bounded(self, request: dream.Question) -> Request:
        """The request with a longest answer: no budget can be kept without one."""
        asked = request.as_llm_request()
        return asked if asked.max_tokens else replace(asked, max_tokens=self._max_tokens)


PROMPT_CHANGED = "The prompt changed since this run was made; start a new run."


class Pump(CallPump[Debate, Outcome]):
    """One worker's drive of its share of a debate run."""

    run: DebateRun
    words = ("pair", "pairs")

    def prepare(self) -> None:
        """The rule that the run was made with."""
        try:
            self.rule = rule_of(self.run)
        except PromptGone:
            raise Refused(PROMPT_CHANGED) from None

    def read_group(self, group: RunGroup) -> Sequence[Debate]:
        """Waiting debates with what their rule reads."""
        waiting = group.within(self.run.waiting_items())
        found = list(waiting.select_related("query", "passage", "aspect"))
        self.more: dict[int, dict[str, Any]] = {
            each.pk: {"aspect": each.aspect.content} for each in found if each.aspect is not None
        }
        for pk, heard in hear(found).items() if self.run.reheard_of_id else ():
            self.more.setdefault(pk, {}).update(heard)
        return found

    async def work(self, item: Debate, gateways: Gateways) -> Outcome:
        """Put the pair through the rule to its verdict."""
        calls = PairCalls(
            item,
            gateways=gateways,
            max_tokens=self.run.max_tokens,
            instead=self.run.config.get("instead"),
            more=self.more.get(item.pk),
        )
        outcome = await calls.verdict(self.rule, self.key)
        if item.aspect is None:
            return outcome
        return replace(outcome, asked=(item.aspect.content, item.aspect.version))

    def store(self, results: Sequence[Outcome]) -> int:
        """Labels, cases and turns of a group."""
        return store_outcomes(run=self.run, outcomes=results)


def hear(debates: Sequence[Debate]) -> Mapping[int, dict[str, Any]]:
    """By debate what its Pair holds where a case is debated again: the positions that were before
    people and every vote so far, of which labels and words alone (docs/protocol.md X07)."""
    own = list(Rehearing.objects.filter(debate__in=debates).select_related("case"))
    heard: dict[int, list[tuple[int, tuple[int, str]]]] = defaultdict(list)
    rows = Rehearing.objects.filter(case__in={each.case_id for each in own}).order_by("number")
    said = ("case", "number", "vote__label", "vote__reason")
    for case, number, label, reason in rows.values_list(*said):
        heard[case].append((number, (label or 0, reason)))
    return {
        each.debate_id: {
            "heard": tuple(say for number, say in heard[each.case_id] if number <= each.number),
            "before": tuple(_turn(row) for row in each.case.snapshot.get("positions") or ()),
        }
        for each in own
    }


def _turn(position: Mapping[str, Any]) -> dream.Turn:
    return dream.Turn(
        round=position.get("round") or 1,
        agent=position["agent"],
        stance=position.get("stance") or "",
        response=position.get("response") or None,
        reason=position.get("reason") or "",
    )
