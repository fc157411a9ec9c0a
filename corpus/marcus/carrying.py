"""Which passages a chunk holds, and which of their labels it takes over (docs/protocol.md 4.5)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from corpus.marcus.alignment import blocks
from corpus.marcus.parts import Part, Stretch
from corpus.marcus.tokens import tokenise

LEAST_TOKENS: Final = 30
LEAST_SHARE: Final = 0.2


class Overlap(NamedTuple):
    """How many tokens of the passage `key`, of its `of`, stand in the chunk numbered `chunk`.

    `carries` is whether the passage's labels hold for the chunk.
    """

    key: int
    chunk: int
    tokens: int
    of: int
    carries: bool = False


def overlaps(part: Part, chunks: Sequence[str]) -> list[Overlap]:
    """How the chunks of a part lie over its passages: by one alignment of all of them."""
    first = tokenise(part.text)
    second, owner = [], []
    for number, chunk in enumerate(chunks):
        tokens = tokenise(chunk)
        second += tokens
        owner += [number] * len(tokens)
    found: dict[tuple[int, int], int] = {}
    sizes: dict[int, int] = {}
    coming = sorted(part.stretches, key=lambda each: each.start, reverse=True)
    around: list[Stretch] = []
    members: list[list[int]] = []
    for token in first:
        while coming and coming[-1].start <= token.start:
            around.append(coming.pop())
        around = [stretch for stretch in around if token.start < stretch.end]
        inside = [stretch.key for stretch in around]
        members.append(inside)
        for key in inside:
            sizes[key] = sizes.get(key, 0) + 1
    for block in blocks(first, second):
        if block.same:
            for i in range(block.a1 - block.a0):
                for key in members[block.a0 + i]:
                    place = (key, owner[block.b0 + i])
                    found[place] = found.get(place, 0) + 1
    return [Overlap(key, chunk, n, sizes[key]) for (key, chunk), n in sorted(found.items())]


def carry(found: Iterable[Overlap]) -> list[Overlap]:
    """The overlaps of each passage, and which of the chunks take its labels over.

    A chunk does from max(30 tokens, 20 %) of the passage on, or all of a shorter one. Where no
    chunk has as much, the one with the most does: a label is lost only with its whole text.
    """
    by_key: dict[int, list[Overlap]] = {}
    for overlap in found:
        by_key.setdefault(overlap.key, []).append(overlap)
    carried: list[Overlap] = []
    for rows in by_key.values():
        least = min(rows[0].of, max(LEAST_TOKENS, LEAST_SHARE * rows[0].of))
        best = max(rows, key=lambda row: (row.tokens, -row.chunk))
        takers = {row.chunk for row in rows if row.tokens >= least} or {best.chunk}
        carried += [row._replace(carries=row.chunk in takers) for row in rows]
    return carried


def label_of(labels: Mapping[int, int], holds: Sequence[tuple[int, bool]]) -> int | None:
    """The label that a chunk takes over for one query; None where nothing can be said.

    `labels` by passage; `holds` gives the chunk's passages and whether their labels carry. The
    highest label above 0 of those that carry holds. A label of 0 or less holds only if every
    passage in the chunk has one: text that nobody judged may be what was asked for.
    """
    above = [labels[key] for key, carries in holds if carries and labels.get(key, 0) > 0]
    if above:
        return max(above)
    if holds and all(key in labels for key, _ in holds):
        below = [labels[key] for key, _ in holds]
        return max(below) if max(below) <= 0 else None
    return None
