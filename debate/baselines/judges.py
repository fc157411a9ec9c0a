"""Who judges alone, how, and the question that is put to such a judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from debate.dream.asking import Question
from debate.dream.prompting import numbered
from debate.dream.turns import REPAIRED
from debate.dream.types import NO_STANCE, Agent, Label, Pair, Turn
from llm.prompts import PromptTemplate, fence

COERCED = "coerced"  # unreadable, and counted as not relevant as UMBRELA's code does


@dataclass(frozen=True, slots=True)
class JudgeConfig:
    """How judges are asked. Raises ValueError where nobody would be.

    `coerce`: an unreadable answer counts as 0, as UMBRELA's code has it; without it the pair is
    invalid and excluded (docs/protocol.md 2.2). `threshold` is the lowest grade that is relevant.
    `majority`: more than half of the votes decide; without it all have to agree.
    `prompts`: the templates by role.
    """

    judges: tuple[Agent, ...]
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


def line_up_judges(models: Sequence[tuple[str, str]], *, samples: int = 1) -> tuple[Agent, ...]:
    """Judges J1, J2, ... for each (model, endpoint), each asked `samples` times."""
    drawn = [(*model, replicate) for model in models for replicate in range(samples)]
    return tuple(
        Agent(f"J{number}", NO_STANCE, *each) for number, each in enumerate(drawn, start=1)
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
            replicate=judge.replicate,
        )
        for judge in config.judges
    ]


def readable_turn(
    question: Question, label: Label, *, rung: int | None = None, score: float | None = None
) -> Turn:
    """A judge's readable answer as a turn."""
    response = "yes" if label else "no"
    name, flags = question.agent.name, (REPAIRED,) if question.is_repair else ()
    return Turn(1, name, NO_STANCE, response, rung=rung, score=score, flags=flags)  # type: ignore[arg-type]
