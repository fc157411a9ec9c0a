"""What can be said of aspects by their words alone: gentle hints, never rules. Pure."""

import re
from collections.abc import Sequence
from itertools import combinations
from typing import Final

from rapidfuzz import fuzz

# How many aspects a query has as a rule, and how many sentences an aspect (docs/protocol.md 3.1).
USUAL_COUNT: Final = range(2, 7)
MOST_SENTENCES: Final = 2
# From here on two aspects say perhaps the same: the share of words in common, or their likeness in
# any order, in percent.
_ALIKE_SHARE: Final = 0.6
_ALIKE_RATIO: Final = 84
_ALIKE_INSIDE: Final = 0.85
_FEW: Final = 4
# Characters whose likeness is looked at: no form takes a longer aspect, but imports bring them.
_COMPARED: Final = 10_000
_WORD: Final = re.compile(r"\w+")
_SHORT: Final = 4
# A full stop after one letter or a known shortening ends no sentence. Of many stops the last one is
# looked at: that row is walked once.
_END: Final = re.compile(
    r"(?<!^\w)(?<![\s(.]\w)(?<!\bvs)(?<!\bcf)(?<!\bal)(?<!\bapprox)[.!?…](?![.!?…])[\"'”’)\]]*+(?=\s|$)"
)


def count_sentences(text: str) -> int:
    """How many sentences a text has, roughly; what follows the last stop counts too."""
    text = text.strip()
    if not text:
        return 0
    parts = [part for part in _END.split(text) if _WORD.search(part)]
    return max(1, len(parts))


def close_pairs(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Places of texts that say nearly the same, the earlier first."""
    words = [content_words(text) for text in texts]
    return [
        (one, other)
        for one, other in combinations(range(len(texts)), 2)
        if _are_close(words[one], words[other], texts[one], texts[other])
    ]


def _are_close(one: set[str], other: set[str], text: str, text_other: str) -> bool:
    if len(one) < 2 or len(other) < 2:
        return bool(one) and one == other
    both = len(one & other)
    # One that says what the other says and more is close too, unless it is very short.
    inside = both >= _FEW and both / min(len(one), len(other)) >= _ALIKE_INSIDE
    ratio = fuzz.token_sort_ratio(text[:_COMPARED].lower(), text_other[:_COMPARED].lower())
    return both / len(one | other) >= _ALIKE_SHARE or inside or ratio >= _ALIKE_RATIO


def content_words(text: str) -> set[str]:
    """The words that carry the meaning: longer ones, without their endings."""
    found = (word.casefold() for word in _WORD.findall(text))
    return {word[:6] for word in found if len(word) >= _SHORT}
