"""The graded judge: 0 to 3, made binary at a threshold (docs/protocol.md 2.2; UMBRELA).

A grade is read in two ways. `read_strict` takes the JSON object it asked for, or nothing.
`read_reference` behaves as the public code of UMBRELA does, false hits included: it goes through
a list of patterns, and the first pattern that occurs at all gives the grade with its last
occurrence. An "o" before a digit is such a pattern, so that "so 1 of 3" is a 1, and the last
pattern is any digit of the scale.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias

from debate.dream.asking import Question, Steps, ask, fault, turn_of
from debate.dream.types import NO_STANCE, Pair, Turn, Verdict
from llm.errors import LLMError
from llm.parsing import ParseFailure, read_object
from llm.requests import object_schema

from .judges import COERCED, JudgeConfig, questions_of, readable_turn

Grade: TypeAlias = Literal[0, 1, 2, 3]
GRADES: Final[tuple[Grade, ...]] = (0, 1, 2, 3)

# In the reference a class of signs is written as a range: from the colon to the equals sign.
_GAP: Final = r"\s*+[:;<=]?+\s*+"
_KEYS_FIRST: Final = ('"o"', "'o'", "o", '"overall_score"', '"overall"', '"overall score"')
_KEYS_FINAL: Final = ('"final score"', "final score")
_KEYS_THEN: Final = ('"final_score"', '"score"', '"o_score"')
_PHRASES: Final = (
    r"output score is ",
    r"score is ",
    r"score of\s+",
    r"score:\s*",
)
_CATEGORY: Final = (
    r"relevance category" + _GAP,
    r"relevance category is ",
    r"falls into the category ",
    r"category\s*",
    r"relevance category (?:for this passage )?would be ",
)


def _patterns() -> tuple[re.Pattern[str], ...]:
    heads = [re.escape(key) + _GAP for key in (*_KEYS_FIRST, *_KEYS_FINAL)]
    heads += ["final score is "]
    heads += [re.escape(key) + _GAP for key in _KEYS_THEN]
    tails = [f"{head}([0-3])" for head in (*heads, *_PHRASES)]
    tails += [r"[a-z]\s++is\s++([0-3])\s"]
    tails += [f"{head}([0-3])" for head in (*_CATEGORY, "")]
    return tuple(map(re.compile, tails))


_REFERENCE: Final = _patterns()


def read_reference(text: str) -> tuple[Grade, bool]:
    """Grade and whether there was one; without any the grade is 0 and invalid."""
    lowered = text.strip().lower()
    for pattern in _REFERENCE:
        hits = pattern.findall(lowered)
        if hits:
            return GRADES[int(hits[-1])], True
    return 0, False


def read_strict(text: str) -> tuple[Grade, int] | ParseFailure:
    """The grade under "score" of the one JSON object, and the rung of the ladder that read it."""
    parsed = read_object(text, "score")
    if isinstance(parsed, ParseFailure):
        return parsed
    grade = _grade(parsed.value["score"])
    if grade is None:
        return ParseFailure(reason="The score is not a whole number from 0 to 3.", raw=text)
    return grade, parsed.rung


def mode(grades: Sequence[Grade]) -> Grade:
    """The grade given most often; of several the lowest, because a doubt is no relevance.

    Raises ValueError for no grades at all.
    """
    counts = Counter(grades)
    return max(sorted(counts), key=lambda grade: counts[grade])


def _grade(value: Any) -> Grade | None:
    if isinstance(value, str) and value.strip() in {"0", "1", "2", "3"}:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value not in GRADES:
        return None
    return GRADES[int(value)]


ROLE: Final = "graded"
_SCALE: Final[dict[str, Any]] = {"type": "integer", "enum": list(GRADES)}
SCHEMA: Final = object_schema(match=_SCALE, trust=_SCALE, score=_SCALE)
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

    outcomes = yield from ask(questions, read)
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
        return readable_turn(question, 1 if grade >= config.threshold else 0, score=float(grade))
    read = read_strict(text)
    if isinstance(read, ParseFailure):
        return read
    grade, rung = read
    return readable_turn(
        question, 1 if grade >= config.threshold else 0, rung=rung, score=float(grade)
    )
