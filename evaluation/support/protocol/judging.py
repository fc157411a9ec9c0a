"""The judge of citations: what it is asked, and what of its reply is a verdict."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from annotate.answers.citing import are_whole_words
from debate.dream.quotes import locate_all
from llm.parsing import ParseFailure, read_object
from llm.prompts import PromptTemplate, fence
from llm.requests import Reply, Request, ask_until, object_schema

ROLE: Final = "support_judge"
NOTHING_BEFORE: Final = "(the answer begins with it)"
_VALUES: Final = {"full": 2, "partial": 1, "none": 0}
_PROMPTS: Final = Path(__file__).resolve().parents[2] / "prompts"
_MAX_TOKENS: Final = 2_000


@dataclass(frozen=True)
class Judge:
    """One judge, as it was frozen when the run was made; `swapped`: it sees the passage first."""

    endpoint: str
    model: str
    temperature: float = 0.0
    reasoning_effort: str = ""
    swapped: bool = False


@dataclass(frozen=True)
class Exam:
    """A sentence with the text before it, beside one passage that it cites."""

    question: str
    before: str
    statement: str
    passage: str


@dataclass(frozen=True)
class Verdict:
    """2 fully, 1 partly, 0 not supported; None where no reply could be read. `span` are the code
    points [start, end) of the passage."""

    value: int | None
    span: tuple[int, int] | None = None
    said: str = ""
    call: int = 0


Judging: TypeAlias = Generator[Sequence[Request], Sequence[Reply], Verdict]


@cache
def prompt() -> PromptTemplate:
    """The judge's prompt, as it comes with the app."""
    names = {"query", "before", "statement", "passage"}
    return PromptTemplate.load(_PROMPTS / f"{ROLE}.txt", placeholders=names)


@cache
def _passage_first() -> PromptTemplate:
    """The same prompt with the passage before the statement and what stands before that."""
    blocks = prompt().user.split("\n\n")
    (passage,) = (each for each in blocks if "{passage}" in each)
    blocks.remove(passage)
    (at,) = (n for n, each in enumerate(blocks) if "{before}" in each)
    return replace(prompt(), user="\n\n".join([*blocks[:at], passage, *blocks[at:]]))


def judge(exam: Exam, who: Judge, key: bytes, replicate: int = 0) -> Judging:
    """Ask until a reply is a verdict, twice at most (docs/protocol.md 1.3)."""
    found, faults, reply = yield from ask_until(
        replace(judge_request(exam, who, key), replicate=replicate),
        lambda said: read_verdict(said, exam.passage),
        lambda _, fault: f"This cannot be used: {fault} Judge again by the same rules.",
    )
    return replace(found or Verdict(None, said=faults[-1]), call=reply.call_id)


def judge_request(exam: Exam, who: Judge, key: bytes) -> Request:
    """The question to the judge."""
    return Request(
        endpoint=who.endpoint,
        role=ROLE,
        model=who.model,
        messages=(_passage_first() if who.swapped else prompt()).render(
            query=fence("query", exam.question, key),
            before=fence("before", exam.before or NOTHING_BEFORE, key),
            statement=fence("answer", exam.statement, key),
            passage=fence("chunk", exam.passage, key),
        ),
        schema_name=ROLE,
        schema=object_schema(
            reason={"type": "string"},
            verdict={"type": "string", "enum": list(_VALUES)},
            span={"type": "string"},
        ),
        temperature=who.temperature,
        max_tokens=_MAX_TOKENS,
        reasoning_effort=who.reasoning_effort,
    )


def read_verdict(text: str, passage: str) -> Verdict | str:
    """The verdict in a reply, or why there is none: full support without three whole words that
    stand in the passage, letter by letter, is no verdict. Of partial support words that do not are
    left out."""
    found = read_object(text, "verdict")
    if isinstance(found, ParseFailure):
        return found.reason
    word = found.value["verdict"]
    value = _VALUES.get(word.strip().lower()) if isinstance(word, str) else None
    if value is None:
        return "verdict is none of full, partial and none."
    quoted = found.value.get("span")
    quote = next(iter(locate_all([quoted], passage)), None) if isinstance(quoted, str) else None
    span = None
    if quote and quote.start is not None and quote.end is not None:
        span = (quote.start, quote.end)
    if value == _VALUES["full"] and not (span and are_whole_words(passage, *span)):
        return (
            "Full support needs a span of three whole words or more that stands in the passage, "
            "letter by letter."
        )
    reason = found.value.get("reason")
    return Verdict(value, span if value else None, reason if isinstance(reason, str) else "")


@dataclass(frozen=True)
class Support:
    """Of one answer: the mean weight of its citations, and of its sentences, of which each has that
    of its best citation. None where nothing is to be weighed."""

    precision: float | None
    recall: float | None
    hard_precision: float | None
    hard_recall: float | None


def support(sentences: Sequence[Sequence[float | None]]) -> Support:
    """Of the weights of each sentence's citations; None is one that could not be judged.

    A sentence that cites nothing has 0. One that could not be judged counts in no mean, and its
    sentence only where another citation supports it fully.
    """
    cited = [weight for each in sentences for weight in each if weight is not None]
    best = [
        max((weight for weight in each if weight is not None), default=0.0)
        for each in sentences
        if None not in each or 1.0 in each
    ]
    return Support(_mean(cited), _mean(best), _mean(_hard(cited)), _mean(_hard(best)))


def _hard(weights: Sequence[float]) -> list[float]:
    return [float(weight == 1.0) for weight in weights]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
