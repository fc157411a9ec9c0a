"""Where a text stands inside another one, and what differs between two."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rapidfuzz.distance import LCSseq

from corpus.marcus.tokens import Token

# Tokens of one text times those of the other: beyond it (300 MB) texts are cut before.
MAX_CELLS: Final = 2_000_000_000
_GRAM: Final = 4
_MAX_PLACES: Final = 200
# Runs of so many tokens that stand once in both texts are the places where long ones are cut, and
# the least distance between two cuts.
_ANCHOR: Final = 8
_APART: Final = 4_000


@dataclass(frozen=True, slots=True)
class Block:
    """Tokens [a0, a1) of the first text against [b0, b1) of the second; `same` if they match."""

    same: bool
    a0: int
    a1: int
    b0: int
    b1: int


def blocks(first: Sequence[Token], second: Sequence[Token]) -> list[Block]:
    """The two token sequences as blocks that match and blocks that differ, in order.

    By a longest common subsequence; texts too long for it are cut where both say the same, and
    what is too long between two cuts differs as a whole.
    """
    a, b = [token.form for token in first], [token.form for token in second]
    found: list[Block] = []
    for block in _aligned(a, b):
        last = found[-1] if found else None
        if last and last.same == block.same:
            found[-1] = Block(block.same, last.a0, block.a1, last.b0, block.b1)
        else:
            found.append(block)
    return found


def _aligned(a: Sequence[str], b: Sequence[str]) -> Iterator[Block]:
    for a0, a1, b0, b1 in _sections(a, b):
        one, other = a[a0:a1], b[b0:b1]
        if len(one) * len(other) > MAX_CELLS and one != other:
            yield Block(False, a0, a1, b0, b1)
            continue
        for op in LCSseq.opcodes(one, other):
            yield Block(
                op.tag == "equal",
                a0 + op.src_start,
                a0 + op.src_end,
                b0 + op.dest_start,
                b0 + op.dest_end,
            )


def _sections(a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Both texts whole, or in sections that lie side by side where they are too long."""
    a0 = b0 = 0
    if len(a) * len(b) > MAX_CELLS:
        for i, j in _anchors(a, b):
            if i - a0 >= _APART and j - b0 >= _APART:
                yield a0, i, b0, j
                a0, b0 = i, j
    yield a0, len(a), b0, len(b)


def _anchors(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Places of runs that each text has once: as many as stand in the same order in both."""
    there = _once(b)
    pairs = [(i, there[run]) for run, i in _once(a).items() if run in there]
    # The longest increasing subsequence of their places in the second text.
    ends: list[int] = []
    chain: list[int] = []
    before = [-1] * len(pairs)
    for number, (_, j) in enumerate(pairs):
        at = bisect_left(ends, j)
        before[number] = chain[at - 1] if at else -1
        ends[at : at + 1] = [j]
        chain[at : at + 1] = [number]
    found, number = [], chain[-1] if chain else -1
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]


def _once(tokens: Sequence[str]) -> dict[int, int]:
    """The runs that stand once in a text, as hashes, with their places in ascending order."""
    found: dict[int, int] = {}
    again: set[int] = set()
    for at in range(len(tokens) - _ANCHOR + 1):
        run = hash(tuple(tokens[at : at + _ANCHOR]))
        if run in found:
            again.add(run)
        else:
            found[run] = at
    return {run: at for run, at in found.items() if run not in again}


def find_exactly(page: str, text: str, *, after: int = 0) -> tuple[int, int] | None:
    """[start, end) of the text in the page, the first at or behind `after`, else the first."""
    text = text.strip()
    if not text:
        return None
    at = page.find(text, after)
    if at < 0:
        at = page.find(text)
    return None if at < 0 else (at, at + len(text))


class Finder:
    """The tokens of a page, to look for the stretches that texts are likest to."""

    def __init__(self, page: Sequence[Token]) -> None:
        self._page = page
        self._places: dict[int, dict[tuple[str, ...], list[int]]] = {}

    def find(self, text: Sequence[Token], *, least: float = 0.6) -> tuple[int, int] | None:
        """[start, end) in the page's code points of the stretch that the text is likest to.

        The stretch with the most of the text's runs of four tokens, in no more than half as much
        again of the page; None where it holds less than `least` of the text's tokens in order.
        """
        if not text or not self._page:
            return None
        size = min(_GRAM, len(text))
        requested: dict[tuple[str, ...], int] = {}
        for at in range(len(text) - size + 1):
            requested.setdefault(_gram(text, at, size), at)
        there = self._grams(size)
        hits = sorted(
            (at, place) for gram, place in requested.items() for at in there.get(gram, ())
        )
        return _likest(self._page, text, hits, size, least)

    def _grams(self, size: int) -> dict[tuple[str, ...], list[int]]:
        """Where each run of so many tokens is in the page, without those that are too frequent."""
        if size not in self._places:
            found: dict[tuple[str, ...], list[int]] = {}
            for at in range(len(self._page) - size + 1):
                found.setdefault(_gram(self._page, at, size), []).append(at)
            # A run that stands everywhere would be looked at everywhere for each of many texts.
            self._places[size] = {
                gram: places for gram, places in found.items() if len(places) <= _MAX_PLACES
            }
        return self._places[size]


def _likest(
    page: Sequence[Token],
    text: Sequence[Token],
    hits: Sequence[tuple[int, int]],
    size: int,
    least: float,
) -> tuple[int, int] | None:
    if not hits:
        return None
    window = _densest(hits, len(text) + len(text) // 2 + 2 * size)
    before = window[0][1]
    start = max(0, window[0][0] - before - size)
    end = min(len(page), window[-1][0] + size + (len(text) - window[-1][1]) + size)
    same = _matching(text, page[start:end])
    matched = _size(same)
    if not same or matched < least * len(text):
        return None
    # A full stop far behind may match as well as the one at the end: the shorter stretch is meant.
    if len(same) > 1:
        near = same[-2].b1 + same[-1].a1 - same[-2].a1
        nearer = _matching(text, page[start : start + near])
        same = nearer if _size(nearer) == matched else same
    if len(same) > 1:
        far = max(0, same[1].b0 - (same[1].a0 - same[0].a0))
        later = _matching(text, page[start + far : start + same[-1].b1])
        if _size(later) == matched:
            start, same = start + far, later
    first, last = same[0].b0 + start, same[-1].b1 + start - 1
    return page[first].start, page[last].end


def _matching(first: Sequence[Token], second: Sequence[Token]) -> list[Block]:
    return [block for block in blocks(first, second) if block.same]


def _size(same: Sequence[Block]) -> int:
    return sum(block.a1 - block.a0 for block in same)


def _gram(tokens: Sequence[Token], at: int, size: int) -> tuple[str, ...]:
    return tuple(token.form for token in tokens[at : at + size])


def _densest(hits: Sequence[tuple[int, int]], width: int) -> Sequence[tuple[int, int]]:
    """The hits inside a window of that many tokens that cover the most places of the text."""
    best, low = (0, 0, 0), 0
    counts: dict[int, int] = {}
    for high, (at, place) in enumerate(hits):
        counts[place] = counts.get(place, 0) + 1
        while hits[low][0] < at - width:
            old = hits[low][1]
            counts[old] -= 1
            if not counts[old]:
                del counts[old]
            low += 1
        if len(counts) > best[0]:
            best = (len(counts), low, high)
    return hits[best[1] : best[2] + 1]
