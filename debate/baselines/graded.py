"""The graded judge: 0 to 3, made binary at a threshold (docs/protocol.md 2.2; UMBRELA)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from debate.dream.asking import Steps, ask, fault
from debate.dream.types import NO_STANCE, Pair, Turn, Verdict
from llm.errors import LLMError
from llm.parsing import ParseFailure

from .grades import GRADES, mode, read_reference, read_strict
from .judges import COERCED, JudgeConfig, Question, questions_of, said, turn_of

ROLE: Final = "graded"
_SCALE: Final[dict[str, Any]] = {"type": "integer", "enum": list(GRADES)}
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["match", "trust", "score"],
    "properties": {"match": _SCALE, "trust": _SCALE, "score": _SCALE},
}
KEYS: Final = "match, trust and score (each a whole number from 0 to 3)"


def graded(pair: Pair, config: JudgeConfig, key: bytes) -> Steps:
    """The mode of the samples' grades; the label is 1 from `config.threshold` on.

    `reference_parser` reads every answer, if only as 0 and flagged, and so repairs none; else
    unreadable samples are left out, and a pair of which none could be read is unreadable.
    """
    if not pair.answer_lines:
        return Verdict("skipped_no_answer")
    questions = questions_of(pair, config, key, role=ROLE, schema=SCHEMA, keys=KEYS)

    def read(text: str, question: Question) -> Turn | ParseFailure:
        return _read(text, question, config)

    outcomes = yield from ask(questions, read=read, repair=Question.repaired)
    turns = tuple(turn_of(*each) for each in zip(questions, outcomes, strict=True))
    grades = [GRADES[int(turn.score)] for turn in turns if turn.score is not None]
    failed = [each for each in outcomes if isinstance(each, LLMError)]
    if failed or not grades:
        return replace(fault(failed or outcomes) or Verdict("unreadable"), turns=turns)
    label = 1 if mode(grades) >= config.threshold else 0
    return Verdict("judged", label=label, round=1, turns=turns)  # type: ignore[arg-type]


def _read(text: str, question: Question, config: JudgeConfig) -> Turn | ParseFailure:
    if config.reference_parser:
        grade, is_valid = read_reference(text)
        if not is_valid:
            name = question.agent.name
            return Turn(1, name, NO_STANCE, None, flags=(COERCED,), score=0.0)
        return said(question, 1 if grade >= config.threshold else 0, score=float(grade))
    read = read_strict(text)
    if isinstance(read, ParseFailure):
        return read
    grade, rung = read
    return said(question, 1 if grade >= config.threshold else 0, rung=rung, score=float(grade))
