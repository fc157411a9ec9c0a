"""Which passages a chunk contains, and which of their labels it inherits (docs/protocol.md 4.5)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from corpus.marcus.alignment import blocks
from corpus.marcus.parts import Part, PassageSpan
from corpus.marcus.tokens import tokenise

MIN_TOKENS: Final = 30
MIN_SHARE: Final = 0.2


class Overlap(NamedTuple):
    """How many tokens of the passage `key`, of its `of`, are in the chunk numbered `chunk`.

    `carries` is whether the chunk inherits the passage's labels.
    """

    key: int
    chunk: int
    tokens: int
    of: int
    carries: bool = False


def overlaps(part: Part, chunks: Sequence[str]) -> tuple[list[Overlap], set[int]]:
    """How the chunks of a part lie over its passages: by one alignment of all of them."""
    first = tokenise(part.text)
    second, owner = [], []
    for number, chunk in enumerate(chunks):
        tokens = tokenise(chunk)
        second += tokens
        owner += [number] * len(tokens)
    found: dict[tuple[int, int], int] = {}
    sizes: dict[int, int] = {}
    beside: set[int] = set()
    coming = sorted(part.spans, key=lambda each: each.start, reverse=True)
    around: list[PassageSpan] = []
    members: list[list[int]] = []
    for token in first:
        while coming and coming[-1].start <= token.start:
            around.append(coming.pop())
        around = [span for span in around if token.start < span.end]
        inside = [span.key for span in around]
        members.append(inside)
        for key in inside:
            sizes[key] = sizes.get(key, 0) + 1
    for block in blocks(first, second):
        if block.same:
            for i in range(block.a1 - block.a0):
                into = owner[block.b0 + i]
                for key in members[block.a0 + i]:
                    found[key, into] = found.get((key, into), 0) + 1
                if not members[block.a0 + i] and any(map(str.isalnum, first[block.a0 + i].form)):
                    beside.add(into)
    lying = [Overlap(key, chunk, n, sizes[key]) for (key, chunk), n in sorted(found.items())]
    return lying, beside


def holdings(
    part: Part, chunks: Sequence[str]
) -> tuple[list[str], dict[int, list[Overlap]], int, set[int]]:
    """The chunks of a part, what each holds of its passages, how many were put in whole, and which
    chunks also hold text of the page that no passage covers.

    A gold passage of which nothing is left goes along as it was loaded, also one of signs alone or
    of nothing at all, of which no token could be aligned: its label must not get lost.
    """
    # What holds no word at all is put in again below, with its label.
    texts = list(chunks) if any(map(tokenise, chunks)) or not part.is_gold else []
    lying, beside = overlaps(part, texts)
    inherited = inherit(lying)
    aligned = len(texts)
    if part.is_gold:
        there = {each.key for each in inherited}
        for span in part.spans:
            if span.key not in there:
                there.add(span.key)
                inherited.append(Overlap(span.key, len(texts), 0, 0, carries=True))
                texts.append(part.text[span.start : span.end])
    holds: dict[int, list[Overlap]] = {}
    for each in inherited:
        holds.setdefault(each.chunk, []).append(each)
    return texts, holds, len(texts) - aligned, beside


def inherit(found: Iterable[Overlap]) -> list[Overlap]:
    """The overlaps of each passage, and which of the chunks inherit its labels.

    A chunk does from max(30 tokens, 20 %) of the passage on, or all of a shorter one. Where no
    chunk has as much, the one with the most does: a label is lost only with its whole text.
    """
    by_key: dict[int, list[Overlap]] = {}
    for overlap in found:
        by_key.setdefault(overlap.key, []).append(overlap)
    rated: list[Overlap] = []
    for rows in by_key.values():
        least = min(rows[0].of, max(MIN_TOKENS, MIN_SHARE * rows[0].of))
        best = max(rows, key=lambda row: (row.tokens, -row.chunk))
        heirs = {row.chunk for row in rows if row.tokens >= least} or {best.chunk}
        rated += [row._replace(carries=row.chunk in heirs) for row in rows]
    return rated


def inherited_label(labels: Mapping[int, int], sources: Sequence[tuple[int, bool]]) -> int | None:
    """The label that a chunk inherits for one query; None where there is none.

    `labels` by passage; `sources` are the passages in the chunk, with whether it inherits their
    labels, text of no passage as one without a label. The highest label above 0 of those counts. A
    label of 0 or less counts only if every one has one: what nobody judged may be what was asked
    for.
    """
    above = [labels[key] for key, carries in sources if carries and labels.get(key, 0) > 0]
    if above:
        return max(above)
    if sources and all(key in labels for key, _ in sources):
        below = [labels[key] for key, _ in sources]
        return max(below) if max(below) <= 0 else None
    return None
