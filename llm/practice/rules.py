"""The practice model: what a prompt gives it to read, and the answer of each of its roles
(docs/protocol.md 8). Pure: messages in, answer out."""

import itertools
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from kit.boilerplate import without_boilerplate, without_menus
from llm.practice.searching import (
    extracted,
    graded,
    likert_verdict,
    points_of_100,
    rubric_verdict,
)
from llm.practice.words import best_answer, coverage, in_order, quotes, reason, sentences, tokens

_TAG = r"(query|answer|chunk|history|page|aspect|passage|reference|document)-([0-9a-f]{16})"
_OPENING = re.compile(rf"<{_TAG}>\n")
_CLOSING = re.compile(rf"\n</{_TAG}>")
_NUMBER = re.compile(r"^\(\d+\)[ \t]*", re.MULTILINE)
_OWN = re.compile(
    r"^(Agent \S+) \(You\), (?:opening position|round (?P<round>\d+)):[ \t]*(?P<said>.*)",
    re.MULTILINE,
)
_OTHER = re.compile(r"^(Agent \S+), (?:opening position|round \d+):[ \t]*(.*)", re.MULTILINE)
_FIRST = re.compile(r"^Agent \S+(?: \(You\))?, [^:\n]*:[ \t]*(.*)", re.MULTILINE)
_PERSON = re.compile(r"^A person who judged the chunk, [^:\n]*: (Yes|No)\b", re.MULTILINE)
_LABELLED = re.compile(r"(?:Yes|No)\b")
# What the order, an ally and a history without labels move (docs/protocol.md 8).
_STEP: Final = 0.05
_SAID_NO = re.compile(r"No\b|.*\bnot covered\b", re.DOTALL)
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+\S", re.MULTILINE)
_LABEL: Final = re.compile(r"\[(doc_\d+)\].*\ba(\d+)\b")
_ASPECT: Final = re.compile(r"\ba(\d+)\b")
_LONGEST_CITED: Final = 300


@dataclass(frozen=True, slots=True)
class Material:
    """The blocks of one prompt; `history` is "" where there is none."""

    query: str
    answers: tuple[str, ...]
    chunk: str
    history: str
    page: str = ""
    # Aspects and passages with the line that stands before each, which names it.
    named: tuple[tuple[str, str, str], ...] = ()
    # By how much the coverage is misread: a temperature above 0 shakes it.
    misread: float = 0.0


@dataclass(frozen=True, slots=True)
class Position:
    """Where the reader stands: the round it is in, its own last answer, who else debates.

    `stance` is None where the history has no entry of its own; `agreed` says that all others
    answered last as the reader did. `doubt` is asked of the coverage on top, `trust` is what the
    reader grants its own side.
    """

    round: int
    stance: bool | None
    others: tuple[str, ...]
    agreed: bool = False
    doubt: float = 0.0
    trust: float = 0.0


def find_material(messages: Sequence[Mapping[str, object]]) -> Material | None:
    """The blocks of the last user message that gives something to work on; a repair gives none."""
    for message in reversed(messages):
        text = message.get("content")
        if message.get("role") != "user" or not isinstance(text, str):
            continue
        blocks = read_blocks(text)
        chunk = blocks.get("chunk", "")
        if blocks.keys() & {"chunk", "page", "passage", "reference"}:
            # Of a debate on an aspect its text is what the chunk may support.
            supported = blocks.get("answer") or (blocks.get("aspect", "") if chunk else "")
            answers = (part.strip() for part in _NUMBER.split(supported))
            return Material(
                query=blocks.get("query", ""),
                answers=tuple(filter(None, answers)),
                chunk=chunk,
                history=blocks.get("history", ""),
                page=blocks.get("page", ""),
                named=tuple(read_named(text)),
            )
    return None


def read_blocks(text: str) -> dict[str, str]:
    """The fenced blocks by tag, the first of each; what looks like a block inside one is text."""
    blocks: dict[str, str] = {}
    for tag, _, inside in _blocks(text):
        blocks.setdefault(tag, inside)
    return blocks


def read_named(text: str) -> Iterator[tuple[str, str, str]]:
    """Every (tag, line before it, text) of the blocks that come in numbers."""
    for tag, start, inside in _blocks(text):
        if tag in ("aspect", "passage", "document"):
            while start and text[start - 1] == "\n":
                start -= 1
            yield tag, text[text.rfind("\n", 0, start) + 1 : start], inside


def _blocks(text: str) -> Iterator[tuple[str, int, str]]:
    """(tag, where it opens, text) of every block, in order."""
    ends: dict[tuple[str, str], list[int]] = {}
    for closing in _CLOSING.finditer(text):
        ends.setdefault((closing[1], closing[2]), []).append(closing.start())
    position = 0
    while opening := _OPENING.search(text, position):
        position = opening.end()
        own = ends.get((opening[1], opening[2]), [])
        at = bisect_left(own, position - 1)
        if at < len(own):
            yield opening[1], opening.start(), text[position : own[at]]
            position = own[at] + 1


def read_position(history: str) -> Position:
    """The reader's place in the debate, from the line marked (You)."""
    others = dict(_OTHER.findall(history))
    own = _OWN.search(history)
    if own is None:
        return Position(round=1, stance=None, others=tuple(others))
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


@dataclass(frozen=True, slots=True)
class Answer:
    """The JSON object or free text to send, and how sure of its verdict the model claims to be
    (.5 to 1)."""

    value: Any
    confidence: float = 1.0


Role: TypeAlias = Callable[[Material], Answer]


def debate_turn(material: Material) -> Answer:
    """One agent's turn: an opinion that bends to how many of the answer's words are there.

    Whoever judges alone has no stance and no history.
    """
    *_, overlap = _best(material)
    position = read_position(material.history)
    verdict = decide(position, overlap)
    return _argued(material, verdict, position)


def adjudication(material: Material) -> Answer:
    """The adjudicator of a dispute: yes from an overlap of .6 on."""
    *_, overlap = _best(material)
    others = read_position(material.history).others
    return _argued(material, overlap >= 0.6, Position(round=1, stance=None, others=others))


def _hint(supports: bool) -> Role:
    """Whoever writes the reason for one side, whatever the passage holds."""

    def write(material: Material) -> Answer:
        argued = _argued(material, supports, Position(round=1, stance=None, others=()))
        kept = {name: argued.value[name] for name in ("reference", "reason")}
        return Answer(kept, argued.confidence)

    return write


def _best(material: Material) -> tuple[int, str, float]:
    number, answer, overlap = best_answer(material.answers, material.chunk, material.query)
    return number, answer, min(1.0, max(0.0, overlap + material.misread))


def _argued(material: Material, verdict: bool, position: Position) -> Answer:
    number, answer, overlap = _best(material)
    expected, present = tokens(answer), tokens(material.chunk)
    when = "agreed" if position.agreed else "kept"
    when = when if verdict == position.stance else "changed"
    argument = reason(
        verdict,
        when="first" if position.round == 1 else when,
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
    return Answer(value, _confidence(overlap, turning_point=0.6))


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


def _by_overlap(judge: Callable[[float], Any], *, turning_point: float = 0.6) -> Role:
    """A judge that goes by how many of an answer's words are there, and by nothing else."""

    def answer(material: Material) -> Answer:
        *_, overlap = _best(material)
        return Answer(judge(overlap), _confidence(overlap, turning_point=turning_point))

    return answer


# The filter and the single judge: true if all words of some answer are there.
is_supported = _by_overlap(lambda overlap: {"is_supported": overlap == 1.0}, turning_point=0.99)
# Yes or no from .6 on, the surer the farther from there.
relevance = _by_overlap(lambda overlap: {"answer": "yes" if overlap >= 0.6 else "no"})


def _graded(overlap: float) -> dict[str, int]:
    """The graded judge: 3 for all words of an answer, 2 from .6 on, 1 from .2 on."""
    grade = 3 if overlap == 1.0 else 2 if overlap >= 0.6 else 1 if overlap >= 0.2 else 0
    return {"match": grade, "trust": 2, "score": grade}


def relevance_confidence(material: Material) -> Answer:
    """The same as `relevance`, with how sure it is in percent."""
    judged = relevance(material)
    value = {**judged.value, "confidence": round(100 * judged.confidence)}
    return Answer(value, judged.confidence)


def _cleaned(rewrite: Callable[[str], str]) -> Role:
    """One of the agents that hand a page back: as text, and never in doubt."""
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


def reference_answer(material: Material) -> Answer:
    """One paragraph an aspect: the first sentence of each of its passages, with its citation."""
    lines = [_ASPECT.search(line) for tag, line, _ in material.named if tag == "aspect"]
    cited: dict[int, list[str]] = {int(found[1]): [] for found in lines if found}
    for tag, line, text in material.named:
        label = _LABEL.search(line) if tag == "passage" else None
        if label and int(label[2]) in cited:
            first = next(sentences(text), "")[:_LONGEST_CITED].strip().rstrip(".!?")
            plain = re.sub(r"[\[\]]", "", first)  # brackets would be citations
            cited[int(label[2])].append(f"{plain} [{label[1]}].")
    return Answer({"answer": "\n\n".join(" ".join(said) for said in cited.values() if said)})


def _judged(say: Callable[[Mapping[str, str], str], dict[str, Any]]) -> Role:
    """The judge of an agent's answer, by the words of the aspects."""

    def judge(material: Material) -> Answer:
        lines = [(_ASPECT.search(line), text) for tag, line, text in material.named]
        aspects = {found[0]: text for found, text in lines if found}
        return Answer(say(aspects, "\n".join(material.answers)))

    return judge


def support_judge(material: Material) -> Answer:
    """How many of a statement's words stand in the passage: fully from .7 on, partly from .35."""
    statement = " ".join(material.answers)
    share = coverage(statement, material.chunk) + material.misread
    verdict = "full" if share >= 0.7 else "partial" if share >= 0.35 else "none"
    found = quotes(material.chunk, statement, supports=True)
    span = found[0] if found and verdict != "none" else ""
    return Answer({"reason": f"{share:.0%} of its words.", "verdict": verdict, "span": span})


def rag_answer(material: Material) -> Answer:
    """A sentence of the passages, for who answers from them."""
    passages = [text for tag, _, text in material.named if tag == "passage"]
    return Answer({"Answer": extracted(material.query, passages)})


def free_grade(text: str) -> str | None:
    """What the grader of an answer says to this message; None where it asks for no grade."""
    blocks = read_blocks(text)
    if not {"query", "reference", "answer"} <= blocks.keys():
        return None
    if "SCORE" in text[text.rfind("\n</") :]:
        return points_of_100(blocks["reference"], blocks["answer"])
    return graded(list(filter(None, _NUMBER.split(blocks["reference"]))), blocks["answer"])


def _confidence(overlap: float, *, turning_point: float) -> float:
    return round(0.55 + 0.44 * min(1.0, abs(overlap - turning_point) / 0.6), 4)


ROLES: Final[dict[str, Role]] = {
    "debate_turn": debate_turn,
    "solo_turn": debate_turn,
    "aspect_turn": debate_turn,
    "aspect_adjudication": adjudication,
    "adjudication": adjudication,
    "is_supported": is_supported,
    "graded": _by_overlap(_graded),
    "relevance": relevance,
    "relevance_confidence": relevance_confidence,
    "hint_for": _hint(True),
    "hint_against": _hint(False),
    "safe_clean": _cleaned(safe_clean),
    "fast_clean": _cleaned(fast_clean),
    "splitter": _cleaned(split),
    "reference_answer": reference_answer,
    "rubric_judge": _judged(rubric_verdict),
    "likert_judge": _judged(likert_verdict),
    "rag_answer": rag_answer,
    "support_judge": support_judge,
}
