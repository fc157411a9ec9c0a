"""One pair, carried between its rule (debate.kinds) and the gateways (llm.gateways)."""

import asyncio
from dataclasses import replace
from typing import Any, Protocol

from corpus.models import Passage, Query
from debate import dream
from debate.kinds import Rule
from debate.services.outcomes import Outcome
from llm.errors import LLMError
from llm.failures import Failure, read_failure, worst
from llm.gateways import Gateways
from llm.requests import Request

NO_TEXT = "The passage's text is not loaded."


class Heard(Protocol):
    """A row whose pair is heard: a debate, or another that asks about a pair."""

    @property
    def pk(self) -> Any: ...
    @property
    def query(self) -> Query: ...
    @property
    def passage(self) -> Passage: ...


class Hearing:
    """Asks what the rules want to know, and remembers what the asking met with.

    `subject` begins the name under which the calls stand in the ledger.
    """

    def __init__(
        self, debate: Heard, *, gateways: Gateways, max_tokens: int, subject: str = "debate"
    ) -> None:
        self._debate, self._gateways, self._max_tokens = debate, gateways, max_tokens
        self._subject = subject
        self._calls: dict[tuple[int, str], int] = {}
        self._errors: list[LLMError] = []
        self._heard = False

    async def hold(self, rule: Rule, key: bytes) -> Outcome:
        """Put the pair through the rule to its verdict."""
        debate = self._debate
        if debate.passage.text is None:
            return Outcome(debate.pk, dream.Verdict("failed", detail=NO_TEXT))
        pair = dream.Pair(
            query=debate.query.text,
            answers=tuple(debate.query.answers),
            passage=debate.passage.text,
        )
        verdict = await self._carry(rule.begin(pair, key))
        failure = self._failure()
        if failure and verdict.status == "failed":
            verdict = replace(verdict, detail=failure.words)
        return Outcome(debate.pk, verdict, self._calls, failure, heard=self._heard)

    async def _carry(self, steps: dream.Steps) -> dream.Verdict:
        """Carry requests and answers back and forth, a round at a time."""
        try:
            requests = next(steps)
            while True:
                answers = await asyncio.gather(*map(self._ask, requests))
                requests = steps.send(list(answers))
        except StopIteration as end:
            verdict: dream.Verdict = end.value
            return verdict

    async def _ask(self, request: dream.Asked) -> dream.Answer:
        subject = f"{self._subject}:{self._debate.pk}:r{request.round}:{request.agent.name}"
        try:
            reply = await self._gateways.complete(self._bounded(request), subject)
        except LLMError as error:
            self._errors.append(error)
            return error
        self._calls[request.round, request.agent.name] = reply.call_id
        self._heard = self._heard or not reply.replayed
        return request.answer(reply)

    def _bounded(self, request: dream.Asked) -> Request:
        """The request with a longest answer: no budget can be kept without one."""
        asked = request.as_llm_request()
        return asked if asked.max_tokens else replace(asked, max_tokens=self._max_tokens)

    def _failure(self) -> Failure | None:
        if not self._errors:
            return None
        error = worst(self._errors)
        endpoint = self._gateways.endpoint(error.endpoint)
        return read_failure(self._errors, endpoint=endpoint, model=error.model)
