"""Finding quoted evidence in the passage it is attributed to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice

from .types import Quote

_WORD = re.compile(r"\S+")


def locate_all(quotes: Iterable[str], passage: str) -> tuple[Quote, ...]:
    """Every quote with a letter, in order: the first [start, end) in code points of the passage.

    Only white space is forgiven (docs/protocol.md 2.3): a changed letter, accent, dash or
    quotation mark is a changed quote, and a person should see that it is.
    """
    normal, found = _normal(passage), []
    for quote in quotes:
        if needle := " ".join(quote.split()):
            at, start, end = normal.find(needle), None, None
            if at >= 0:
                start = _origin(at, normal, passage)
                end = _origin(at + len(needle) - 1, normal, passage) + 1
            found.append(Quote(quote, start, end))
    return tuple(found)


@lru_cache(maxsize=512)  # every turn of a debate quotes the same passage
def _normal(passage: str) -> str:
    """The passage with single blanks for its white space."""
    return " ".join(passage.split())


def _origin(at: int, normal: str, passage: str) -> int:
    """Offset in the passage of a letter of the normal text (never of a blank).

    Counted anew for each quote that is found: a list of all words would cost more than all else
    that a turn's answer goes through.
    """
    if normal == passage:
        return at
    word = next(islice(_WORD.finditer(passage), normal.count(" ", 0, at), None))
    return word.start() + at - (normal.rfind(" ", 0, at) + 1)
