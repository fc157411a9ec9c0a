"""An index of words: for each term the documents that hold it, with a weight.

A folder holds what bm25s saves (arrays by columns, parameters, vocabulary), so that the library
reads the index of BM25 as its own; TF-IDF is kept in the same form, with its idf.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import bm25s
import numpy as np
import numpy.typing as npt

from corpus.retrieval.analysis import Counts, Terms, count
from corpus.retrieval.protocol import Default, Order, Scored
from corpus.retrieval.toplist import best

# Rows whose weights are computed at once.
_AT_ONCE: Final = 4_000_000
_IDF: Final = "idf.npy"


def build_bm25(counts: Counts, folder: Path, *, k1: float, b: float) -> None:
    """Write the index: idf ln(1 + (N - n + .5) / (n + .5)) times tf / (tf + k1 (1 - b + b l / L)).

    Lucene's variant (Kamphuis et al. 2020); `l` is a document's length, `L` the mean of all.
    """
    matrix = counts.matrix
    size = matrix.shape[0]
    holding = np.bincount(matrix.indices, minlength=matrix.shape[1])
    idf = np.log1p((size - holding + 0.5) / (holding + 0.5)).astype(np.float32)
    mean = counts.lengths.mean() if size else 1.0
    norm = (k1 * (1.0 - b + b * counts.lengths / max(mean, 1e-9))).astype(np.float32)
    rows = np.diff(matrix.indptr)
    for start, end in _parts(matrix.indptr):
        part = slice(int(matrix.indptr[start]), int(matrix.indptr[end]))
        times = matrix.data[part]
        below = np.repeat(norm[start:end], rows[start:end])
        matrix.data[part] = idf[matrix.indices[part]] * (times / (times + below))
    _save(bm25s.BM25(k1=k1, b=b, method="lucene"), matrix, counts.terms, folder)


def build_tfidf(counts: Counts, folder: Path) -> None:
    """Write the index: (1 + ln tf) idf, each document's weights of length 1 (scikit-learn)."""
    # Every process that looks at the forms would take seconds to import it.
    from sklearn.feature_extraction.text import TfidfTransformer

    transformer = TfidfTransformer(sublinear_tf=True)
    matrix = transformer.fit(counts.matrix).transform(counts.matrix, copy=False)
    _save(bm25s.BM25(method="tf-idf"), matrix, counts.terms, folder)
    np.save(folder / _IDF, transformer.idf_.astype(np.float32))


@dataclass
class Postings:
    """An index as it lies in its folder, its arrays read where they are needed."""

    index: Any
    terms: Terms
    idf: npt.NDArray[np.float32] | None

    @classmethod
    def load(cls, folder: Path) -> "Postings":
        """Open a folder that one of the builders wrote."""
        index = bm25s.BM25.load(str(folder), mmap=True, load_vocab=True)
        names = sorted(index.vocab_dict, key=index.vocab_dict.__getitem__)
        idf = folder / _IDF
        return cls(index, Terms(names, frozen=True), np.load(idf) if idf.exists() else None)

    def scores(self, text: str) -> npt.NDArray[np.float32]:
        """The score of every document for a query."""
        numbers = self.terms.of(text)
        if self.idf is None:
            found: npt.NDArray[np.float32] = self.index.get_scores_from_ids(numbers)
            return found
        parts = self.index.scores
        scores = np.zeros(parts["num_docs"], np.float32)
        terms, times = np.unique(numbers, return_counts=True)
        weights = (1.0 + np.log(times)) * self.idf[terms]
        length = float(np.sqrt((weights**2).sum())) or 1.0
        for term, weight in zip(terms.tolist(), (weights / length).tolist(), strict=True):
            start, end = int(parts["indptr"][term]), int(parts["indptr"][term + 1])
            weighed = parts["data"][start:end] * np.float32(weight)
            np.add.at(scores, parts["indices"][start:end], weighed)
        return scores

    def search(self, text: str, k: int, order: Order) -> Scored:
        """The k best documents that hold any term of the query."""
        return best(self.scores(text), k, order, above=0.0)


class _Words:
    """A retriever by words; a text without any of the query's is not in its list."""

    version: Final = "english-porter-1 1"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _opened(self) -> Postings:
        return Postings.load(self._folder)

    def search(self, queries: Sequence[str], k: int, order: Order) -> Iterator[Scored]:
        """The k best documents of each query."""
        return (self._opened.search(query, k, order) for query in queries)


class BM25(_Words):
    """Words, weighed by how rare they are and how long the text is."""

    title: Final = "BM25"
    settings: Final[Mapping[str, Default]] = {"k1": (0.9, 0, 10), "b": (0.4, 0, 1)}

    def __init__(self, folder: Path, *, k1: float = 0.9, b: float = 0.4) -> None:
        super().__init__(folder)
        self._k1, self._b = k1, b

    def index(self, texts: Iterable[str]) -> None:
        """Write the index; raises NoWords."""
        build_bm25(count(texts), self._folder, k1=self._k1, b=self._b)


class TFIDF(_Words):
    """Words, weighed by how rare they are, compared by the angle between texts."""

    title: Final = "TF-IDF"
    settings: Final[Mapping[str, Default]] = {}

    def index(self, texts: Iterable[str]) -> None:
        """Write the index; raises NoWords."""
        build_tfidf(count(texts), self._folder)


def _parts(starts: npt.NDArray[Any]) -> list[tuple[int, int]]:
    """Runs of whole rows, each with about so many entries."""
    found, begin, size = [], 0, len(starts) - 1
    while begin < size:
        upto = int(np.searchsorted(starts, int(starts[begin]) + _AT_ONCE, side="right")) - 1
        end = min(max(upto, begin + 1), size)
        found.append((begin, end))
        begin = end
    return found


def _save(index: Any, matrix: Any, terms: list[str], folder: Path) -> None:
    by_term = matrix.tocsc()
    index.scores = {
        "data": by_term.data.astype(np.float32, copy=False),
        "indices": by_term.indices,
        "indptr": by_term.indptr,
        "num_docs": matrix.shape[0],
    }
    index.vocab_dict = {term: number for number, term in enumerate(terms)}
    index.unique_token_ids_set = set(index.vocab_dict.values())
    index.nonoccurrence_array = None
    index.save(str(folder), show_progress=False)
