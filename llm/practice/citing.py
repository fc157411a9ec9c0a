"""The practice model's side of reference answers: sentences of the passages, with citations."""

import re
from typing import Final

from llm.practice.blocks import Material
from llm.practice.words import sentences

_LABEL: Final = re.compile(r"\[(doc_\d+)\].*\ba(\d+)\b")
_ASPECT: Final = re.compile(r"\ba(\d+)\b")
_MOST: Final = 300


def cited_answer(material: Material) -> str:
    """One paragraph an aspect: the first sentence of each of its passages, with its citation."""
    aspects = [int(m[1]) for tag, line, _ in material.named if (m := _is(tag, line))]
    told: dict[int, list[str]] = {k: [] for k in aspects}
    for tag, line, text in material.named:
        label = _LABEL.search(line) if tag == "passage" else None
        if label and int(label[2]) in told:
            first = next(sentences(text), "")[:_MOST].strip().rstrip(".!?")
            told[int(label[2])].append(f"{_plain(first)} [{label[1]}].")
    return "\n\n".join(" ".join(said) for said in told.values() if said)


def _is(tag: str, line: str) -> re.Match[str] | None:
    return _ASPECT.search(line) if tag == "aspect" else None


def _plain(text: str) -> str:
    """Without brackets, which would be citations."""
    return re.sub(r"[\[\]]", "", text)
