"""The practice model's side of cleaning pages (docs/protocol.md 8)."""

import itertools
import re
from typing import Final

from kit.boilerplate import without_boilerplate

_LEAST_WORDS: Final = 5
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+\S", re.MULTILINE)


def safe_clean(page: str) -> str:
    """The page without the lines that are furniture, all else letter by letter."""
    return without_boilerplate(page).strip()


def fast_clean(page: str) -> str:
    """The same, and nothing where fewer than five words remain."""
    left = without_boilerplate(page).strip()
    return left if len(left.split()) >= _LEAST_WORDS else ""


def split(page: str) -> str:
    """Labelled chunks, cut before each Markdown heading."""
    starts = [match.start() for match in _HEADING.finditer(page)]
    first = len(page) - len(page.lstrip())
    edges = [0, *[start for start in starts if start > first], len(page)]
    chunks = [page[a:b].strip() for a, b in itertools.pairwise(edges)]
    labelled = (f"Chunk {_label(n)}:\n{text}" for n, text in enumerate(filter(None, chunks)))
    return "\n\n".join(labelled)


def _label(number: int) -> str:
    letters, number = "", number + 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
