"""Sentences of a text, as slices that together are the text."""

import re
from typing import Final

_END: Final = re.compile(
    r"(?:(?<=[.!?…])[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[A-Z0-9À-ÖØ-ÞА-Я])|(?<=[。！？])\s*|\n\s*\n\s*|\n(?=[-*#|•\d]))"
)
_ABBREVIATION: Final = re.compile(
    r"\b(?:[A-Z]|e\.g|i\.e|etc|vs|cf|al|Dr|Mr|Mrs|Ms|Prof|St|No|Fig|Eq|Sec|approx|Inc|Ltd|Jr|Sr)\.$"
)


def sentences(text: str) -> list[tuple[int, int]]:
    """[start, end) of each sentence with the white space behind it; nothing is left over."""
    found, start = [], 0
    for match in _END.finditer(text):
        head = text[max(start, match.start() - 12) : match.start()]
        if "\n" not in match[0] and _ABBREVIATION.search(head.rstrip("\"'”’)]")):
            continue
        if match.end() > start and text[start : match.end()].strip():
            found.append((start, match.end()))
            start = match.end()
    if start < len(text):
        if text[start:].strip() or not found:
            found.append((start, len(text)))
        else:
            found[-1] = (found[-1][0], len(text))
    return found
