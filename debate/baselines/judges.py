"""Who judges alone, how, and the question that is put to such a judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from debate.dream.prompting import numbered, repair_messages
from debate.dream.types import NO_STANCE, Label, Pair, Turn
from llm.errors import LLMError
from llm.parsing import ParseFailure
from llm.prompts import PromptTemplate, fence
from llm.requests import Message, Reply, Request

UNREADABLE = "unreadable"
FAILED = "failed"
REPAIRED = "repaired"
COERCED = "coerced"  # unreadable, and counted as not relevant as UMBRELA's code does


@dataclass(frozen=True, slots=True)
class Judge:
    """A model that judges alone; `replicate` tells repeated draws of one model apart."""

    name: str
    model: str
    endpoint: str
    replicate: int = 0


@dataclass(frozen=True, slots=True)
class JudgeConfig:
    """How judges are asked. Raises ValueError where nobody would be.

    `coerce`: an unreadable answer counts as 0, as UMBRELA's code has it; without it the pair is
    invalid and excluded (docs/protocol.md 2.2). `threshold` is the lowest grade that is relevant.
    `majority`: more than half of the votes decide; without it all have to agree.
    `prompts`: the templates by role.
    """

    judges: tuple[Judge, ...]
    prompts: Mapping[str, PromptTemplate] = field(default_factory=dict)
    temperature: float = 0.0
    max_tokens: int | None = None
    reasoning_effort: str = ""
    coerce: bool = False
    reference_parser: bool = False
    threshold: int = 2
    majority: bool = True
    verbalised: bool = True

    def __post_init__(self) -> None:
        if not self.judges:
            raise ValueError("At least one judge is needed.")
        if len({judge.name for judge in self.judges}) < len(self.judges):
            raise ValueError("Judges need names of their own.")


@dataclass(frozen=True, slots=True)
class Scored:
    """A reply with the probabilities of its tokens, as the endpoint sent them (or None)."""

    text: str
    logprobs: Sequence[Mapping[str, Any]] | None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Question:
    """One question to one judge. `keys` says in words what the JSON answer holds."""

    agent: Judge
    role: str
    schema: Mapping[str, Any]
    keys: str
    messages: tuple[Message, ...]
    temperature: float = 0.0
    max_tokens: int | None = None
    reasoning_effort: str = ""
    logprobs: bool = False
    round: int = 1
    is_repair: bool = False

    def as_llm_request(self) -> Request:
        """The same question always makes the same request, in whichever run it is asked."""
        return Request(
            endpoint=self.agent.endpoint,
            role=self.role,
            model=self.agent.model,
            messages=self.messages,
            schema_name=self.role,
            schema=self.schema,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            reasoning_effort=self.reasoning_effort,
            replicate=self.agent.replicate,
            logprobs=self.logprobs,
        )

    def answer(self, reply: Reply) -> str | Scored:
        """The text, with the probabilities of its tokens where they were asked for."""
        return Scored(reply.text, reply.logprobs) if self.logprobs else reply.text

    def repaired(self, unreadable: str) -> Question:
        """The question once more, beside the answer that could not be read."""
        messages = repair_messages(self.messages, unreadable, keys=self.keys)
        return replace(self, messages=messages, is_repair=True)


def line_up_judges(seats: Sequence[tuple[str, str]], *, samples: int = 1) -> tuple[Judge, ...]:
    """Judges J1, J2, ... for (model, endpoint) seats, each asked `samples` times."""
    drawn = [(seat, replicate) for seat in seats for replicate in range(samples)]
    return tuple(
        Judge(f"J{number}", model, endpoint, replicate)
        for number, ((model, endpoint), replicate) in enumerate(drawn, start=1)
    )


def fenced(pair: Pair, key: bytes) -> dict[str, str]:
    """The three blocks that every judge's prompt has a place for."""
    return {
        "query": fence("query", pair.query, key),
        "answers": fence("answer", numbered(pair.answer_lines), key),
        "chunk": fence("chunk", pair.passage, key),
    }


def questions_of(
    pair: Pair, config: JudgeConfig, key: bytes, *, role: str, schema: Mapping[str, Any], keys: str
) -> list[Question]:
    """The same question to every judge, from the prompt of this role."""
    messages = config.prompts[role].render(**fenced(pair, key))
    return [
        Question(
            agent=judge,
            role=role,
            schema=schema,
            keys=keys,
            messages=messages,
            temperature=config.temperature,
            max_tokens=config.max_tokens,
            reasoning_effort=config.reasoning_effort,
        )
        for judge in config.judges
    ]


def turn_of(
    question: Question,
    outcome: Turn | ParseFailure | LLMError,
) -> Turn:
    """The turn as it is kept: one without a response where there was no readable answer."""
    if isinstance(outcome, Turn):
        return replace(outcome, flags=(*outcome.flags, *_repaired(question)))
    flag = FAILED if isinstance(outcome, LLMError) else UNREADABLE
    return Turn(1, question.agent.name, NO_STANCE, response=None, flags=(flag,))


def said(
    question: Question, label: Label, *, rung: int | None = None, score: float | None = None
) -> Turn:
    """A judge's readable answer as a turn."""
    response = "yes" if label else "no"
    name, flags = question.agent.name, _repaired(question)
    return Turn(1, name, NO_STANCE, response, rung=rung, score=score, flags=flags)  # type: ignore[arg-type]


def _repaired(question: Question) -> tuple[str, ...]:
    return (REPAIRED,) if question.is_repair else ()
