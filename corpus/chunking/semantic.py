"""DChunk: cutting documents where their subject changes (docs/protocol.md 5.1, steps 2 to 6)."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from corpus.chunking.sentences import sentences

Span: TypeAlias = tuple[int, int]

THRESHOLD: Final = 0.5
MAX_TOKENS: Final = 4096
OVERLAP: Final = 0.2


class Chunk(NamedTuple):
    """text[start:end] of the document, with `overlap` characters of the chunk before in front."""

    text: str
    start: int
    end: int
    overlap: int = 0


def count_words(text: str) -> int:
    """Words between white space: what is counted as tokens."""
    return len(text.split())


def units_of(text: str, *, most: int = MAX_TOKENS) -> list[Span]:
    """The sentences that are compared, each of at most `most` tokens."""
    return [unit for span in sentences(text) for unit in _within(text, *span, most)]


def chunks_of(
    text: str,
    units: Sequence[Span],
    vectors: Sequence[Sequence[float]] | npt.NDArray[np.float32],
    *,
    threshold: float = THRESHOLD,
    most: int = MAX_TOKENS,
    overlap: float = OVERLAP,
) -> list[Chunk]:
    """The text in chunks of at least a unit and at most `most` tokens; each unit has its vector.

    A unit whose cosine similarity to the running chunk (the sum of its units' vectors) is below
    `threshold` begins the next one; so does one that would pass the cap, and a sentence longer
    than the cap is cut at it: nowhere else does a chunk begin inside a sentence. In front of every
    chunk but the first stand those sentences of the one before that begin in the last 20 % of its
    characters; where the cap would be passed there are fewer, and where none begins there is none.
    """
    if not units:
        return []
    found = np.asarray(vectors, dtype=np.float64)
    spans = [units[0]]
    total, size = found[0].copy(), count_words(text[slice(*units[0])])
    for (start, end), vector in zip(units[1:], found[1:], strict=True):
        more = count_words(text[start:end])
        if size + more > most or cosine(total, vector) < threshold:
            spans.append((start, end))
            total, size = vector.copy(), more
        else:
            spans[-1] = (spans[-1][0], end)
            total, size = total + vector, size + more
    return _overlapping(text, spans, most, overlap)


def cosine(
    first: Sequence[float] | npt.NDArray[np.float64],
    second: Sequence[float] | npt.NDArray[np.float64],
) -> float:
    """The cosine of two vectors; 0 where one has no length."""
    length = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(np.dot(first, second)) / length if length else 0.0


def _within(text: str, start: int, end: int, most: int) -> list[Span]:
    """A sentence in pieces of at most so many tokens; most are one piece."""
    if count_words(text[start:end]) <= most:
        return [(start, end)]
    pieces = []
    while start < end:
        low, high = 1, min(most, end - start)
        while high < end - start and count_words(text[start : start + high]) <= most:
            low, high = high, min(2 * high, end - start)
        while low < high:  # the longest piece that fits
            middle = (low + high + 1) // 2
            if count_words(text[start : start + middle]) <= most:
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


def _overlapping(text: str, spans: Sequence[Span], most: int, share: float) -> list[Chunk]:
    starts = [start for start, _ in sentences(text)]
    chunks = [Chunk(text[slice(*spans[0])].strip(), *spans[0])]
    for (before, _), (start, end) in pairwise(spans):
        room = most - count_words(text[start:end])
        first = bisect_left(starts, start - int(share * (start - before)))
        leads = (start - at for at in starts[first : bisect_left(starts, start)])
        lead = next((n for n in leads if count_words(text[start - n : start]) <= room), 0)
        chunks.append(Chunk(text[start - lead : end].strip(), start, end, lead))
    return chunks
