"""Tokens as texts are cut by, of a tokenizer that is named. Pure.

No tokenizer of a model is at hand offline; these two are exact.
"""

import re
from typing import Final

CHARACTERS: Final = "characters/4"
WORDS: Final = "words"
TOKENIZERS: Final = (CHARACTERS, WORDS)
_CHARACTERS_PER_TOKEN: Final = 4
_WORD: Final = re.compile(r"\S+")


def cut(text: str, tokens: int, tokenizer: str = CHARACTERS) -> str:
    """The beginning of a text, at most so many tokens long. Raises ValueError."""
    if tokenizer == CHARACTERS:
        return text[: max(0, tokens) * _CHARACTERS_PER_TOKEN]
    if tokenizer != WORDS:
        raise ValueError(f"There is no tokenizer {tokenizer!r}: {', '.join(TOKENIZERS)}.")
    end = 0
    for number, word in enumerate(_WORD.finditer(text)):
        if number >= tokens:
            return text[:end]
        end = word.end()
    return text


def token_count(text: str, tokenizer: str = CHARACTERS) -> int:
    """How many tokens a text has, rounded up."""
    if tokenizer == WORDS:
        return len(_WORD.findall(text))
    return -(-len(text) // _CHARACTERS_PER_TOKEN)
