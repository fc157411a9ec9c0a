"""The practice model as who words queries anew (docs/protocol.md 8). Pure."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from llm.practice.words import in_order, tokens

# Ends of the prompts of corpus/prompts that ask for it.
EXPANDS: Final = "Reply with that passage and nothing else."
REWRITES: Final = "Draft an answer with as many thoughts as you have."
_SHORTEST: Final = 4
_ADDED: Final = 12


def expansion(query: str, documents: Sequence[str], answer: str) -> str:
    """Telling words of the query, then the words that fewest of the passages hold, of those that
    stand in the passage nearest to the query; what was answered before stays in front."""
    asked = _telling(query)
    near = max(documents, key=lambda text: len(asked & _telling(text)), default="")
    held = Counter(word for each in documents for word in _telling(each))
    new = sorted(_telling(near) - asked - _telling(answer), key=lambda word: (held[word], word))
    words = in_order(near, set(new[:_ADDED]))
    return " ".join([answer.strip() or " ".join(in_order(query, asked)), *words]).strip() or query


def rewriting(query: str) -> str:
    """The telling words of the query alone, the longest twice: as who names a problem does."""
    words = in_order(query, _telling(query))
    longest = sorted(words, key=lambda word: (-len(word), word))[:3]
    return " ".join([*words, *longest]) or query


def _telling(text: str) -> set[str]:
    return {word for word in tokens(text) if len(word) >= _SHORTEST}
