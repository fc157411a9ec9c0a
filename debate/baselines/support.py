"""LLMJudge and the filter of irrelevant chunks: one prompt, asked of one model or of several.

docs/protocol.md 2.2; DREAM, Table 17.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from debate.dream.asking import Question, Steps, ask, fault, turn_of
from debate.dream.types import Label, Pair, Turn, Verdict
from llm.errors import LLMError
from llm.parsing import ParseFailure, read_object
from llm.prompts import PromptTemplate
from llm.requests import object_schema

from .judges import COERCED, JudgeConfig, questions_of, readable_turn

ROLE: Final = "is_supported"
SCHEMA: Final = object_schema(is_supported={"type": "boolean"})
KEYS: Final = "is_supported (true or false)"
_WORDS: Final[dict[str, Label]] = {"true": 1, "false": 0}


def load_prompt(path: Path) -> PromptTemplate:
    """A prompt of a judge who sees query, answers and chunk."""
    return PromptTemplate.load(path, placeholders={"query", "answers", "chunk"})


def single_judge(pair: Pair, config: JudgeConfig, key: bytes) -> Steps:
    """LLMJudge: the label is what the one judge says; nothing is escalated.

    An answer that stays unreadable makes the pair invalid (`unreadable`), or with `coerce` 0,
    flagged so: what was coerced is compared and counted, and is nobody's label.
    """
    if not pair.answer_lines:
        return Verdict("skipped_no_answer")
    question = questions_of(pair, config, key, role=ROLE, schema=SCHEMA, keys=KEYS)[0]
    outcomes = yield from ask([question], read_support)
    turn = turn_of(question, outcomes[0])
    if config.coerce and isinstance(outcomes[0], ParseFailure):
        turn = replace(turn, flags=(*turn.flags, COERCED))
        return Verdict("judged", label=0, round=1, turns=(turn,))
    ruling = fault(outcomes) or Verdict("judged", label=turn.label, round=1)
    return replace(ruling, turns=(turn,))


def keep_or_discard(pair: Pair, config: JudgeConfig, key: bytes) -> Steps:
    """The filter: label 0 only if every judge says false, else `kept`.

    An unreadable answer is not a false, so the pair is kept; so is one whose call failed, as
    `failed`: a filter never loses what it did not see.
    """
    if not pair.answer_lines:
        return Verdict("skipped_no_answer")
    questions = questions_of(pair, config, key, role=ROLE, schema=SCHEMA, keys=KEYS)
    outcomes = yield from ask(questions, read_support)
    turns = tuple(turn_of(*each) for each in zip(questions, outcomes, strict=True))
    failed = fault([each for each in outcomes if isinstance(each, LLMError)])
    if all(turn.label == 0 for turn in turns):
        ruling = Verdict("judged", label=0, round=1)
    else:
        ruling = failed or Verdict("kept", round=1)
    return replace(ruling, turns=turns)


def read_support(text: str, question: Question) -> Turn | ParseFailure:
    """Whether the judge says that the chunk supports an answer."""
    parsed = read_object(text, "is_supported")
    if isinstance(parsed, ParseFailure):
        return parsed
    label = _label(parsed.value["is_supported"])
    if label is None:
        return ParseFailure(reason="is_supported is neither true nor false.", raw=text)
    return readable_turn(question, label, rung=parsed.rung)


def _label(value: object) -> Label | None:
    if isinstance(value, bool):
        return 1 if value else 0
    return _WORDS.get(value.strip().lower()) if isinstance(value, str) else None
