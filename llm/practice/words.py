"""Words and sentences, as the practice model sees them."""

import re
from collections.abc import Iterator, Sequence

_ARTICLES = {"a", "an", "the"}
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "about after also because been before does each even from have into let lets more most "
        "much only other over same some such than that their them then there these they this "
        "those under very were what when where which while will with without would your",
    )
)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'\u201d\u2019)\]]*\s+|\n+")


def tokens(text: str) -> set[str]:
    """The distinct words of a text, without case and articles."""
    return set(re.findall(r"\w+", text.casefold())) - _ARTICLES


def coverage(answer: str, text: str) -> float:
    """The share of an answer's words that stand in the text; 0 for an answer without words."""
    wanted = tokens(answer)
    return len(wanted & tokens(text)) / len(wanted) if wanted else 0.0


def best_answer(answers: Sequence[str], text: str) -> tuple[int, float]:
    """Number (from 1) and coverage of the answer that the text covers best; (0, 0.0) for none."""
    covered = [(coverage(answer, text), -number) for number, answer in enumerate(answers, start=1)]
    share, number = max(covered, default=(0.0, 0))
    return -number, share


def in_order(text: str, words: set[str]) -> list[str]:
    """Those words as the text writes them, in its order, each once, the telling ones first."""
    seen: dict[str, str] = {}
    for written in re.findall(r"\w+", text):
        if written.casefold() in words:
            seen.setdefault(written.casefold(), written)
    return [seen[word] for word in sorted(seen, key=lambda word: len(word) < 4 or word in _COMMON)]


def sentences(text: str) -> Iterator[str]:
    """The sentences and lines of a text, each a verbatim slice of it."""
    start = 0
    for end in _SENTENCE_END.finditer(text):
        yield from _stripped(text[start : end.start()])
        start = end.end()
    yield from _stripped(text[start:])


def _stripped(text: str) -> Iterator[str]:
    if text.strip():
        yield text.strip()
