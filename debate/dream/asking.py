"""How any rule asks models: requests that may travel at the same time, answers in their order.

A debate, a single judge and a filter are all generators of this shape, so one pump drives them
all and a test drives them with a list of strings.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from llm.errors import LLMError, Refusal
from llm.parsing import ParseFailure
from llm.requests import Reply, Request

from .types import Verdict

R = TypeVar("R", bound="Asked")
T = TypeVar("T")

Answer: TypeAlias = Any
"""What `Asked.answer` made of a reply (the text, for most), or the LLMError that ended the call."""


class Named(Protocol):
    """Whoever is asked: an agent or a judge."""

    @property
    def name(self) -> str:
        """What turns and calls are filed under."""


class Asked(Protocol):
    """One question on its way to a model."""

    @property
    def round(self) -> int:
        """From 1."""

    @property
    def agent(self) -> Named:
        """Who is asked."""

    def as_llm_request(self) -> Request:
        """The request; equal questions make equal ones, so that a paid answer is found again."""

    def answer(self, reply: Reply) -> Answer:
        """What the rule wants of a reply."""


Steps: TypeAlias = Generator[Sequence[Any], Sequence[Answer], Verdict]
Outcomes: TypeAlias = Generator[Sequence[Any], Sequence[Answer], list[T | ParseFailure | LLMError]]


def ask(
    requests: Sequence[R],
    *,
    read: Callable[[Answer, R], T | ParseFailure],
    repair: Callable[[R, str], R],
) -> Outcomes[T]:
    """Ask all at once, then once more those whose answer could not be read.

    A failed call spoils the pair anyway, so nothing is spent on repairs beside it. Raises
    ValueError for a wrong number of answers.
    """
    answers = yield requests
    outcomes = _read_all(answers, requests, read)
    if any(isinstance(outcome, LLMError) for outcome in outcomes):
        return outcomes
    unread = [i for i, outcome in enumerate(outcomes) if isinstance(outcome, ParseFailure)]
    if unread:
        repairs = [repair(requests[i], str(answers[i])) for i in unread]
        second = _read_all((yield repairs), repairs, read)
        for i, outcome in zip(unread, second, strict=True):
            outcomes[i] = outcome
    return outcomes


def _read_all(
    answers: Sequence[Answer], requests: Sequence[R], read: Callable[[Answer, R], T | ParseFailure]
) -> list[T | ParseFailure | LLMError]:
    return [
        answer if isinstance(answer, LLMError) else read(answer, request)
        for answer, request in zip(answers, requests, strict=True)
    ]


def fault(outcomes: Sequence[object]) -> Verdict | None:
    """The verdict that a failed call or an unreadable answer makes; None where all were read."""
    errors = [outcome for outcome in outcomes if isinstance(outcome, LLMError)]
    for error in sorted(errors, key=lambda each: isinstance(each, Refusal)):
        return Verdict("refused" if isinstance(error, Refusal) else "failed", detail=str(error))
    for outcome in outcomes:
        if isinstance(outcome, ParseFailure):
            return Verdict("unreadable", detail=outcome.reason)
    return None
