"""Two texts side by side, word by word, for people to compare."""

from collections.abc import Sequence
from typing import NamedTuple

from corpus.marcus.alignment import blocks
from corpus.marcus.tokens import Token, tokenise

SAME, GONE, NEW = "same", "gone", "new"


class Run(NamedTuple):
    """A stretch of one side: the same on both, gone from the first, or new in the second."""

    kind: str
    text: str


class Sides(NamedTuple):
    """Both texts, whole and in order."""

    left: tuple[Run, ...]
    right: tuple[Run, ...]

    @property
    def is_same(self) -> bool:
        """Whether no word differs."""
        return all(run.kind == SAME for run in (*self.left, *self.right))


def side_by_side(first: str, second: str) -> Sides:
    """What differs between two texts; white space and markup stay where they are."""
    a, b = tokenise(first), tokenise(second)
    left, right = [], []
    for block in blocks(a, b):
        if not block.same:
            left += [(block.a0, block.a1)] if block.a0 < block.a1 else []
            right += [(block.b0, block.b1)] if block.b0 < block.b1 else []
    return Sides(_runs(first, a, left, GONE), _runs(second, b, right, NEW))


def window(text: str, start: int, end: int, *, around: int = 300) -> tuple[str, str, str]:
    """What stands before, at and behind a place, cut between words."""
    low, high = max(0, start - around), min(len(text), end + around)
    if low:
        low = text.find(" ", low, start) + 1 or low
    if high < len(text):
        high = text.rfind(" ", end, high) if text.rfind(" ", end, high) > end else high
    before = ("… " if low else "") + text[low:start]
    return before, text[start:end], text[end:high] + (" …" if high < len(text) else "")


def _runs(
    text: str, tokens: Sequence[Token], spans: Sequence[tuple[int, int]], kind: str
) -> tuple[Run, ...]:
    runs, at = [], 0
    for first, last in spans:
        start, end = tokens[first].start, tokens[last - 1].end
        if start > at:
            runs.append(Run(SAME, text[at:start]))
        runs.append(Run(kind, text[start:end]))
        at = end
    if at < len(text):
        runs.append(Run(SAME, text[at:]))
    return tuple(runs)
