"""From a text to terms, after the manner of Lucene's English analyzer.

Letters and digits make words; a possessive 's is dropped, words are folded to lower case, stop
words left out, the others cut to their stem (Porter 1980, by PyStemmer).
"""

import re
from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt
import Stemmer
from bm25s.stopwords import STOPWORDS_EN

WORD: Final = re.compile(r"\w+")
_POSSESSIVE: Final = re.compile(r"['\u2019\uff07]s\b")
# The stop words that Lucene's English analyzer leaves out.
STOP_WORDS: Final = frozenset(STOPWORDS_EN)
NAME: Final = "english-porter-1"
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
