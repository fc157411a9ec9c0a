"""What a search shows of a passage that it found."""

import re

# Characters of a passage that are shown around its densest matches.
_EXCERPT = 420
_WORD = re.compile(r"[^\W_]+")


def excerpt(text: str, words: frozenset[str]) -> list[tuple[str, bool]]:
    """The part of a text where the words stand densest, as pieces; True where one is marked."""
    found = [(m.start(), m.end()) for m in _WORD.finditer(text) if m[0].lower() in words]
    start = _densest(found)
    end = min(len(text), start + _EXCERPT)
    pieces, at = [("… " if start else "", False)], start
    for low, high in found:
        if low >= start and high <= end:
            pieces += [(text[at:low], False), (text[low:high], True)]
            at = high
    pieces.append((text[at:end] + (" …" if end < len(text) else ""), False))
    return [piece for piece in pieces if piece[0]]


def _densest(found: list[tuple[int, int]]) -> int:
    best, most, last = 0, 0, 0
    for first, (low, _) in enumerate(found):
        while last < len(found) and found[last][1] <= low + _EXCERPT:
            last += 1
        if last - first > most:
            best, most = low, last - first
    return max(0, best - 60) if best > 60 else 0
