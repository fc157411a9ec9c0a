"""Tokenizers by name, and texts cut by them: the one place for both.

Two are always here and exact; those of models need a package that is not installed with Assay, and
a file: `tiktoken:cl100k_base`, and `tokenizers:NAME` for NAME.json in the folder ASSAY_TOKENIZERS.
"""

import re
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeAlias

from django.conf import settings

from kit.errors import Refused
from llm.profiles import CHARACTERS_PER_TOKEN

CHARACTERS: Final = "characters/4"
WORDS: Final = "words"
TOKENIZERS: Final = (CHARACTERS, WORDS)
LONGEST_NAME: Final = 120
_TIKTOKEN, _FILES = "tiktoken", "tokenizers"
_WORD: Final = re.compile(r"\S+")
# How many tokens a text has and where the first so many of them end.
_Measure: TypeAlias = Callable[[str, int], tuple[int, int]]


def names() -> tuple[str, ...]:
    """Every tokenizer that can be chosen here now."""
    found = [*TOKENIZERS]
    if find_spec(_TIKTOKEN):
        found += [f"{_TIKTOKEN}:{each}" for each in _package(_TIKTOKEN).list_encoding_names()]
    if find_spec(_FILES) and (folder := settings.ASSAY_TOKENIZERS):
        found += [f"{_FILES}:{each.stem}" for each in sorted(Path(folder).glob("*.json"))]
    return tuple(found)


def check(tokenizer: str) -> None:
    """Raises Refused where a tokenizer cannot be used here, with what it takes."""
    cut("", 1, tokenizer)


def cut(text: str, tokens: int, tokenizer: str = CHARACTERS) -> str:
    """The beginning of a text, at most so many tokens long. Raises Refused."""
    return text[: _measure(tokenizer)(text, max(0, tokens))[1]]


def token_count(text: str, tokenizer: str = CHARACTERS) -> int:
    """How many tokens a text has, rounded up. Raises Refused."""
    return _measure(tokenizer)(text, 0)[0]


def _measure(name: str) -> _Measure:
    kind, _, which = name.partition(":")
    if which and kind == _TIKTOKEN:
        return _tiktoken(name, which)
    if which and kind == _FILES:
        return _tokenizer(name, which, str(settings.ASSAY_TOKENIZERS))
    if name not in TOKENIZERS:
        raise Refused(
            f"There is no tokenizer {name!r}: {', '.join(TOKENIZERS)}, {_TIKTOKEN}:ENCODING, "
            f"{_FILES}:NAME.",
            field="tokenizer",
        )
    return _by_words if name == WORDS else _by_characters


def _by_characters(text: str, tokens: int) -> tuple[int, int]:
    return -(-len(text) // CHARACTERS_PER_TOKEN), tokens * CHARACTERS_PER_TOKEN


def _by_words(text: str, tokens: int) -> tuple[int, int]:
    ends = [word.end() for word in _WORD.finditer(text)]
    # White space behind the last one stays where all are kept.
    return len(ends), len(text) if tokens >= len(ends) else ends[tokens - 1] if tokens else 0


@cache
def _tiktoken(name: str, encoding: str) -> _Measure:
    package = _package(_TIKTOKEN, name)
    if encoding not in (known := package.list_encoding_names()):
        raise _refused(name, f"tiktoken has the encodings {', '.join(known)}.")
    try:
        found = package.get_encoding(encoding)
    # It fetches the file over the network where its cache has none, by a client of its own.
    except Exception as error:
        raise _refused(
            name,
            f"its encoding file could not be read ({_reason(error)}). Put it into a folder that "
            "TIKTOKEN_CACHE_DIR names.",
        ) from error

    def measure(text: str, tokens: int) -> tuple[int, int]:
        listed = found.encode_ordinary(text)
        if tokens >= len(listed):
            return len(listed), len(text)
        # A character that the cut goes through is left out.
        kept = b"".join(map(found.decode_single_token_bytes, listed[:tokens]))
        return len(listed), len(kept.decode(errors="ignore"))

    return measure


@cache
def _tokenizer(name: str, which: str, folder: str) -> _Measure:
    package = _package(_FILES, name)
    if not folder:
        raise _refused(name, "ASSAY_TOKENIZERS names no folder with its file.")
    # What a folder holds, so that no name leads out of it.
    paths = {each.stem: each for each in Path(folder).glob("*.json")}
    if which not in paths:
        raise _refused(name, f"{which}.json is not in the folder ASSAY_TOKENIZERS.")
    try:
        found = package.Tokenizer.from_file(str(paths[which]))
    except Exception as error:  # the package raises nothing more exact
        raise _refused(name, f"its file could not be read ({_reason(error)}).") from error
    found.no_truncation()
    found.no_padding()

    def measure(text: str, tokens: int) -> tuple[int, int]:
        spans = found.encode(text, add_special_tokens=False).offsets
        if tokens >= len(spans):
            return len(spans), len(text)
        # The next one may begin within the same character.
        return len(spans), min(spans[tokens - 1][1], spans[tokens][0]) if tokens else 0

    return measure


def _package(name: str, tokenizer: str = "") -> Any:
    try:
        return __import__(name)
    except ImportError as error:
        why = f"it needs the package {name}: pip install {name}."
        raise _refused(tokenizer or name, why) from error


def _refused(name: str, why: str) -> Refused:
    return Refused(f"The tokenizer {name} cannot be used: {why}", field="tokenizer")


def _reason(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:200] or type(error).__name__
