"""DChunk: cutting documents where their subject changes (docs/protocol.md 5.1, steps 2 to 6).

Vectors of sentences without a model: latent semantic analysis, fitted on the corpus itself.

TF-IDF over stems, then its truncated singular value decomposition (Deerwester et al. 1990), by
scikit-learn; a sentence is folded in as any text is. The same texts give the same vectors."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from corpus.chunking.sentences import sentences
from corpus.retrieval.analysis import STOP_WORDS, split

DIMENSIONS: Final = 100
_MAX_TERMS: Final = 20_000
# Fewer say nothing of which words go together.
_MIN_BLOCKS: Final = 20
_SENTENCES: Final = 5


def blocks_of(text: str, *, most: int) -> list[str]:
    """The text in runs of five sentences, at most `most` of them, spread over it."""
    spans = sentences(text)
    starts = range(0, len(spans), _SENTENCES)
    step = max(1, -(-len(starts) // most))
    return [text[spans[at][0] : spans[at : at + _SENTENCES][-1][1]] for at in starts[::step]]


class Lsa:
    """An analysis that was fitted; `embed` gives a vector for every sentence."""

    def __init__(self, weights: Any, components: Any) -> None:
        self._weights, self._components = weights, components

    @classmethod
    def fit(cls, blocks: Iterable[str]) -> Self | None:
        """Fit it on blocks of text; None where they are too few, or share too few words."""
        from sklearn.decomposition import TruncatedSVD  # slow to import
        from sklearn.feature_extraction.text import TfidfVectorizer

        texts = list(blocks)
        if len(texts) < _MIN_BLOCKS:
            return None
        weights = TfidfVectorizer(
            analyzer=_Terms(), min_df=2, max_features=_MAX_TERMS, sublinear_tf=True
        )
        try:
            table = weights.fit_transform(texts)
        except ValueError:  # no word is in two of them
            return None
        dimensions = min(DIMENSIONS, min(table.shape) - 1)
        if dimensions < 2:
            return None
        with np.errstate(divide="ignore", invalid="ignore"):  # of blocks that are all alike
            return cls(weights, TruncatedSVD(dimensions, random_state=0).fit(table))

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """A row of length 1 for each text; of zeros for one without a known word."""
        # Rounded, so that two machines whose sums differ in the last digits cut alike.
        found = np.round(self._components.transform(self._weights.transform(texts)), 6)
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        vectors: npt.NDArray[np.float32] = (found / np.where(lengths, lengths, 1)).astype("f4")
        return vectors


class _Terms:
    """The stems of a text, as retrieval has them."""

    def __init__(self) -> None:
        import Stemmer

        self._stem = Stemmer.Stemmer("porter", 0).stemWords

    def __call__(self, text: str) -> list[str]:
        stems: list[str] = self._stem([word for word in split(text) if word not in STOP_WORDS])
        return stems


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
