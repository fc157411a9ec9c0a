"""Vectors of sentences without a model: latent semantic analysis, fitted on the corpus itself.

TF-IDF over stems, then its truncated singular value decomposition (Deerwester et al. 1990), by
scikit-learn; a sentence is folded in as any text is. The same texts give the same vectors.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, Self

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
