"""The roles of the practice model (docs/protocol.md 8). Pure: material in, answer out."""

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kit.boilerplate import without_boilerplate
from llm.practice.blocks import Material, Position, read_position
from llm.practice.words import best_answer, in_order, quotes, reason, sentences, tokens

_HEADING: Final = re.compile(r"^#{1,6}[ \t]+\S", re.MULTILINE)
_LABEL: Final = re.compile(r"\[(doc_\d+)\].*\ba(\d+)\b")
_ASPECT: Final = re.compile(r"\ba(\d+)\b")
_LONGEST_CITED: Final = 300


@dataclass(frozen=True, slots=True)
class Answer:
    """The JSON object or free text to send, and how sure of its verdict the model claims to be
    (.5 to 1)."""

    value: Any
    confidence: float = 1.0


def debate_turn(material: Material) -> Answer:
    """One agent's turn: an opinion that bends to how many of the answer's words are there.

    Whoever judges alone has no stance and no history.
    """
    _, overlap = best_answer(material.answers, material.chunk)
    position = read_position(material.history)
    verdict = decide(position.stance, round=position.round, overlap=overlap)
    return _argued(material, verdict, position)


def adjudication(material: Material) -> Answer:
    """The adjudicator of a dispute: yes from an overlap of .6 on."""
    _, overlap = best_answer(material.answers, material.chunk)
    others = read_position(material.history).others
    return _argued(material, overlap >= 0.6, Position(round=1, stance=None, others=others))


def _hint(supports: bool) -> Callable[[Material], Answer]:
    """Whoever writes the reason for one side, whatever the passage holds."""

    def write(material: Material) -> Answer:
        said = _argued(material, supports, Position(round=1, stance=None, others=()))
        kept = {name: said.value[name] for name in ("reference", "reason")}
        return Answer(kept, said.confidence)

    return write


def _argued(material: Material, verdict: bool, position: Position) -> Answer:
    number, overlap = best_answer(material.answers, material.chunk)
    answer = material.answers[number - 1] if number else ""
    wanted, there = tokens(answer), tokens(material.chunk)
    when = "agreed" if position.agreed else "kept"
    when = when if verdict == position.stance else "changed"
    said = reason(
        verdict,
        when="first" if position.round == 1 else when,
        number=number,
        found=in_order(answer, wanted & there),
        missing=in_order(answer, wanted - there),
        others=position.others,
        seed=material.chunk + answer,
    )
    value = {
        "reference": quotes(material.chunk, answer, supports=verdict),
        "reason": said,
        "response": "yes" if verdict else "no",
    }
    return Answer(value, _confidence(overlap, turning_point=0.6))


def decide(stance: bool | None, *, round: int, overlap: float) -> bool:
    """Whether the agent says yes.

    Round one keeps the stance for an overlap within [.4, .9]. Later a no yields from .7 on, a
    yes below .5; so two opposed agents never agree within [.5, .7).
    """
    if stance is None:
        return overlap >= 0.7
    if round == 1:
        return stance if 0.4 <= overlap <= 0.9 else overlap > 0.9
    return overlap >= (0.5 if stance else 0.7)


def is_supported(material: Material) -> Answer:
    """The filter and the single judge: true if all words of some answer are there."""
    _, overlap = best_answer(material.answers, material.chunk)
    return Answer({"is_supported": overlap == 1.0}, _confidence(overlap, turning_point=0.99))


def graded(material: Material) -> Answer:
    """The graded judge: 3 for all words of an answer, 2 from .6 on, 1 from .2 on."""
    _, overlap = best_answer(material.answers, material.chunk)
    grade = 3 if overlap == 1.0 else 2 if overlap >= 0.6 else 1 if overlap >= 0.2 else 0
    value = {"match": grade, "trust": 2, "score": grade}
    return Answer(value, _confidence(overlap, turning_point=0.6))


def relevance(material: Material) -> Answer:
    """Yes or no from .6 on, the surer the farther from there."""
    _, overlap = best_answer(material.answers, material.chunk)
    verdict = "yes" if overlap >= 0.6 else "no"
    return Answer({"answer": verdict}, _confidence(overlap, turning_point=0.6))


def relevance_confidence(material: Material) -> Answer:
    """The same, with how sure it is in percent."""
    said = relevance(material)
    value = {**said.value, "confidence": round(100 * said.confidence)}
    return Answer(value, said.confidence)


def _cleaned(rewrite: Callable[[str], str]) -> Callable[[Material], Answer]:
    """One of the agents that hand a page back: as text, and never in doubt."""
    return lambda material: Answer({"text": rewrite(material.page)}, 1.0)


def reference_answer(material: Material) -> Answer:
    """An answer made of its passages' own sentences."""
    return Answer({"answer": cited_answer(material)}, 1.0)


def safe_clean(page: str) -> str:
    """The page without the lines that are furniture, all else letter by letter."""
    return without_boilerplate(page).strip()


def fast_clean(page: str) -> str:
    """The same, and nothing where fewer than five words remain."""
    left = safe_clean(page)
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


def cited_answer(material: Material) -> str:
    """One paragraph an aspect: the first sentence of each of its passages, with its citation."""
    lines = [_ASPECT.search(line) for tag, line, _ in material.named if tag == "aspect"]
    told: dict[int, list[str]] = {int(found[1]): [] for found in lines if found}
    for tag, line, text in material.named:
        label = _LABEL.search(line) if tag == "passage" else None
        if label and int(label[2]) in told:
            first = next(sentences(text), "")[:_LONGEST_CITED].strip().rstrip(".!?")
            plain = re.sub(r"[\[\]]", "", first)  # brackets would be citations
            told[int(label[2])].append(f"{plain} [{label[1]}].")
    return "\n\n".join(" ".join(said) for said in told.values() if said)


def _confidence(overlap: float, *, turning_point: float) -> float:
    return round(0.55 + 0.44 * min(1.0, abs(overlap - turning_point) / 0.6), 4)


ROLES: Final[dict[str, Callable[[Material], Answer]]] = {
    "debate_turn": debate_turn,
    "solo_turn": debate_turn,
    "adjudication": adjudication,
    "is_supported": is_supported,
    "graded": graded,
    "relevance": relevance,
    "relevance_confidence": relevance_confidence,
    "hint_for": _hint(True),
    "hint_against": _hint(False),
    "safe_clean": _cleaned(safe_clean),
    "fast_clean": _cleaned(fast_clean),
    "splitter": _cleaned(split),
    "reference_answer": reference_answer,
}
