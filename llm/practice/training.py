"""The practice model as a grader and writer of training data (docs/protocol.md 8): by shared words,
in sentences of its own. Pure."""

import json
import re
from collections.abc import Sequence
from itertools import cycle
from typing import Any, Final

from llm.practice.reranking import overlap, shared
from llm.practice.words import in_order, tokens

GRADE, NEGATIVE = SCHEMAS = ("train_grade", "train_negative")
KEY: Final = "hard negative document"
_FORM: Final = 'Document 1: {"title"'
_WORDS: Final = re.compile(r"from (\d+) to \d+ words")
_CHARS: Final = re.compile(r"at least (\d+) characters")
# Where the prompt names no length.
_USUAL: Final = (400, 300)
_PAGE: Final = (
    "When people speak of {a}, they soon come to {b} as well.",
    "What {a} does depends on {b}, and it pays to look at both.",
    "Take {a} first: with {b} in mind most of it falls into place.",
    "Those who work with {a} every day keep an eye on {b}.",
    "It helps to know where {a} ends and where {b} begins.",
)
_ASIDE: Final = (
    "The word {a} has a long history in the names of streets and shops.",
    "Collectors pay well for old postcards that show {a}.",
    "A museum in the north keeps a room for {a} and for songs about it.",
    "Its visitors vote for the picture they like best each spring.",
    "Tickets are cheaper on Mondays, and the cafe is open until six.",
)


def reply(name: str, prompt: str, query: str, documents: Sequence[str]) -> Any:
    """What is asked for under the schema `name`, or in the prompt; None where it is nothing of it.

    A grade is round(10 * overlap), as the pointwise reranker's. A positive is a page about the
    query's telling words, as long as it has to be; a hard negative tells of one of them where it
    matters to nobody.
    """
    if name == GRADE and documents:
        said = in_order(query, shared(query, documents[0]))[:5]
        reason = f"Shared words: {', '.join(said) or 'none'}."
        return {"score": round(10 * overlap(query, documents[0])), "reason": reason}
    telling = in_order(query, {word for word in tokens(query) if len(word) > 3}) or ["this"]
    if name == NEGATIVE and documents:
        return {KEY: _until(_ASIDE, telling[:1], len, _asked(_CHARS, prompt, _USUAL[1]))}
    if not name and _FORM in prompt:
        least = _asked(_WORDS, prompt, _USUAL[0])
        text = _until(_PAGE, telling, lambda said: len(said.split()), least)
        page = {"title": f"About {telling[0]}", "content": text}
        return f"Document 1: {json.dumps(page, ensure_ascii=False)}"
    return None


def _asked(pattern: re.Pattern[str], prompt: str, usual: int) -> int:
    found = pattern.search(prompt)
    return int(found[1]) if found else usual


def _until(sentences: Sequence[str], telling: Sequence[str], size: Any, least: int) -> str:
    """Sentences about the words, one after the other, until the text is large enough."""
    said, words = "", list(telling)
    for number, sentence in enumerate(cycle(sentences)):
        if size(said) >= least:
            return said
        a, b = words[number % len(words)], words[(number // len(words) + number + 1) % len(words)]
        said = f"{said} {sentence.format(a=a, b=b)}".strip()
    raise AssertionError("sentences never end")
