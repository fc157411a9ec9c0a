"""From a text to terms, after the manner of Lucene's English analyzer.

Letters and digits make words; a possessive 's is dropped, words are folded to lower case, stop
words left out, the others cut to their stem (Porter 1980, by PyStemmer).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import Stemmer
from bm25s.stopwords import STOPWORDS_EN
from scipy import sparse

# Texts that are counted at once: what is held beside the matrix.
AT_ONCE: Final = 2_000


@dataclass(frozen=True)
class Counts:
    """`matrix[document, term]` counts, in single precision; `lengths` are terms a document."""

    matrix: Any
    lengths: npt.NDArray[np.int64]
    terms: list[str]


class NoWords(ValueError):
    """The texts hold no word that could be found."""


def count(texts: Iterable[str]) -> Counts:
    """Terms of each text; rows stand in the order of the texts, terms in that of their coming.

    Raises NoWords where there is none at all.
    """
    terms = Terms()
    parts: list[tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]] = []
    lengths: list[npt.NDArray[np.int64]] = []
    for group in _groups(texts):
        numbers = [terms.of(text) for text in group]
        sizes = np.fromiter(map(len, numbers), np.int64, len(numbers))
        parts.append(_counted(numbers, sizes, len(terms.number_of)))
        lengths.append(sizes)
    if not terms.number_of:
        raise NoWords("The texts hold no words.")
    return Counts(
        matrix=_matrix(parts, len(terms.number_of)),
        lengths=np.concatenate(lengths),
        terms=list(terms.number_of),
    )


def _groups(texts: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(texts)
    while group := list(islice(rest, AT_ONCE)):
        yield group


def _counted(
    numbers: list[npt.NDArray[np.int32]], sizes: npt.NDArray[np.int64], width: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """(counts, terms, terms a row) of one group."""
    rows = np.repeat(np.arange(len(numbers), dtype=np.int64), sizes)
    keys = rows * max(width, 1) + np.concatenate(numbers)
    found, times = np.unique(keys, return_counts=True)
    row, term = np.divmod(found, max(width, 1))
    per_row = np.bincount(row, minlength=len(numbers))
    return times.astype(np.float32), term.astype(np.int32), per_row


def _matrix(parts: list[Any], width: int) -> Any:
    per_row = np.concatenate([each[2] for each in parts])
    starts = np.zeros(len(per_row) + 1, np.int64)
    np.cumsum(per_row, out=starts[1:])
    # Filled part by part, each given up as it goes: the counts are never held twice.
    data = np.empty(int(starts[-1]), np.float32)
    indices = np.empty(int(starts[-1]), np.int32)
    at = 0
    for place, (times, term, _) in enumerate(parts):
        data[at : at + len(times)], indices[at : at + len(times)] = times, term
        at += len(times)
        parts[place] = None
    if starts[-1] < np.iinfo(np.int32).max:
        starts = starts.astype(np.int32)
    return sparse.csr_matrix((data, indices, starts), shape=(len(per_row), width))


WORD: Final = re.compile(r"\w+")
_POSSESSIVE: Final = re.compile(r"['\u2019\uff07]s\b")
# The stop words that Lucene's English analyzer leaves out.
STOP_WORDS: Final = frozenset(STOPWORDS_EN)
_LEFT_OUT: Final = -1


class Terms(dict[str, int]):
    """The number of each word's term; unknown words get one when they are first looked up.

    A frozen one gives -1, as it does for stop words.
    """

    def __init__(self, terms: Iterable[str] = (), *, frozen: bool = False) -> None:
        super().__init__()
        self._stem = Stemmer.Stemmer("porter", 0).stemWord
        self.number_of: dict[str, int] = {term: i for i, term in enumerate(terms)}
        self._frozen = frozen

    def __missing__(self, word: str) -> int:
        number = _LEFT_OUT
        if word not in STOP_WORDS:
            stem = self._stem(word)
            if self._frozen:
                number = self.number_of.get(stem, _LEFT_OUT)
            else:
                number = self.number_of.setdefault(stem, len(self.number_of))
        self[word] = number
        return number

    def of(self, text: str) -> npt.NDArray[np.int32]:
        """The numbers of a text's terms in their order, without what is left out."""
        words = split(text)
        found = np.fromiter(map(self.__getitem__, words), np.int32, len(words))
        return found[found >= 0]


def split(text: str) -> list[str]:
    """The words of a text in lower case."""
    text = text.lower()
    if "'" in text or "\u2019" in text or "\uff07" in text:
        text = _POSSESSIVE.sub("", text)
    return WORD.findall(text)
