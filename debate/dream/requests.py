"""What a debate asks for: a turn, and its one repair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from llm.requests import Message, Reply, Request

from .prompting import adjudication_messages, repair_messages, turn_messages
from .turns import ADJUDICATION, SCHEMA, SCHEMA_NAME
from .types import Agent, Config, Pair, Turn


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One turn to be asked of one agent; `repair` marks the second asking."""

    round: int
    agent: Agent
    messages: tuple[Message, ...]
    temperature: float = 0.0
    max_tokens: int | None = None
    reasoning_effort: str = ""
    replicate: int = 0
    repair: bool = False
    role: str = SCHEMA_NAME

    def as_llm_request(self) -> Request:
        """The same turn always makes the same request, so that its paid answer is found again."""
        return Request(
            endpoint=self.agent.endpoint,
            role=self.role,
            model=self.agent.model,
            messages=self.messages,
            schema_name=self.role,
            schema=SCHEMA,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            reasoning_effort=self.reasoning_effort,
            replicate=self.replicate,
        )

    def answer(self, reply: Reply) -> str:
        """The text is all that a debate reads."""
        return reply.text


def turn_request(
    pair: Pair, config: Config, *, agent: Agent, round: int, previous: Sequence[Turn], key: bytes
) -> TurnRequest:
    """Ask an agent for its turn; `previous` holds the turns of the round before."""
    return TurnRequest(
        round=round,
        agent=agent,
        messages=turn_messages(pair, config, agent=agent, previous=previous, key=key),
        temperature=config.temperature,
        max_tokens=config.max_tokens,
        reasoning_effort=config.reasoning_effort,
        replicate=config.replicate,
    )


def adjudication_request(
    pair: Pair, config: Config, *, previous: Sequence[Turn], key: bytes
) -> TurnRequest:
    """Ask the adjudicator, in a round of its own after the last, at temperature 0 (2.5)."""
    judge = config.adjudicator
    assert judge is not None  # asked only where there is one
    return TurnRequest(
        round=config.rounds + 1,
        agent=judge,
        messages=adjudication_messages(pair, config, adjudicator=judge, previous=previous, key=key),
        max_tokens=config.max_tokens,
        reasoning_effort=config.reasoning_effort,
        role=ADJUDICATION,
    )


def repair_request(request: TurnRequest, unreadable: str) -> TurnRequest:
    """Ask once more, showing the agent the answer that could not be read."""
    return replace(request, messages=repair_messages(request.messages, unreadable), repair=True)
