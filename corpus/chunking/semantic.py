"""DChunk: cutting long documents where their subject changes (protocol.md 5.1, steps 2 to 6)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final, TypeAlias

from corpus.chunking.sentences import sentences

Embed: TypeAlias = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Texts to vectors, in their order."""

THRESHOLD: Final = 0.5
MOST_TOKENS: Final = 4096
OVERLAP: Final = 0.2


@dataclass(frozen=True, slots=True)
class Chunk:
    """text[start:end] of the document, with `overlap` characters of the chunk before in front."""

    text: str
    start: int
    end: int
    overlap: int = 0


def dchunk(
    text: str,
    embed: Embed,
    *,
    count: Callable[[str], int] = lambda text: len(text.split()),
    threshold: float = THRESHOLD,
    most: int = MOST_TOKENS,
    overlap: float = OVERLAP,
) -> list[Chunk]:
    """The document in chunks of at least a sentence and at most `most` tokens.

    A sentence whose cosine similarity to the running chunk (the sum of its sentences' vectors) is
    below `threshold` begins the next one; so does one that would pass the cap, and a sentence
    longer than the cap is cut at it. Every chunk but the first begins with the last 20 % of the
    characters of the one before, moved on to the start of a sentence where there is one; what
    passes the cap with it has less.
    """
    units = [unit for span in sentences(text) for unit in _within(text, *span, count, most)]
    if not units:
        return []
    vectors = embed([text[start:end] for start, end in units])
    spans = [units[0]]
    total, size = list(vectors[0]), count(text[slice(*units[0])])
    for (start, end), vector in zip(units[1:], vectors[1:], strict=True):
        more = count(text[start:end])
        if size + more > most or cosine(total, vector) < threshold:
            spans.append((start, end))
            total, size = list(vector), more
        else:
            spans[-1] = (spans[-1][0], end)
            total, size = [a + b for a, b in zip(total, vector, strict=True)], size + more
    return _overlapping(text, spans, count, most, overlap)


def cosine(first: Sequence[float], second: Sequence[float]) -> float:
    """The cosine of two vectors; 0 where one has no length."""
    product = sum(a * b for a, b in zip(first, second, strict=True))
    length = sqrt(sum(a * a for a in first)) * sqrt(sum(b * b for b in second))
    return product / length if length else 0.0


def _within(
    text: str, start: int, end: int, count: Callable[[str], int], most: int
) -> list[tuple[int, int]]:
    """A sentence in pieces of at most so many tokens; most are one piece."""
    if count(text[start:end]) <= most:
        return [(start, end)]
    pieces = []
    while start < end:
        low, high = 1, end - start
        while low < high:  # the longest piece that fits
            middle = (low + high + 1) // 2
            if count(text[start : start + middle]) <= most:
                low = middle
            else:
                high = middle - 1
        cut = start + low
        space = text.rfind(" ", start + 1, cut)
        if cut < end and space > start:
            cut = space + 1
        pieces.append((start, cut))
        start = cut
    return pieces


def _overlapping(
    text: str,
    spans: Sequence[tuple[int, int]],
    count: Callable[[str], int],
    most: int,
    share: float,
) -> list[Chunk]:
    chunks: list[Chunk] = []
    for number, (start, end) in enumerate(spans):
        lead = 0
        if number and share:
            before_start, before_end = spans[number - 1]
            lead = _lead(text, before_start, before_end, int(share * (before_end - before_start)))
            while lead and count(text[start - lead : end]) > most:
                lead = lead // 2 if lead > 1 else 0
        chunks.append(Chunk(text[start - lead : end].strip(), start, end, lead))
    return chunks


def _lead(text: str, start: int, end: int, length: int) -> int:
    """How much of text[start:end] goes in front of the next: `length`, or less to a sentence."""
    wanted = end - length
    starts = [a for a, _ in sentences(text[start:end])]
    aligned = [start + a for a in starts if wanted <= start + a < end]
    return end - aligned[0] if aligned else length
