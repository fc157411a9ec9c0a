"""What a search agent is asked: its first message, and an answer from evidence alone."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from evaluation.agents.protocol.tools import ToolSettings, definitions
from llm.prompts import PromptTemplate, fence
from llm.requests import Request

AGENT: Final = "search_agent"
ANSWER: Final = "evidence_answer"
NOTHING_FOUND: Final = "(no document was found)"
_PROMPTS: Final = Path(__file__).resolve().parents[2] / "prompts"
_ANSWER: Final = re.compile(r"^[ \t*_#]*Answer[ \t*_]*:[ \t*_]*", re.MULTILINE | re.IGNORECASE)
_CONFIDENCE: Final = re.compile(
    r"^[ \t*_#]*Confidence[ \t*_]*:[ \t*_]*(\d{1,3}(?:\.\d+)?)[ \t]*%?",
    re.MULTILINE | re.IGNORECASE,
)
_CITED: Final = re.compile(r"\[([^\[\]\n]{1,200})\]")


@dataclass(frozen=True)
class AgentSettings:
    """One agent, as it was frozen when the run was made.

    `rounds` is None where the agent decides when to stop; else it answers after each of so many.
    Tokens are of output: of one turn, and of one answer from evidence.
    """

    endpoint: str
    model: str
    rounds: int | None = None
    tools: ToolSettings = field(default_factory=ToolSettings)
    max_iterations: int = 100
    max_tokens: int = 30_000
    answer_tokens: int = 10_000
    temperature: float = 0.0
    reasoning_effort: str = "medium"

    @property
    def most(self) -> int:
        """Iterations at most."""
        return self.max_iterations if self.rounds is None else self.rounds


@dataclass(frozen=True)
class Task:
    """One query as an agent is to answer it; `repetition` counts from 0."""

    question: str
    excluded: Collection[str] = ()
    repetition: int = 0


@dataclass(frozen=True)
class Answer:
    """An answer after a round: its text, the confidence it states in percent, its call."""

    round: int
    text: str
    confidence: float | None = None
    call: int = 0


@cache
def prompt_of(role: str) -> PromptTemplate:
    """The prompt of a role, as it comes with the app."""
    needs = {
        AGENT: {"query"},
        ANSWER: {"query", "evidence"},
        "rubric_judge": {"query", "aspects", "reference", "answer"},
        "likert_judge": {"query", "aspects", "reference", "answer"},
    }
    return PromptTemplate.load(_PROMPTS / f"{role}.txt", placeholders=needs[role])


def first_request(task: Task, settings: AgentSettings, key: bytes) -> Request:
    """The beginning of a trace."""
    return Request(
        endpoint=settings.endpoint,
        role=AGENT,
        model=settings.model,
        messages=prompt_of(AGENT).render(query=fence("query", task.question, key)),
        schema_name="",
        schema={},
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        reasoning_effort=settings.reasoning_effort,
        replicate=task.repetition,
        tools=definitions(settings.tools),
    )


def answer_request(
    task: Task, settings: AgentSettings, evidence: Mapping[str, str], key: bytes
) -> Request:
    """An answer from these snippets by document, in the order first seen."""
    blocks = [f"[{docid}]\n{fence('passage', text, key)}" for docid, text in evidence.items()]
    messages = prompt_of(ANSWER).render(
        query=fence("query", task.question, key), evidence="\n\n".join(blocks) or NOTHING_FOUND
    )
    return Request(
        endpoint=settings.endpoint,
        role=ANSWER,
        model=settings.model,
        messages=messages,
        schema_name="",
        schema={},
        temperature=settings.temperature,
        max_tokens=settings.answer_tokens,
        reasoning_effort=settings.reasoning_effort,
        replicate=task.repetition,
    )


def read_answer(text: str, round: int, call: int = 0) -> Answer:
    """The answer in a last message: what stands behind `Answer:`, or all where nothing does.

    The confidence is the last one stated, from 0 to 100; None where none is.
    """
    stated = list(_CONFIDENCE.finditer(text))
    last = stated[-1] if stated else None
    body = text[: last.start()] + text[last.end() :] if last else text
    marked = list(_ANSWER.finditer(body))
    body = body[marked[-1].end() :] if marked else body
    confidence = float(last[1]) if last else None
    if confidence is not None and confidence > 100:
        confidence = None
    return Answer(round, body.strip(), confidence, call)


def citations(text: str) -> tuple[str, ...]:
    """The ids in brackets of an answer, each once, in order."""
    ids = (each.strip() for match in _CITED.findall(text) for each in match.split(","))
    return tuple(dict.fromkeys(each for each in ids if each))
