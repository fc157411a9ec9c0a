"""What is asked to make training data of one query, step by step, and what of the replies is kept
(docs/protocol.md 5.6). Pure.

It is a generator: it yields requests and is sent their replies, None for an answer that the model
refused or that was cut off. What cannot be read, or fails a check, is asked for once more with what
was wrong, then kept as rejected: it is never trained on.
"""

import hashlib
import json
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from evaluation.training import words
from llm.parsing import ParseFailure, read_object, storable
from llm.profiles import likely_thoughts
from llm.prompts import PromptTemplate, fence
from llm.requests import Reply, Request, object_schema, quoted_back

GRADE, POSITIVE, NEGATIVE = ROLES = ("train_grade", "train_positive", "train_negative")
ABOVE: Final = 6
BELOW: Final = 4
BEST: Final = 10
MOST_WRITTEN: Final = 3
KEY: Final = "hard negative document"
# What a document is used as.
IS_POSITIVE, IS_NEGATIVE, IS_DROPPED, IS_REJECTED = "positive", "negative", "dropped", "rejected"
UNREADABLE: Final = "The reply could not be read."
ANY_LANGUAGE: Final = "the language of the query"
_PROMPTS: Final = Path(__file__).resolve().parent.parent / "prompts"
_NEEDS: Final = {
    GRADE: {"query", "document"},
    POSITIVE: {"query", "most", "shortest", "longest", "language"},
    NEGATIVE: {"query", "document", "shortest", "language"},
}
_SCHEMAS: Final[dict[str, dict[str, Any]]] = {
    GRADE: object_schema(score={"type": "integer"}, reason={"type": "string"}),
    NEGATIVE: object_schema(**{KEY: {"type": "string"}}),
}
_MAX_TOKENS: Final = {GRADE: 400, POSITIVE: 6_000, NEGATIVE: 3_000}
_HEAD: Final = re.compile(r"Document\s*\d+\s*[:：]\s*(?=\{)", re.IGNORECASE)


@dataclass(frozen=True)
class Settings:
    """Grader and writer as they were frozen when the run was made (services.SETTINGS)."""

    endpoint: str = ""
    model: str = ""
    positives: int = 1
    negatives: int = 1
    shortest: int = 400
    longest: int = 800
    least_chars: int = 300
    likeness: float = 0.5
    language: str = ""
    temperature: float = 0.7
    reasoning_effort: str = ""


@dataclass(frozen=True)
class Task:
    """One query with the documents that are graded, and those that labels call relevant."""

    query: str
    documents: Sequence[str] = ()
    relevant: Sequence[str] = ()


@dataclass(frozen=True)
class Made:
    """One document with what it may be used as; `number` is that of a graded one, counted from 0.

    `fault` says why it is rejected, `call` is the call that graded or wrote it.
    """

    role: str
    outcome: str
    number: int = 0
    title: str = ""
    text: str = ""
    score: float | None = None
    reason: str = ""
    fault: str = ""
    call: int = 0


Replies: TypeAlias = Sequence[Reply | None]
Steps: TypeAlias = Generator[Sequence[Request], Replies, list[Made]]
# Documents of a reply, each with its fault; a fault alone where nothing could be read.
Read: TypeAlias = Callable[[Reply | None], list[Made]]


@cache
def prompt_of(role: str) -> PromptTemplate:
    """The prompt of a role, as it comes with the app."""
    return PromptTemplate.load(_PROMPTS / f"{role}.txt", placeholders=_NEEDS[role])


def digest() -> str:
    """What a run pins: its three prompts."""
    return hashlib.sha256("".join(prompt_of(role).sha256 for role in ROLES).encode()).hexdigest()


def outcome_of(score: float) -> str:
    """Above 6 positive, below 4 negative; 4 to 6 is discarded."""
    return IS_POSITIVE if score > ABOVE else IS_NEGATIVE if score < BELOW else IS_DROPPED


def make(task: Task, who: Settings, key: bytes) -> Steps:
    """Grade the documents, write positives, then hard negatives against the first positives:
    relevant by label, then by grade, then written."""
    graded = yield from _asked(
        [(request_of(GRADE, who, key, task.query, each), _read_grade) for each in task.documents]
    )
    made = [replace(each, number=n) for n, each in enumerate(graded)]
    if who.positives:
        asked = request_of(POSITIVE, who, key, task.query)
        made += yield from _asked([(asked, partial(_read_positives, who=who))])
    best = sorted((each for each in made if each.outcome == IS_POSITIVE and each.role == GRADE),
                  key=lambda each: -(each.score or 0))  # fmt: skip
    positives = [
        *task.relevant,
        *(task.documents[each.number] for each in best),
        *(each.text for each in made if each.outcome == IS_POSITIVE and each.role == POSITIVE),
    ][: who.negatives]
    made += yield from _asked(
        [
            (
                request_of(NEGATIVE, who, key, task.query, each),
                partial(_read_negative, query=task.query, positive=each, who=who),
            )
            for each in positives
        ]
    )
    return made


def request_of(role: str, who: Settings, key: bytes, query: str, document: str = "") -> Request:
    """One question; grades are given at temperature 0."""
    given = {
        "query": fence("query", query, key),
        "document": fence("document", document, key),
        "most": str(who.positives),
        "shortest": str(who.least_chars if role == NEGATIVE else who.shortest),
        "longest": str(who.longest),
        "language": who.language or ANY_LANGUAGE,
    }
    return Request(
        endpoint=who.endpoint,
        role=role,
        model=who.model,
        messages=prompt_of(role).render(**{name: given[name] for name in _NEEDS[role]}),
        schema_name=role if role in _SCHEMAS else "",
        schema=_SCHEMAS.get(role, {}),
        temperature=0.0 if role == GRADE else who.temperature,
        max_tokens=_MAX_TOKENS[role] + likely_thoughts(who.model, who.reasoning_effort),
        reasoning_effort=who.reasoning_effort,
    )


def _asked(
    questions: Sequence[tuple[Request, Read]],
) -> Generator[Sequence[Request], Replies, list[Made]]:
    """Ask all at once, and what has a fault once more; rejected at the second."""
    if not questions:
        return []
    replies = yield [request for request, _ in questions]
    found = [read(reply) for (_, read), reply in zip(questions, replies, strict=True)]
    wrong = [n for n, made in enumerate(found) if any(each.fault for each in made)]
    if wrong:
        again = [_again(questions[n][0], replies[n], found[n]) for n in wrong]
        for n, reply in zip(wrong, (yield again), strict=True):
            second = questions[n][1](reply)
            found[n] = max(second, found[n], key=lambda made: sum(not each.fault for each in made))
    return [each for made in found for each in made]


def _again(first: Request, reply: Reply | None, made: Sequence[Made]) -> Request:
    """The same question with the reply and its faults; from the start where there was no reply."""
    if reply is None:
        return replace(first, replicate=1)
    faults = " ".join(dict.fromkeys(each.fault for each in made if each.fault))
    said = f"{faults} Do it again by the same rules, in the same form."
    return quoted_back(first, reply.text, said, 6_000)


def _rejected(role: str, reply: Reply | None, fault: str = UNREADABLE) -> list[Made]:
    return [Made(role, IS_REJECTED, fault=fault, call=reply.call_id if reply else 0)]


def _read_grade(reply: Reply | None) -> list[Made]:
    read = read_object(reply.text, "score") if reply else None
    if reply is None or read is None or isinstance(read, ParseFailure):
        return _rejected(GRADE, reply)
    score = read.value["score"]
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= BEST:
        return _rejected(GRADE, reply, f"The score is no number from 0 to {BEST}.")
    reason = str(read.value.get("reason") or "")
    return [Made(GRADE, outcome_of(score), score=score, reason=reason, call=reply.call_id)]


def _read_positives(reply: Reply | None, who: Settings) -> list[Made]:
    found = list(read_documents(reply.text)) if reply else []
    if reply is None or not found:
        return _rejected(POSITIVE, reply)
    made = []
    for title, text in found[: who.positives]:
        fault = words.length_fault(text, who.shortest, who.longest)
        fault = fault or words.language_fault(text, who.language)
        outcome = IS_REJECTED if fault else IS_POSITIVE
        made.append(
            Made(POSITIVE, outcome, title=title, text=text, fault=fault, call=reply.call_id)
        )
    return made


def read_documents(text: str) -> Iterator[tuple[str, str]]:
    """(title, content) of the lines `Document n: {...}` of a reply; broken ones are passed over."""
    said, decoder = text.rpartition("</think>")[2], json.JSONDecoder(strict=False)
    for head in _HEAD.finditer(said):
        try:
            value = storable(decoder.raw_decode(said, head.end())[0])
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and isinstance(value.get("content"), str):
            title, content = value.get("title"), value["content"].strip()
            if content:
                yield (title.strip() if isinstance(title, str) else ""), content


def _read_negative(reply: Reply | None, query: str, positive: str, who: Settings) -> list[Made]:
    read = read_object(reply.text, KEY) if reply else None
    if reply is None or read is None or isinstance(read, ParseFailure):
        return _rejected(NEGATIVE, reply)
    text = read.value[KEY].strip() if isinstance(read.value[KEY], str) else ""
    fault = words.negative_fault(text, query, positive, who.least_chars, who.likeness)
    fault = fault or words.language_fault(text, who.language)
    outcome = IS_REJECTED if fault else IS_NEGATIVE
    return [Made(NEGATIVE, outcome, text=text, fault=fault, call=reply.call_id)]
