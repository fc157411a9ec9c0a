"""The practice model's answer in each role that a JSON schema names (docs/protocol.md 8). Pure:
what a prompt gives it to read in, answer out."""

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from kit.boilerplate import without_boilerplate, without_menus
from llm.practice.blocks import Material
from llm.practice.words import (
    LONGEST_QUOTE,
    best_answer,
    coverage,
    in_order,
    quotes,
    reason,
    richest,
    sentences,
    telling,
    tokens,
)

# What the connection test asks for (llm/trying.py).
CHECK: Final = "check"
_OWN = re.compile(
    r"^(Agent \S+) \(You\), (?:opening position|round (?P<round>\d+)):[ \t]*(?P<said>.*)",
    re.MULTILINE,
)
_OTHER = re.compile(r"^(Agent \S+), (?:opening position|round \d+):[ \t]*(.*)", re.MULTILINE)
_FIRST = re.compile(r"^Agent \S+(?: \(You\))?, [^:\n]*:[ \t]*(.*)", re.MULTILINE)
_PERSON = re.compile(r"^A person who judged the chunk, [^:\n]*: (Yes|No)\b", re.MULTILINE)
_LABELLED = re.compile(r"(?:Yes|No)\b")
# What the order, an ally and a history without labels move.
_STEP: Final = 0.05
_SAID_NO = re.compile(r"No\b|.*\bnot covered\b", re.DOTALL)
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+\S", re.MULTILINE)
_LABEL: Final = re.compile(r"\[(doc_\d+)\].*\ba(\d+)\b")
_ASPECT: Final = re.compile(r"\ba(\d+)\b")


@dataclass(frozen=True, slots=True)
class Position:
    """Where the reader stands: the round it is in, its own last answer, who else debates.

    `stance` is None where the history has no entry of its own; `agreed` says that all others
    answered last as the reader did. `doubt` is asked of the coverage on top, `trust` is what the
    reader grants its own side.
    """

    round: int = 1
    stance: bool | None = None
    others: tuple[str, ...] = ()
    agreed: bool = False
    doubt: float = 0.0
    trust: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """The JSON object or free text to send, and how sure of its verdict the model claims to be
    (.5 to 1)."""

    value: Any
    confidence: float = 1.0


Role: TypeAlias = Callable[[Material], Answer]


def read_position(history: str) -> Position:
    """The reader's place in the debate, from the line marked (You)."""
    others = dict(_OTHER.findall(history))
    own = _OWN.search(history)
    if own is None:
        return Position(others=tuple(others))
    stance = _said_yes(own["said"])
    allies = sum(_said_yes(said) == stance for said in others.values())
    first = _FIRST.search(history)
    # A person's word weighs as two agents'.
    people = [2 * _STEP if said == "No" else -2 * _STEP for said in _PERSON.findall(history)]
    doubt = _STEP if first and not _said_yes(first[1]) else 0.0
    trust = 0.0 if _LABELLED.match(own["said"]) else _STEP
    return Position(
        round=int(own["round"] or 0) + 1,
        stance=stance,
        others=tuple(others),
        agreed=allies == len(others),
        doubt=doubt + sum(people),
        trust=trust + _STEP * allies,
    )


def _said_yes(said: str) -> bool:
    return not _SAID_NO.match(said)


def decide(position: Position, overlap: float) -> bool:
    """Whether the agent says yes.

    Round one keeps the stance for an overlap within [.4, .9]. Later a no yields from .7 on, a
    yes below .5; so two opposed agents never agree within [.5, .7). What moves these bounds is
    in `read_position`.
    """
    if position.stance is None:
        return overlap >= 0.7
    if position.round == 1:
        return position.stance if 0.4 <= overlap <= 0.9 else overlap > 0.9
    bound = 0.5 - position.trust if position.stance else 0.7 + position.trust
    return overlap >= round(bound + position.doubt, 2)


def _best(material: Material) -> tuple[int, str, float]:
    number, answer, overlap = best_answer(material.answers, material.chunk, material.query)
    return number, answer, min(1.0, max(0.0, overlap + material.misread))


def _argued(material: Material, position: Position, judge: Callable[[float], bool]) -> Answer:
    number, answer, overlap = _best(material)
    verdict = judge(overlap)
    expected, present = tokens(answer), tokens(material.chunk)
    when = "first"
    if position.round > 1:
        when = "agreed" if position.agreed else "kept"
        when = when if verdict == position.stance else "changed"
    argument = reason(
        verdict,
        when=when,
        number=number,
        found=in_order(answer, expected & present),
        missing=in_order(answer, expected - present),
        others=position.others,
        seed=material.chunk + answer,
    )
    value = {
        "reference": quotes(material.chunk, answer, supports=verdict),
        "reason": argument,
        "response": "yes" if verdict else "no",
    }
    return Answer(value, _confidence(overlap))


def debate_turn(material: Material) -> Answer:
    """One agent's turn: an opinion that bends to how many of the answer's words are there.

    Whoever judges alone has no stance and no history.
    """
    position = read_position(material.history)
    return _argued(material, position, lambda overlap: decide(position, overlap))


def _adjudication(material: Material) -> Answer:
    position = Position(others=read_position(material.history).others)
    return _argued(material, position, lambda overlap: overlap >= 0.6)


def _hint(supports: bool) -> Role:
    def write(material: Material) -> Answer:
        argued = _argued(material, Position(), lambda _: supports)
        kept = {name: argued.value[name] for name in ("reference", "reason")}
        return Answer(kept, argued.confidence)

    return write


def _by_overlap(judge: Callable[[float], Any], *, turning_point: float = 0.6) -> Role:
    """A judge that goes by how many of an answer's words are there, and by nothing else."""

    def answer(material: Material) -> Answer:
        *_, overlap = _best(material)
        return Answer(judge(overlap), _confidence(overlap, turning_point))

    return answer


# The surer the farther from there; of one who wants all words from just below.
_supported = _by_overlap(lambda overlap: {"is_supported": overlap == 1.0}, turning_point=0.99)
_relevance = _by_overlap(lambda overlap: {"answer": "yes" if overlap >= 0.6 else "no"})


def _graded(overlap: float) -> dict[str, int]:
    grade = 3 if overlap == 1.0 else 2 if overlap >= 0.6 else 1 if overlap >= 0.2 else 0
    return {"match": grade, "trust": 2, "score": grade}


def _relevance_confidence(material: Material) -> Answer:
    judged = _relevance(material)
    value = {**judged.value, "confidence": round(100 * judged.confidence)}
    return Answer(value, judged.confidence)


def _confidence(overlap: float, turning_point: float = 0.6) -> float:
    return round(0.55 + 0.44 * min(1.0, abs(overlap - turning_point) / 0.6), 4)


def _support(material: Material) -> Answer:
    statement = " ".join(material.answers)
    share = coverage(statement, material.chunk) + material.misread
    verdict = "full" if share >= 0.7 else "partial" if share >= 0.35 else "none"
    found = quotes(material.chunk, statement, supports=True)
    span = found[0] if found and verdict != "none" else ""
    return Answer({"reason": f"{share:.0%} of its words.", "verdict": verdict, "span": span})


def _cleaned(rewrite: Callable[[str], str]) -> Role:
    return lambda material: Answer({"text": rewrite(material.page)})


def safe_clean(page: str) -> str:
    """The page without the lines that are boilerplate, all else letter by letter."""
    return without_boilerplate(page).strip()


def fast_clean(page: str) -> str:
    """The same, and nothing where fewer than five words remain."""
    left = without_menus(page).strip()
    return left if len(left.split()) >= 5 else ""


def split(page: str) -> str:
    """Labelled chunks, cut before each Markdown heading."""
    starts = [match.start() for match in _HEADING.finditer(page)]
    first = len(page) - len(page.lstrip())
    edges = [0, *[start for start in starts if start > first], len(page)]
    chunks = [page[a:b].strip() for a, b in itertools.pairwise(edges)]
    labelled = (f"Chunk {_label(n)}:\n{text}" for n, text in enumerate(filter(None, chunks)))
    return "\n\n".join(labelled)


def _label(number: int) -> str:
    letters, number = "", number + 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _reference_answer(material: Material) -> Answer:
    """One paragraph an aspect: the first sentence of each of its passages, with its citation."""
    lines = [_ASPECT.search(line) for tag, line, _ in material.named if tag == "aspect"]
    cited: dict[int, list[str]] = {int(found[1]): [] for found in lines if found}
    for tag, line, text in material.named:
        label = _LABEL.search(line) if tag == "passage" else None
        if label and int(label[2]) in cited:
            first = next(sentences(text), "")[:LONGEST_QUOTE].strip().rstrip(".!?")
            plain = re.sub(r"[\[\]]", "", first)  # brackets would be citations
            cited[int(label[2])].append(f"{plain} [{label[1]}].")
    return Answer({"answer": "\n\n".join(" ".join(said) for said in cited.values() if said)})


def _rag_answer(material: Material) -> Answer:
    """The first of the sentences that share most words with the question."""
    asked = telling(material.query)
    found = (richest(text, asked) for tag, _, text in material.named if tag == "passage")
    shared, sentence = max(found, key=lambda pair: pair[0], default=(0, ""))
    nothing = "No relevant information found."
    return Answer({"Answer": sentence[:LONGEST_QUOTE] if shared else nothing})


def _aspects_in(material: Material) -> tuple[dict[str, float], int]:
    """How far the words of each aspect stand in an agent's answer, and the points for that: nobody
    tells the judge the weights."""
    answer, scores = "\n".join(material.answers), dict[str, float]()
    for _, line, text in material.named:
        if aspect := _ASPECT.search(line):
            share = coverage(text, answer)
            scores[aspect[0]] = 1.0 if share >= 0.6 else 0.5 if share >= 0.3 else 0.0
    return scores, 1 + round(4 * sum(scores.values()) / len(scores)) if scores else 1


def _by_rubric(material: Material) -> Answer:
    scores, points = _aspects_in(material)
    full = sum(score == 1 for score in scores.values())
    said = f"The words of {full} of {len(scores)} aspects are there."
    return Answer({"aspect_scores": scores, "overall_quality": points, "justification": said})


def _by_likert(material: Material) -> Answer:
    _, points = _aspects_in(material)
    said = "Counted by shared words."
    return Answer({"completeness": points, "overall_quality": points, "justification": said})


ROLES: Final[dict[str, Role]] = {
    "debate_turn": debate_turn,
    "solo_turn": debate_turn,
    "aspect_turn": debate_turn,
    "aspect_adjudication": _adjudication,
    "adjudication": _adjudication,
    "is_supported": _supported,
    "graded": _by_overlap(_graded),
    "relevance": _relevance,
    "relevance_confidence": _relevance_confidence,
    "hint_for": _hint(True),
    "hint_against": _hint(False),
    "safe_clean": _cleaned(safe_clean),
    "fast_clean": _cleaned(fast_clean),
    "splitter": _cleaned(split),
    "reference_answer": _reference_answer,
    "rubric_judge": _by_rubric,
    "likert_judge": _by_likert,
    "rag_answer": _rag_answer,
    "support_judge": _support,
}
