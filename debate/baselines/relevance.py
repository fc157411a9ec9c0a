"""Measuring how probable relevance is, one pair at a time (docs/protocol.md 2.9): LARA's input."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from debate.dream.asking import Answer, Question, Steps, ask, fault, turn_of
from debate.dream.turns import read_response
from debate.dream.types import Pair, Turn, Verdict
from llm.errors import LLMError
from llm.parsing import ParseFailure, read_object
from llm.requests import object_schema

from .judges import JudgeConfig, questions_of, readable_turn

ROLE: Final = "relevance"
CONFIDENCE_ROLE: Final = "relevance_confidence"
_ANSWER: Final = {"type": "string", "enum": ["yes", "no"]}
SCHEMA: Final = object_schema(answer=_ANSWER)
CONFIDENCE_SCHEMA: Final = object_schema(
    answer=_ANSWER, confidence={"type": "integer", "minimum": 0, "maximum": 100}
)
KEYS: Final = 'answer ("yes" or "no")'
CONFIDENCE_KEYS: Final = 'answer ("yes" or "no") and confidence (a number from 0 to 100)'
VERBALISED: Final = "verbalised"  # the endpoint gave no probabilities, so the model was asked


def measure(pair: Pair, config: JudgeConfig, key: bytes) -> Steps:
    """The probability of relevance, as the score of a turn, status `measured`.

    From the probabilities of yes and no where the endpoint tells them; else, with
    `config.verbalised`, from a confidence that the model puts into words.
    """
    if not pair.answer_lines:
        return Verdict("skipped_no_answer")
    question = _question(pair, config, ROLE, key)
    answers = yield [question]
    outcomes: list[Any] = [_read_scored(each, question) for each in answers]
    if isinstance(outcomes[0], ParseFailure) and config.verbalised:
        question = _question(pair, config, CONFIDENCE_ROLE, key)
        outcomes = yield from ask([question], _read_confidence)
    turn = turn_of(question, outcomes[0])
    return replace(fault(outcomes) or Verdict("measured", round=1), turns=(turn,))


def human_only(pair: Pair, config: object, key: bytes) -> Steps:
    """Every pair goes to people, and no model is asked."""
    del config, key
    yield from ()
    return Verdict("escalated" if pair.answer_lines else "skipped_no_answer")


def _read_scored(answer: Answer, question: Question) -> Turn | ParseFailure | LLMError:
    """A reply that carries no probability is not read, whatever its text."""
    if isinstance(answer, LLMError):
        return answer
    probability = probability_of_yes(answer.logprobs)
    if probability is None:
        return ParseFailure(reason="The endpoint told no probabilities.", raw=answer.text)
    return readable_turn(question, 1 if probability >= 0.5 else 0, score=probability)


def _read_confidence(text: str, question: Question) -> Turn | ParseFailure:
    read = confidence_of(text)
    if isinstance(read, ParseFailure):
        return read
    probability, rung = read
    turn = readable_turn(question, 1 if probability >= 0.5 else 0, rung=rung, score=probability)
    return replace(turn, flags=(*turn.flags, VERBALISED))


def confidence_of(text: str) -> tuple[float, int] | ParseFailure:
    """The probability of relevance that an answer puts into words, and the rung that read it."""
    parsed = read_object(text, "answer")
    if isinstance(parsed, ParseFailure):
        return parsed
    response = read_response(parsed.value["answer"])
    sure = _share(parsed.value.get("confidence"))
    if response is None or sure is None:
        return ParseFailure(reason="There is no answer with a confidence of 0 to 100.", raw=text)
    return (sure if response == "yes" else 1 - sure), parsed.rung


def _share(percent: object) -> float | None:
    """A number from 0 to 100 as a share of 1; None for anything else."""
    if isinstance(percent, bool) or not isinstance(percent, int | float):
        return None
    return percent / 100 if 0 <= percent <= 100 else None


def _question(pair: Pair, config: JudgeConfig, role: str, key: bytes) -> Question:
    is_plain = role == ROLE
    schema = SCHEMA if is_plain else CONFIDENCE_SCHEMA
    keys = KEYS if is_plain else CONFIDENCE_KEYS
    first = questions_of(pair, config, key, role=role, schema=schema, keys=keys)[0]
    return replace(first, logprobs=is_plain)


_QUOTES: Final = "\"'`“”‘’ \t\r\n"
_SPELLINGS: Final = {
    word: answer for answer in ("yes", "no") for word in (answer, answer.title(), answer.upper())
}


def probability_of_yes(tokens: Sequence[Mapping[str, Any]] | None) -> float | None:
    """P(yes) / (P(yes) + P(no)) at the first token that says either; None where none does.

    Of the spellings (lower, title and upper case, with or without a leading blank or quotation
    mark) the most probable counts, they are not added up. In a JSON answer the first such token
    is the value's. Both unmentioned, 0/0, is 0 as in the source: there that happens where the
    first token is neither; here only where both probabilities vanish.

    >>> probability_of_yes([{"token": "Yes", "logprob": math.log(0.6), "top_logprobs": [
    ...     {"token": " no", "logprob": math.log(0.2)}]}])
    0.75
    """
    for token in tokens or ():
        ranked = [token, *(token.get("top_logprobs") or ())]
        if _says(token) is not None:
            best = {"yes": 0.0, "no": 0.0}
            for each in ranked:
                answer = _says(each)
                if answer is not None:
                    best[answer] = max(best[answer], _probability(each))
            total = best["yes"] + best["no"]
            return best["yes"] / total if total else 0.0
    return None


def _says(token: Mapping[str, Any]) -> str | None:
    return _SPELLINGS.get(str(token.get("token", "")).strip(_QUOTES))


def _probability(token: Mapping[str, Any]) -> float:
    logprob = token.get("logprob")
    if not isinstance(logprob, int | float) or math.isnan(logprob):
        return 0.0
    return math.exp(min(0.0, logprob))
