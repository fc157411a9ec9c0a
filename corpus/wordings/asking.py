"""What a model is asked for other words of a query, and what its reply comes to. Pure.

Rewriting: docs/protocol.md 4.7, item 6; QExpand: 5.2.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from corpus.texts.tokens import CHARACTERS, cut, token_count
from llm.profiles import likely_thoughts
from llm.prompts import PromptTemplate, fence
from llm.requests import Request

REWRITE, QEXPAND = METHODS = ("rewrite", "qexpand")
STRICT, REFERENCE = PROFILES = ("strict", "reference")
# Calls for one sample, the first with them: nothing asks without end, as the reference does.
ATTEMPTS: Final = {STRICT: 2, REFERENCE: 4}
# Samples of a call: the reference draws two, though its option says one.
SAMPLES: Final = {STRICT: 1, REFERENCE: 2}
# How far back a passage counts as shown; None is to the beginning.
_LOOKS_BACK: Final[Mapping[str, int | None]] = {STRICT: None, REFERENCE: 2}
# So many first places have to be the same for a round to have changed nothing.
TOP: Final = 10
NOTHING: Final = "(none was found)"
_FOLDER: Final = Path(__file__).resolve().parent.parent / "prompts"
_PLACES: Final[Mapping[str, frozenset[str]]] = {
    "rewrite": frozenset({"query"}),
    "expand": frozenset({"query", "documents"}),
    "expand_again": frozenset({"query", "documents", "answer"}),
}
_THOUGHT_END: Final = "</think>"
# What an answer without reasoning begins behind.
_NO_THOUGHT: Final = f"<think>\n\n{_THOUGHT_END}\n\n"
_THOUGHT: Final = re.compile(r"\s*<think>")


@dataclass(frozen=True)
class Settings:
    """How queries are worded, as it was frozen when the run was made; sizes in tokens of
    `tokenizer`, but for `output_tokens`, which are the model's."""

    method: str
    endpoint: str = ""
    model: str = ""
    profile: str = STRICT
    rounds: int = 1
    samples: int = 1
    passages: int = 5
    passage_tokens: int = 512
    tokenizer: str = CHARACTERS
    prompt_tokens: int = 16_000
    output_tokens: int = 2_048
    temperature: float = 0.7
    top_p: float = 1.0
    reasoning_effort: str = ""
    stops_early: bool = False
    reasoning_free: bool = False


@dataclass(frozen=True)
class Shown:
    """Passages of a round: their ids, and their texts as a whole."""

    pids: tuple[str, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Prompt:
    """What a round asks; `cut` counts what was shown in part or left out for lack of room."""

    name: str
    values: Mapping[str, str]
    cut: int = 0


@cache
def prompt_of(name: str) -> PromptTemplate:
    """A prompt as it comes with the app."""
    return PromptTemplate.load(_FOLDER / f"{name}.txt", placeholders=_PLACES[name])


def digest_of(method: str) -> str:
    """What a run pins."""
    names = ("rewrite",) if method == REWRITE else ("expand", "expand_again")
    return "\n".join(prompt_of(name).sha256 for name in names)


def pick(
    ranked: Sequence[str], texts: Mapping[str, str], earlier: Sequence[Shown], who: Settings
) -> Shown:
    """The first passages of the last list that no earlier round showed; fewer where there are no
    more. `reference` goes by their texts, and forgets what was shown three rounds ago.

    `texts` are those of the first of the list; who has none is passed over.
    """
    known = earlier[-(_LOOKS_BACK[who.profile] or len(earlier) or 1) :]
    pids = {pid for each in known for pid in each.pids}
    seen = {text for each in known for text in each.texts}
    found: list[str] = []
    for pid in ranked:
        is_old = texts.get(pid) in seen if who.profile == REFERENCE else pid in pids
        if pid in texts and not is_old and len(found) < who.passages:
            found.append(pid)
    return Shown(tuple(found), tuple(texts[pid] for pid in found))


def prompt_for(question: str, shown: Shown, answer: str, who: Settings, key: bytes) -> Prompt:
    """What a round asks. Passages are cut to their size; where all is longer than a prompt may be,
    the query stands first, then the passages, and what is left is the earlier answer's."""
    name = "rewrite" if who.method == REWRITE else "expand_again" if answer else "expand"
    template = prompt_of(name)
    room = who.prompt_tokens - token_count(template.system + template.user, who.tokenizer)

    def fitted(text: str, most: int) -> str:
        nonlocal room
        kept = cut(text, max(0, min(most, room)), who.tokenizer)
        room -= token_count(kept, who.tokenizer)
        return kept

    query = fitted(question, who.prompt_tokens)
    values = {"query": fence("query", query, key)}
    lost = int(len(query) < len(question))
    if who.method == QEXPAND:
        kept = [fitted(text, who.passage_tokens) for text in shown.texts]
        lost += sum(len(a) < len(b) for a, b in zip(kept, shown.texts, strict=True))
        numbered = (
            f"[{n}].\n{fence('document', text, key)}"
            for n, text in enumerate(filter(None, kept), start=1)
        )
        values["documents"] = "\n\n".join(numbered) or NOTHING
    if answer and who.method == QEXPAND:
        kept_answer = fitted(answer, who.prompt_tokens)
        lost += len(kept_answer) < len(answer)
        values["answer"] = fence("answer", kept_answer, key)
    return Prompt(name, values, lost)


def request_of(prompt: Prompt, who: Settings, *, replicate: int = 0) -> Request:
    """One call; samples and repeats of it are told apart by their number."""
    template = prompt_of(prompt.name)
    begun = ({"role": "assistant", "content": _NO_THOUGHT},) if who.reasoning_free else ()
    return Request(
        endpoint=who.endpoint,
        role=template.role,
        model=who.model,
        messages=template.render(**prompt.values) + begun,
        schema_name="",
        schema={},
        temperature=who.temperature,
        top_p=None if who.top_p == 1 else who.top_p,
        max_tokens=who.output_tokens + likely_thoughts(who.model, who.reasoning_effort),
        reasoning_effort=who.reasoning_effort,
        replicate=replicate,
    )


def read_reply(text: str) -> str:
    """What a reply says behind its thoughts; "" where it never comes to an end of them."""
    _, end, said = text.rpartition(_THOUGHT_END)
    return "" if not end and _THOUGHT.match(text) else said.strip()


def query_of(question: str, texts: Sequence[str], who: Settings) -> str:
    """The query in other words: a rewriting stands in its place, expansions of the last round
    behind it."""
    return "\n\n".join(texts if who.method == REWRITE else [question, *texts])


def answer_of(texts: Sequence[str], who: Settings) -> str:
    """What the next round is told; `reference` hands on the last sample alone."""
    return texts[-1] if who.profile == REFERENCE and texts else "\n\n".join(texts)


def is_settled(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether a round left the first places as they were."""
    return list(before[:TOP]) == list(after[:TOP])
