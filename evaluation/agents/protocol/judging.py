"""The judge of agents' answers (docs/protocol.md 3.5): what it is asked, and what of it counts.

Two modes, never mixed in one mean: a score for every aspect, or two points from 1 to 5.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Any, Final, TypeAlias

from evaluation.agents.protocol.asking import prompt_of
from llm.parsing import ParseFailure, read_object
from llm.prompts import fence
from llm.requests import Reply, Request, ask_until, object_schema

NO_REFERENCE: Final = "(no reference answer)"
MAX_TOKENS: Final = 16_000
# Points of quality and completeness.
WORST: Final = 1
BEST: Final = 5
_SCORES: Final = (0.0, 0.5, 1.0)
_POINTS: Final = {"type": "integer", "enum": [1, 2, 3, 4, 5]}


class JudgeMode(StrEnum):
    """How an answer is scored."""

    RUBRIC = "aspect_rubric"
    LIKERT = "likert_pair"

    @property
    def role(self) -> str:
        """What its prompt and its calls are called."""
        return "rubric_judge" if self is JudgeMode.RUBRIC else "likert_judge"


@dataclass(frozen=True)
class Judge:
    """One judge, as it was frozen when the run was made; `swapped`: it sees aspects the other way
    round, to tell whether their order matters."""

    endpoint: str
    model: str
    mode: JudgeMode = JudgeMode.RUBRIC
    temperature: float = 0.0
    reasoning_effort: str = ""
    swapped: bool = False


@dataclass(frozen=True)
class Exam:
    """One answer to be judged. Aspects are (k, content, raw weight), by k."""

    question: str
    aspects: tuple[tuple[int, str, int], ...]
    reference: str
    answer: str
    repetition: int = 0


@dataclass(frozen=True)
class Verdict:
    """What a judge made of an answer.

    `scores` are by aspect id (a1, ...), of the rubric alone. `attempts` holds why each reply
    before the last could not be used, `call` the call of the last.
    """

    quality: int
    completeness: int
    scores: Mapping[str, float]
    justification: str
    attempts: tuple[str, ...] = ()
    call: int = 0
    extra: tuple[str, ...] = ()


@dataclass(frozen=True)
class NoVerdict:
    """An answer that no reply of the judge could be used for."""

    attempts: tuple[str, ...]
    call: int = 0


Judging: TypeAlias = Generator[Sequence[Request], Sequence[Reply], Verdict | NoVerdict]


def judge(exam: Exam, who: Judge, key: bytes) -> Judging:
    """Ask until a reply is valid, four times at most; each repair quotes the reply before."""
    found, faults, reply = yield from ask_until(
        judge_request(exam, who, key),
        lambda said: read_verdict(said, exam, who.mode),
        # The number of the attempt keeps a second faulty reply from being asked for as the first.
        lambda n, fault: f"Attempt {n} cannot be used: {fault} Judge again by the same rules.",
        attempts=4,
        quoted=4_000,
    )
    if found is None:
        return NoVerdict(faults, reply.call_id)
    return replace(found, attempts=faults, call=reply.call_id)


def judge_request(exam: Exam, who: Judge, key: bytes) -> Request:
    """The question to the judge."""
    ids = [f"a{k}" for k, _, _ in exam.aspects]
    shown = exam.aspects[::-1] if who.swapped else exam.aspects
    aspects = "\n".join(f"a{k}:\n{fence('aspect', content, key)}" for k, content, _ in shown)
    messages = prompt_of(who.mode.role).render(
        query=fence("query", exam.question, key),
        aspects=aspects,
        reference=fence("reference", exam.reference or NO_REFERENCE, key),
        answer=fence("answer", exam.answer, key),
    )
    if who.mode is JudgeMode.RUBRIC:
        score = {"type": "number", "enum": [0, 0.5, 1]}
        points = {"aspect_scores": object_schema(**dict.fromkeys(ids, score))}
    else:
        points = {"completeness": _POINTS}
    return Request(
        endpoint=who.endpoint,
        role=who.mode.role,
        model=who.model,
        messages=messages,
        schema_name=who.mode.role,
        schema=object_schema(**points, overall_quality=_POINTS, justification={"type": "string"}),
        temperature=who.temperature,
        max_tokens=MAX_TOKENS,
        reasoning_effort=who.reasoning_effort,
        replicate=exam.repetition,
    )


def read_verdict(text: str, exam: Exam, mode: JudgeMode) -> Verdict | str:
    """The verdict in a reply, or why there is none: nothing that is missing is made up.

    An aspect that nobody asked for is left out and named in `extra`.
    """
    found = read_object(text, "overall_quality")
    if isinstance(found, ParseFailure):
        return found.reason
    value = found.value
    quality = _points(value["overall_quality"])
    if quality is None:
        return "overall_quality is not a whole number from 1 to 5."
    words = value.get("justification")
    said = words if isinstance(words, str) else ""
    if mode is JudgeMode.LIKERT:
        completeness = _points(value.get("completeness"))
        if completeness is None:
            return "completeness is not a whole number from 1 to 5."
        return Verdict(quality, completeness, {}, said)
    given = value.get("aspect_scores")
    if not isinstance(given, dict) or not given:
        return "aspect_scores holds no scores."
    weights = {f"a{k}": weight for k, _, weight in exam.aspects}
    if missing := [name for name in weights if name not in given]:
        return f"aspect_scores lacks {', '.join(missing)}."
    if wrong := [name for name in weights if not _is_score(given[name])]:
        return f"The score of {', '.join(wrong)} is none of 0, 0.5 and 1."
    scores = {name: float(given[name]) for name in weights}
    extra = tuple(sorted(str(name)[:80] for name in given.keys() - weights.keys()))
    return Verdict(quality, completeness_of(scores, weights), scores, said, extra=extra)


def weighted_coverage(scores: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Σ w s / Σ w on raw weights. Raises ValueError for weights that add up to nothing."""
    whole = sum(weights[name] for name in scores)
    if not whole > 0:
        raise ValueError("The weights add up to nothing.")
    return sum(weights[name] * score for name, score in scores.items()) / whole


def completeness_of(scores: Mapping[str, float], weights: Mapping[str, float]) -> int:
    """round(4 * weighted coverage + 1), halves to the even number: 2.5 is 2, 3.5 is 4."""
    return round(4 * weighted_coverage(scores, weights) + 1)


PLATITUDE: Final = (
    "This is an interesting topic that many people think about. There are different views, and "
    "much depends on the circumstances, so it is always worth looking at it from several sides."
)
TIERS: Final = ("reference", "opening", "platitude")
_LONG_ENOUGH: Final = 40


def tiers_of(reference: str) -> dict[str, str]:
    """Three answers of known order: the reference, its first 40 % of words (20 at least), and an
    off-topic platitude. Empty for a reference of fewer than 40 words."""
    words = reference.split()
    if len(words) < _LONG_ENOUGH:
        return {}
    opening = " ".join(words[: max(20, len(words) * 2 // 5)])
    return dict(zip(TIERS, (reference, opening, PLATITUDE), strict=True))


def falls_strictly(means: Sequence[float]) -> bool:
    """Whether each mean of a tier is below the one before."""
    return all(after < before for before, after in pairwise(means))


def _points(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        return None
    return int(value) if WORST <= value <= BEST else None


def _is_score(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and value in _SCORES
