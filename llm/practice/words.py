"""Words and sentences as the practice model sees them: what it quotes, and the short reasons that
name what it found and missed. Pure.

Every reason says "is covered" or "is not covered", so that a history without labels can be read.
"""

import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Final

_ARTICLES = {"a", "an", "the"}
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "about after also because been before does each even from have into let lets more most "
        "much only other over same some such than that their them then there these they this "
        "those under very were what when where which while will with without would your",
    )
)
_YES_NO = {"yes", "no"}
_SHORTEST: Final = 4
# Letters of a sentence that is quoted in an answer, at most.
LONGEST_QUOTE: Final = 300
# Words with capitals behind one another, but for the first of the query.
_NAME = re.compile(r"(?<=[^.?!\s] )[A-Z][\w'\u2019.-]*(?:(?: of| the| de)? [A-Z][\w'\u2019.-]*)*\b")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'\u201d\u2019)\]]*\s+|\n+")


def tokens(text: str) -> set[str]:
    """The distinct words of a text, without case and articles."""
    return set(re.findall(r"\w+", text.casefold())) - _ARTICLES


def telling(text: str) -> set[str]:
    """Those of four letters and more."""
    return {word for word in tokens(text) if len(word) >= _SHORTEST}


def coverage(answer: str, text: str) -> float:
    """The share of an answer's words that stand in the text; 0 for an answer without words."""
    expected = tokens(answer)
    return len(expected & tokens(text)) / len(expected) if expected else 0.0


def best_answer(answers: Sequence[str], text: str, query: str = "") -> tuple[int, str, float]:
    """Number (from 1), words and coverage of what the text covers best; (0, "", 0.0) for none.

    The words are an answer's; of a yes or no they are a name that the query asks about, since no
    passage holds the answer itself.
    """
    claims = [
        (number, words)
        for number, answer in enumerate(answers, start=1)
        for words in (_NAME.findall(query) if tokens(answer) <= _YES_NO else ()) or (answer,)
    ]
    covered = [(coverage(words, text), -number, words) for number, words in claims]
    share, number, words = max(covered, key=lambda each: each[:2], default=(0.0, 0, ""))
    return -number, words, share


def in_order(text: str, words: set[str]) -> list[str]:
    """Those words as the text writes them, in its order, each once, the telling ones first."""
    seen: dict[str, str] = {}
    for written in re.findall(r"\w+", text):
        if written.casefold() in words:
            seen.setdefault(written.casefold(), written)
    return [
        seen[word]
        for word in sorted(seen, key=lambda word: len(word) < _SHORTEST or word in _COMMON)
    ]


def sentences(text: str) -> Iterator[str]:
    """The sentences and lines of a text, each a verbatim slice of it."""
    return (part.strip() for part in _SENTENCE_END.split(text) if part.strip())


def richest(text: str, words: set[str]) -> tuple[int, str]:
    """How many of the words its best sentence holds, and the first such; (0, "") for no text."""
    scored = ((len(words & tokens(sentence)), sentence) for sentence in sentences(text))
    return max(scored, key=lambda pair: pair[0], default=(0, ""))


_SWAPS = {
    "is": "seems",
    "are": "seem",
    "was": "had been",
    "were": "had been",
    "can": "may",
    "will": "would",
    "has": "holds",
    "have": "hold",
    "often": "usually",
    "most": "nearly all",
    "because": "since",
    "when": "once",
}
_ONE_IN = 8
_WORTH_ADDING = 2


def quotes(chunk: str, answer: str, *, supports: bool) -> list[str]:
    """The sentence of the chunk that shares most words with the answer, verbatim.

    A supporting turn adds a second one with at least two more words. About one chunk in
    eight has its opposing quote paraphrased, so that people meet a quote that is not in the
    passage and learn what its flag means.
    """
    expected = tokens(answer)
    count, best = richest(chunk, expected)
    if not count:
        return []
    if not supports:
        return [_paraphrased(best, chunk) if misquotes(chunk) else best]
    rest = expected - tokens(best)
    more, second = richest(chunk, rest)
    return [best, second] if more >= _WORTH_ADDING else [best]


def misquotes(chunk: str) -> bool:
    """Whether an opposing turn on this chunk gets its quote wrong."""
    return _byte_of(chunk) % _ONE_IN == 0


def _paraphrased(sentence: str, chunk: str) -> str:
    words = sentence.split()
    swaps = [index for index, word in enumerate(words) if word in _SWAPS]
    if swaps:
        words[swaps[0]] = _SWAPS[words[swaps[0]]]
    else:
        words.insert(min(2, len(words)), "indeed")
    changed = " ".join(words)
    return changed if changed not in " ".join(chunk.split()) else f"In short, {changed}"


_MOST_WORDS = 3
# What is said when, of a yes and of a no.
_WORDINGS: Final[dict[tuple[str, bool], tuple[str, ...]]] = {
    ("first", True): (
        "The words that carry answer ({n}) stand in the passage: {found}. {leftover} "
        "So answer ({n}) is covered.",
        "Read for its sense, the passage says it: {found}. {leftover} Answer ({n}) is covered.",
    ),
    ("first", False): (
        "The passage speaks of {found} but not of {missing}. A reader would have to guess the "
        "rest, so answer ({n}) is not covered.",
        "I looked for {missing} and met only {found}. That is the topic and not the claim: "
        "answer ({n}) is not covered.",
    ),
    ("nothing", False): (
        "The passage is about something else. I find no word of answer ({n}) in it, "
        "not even {missing}. It is not covered.",
    ),
    ("kept", True): (
        "{other} asks for {missing}. The sentence I quote gives {found}, and with that the "
        "substance of answer ({n}): it is covered.",
        "I stay with my view. What {other} wants to see, {missing}, is a matter of wording; with "
        "{found} the claim is made, and answer ({n}) is covered.",
    ),
    ("kept", False): (
        "{other} points to {found}, and that much is there. What is left out, {missing}, belongs "
        "to the claim, so answer ({n}) is not covered.",
        "I read the quotation of {other} again. It gives {found}, yet nothing of {missing}. "
        "Part of a claim is not the claim: answer ({n}) is not covered.",
    ),
    ("changed", True): (
        "{other} has convinced me: the passage gives {found}. What I asked for, {missing}, is a "
        "matter of wording, so answer ({n}) is covered.",
    ),
    ("changed", False): (
        "{other} is right: without {missing} the passage gives the topic ({found}) and not the "
        "claim. I withdraw my first view; answer ({n}) is not covered.",
    ),
    ("agreed", True): (
        "{other} and I agree: with {found} in the passage, answer ({n}) is covered.",
    ),
    ("agreed", False): ("{other} and I agree: without {missing} answer ({n}) is not covered.",),
}


def reason(
    verdict: bool,
    *,
    when: str,
    number: int,
    found: Sequence[str],
    missing: Sequence[str],
    others: Sequence[str],
    seed: str,
) -> str:
    """A few sentences, well under 100 words; `seed` picks among wordings, always alike.

    `when` it is said: at first, or having kept or changed the verdict, or as the others do.
    """
    if when == "first" and not found and not verdict:
        when = "nothing"
    wordings = _WORDINGS[when, verdict]
    leftover = "Nothing of it is left out."
    if missing:
        leftover = f"I do not find {_listed(missing)}, but the meaning does not hang on that."
    return wordings[_byte_of(seed) % len(wordings)].format(
        n=number,
        found=_listed(found) or "nothing of it",
        missing=_listed(missing) or "the very words",
        leftover=leftover,
        other=_joined(others[:_MOST_WORDS]) or "The other side",
    )


def _byte_of(text: str) -> int:
    return sha256(text.encode("utf-8", "replace")).digest()[0]


def _listed(words: Sequence[str]) -> str:
    shown = [f'"{word[:40]}"' for word in words[:_MOST_WORDS]]
    more = len(words) - len(shown)
    return _joined([*shown, f"{more} more"] if more else shown)


def _joined(parts: Sequence[str]) -> str:
    *most, last = parts or [""]
    return f"{', '.join(most)} and {last}" if most else last
