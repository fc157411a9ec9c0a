"""Checks of written documents by their words: length, language, what they share. Pure."""

import re
from itertools import pairwise
from typing import Final

from bm25s import stopwords as lists

# A character of a script that sets no spaces counts as a word.
_WORD: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")
_LETTER: Final = re.compile(r"[^\W\d_]")
_SCRIPTS: Final = {
    "Japanese": re.compile(r"[\u3040-\u30ff]"),
    "Chinese": re.compile(r"[\u3400-\u9fff]"),
    "Korean": re.compile(r"[\uac00-\ud7af]"),
    "Russian": re.compile(r"[\u0400-\u04ff]"),
}
# Shares of the letters from which a text is in a script; Japanese mixes kana with characters.
_SCRIPT_SHARE: Final = {"Japanese": 0.1}
_STOP: Final = {"English": frozenset(lists.STOPWORDS_EN_PLUS)} | {
    name: frozenset(getattr(lists, f"STOPWORDS_{name.upper()}"))
    for name in (
        *("German", "French", "Spanish", "Italian", "Portuguese", "Dutch", "Swedish", "Danish"),
        *("Norwegian", "Turkish"),
    )
}
LANGUAGES: Final = (*_STOP, *_SCRIPTS)
# Languages whose small words are nearly the same pass for one another.
_NEAR: Final = 0.8
# Below this share of small words nothing can be said.
_LEAST_STOP: Final = 0.1
_SHORTEST: Final = 3


def count(text: str) -> int:
    """Words of a text."""
    return len(_WORD.findall(text))


def terms(text: str) -> set[str]:
    """The telling words of a text; of scripts without spaces pairs of characters."""
    found = _WORD.findall(text.casefold())
    pairs = {a + b for a, b in pairwise(found) if len(a) == len(b) == 1 and not a.isascii()}
    known = _STOP["English"]
    return pairs | {each for each in found if len(each) >= _SHORTEST and each not in known}


def likeness(text: str, other: str) -> float:
    """Shared telling words by all of both, from 0 to 1 (Jaccard)."""
    mine, theirs = terms(text), terms(other)
    return len(mine & theirs) / len(mine | theirs) if mine | theirs else 0.0


def language_of(text: str) -> str:
    """The language by script and small words; "" where they do not tell."""
    letters = len(_LETTER.findall(text)) or 1
    for name, script in _SCRIPTS.items():
        if len(script.findall(text)) / letters >= _SCRIPT_SHARE.get(name, 0.5):
            return name
    shares = _stop_shares(text)
    best = max(shares, key=lambda name: shares[name])
    return best if shares[best] >= _LEAST_STOP else ""


def length_fault(text: str, shortest: int, longest: int) -> str:
    """Why a positive is too short or too long; "" where it is neither."""
    words = count(text)
    if shortest <= words <= longest:
        return ""
    return f"The content has {words:,} words, not {shortest:,} to {longest:,}."


def language_fault(text: str, language: str) -> str:
    """Why a text is not in a language; "" where it is, or may be in any."""
    found = language_of(text)
    if not language or found == language:
        return ""
    shares = _stop_shares(text)
    if shares.get(language, 0) >= max(_LEAST_STOP, _NEAR * max(shares.values())):
        return ""
    return f"The text is not in {language}."


def negative_fault(text: str, query: str, positive: str, least: int, most_alike: float) -> str:
    """Why a text is no hard negative; "" where it is one."""
    if len(text) < least:
        return f"The document has {len(text):,} characters, not at least {least:,}."
    if not terms(text) & terms(query):
        return "The document shares no telling word with the input."
    alike = likeness(text, positive)
    if alike >= most_alike:
        return f"The document is too much like the positive ({alike:.2f}, below {most_alike:g})."
    return ""


def _stop_shares(text: str) -> dict[str, float]:
    words = re.findall(r"[^\W\d_]+", text.casefold())
    size = len(words) or 1
    return {name: sum(word in known for word in words) / size for name, known in _STOP.items()}
