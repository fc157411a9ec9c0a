"""The grader of generated answers: what it is asked, and what of its reply is a grade.

True or False for short answers (docs/protocol.md 2.10), 0 to 100 for long ones (4.7). Under the
profile `strict` a reply that leaves a doubt is no grade; `reference` reads as the papers' code.
"""

import math
import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from evaluation.rag.protocol.answering import Harness, prompt_of
from llm.prompts import fence
from llm.requests import Reply, Request, ask_until

BEST: Final = {Harness.SHORT: 1.0, Harness.LONG: 100.0, Harness.CITED: 100.0}
STRICT, REFERENCE = "strict", "reference"
PROFILES: Final = (STRICT, REFERENCE)
# DREAM's 500; MARCUS's grader reasons first.
_MAX_TOKENS: Final = {Harness.SHORT: 500, Harness.LONG: 2_000, Harness.CITED: 2_000}
_WORD: Final = re.compile(r"(?<!\w)(True|False)(?!\w)")
_MARKS: Final = re.compile(r"[*_`\"“”]+")
_SENTENCE_ENDS: Final = re.compile(r"[.!?;:]\s|\n\s*\n")
# Where a reason begins, behind a verdict.
_REASON: Final = re.compile(r"[^\w\s'’]|\b(?:because|since|as)\b|\n")
_NO: Final = (
    r"(?:\b(?:not|nor|never|neither|no|none|nothing|nobody|nowhere|cannot|without|hardly|scarcely"
    r"|barely|rarely|seldom|wrong|incorrect|untrue|impossible|unlikely|unable|false|far from"
    r"|anything but|doubt|deny|denies|refuse"
    r"|(?:is|are|was|do|does|did|ca|could|wo|would|should)nt)\b|n['’]t\b)"
)
_NEGATION: Final = re.compile(_NO, re.IGNORECASE)
_NEGATED: Final = re.compile(rf"{_NO}\W+$", re.IGNORECASE)
_SCORE: Final = re.compile(
    r"[\s:*_]*([0-9]{1,3}(?:\.[0-9]+)?)[\s*_]*(?:(?:/|of|out of)\s*100|%)?[\s.*_]*"
)


@dataclass(frozen=True)
class Grader:
    """One grader, as it was frozen when the run was made; the harness decides what it gives.
    `swapped`: it sees several true answers the other way round."""

    endpoint: str
    model: str
    harness: Harness
    profile: str = STRICT
    temperature: float = 0.0
    reasoning_effort: str = ""
    swapped: bool = False

    @property
    def role(self) -> str:
        """What its prompt and its calls are called."""
        return role_of(self.harness)


def role_of(harness: Harness) -> str:
    """The prompt by which answers of a harness are graded."""
    return "rag_grader" if harness is Harness.SHORT else "rag_score"


@dataclass(frozen=True)
class Exam:
    """Answers to a question, with what they are held against."""

    question: str
    truths: tuple[str, ...]
    answers: tuple[str, ...]


@dataclass(frozen=True)
class Graded:
    """What a grader said last, in that call; `value` is None where no reply could be read."""

    value: float | None
    said: str = ""
    call: int = 0


Grading: TypeAlias = Generator[Sequence[Request], Sequence[Reply], Graded]


def grade(exam: Exam, who: Grader, key: bytes, replicate: int = 0) -> Grading:
    """Ask until a reply is a grade, twice at most (docs/protocol.md 1.3)."""
    form = "one word, True or False" if who.harness is Harness.SHORT else "REASON, then SCORE"
    value, _, reply = yield from ask_until(
        replace(grade_request(exam, who, key), replicate=replicate),
        lambda said: "no grade" if (v := read_grade(said, who.harness, who.profile)) is None else v,
        lambda *_: f"This is no grade. Grade again by the same rules: {form}.",
    )
    return Graded(value, reply.text, reply.call_id)


def grade_request(exam: Exam, who: Grader, key: bytes) -> Request:
    """The question to the grader."""
    given = {"query": fence("query", exam.question, key)}
    answers = fence("answer", "\n".join(exam.answers), key)
    if who.harness is Harness.SHORT:
        truths = exam.truths[::-1] if who.swapped else exam.truths
        numbered = "\n".join(f"({n}) {text}" for n, text in enumerate(truths, start=1))
        given |= {"truths": fence("reference", numbered, key), "answers": answers}
    else:
        given |= {"reference": fence("reference", exam.truths[0], key), "answer": answers}
    return Request(
        endpoint=who.endpoint,
        role=who.role,
        model=who.model,
        messages=prompt_of(who.role).render(**given),
        schema_name="",
        schema={},
        temperature=who.temperature,
        max_tokens=_MAX_TOKENS[who.harness],
        reasoning_effort=who.reasoning_effort,
    )


def read_grade(text: str, harness: Harness, profile: str = STRICT) -> float | None:
    """The grade in a reply; None where it is none."""
    read = _verdict if harness is Harness.SHORT else _score
    return read(text.rpartition("</think>")[2].strip(), profile)


def _verdict(said: str, profile: str) -> float | None:
    """The word alone; else the one of both that stands in the reply, as it was asked for.

    Both words, one in a sentence with a negation, and a question leave a doubt. The reference looks
    for "True" first, wherever it stands, then for "False", and takes what is neither for False.
    """
    if profile == REFERENCE:
        return float(said == "True" or "True" in said)
    alone = said.strip(" \t\r\n.!\"'`*_").lower()
    if alone in ("true", "false"):
        return float(alone == "true")
    plain = _MARKS.sub("", said)
    found = list(_WORD.finditer(plain))
    if len({each[1] for each in found}) != 1:
        return None
    if any(_is_doubtful(plain[: each.start()], plain[each.end() :]) for each in found):
        return None
    return float(found[0][1] == "True")


def _is_doubtful(before: str, after: str) -> bool:
    """Whether a verdict is asked, or stands in a sentence that has a negation: before it anywhere,
    behind it as far as no reason is given."""
    sentence, rest = _SENTENCE_ENDS.split(before)[-1], _REASON.split(after, maxsplit=1)[0]
    return bool(
        _NEGATED.search(before)
        or _NEGATION.search(sentence)
        or _NEGATION.search(rest)
        or after.lstrip().startswith("?")
    )


def _score(said: str, profile: str) -> float | None:
    """The number behind the last `SCORE`, without the colon: from 0 to 100, and nothing else.

    The reference takes any number there.
    """
    _, marked, rest = said.rpartition("SCORE")
    if not marked:
        return None
    if profile == REFERENCE:
        try:
            value = float(rest.replace(":", "").strip())
        except ValueError:
            return None
        return value if math.isfinite(value) else None
    found = _SCORE.fullmatch(rest)
    value = float(found[1]) if found else math.inf
    return value if value <= BEST[Harness.LONG] else None
