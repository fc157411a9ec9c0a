"""How any rule asks models: questions that may travel at the same time, answers in their order.

A debate, a single judge and a filter are all generators of this shape, so one pump drives them
all and a test drives them with a list of strings.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from llm.errors import LLMError, Refusal
from llm.parsing import ParseFailure
from llm.requests import Message, Reply, Request

from .prompting import TURN_KEYS, repair_messages
from .turns import FAILED, SCHEMA, SCHEMA_NAME, UNREADABLE
from .types import Agent, Turn, Verdict

Answer: TypeAlias = Any
"""What `Question.answer` made of a reply (the text, for most), or the LLMError of its call."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question to one agent; by default for a turn of a debate.

    `keys` says in words what the JSON answer holds. `is_repair` marks the second asking.
    """

    agent: Agent
    messages: tuple[Message, ...]
    role: str = SCHEMA_NAME
    schema: Mapping[str, Any] = field(default_factory=lambda: SCHEMA)
    keys: str = TURN_KEYS
    round: int = 1
    temperature: float = 0.0
    max_tokens: int | None = None
    reasoning_effort: str = ""
    replicate: int = 0
    logprobs: bool = False
    is_repair: bool = False

    def as_llm_request(self) -> Request:
        """The same question always makes the same request, so that its paid answer is found."""
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
            replicate=self.replicate,
            logprobs=self.logprobs,
        )

    def answer(self, reply: Reply) -> str | Reply:
        """The text; the whole reply where the probabilities of its tokens were asked for."""
        return reply if self.logprobs else reply.text

    def repaired(self, unreadable: str) -> Question:
        """The question once more, with the answer that could not be read."""
        messages = repair_messages(self.messages, unreadable, keys=self.keys)
        return replace(self, messages=messages, is_repair=True)


Outcome: TypeAlias = Turn | ParseFailure | LLMError
Steps: TypeAlias = Generator[Sequence[Question], Sequence[Answer], Verdict]
Outcomes: TypeAlias = Generator[Sequence[Question], Sequence[Answer], list[Outcome]]
Read: TypeAlias = Callable[[Answer, Question], Turn | ParseFailure]


def ask(questions: Sequence[Question], read: Read) -> Outcomes:
    """Ask all at once, then once more those whose answer could not be read.

    A failed call spoils the pair anyway, so nothing is spent on repairs then. Raises ValueError
    for a wrong number of answers.
    """
    answers = yield questions
    outcomes = _read_all(answers, questions, read)
    if any(isinstance(outcome, LLMError) for outcome in outcomes):
        return outcomes
    unread = [i for i, outcome in enumerate(outcomes) if isinstance(outcome, ParseFailure)]
    if unread:
        repairs = [questions[i].repaired(str(answers[i])) for i in unread]
        second = _read_all((yield repairs), repairs, read)
        for i, outcome in zip(unread, second, strict=True):
            outcomes[i] = outcome
    return outcomes


def _read_all(
    answers: Sequence[Answer], questions: Sequence[Question], read: Read
) -> list[Outcome]:
    return [
        answer if isinstance(answer, LLMError) else read(answer, question)
        for answer, question in zip(answers, questions, strict=True)
    ]


def turn_of(question: Question, outcome: Outcome) -> Turn:
    """The turn as it is kept: one without a response where there was no readable answer."""
    if isinstance(outcome, Turn):
        return outcome
    flag = FAILED if isinstance(outcome, LLMError) else UNREADABLE
    agent = question.agent
    return Turn(question.round, agent.name, agent.stance, response=None, flags=(flag,))


def fault(outcomes: Sequence[object]) -> Verdict | None:
    """The verdict that a failed call or an unreadable answer makes; None where all were read."""
    errors = [outcome for outcome in outcomes if isinstance(outcome, LLMError)]
    for error in sorted(errors, key=lambda each: isinstance(each, Refusal)):
        return Verdict("refused" if isinstance(error, Refusal) else "failed", detail=str(error))
    for outcome in outcomes:
        if isinstance(outcome, ParseFailure):
            return Verdict("unreadable", detail=outcome.reason)
    return None
