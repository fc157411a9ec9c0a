"""Texts that repeat others, exactly or nearly. Pure.

Near is by runs of five words: those that both have, by those of the shorter text. So a passage that
was copied into a long page is found, which the likeness of the whole (Jaccard) would miss. Runs are
counted, not sketched: of the few texts that are looked for all are held, of the many they are held
against none. docs/training.md has both beside one another.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

RUN: Final = 5
# One changed word takes five runs along: of a copy with every tenth changed about half are left.
NEAR: Final = 0.3
# Texts with fewer runs have to be the same: phrases are nobody's.
_LEAST_RUNS: Final = 20


class Repeats:
    """Texts that others are held against."""

    def __init__(self, texts: Sequence[str]) -> None:
        plain = [_words(text) for text in texts]
        self._same: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for number, words in enumerate(plain):
            self._same[tuple(words)].append(number)
        runs = [_runs(words) for words in plain]
        self._sizes = np.array([len(each) for each in runs], dtype=np.int64)
        hashes, owners = _flat(runs)
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._owners = hashes[order], owners[order]

    def among(self, others: Sequence[str]) -> Iterator[tuple[int, int, float]]:
        """(number of the own text, number of the other, share) of each pair that repeats."""
        plain = [_words(text) for text in others]
        found = {
            (mine, other): 1.0
            for other, words in enumerate(plain)
            for mine in (self._same.get(tuple(words), ()) if words else ())
        }
        runs = [_runs(words) for words in plain]
        hashes, owners = _flat(runs)
        first = np.searchsorted(self._hashes, hashes, "left")
        many = np.searchsorted(self._hashes, hashes, "right") - first
        at = np.repeat(first - np.concatenate([[0], np.cumsum(many)[:-1]]), many)
        mine = self._owners[at + np.arange(many.sum())] if many.sum() else at
        count = max(1, len(self._sizes))
        pairs, shared = np.unique(np.repeat(owners, many) * count + mine, return_counts=True)
        for pair, common in zip(pairs.tolist(), shared.tolist(), strict=True):
            other, own = divmod(pair, count)
            size = min(int(self._sizes[own]), len(runs[other]))
            if size >= _LEAST_RUNS and common / size >= NEAR:
                found.setdefault((own, other), common / size)
        yield from ((own, other, share) for (own, other), share in found.items())


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _runs(words: Sequence[str]) -> set[int]:
    """Hashes of the runs; they hold in this process alone."""
    return {hash(tuple(words[at : at + RUN])) for at in range(len(words) - RUN + 1)}


def _flat(runs: Sequence[set[int]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """All hashes behind one another, and whose each is."""
    sizes = [len(each) for each in runs]
    hashes = np.fromiter((run for each in runs for run in each), np.int64, sum(sizes))
    return hashes, np.repeat(np.arange(len(runs), dtype=np.int64), sizes)
