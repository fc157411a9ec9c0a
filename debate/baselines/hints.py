"""Two-sided hints: one reason for and one against, for experts to read (docs/protocol.md 2.6).

No label comes of them. Each side is argued in a call of its own, so that neither answers the
other; both are shown or neither, since one alone would lean.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

from debate.dream.asking import Answer, Question, Steps, ask, fault
from debate.dream.turns import argument_of
from debate.dream.types import Agent, Pair, Response, Stance, Turn, Verdict
from llm.parsing import ParseFailure, read_object
from llm.prompts import PromptTemplate
from llm.requests import object_schema

from .judges import JudgeConfig, fenced

ROLE: Final = "hint"
PLACEHOLDERS: Final = frozenset({"side", "query", "answers", "chunk"})
SCHEMA: Final = object_schema(
    reference={"type": "array", "items": {"type": "string"}}, reason={"type": "string"}
)
KEYS: Final = "reference (a list of strings) and reason (a string)"
# By stance: the name of the schema, what the prompt calls the side, and what it answers.
SIDES: Final[Mapping[Stance, tuple[str, str, Response]]] = {
    "relevant": ("hint_for", "the chunk fully answers the query with one of the answers.", "yes"),
    "irrelevant": ("hint_against", "the chunk does so for none of the answers.", "no"),
}


def load_hint_prompt(path: Path) -> PromptTemplate:
    """A prompt of whoever writes the reason for one side."""
    return PromptTemplate.load(path, placeholders=PLACEHOLDERS)


def argue(pair: Pair, config: JudgeConfig, key: bytes) -> Steps:
    """Both reasons as turns, status `argued`, the supporting one first.

    A side that stays unreadable after its repair makes the pair `unreadable`: its text is never
    shown, and the other side's is not either.
    """
    if not pair.answer_lines:
        return Verdict("skipped_no_answer")
    questions = [_question(pair, config, key, stance) for stance in SIDES]
    read = partial(_read, pair)
    outcomes = yield from ask(questions, read)
    written = tuple(each for each in outcomes if isinstance(each, Turn))
    return fault(outcomes) or Verdict("argued", round=1, turns=written)


def _question(pair: Pair, config: JudgeConfig, key: bytes, stance: Stance) -> Question:
    schema_name, side, _ = SIDES[stance]
    writer = config.judges[0]
    return Question(
        # Turns and calls are filed under the side; the model is the one writer's.
        agent=Agent(stance, stance, writer.model, writer.endpoint),
        role=schema_name,
        schema=SCHEMA,
        keys=KEYS,
        messages=config.prompts[ROLE].render(side=side, **fenced(pair, key)),
        temperature=config.temperature,
        max_tokens=config.max_tokens,
        replicate=writer.replicate,
    )


def _read(pair: Pair, answer: Answer, question: Question) -> Turn | ParseFailure:
    parsed = read_object(answer, "reason")
    if isinstance(parsed, ParseFailure):
        return parsed
    reason, quotes = argument_of(parsed.value, pair.passage)
    if not reason:
        return ParseFailure(reason="The reason is empty.", raw=str(answer))
    stance: Stance = question.agent.name  # type: ignore[assignment]  # `_question` named it so
    return Turn(1, stance, stance, SIDES[stance][2], reason, quotes, rung=parsed.rung)
