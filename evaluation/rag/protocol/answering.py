"""What a generator is asked, and how its reply becomes answers; and answers against true
ones as strings: accuracy, exact match, token F1 (docs/protocol.md 2.10, 4.7)."""

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from llm.parsing import ParseFailure, read_object
from llm.prompts import PromptTemplate, fence
from llm.requests import Request, object_schema

NOTHING: Final = "No relevant information found."
# What stands where a list was empty; the practice model knows it.
NO_PASSAGE: Final = "(no document was found)"
_PROMPTS: Final = Path(__file__).resolve().parents[2] / "prompts"
_ANSWER: Final = re.compile(r'"Answer"\s*:\s*"([^"]*)"')
_PLACEHOLDERS: Final = {
    "rag_answer": {"query", "passages"},
    "rag_closed": {"query"},
    "rag_long": {"query", "passages"},
    "rag_cited": {"query", "passages"},
    "rag_grader": {"query", "truths", "answers"},
    "rag_score": {"query", "reference", "answer"},
}


class Harness(StrEnum):
    """DREAM's short answers, MARCUS's long ones, or long ones that cite their passages (ours)."""

    SHORT = "short"
    LONG = "long"
    CITED = "cited"

    @property
    def max_tokens(self) -> int:
        """Tokens of an answer by default; MARCUS names no number."""
        return 1_024 if self is Harness.SHORT else 4_096

    @property
    def roles(self) -> tuple[str, ...]:
        """The prompts that it asks by, the last one where there is no retrieval: who may say only
        what documents say can answer nothing without any."""
        return {
            Harness.SHORT: ("rag_answer", "rag_closed"),
            Harness.LONG: ("rag_long",),
            Harness.CITED: ("rag_cited", "rag_long"),
        }[self]


@dataclass(frozen=True)
class Generator:
    """Who answers, as it was frozen when the run was made."""

    endpoint: str
    model: str
    harness: Harness
    temperature: float = 0.0
    max_tokens: int = 1_024
    reasoning_effort: str = ""


@cache
def prompt_of(role: str) -> PromptTemplate:
    """The prompt of a role, as it comes with the app."""
    return PromptTemplate.load(_PROMPTS / f"{role}.txt", placeholders=_PLACEHOLDERS[role])


def answer_request(
    question: str, passages: Sequence[str] | None, who: Generator, key: bytes
) -> Request:
    """The question with these passages in their order; None where there is no retrieval at all."""
    role = who.harness.roles[-1 if passages is None else 0]
    blocks = [
        f"[{number}]\n{fence('passage', text, key)}"
        for number, text in enumerate(passages or (), start=1)
    ]
    given = {"query": fence("query", question, key)}
    if "passages" in _PLACEHOLDERS[role]:
        given["passages"] = "\n\n".join(blocks) or NO_PASSAGE
    is_short = who.harness is Harness.SHORT
    return Request(
        endpoint=who.endpoint,
        role=role,
        model=who.model,
        messages=prompt_of(role).render(**given),
        schema_name="rag_answer" if is_short else "",
        schema=object_schema(Answer={"type": "string"}) if is_short else {},
        temperature=who.temperature,
        max_tokens=who.max_tokens,
        reasoning_effort=who.reasoning_effort,
    )


def read_answers(text: str, harness: Harness) -> tuple[str, ...]:
    """The answers in a reply; what holds nothing at all gives none.

    Short ones are the JSON object's `Answer`; else, as the reference reads them, everything that
    is written as `"Answer": "..."`; else the whole reply. A long one is the whole reply.
    """
    said = text.rpartition("</think>")[2].strip()
    found: tuple[str, ...] = (said,)
    if harness is Harness.SHORT:
        parsed = read_object(text, "Answer")
        value = None if isinstance(parsed, ParseFailure) else parsed.value["Answer"]
        listed = value if isinstance(value, list) else [value]
        texts = tuple(each for each in listed if isinstance(each, str))
        found = texts if len(texts) == len(listed) else tuple(_ANSWER.findall(said)) or found
    return tuple(each.strip() for each in found if each.strip())


def has_information(answers: Sequence[str]) -> bool:
    """Whether any says more than that nothing was found."""
    return any(normalised(each) not in ("", normalised(NOTHING)) for each in answers)


_ARTICLES: Final = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


class Strings(NamedTuple):
    """The best over all pairs of an answer and a true one."""

    accuracy: int
    exact: int
    f1: float


def normalised(text: str) -> str:
    """Lower case, without punctuation and a, an, the; single blanks."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def measure(answers: Sequence[str], truths: Sequence[str]) -> Strings | None:
    """Accuracy: some true answer stands in some answer. None where no true one says anything.

    A true answer that is empty once normalised ("The") would stand in everything: it is left out.
    """
    expected = [each for each in map(normalised, truths) if each]
    if not expected:
        return None
    pairs = [(own, truth) for own in map(normalised, answers) for truth in expected]
    return Strings(
        int(any(truth in own for own, truth in pairs)),
        int(any(truth == own for own, truth in pairs)),
        max((token_f1(own, truth) for own, truth in pairs), default=0.0),
    )


def token_f1(answer: str, truth: str) -> float:
    """Harmonic mean of the shares of words that both have, of normalised texts."""
    own, expected = answer.split(), truth.split()
    shared = sum((Counter(own) & Counter(expected)).values())
    return 2 * shared / (len(own) + len(expected)) if shared else 0.0
