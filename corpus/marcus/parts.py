"""A page taken apart into what is gold for some query and what is not (docs/protocol.md 4.1)."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from corpus.marcus.alignment import Finder, find_exactly
from corpus.marcus.tokens import tokenise

Aspects: TypeAlias = Mapping[int, Collection[tuple[int, int]]]
"""The (query, aspect) pairs that passages support, by their keys."""
GOLD: Final = "g"
OTHER: Final = "i"
_NUMBERED: Final = re.compile(r"^(?P<page>.+)_(?P<n>\d+)(?P<end>\.\w{1,5})$", re.DOTALL)
# What experts collected for a query: passages of pages that the id does not name.
_COLLECTED: Final = re.compile(r"[^/]+-[^/]+/extraction_\d+\.\w{1,5}", re.ASCII)
_BETWEEN: Final = "\n"
# Letters by which it is seen that a text stands nowhere in a page.
_HEAD: Final = 24


@dataclass(frozen=True, slots=True)
class Source:
    """One passage as it was loaded. `start` and `end` where its place in the page is known."""

    key: int
    pid: str
    text: str
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class PassageSpan:
    """Code points [start, end) of a part's text that are of the passage `key`."""

    key: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Part:
    """A gold segment or the rest of a page; `queries` are those that its passages are gold for."""

    kind: str
    text: str
    spans: tuple[PassageSpan, ...]
    queries: tuple[int, ...] = ()

    @property
    def is_gold(self) -> bool:
        """Whether some query's gold is in it."""
        return self.kind == GOLD


@dataclass(frozen=True, slots=True)
class Page:
    """The parts in the order of the page; `unplaced` passages are not found in its text."""

    parts: tuple[Part, ...]
    unplaced: tuple[int, ...] = ()
    repeated: tuple[int, ...] = ()


def page_of(pid: str) -> tuple[str, int]:
    """Page and position of a passage: `folder/page_7.txt` is the 7th piece of `folder/page.txt`.

    Any other id is a page of its own, with position 0: `msmarco_passage_05_12` ends in a number,
    too, and is no 12th piece of anything, and Bright-Pro's `biology-1/extraction_2.txt` is the
    second passage that an expert collected for query 1 (docs/protocol.md 1.1).
    """
    match = None if _COLLECTED.fullmatch(pid) else _NUMBERED.match(pid)
    if match is None:
        return pid, 0
    return match["page"] + match["end"], int(match["n"])


def take_apart(
    sources: Sequence[Source],
    gold: Mapping[int, Sequence[int]],
    aspects: Aspects = MappingProxyType({}),
    *,
    page_text: str = "",
    single_span: bool = False,
) -> Page:
    """The gold segments and the rest of a page.

    `gold` gives the queries of each gold passage by its key, `aspects` the (query, aspect) pairs
    that it supports. Neighbouring gold passages make one segment, `single_span` puts all of a
    page's into one; but none holds two aspects of one query unless a passage did already. With
    `page_text` the passages' places are looked for in it, exactly and then by alignment, and the
    rest is what lies between; without it the page is its passages in the order of their numbers.
    Of two passages with one id the first is taken.
    """
    first: dict[str, Source] = {}
    repeated = []
    for source in sources:
        if source.pid in first:
            repeated.append(source.key)
        else:
            first[source.pid] = source
    ordered = sorted(first.values(), key=lambda each: (page_of(each.pid)[1], each.pid))
    if page_text:
        parts, unplaced = _from_text(page_text, ordered, gold, aspects)
    else:
        parts, unplaced = _from_passages(ordered, gold, aspects), []
    if single_span:
        parts = _in_one(parts, aspects)
    return Page(tuple(parts), tuple(unplaced), tuple(repeated))


def _joins(known: dict[int, int], pairs: Iterable[tuple[int, int]]) -> bool:
    """Whether a segment with these aspects by query may take in more; they are then noted there."""
    pairs = list(pairs)
    if any(known.get(query, aspect) != aspect for query, aspect in pairs):
        return False
    known.update(pairs)
    return True


def _from_passages(
    sources: Sequence[Source], gold: Mapping[int, Sequence[int]], aspects: Aspects
) -> list[Part]:
    segments: list[list[Source]] = []
    others: list[Source] = []
    known: dict[int, int] | None = None  # aspects of the segment that the passage before is in
    for source in sources:
        if not gold.get(source.key):
            others.append(source)
            known = None
        # A missing number between two gold passages leaves them neighbours: nothing stands there.
        elif known is not None and _joins(known, aspects.get(source.key, ())):
            segments[-1].append(source)
        else:
            segments.append([source])
            known = dict(aspects.get(source.key, ()))
    golds = [_joined(GOLD, members, gold) for members in segments]
    return golds + ([_joined(OTHER, others, gold)] if others else [])


def _joined(kind: str, sources: Sequence[Source], gold: Mapping[int, Sequence[int]]) -> Part:
    texts, spans, at = [], [], 0
    for source in sources:
        texts.append(source.text)
        spans.append(PassageSpan(source.key, at, at + len(source.text)))
        at += len(source.text) + len(_BETWEEN)
    queries = sorted({query for source in sources for query in gold.get(source.key, ())})
    return Part(kind, _BETWEEN.join(texts), tuple(spans), tuple(queries))


def _from_text(
    page: str,
    sources: Sequence[Source],
    gold: Mapping[int, Sequence[int]],
    aspects: Aspects,
) -> tuple[list[Part], list[int]]:
    places: dict[int, tuple[int, int]] = {}
    unplaced: dict[int, None] = {}
    after, finder, standing = 0, None, None
    for source in sources:
        found: tuple[int, int] | None = None
        if source.start is not None and source.end is not None:
            found = (source.start, source.end)
        elif standing is None or source.text.strip()[:_HEAD] in standing:
            found = find_exactly(page, source.text, after=after)
        if found is None and standing is None:
            # Many that are not there would each be looked for in all of the page.
            standing = _standing(page, {each.text.strip()[:_HEAD] for each in sources})
        if found is None and source.text.strip():
            finder = finder or Finder(tokenise(page))
            found = finder.find(tokenise(source.text))
        if found is None:
            unplaced[source.key] = None
            continue
        places[source.key] = found
        after = found[0]
    own = {key: place for key, place in places.items() if gold.get(key)}
    parts = [
        _cut(GOLD, page, [span], {key: own[key] for key in keys}, gold)
        for span, keys in _segments(own, aspects)
    ]
    lost = [s for s in sources if s.key in unplaced and gold.get(s.key)]
    # Gold that is not found in its page is a segment of its own, an empty one too: its label must
    # not get lost with it.
    parts += [_joined(GOLD, [source], gold) for source in lost]
    rest = _between(len(page), _merged(sorted(own.values())))
    other = _cut(OTHER, page, rest, {k: v for k, v in places.items() if not gold.get(k)}, gold)
    return parts + ([other] if other.text.strip() else []), list(unplaced)


def _standing(page: str, heads: set[str]) -> set[str]:
    """Those beginnings of texts that the page holds somewhere."""
    whole = {head for head in heads if len(head) == _HEAD}
    there = {head for at in range(len(page)) if (head := page[at : at + _HEAD]) in whole}
    return there | (heads - whole)


def _segments(
    places: Mapping[int, tuple[int, int]], aspects: Aspects
) -> list[tuple[tuple[int, int], list[int]]]:
    """Spans of the page, each with the gold passages in it that touch, but for white space."""
    order = {key: number for number, key in enumerate(places)}
    made: list[tuple[list[int], list[int], dict[int, int]]] = []  # span, passages, aspects
    near: list[int] = []  # segments that the next passage may touch
    for key, (start, end) in sorted(places.items(), key=lambda each: each[1]):
        near = [number for number in near if start <= made[number][0][1] + 2]
        for number in near:
            span, keys, known = made[number]
            if _joins(known, aspects.get(key, ())):
                span[1] = max(span[1], end)
                keys.append(key)
                break
        else:
            near.append(len(made))
            made.append(([start, end], [key], dict(aspects.get(key, ()))))
    return [((start, end), sorted(keys, key=order.__getitem__)) for (start, end), keys, _ in made]


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans that overlap or touch, but for white space, as one."""
    found: list[tuple[int, int]] = []
    for start, end in spans:
        if found and start <= found[-1][1] + 2:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _between(length: int, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    edges = [0, *[edge for span in spans for edge in span], length]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]


def _cut(
    kind: str,
    page: str,
    spans: Sequence[tuple[int, int]],
    places: Mapping[int, tuple[int, int]],
    gold: Mapping[int, Sequence[int]],
) -> Part:
    """The text of these spans, which are in order and apart, with what lies in it of each place."""
    texts, inside, at, queries = [], [], 0, set()
    coming = sorted(places, key=lambda key: places[key][0], reverse=True)
    around: list[int] = []
    for start, end in spans:
        texts.append(page[start:end])
        while coming and places[coming[-1]][0] < end:
            around.append(coming.pop())
        around = [key for key in around if places[key][1] > start]
        for key in around:
            a, b = max(places[key][0], start), min(places[key][1], end)
            if a < b:
                inside.append(PassageSpan(key, at + a - start, at + b - start))
                queries |= set(gold.get(key, ())) if kind == GOLD else set()
        at += end - start + len(_BETWEEN)
    order = {key: number for number, key in enumerate(places)}
    ordered = sorted(inside, key=lambda each: (each.start, each.end, order[each.key]))
    return Part(kind, _BETWEEN.join(texts), tuple(ordered), tuple(sorted(queries)))


def _in_one(parts: Sequence[Part], aspects: Aspects) -> list[Part]:
    """The gold segments as one, or as few as hold no two aspects of a query."""
    together: list[tuple[list[Part], dict[int, int]]] = []
    for part in parts:
        if not part.is_gold:
            continue
        pairs = [pair for span in part.spans for pair in aspects.get(span.key, ())]
        for members, known in together:
            if _joins(known, pairs):
                members.append(part)
                break
        else:
            together.append(([part], dict(pairs)))
    return [
        *(_put_together(members) for members, _ in together),
        *(part for part in parts if not part.is_gold),
    ]


def _put_together(parts: Sequence[Part]) -> Part:
    spans, at = [], 0
    for part in parts:
        spans += [PassageSpan(s.key, s.start + at, s.end + at) for s in part.spans]
        at += len(part.text) + len(_BETWEEN)
    queries = sorted({query for part in parts for query in part.queries})
    return Part(GOLD, _BETWEEN.join(part.text for part in parts), tuple(spans), tuple(queries))
