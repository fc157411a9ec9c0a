"""A page taken apart into what is gold for some query and what is not (docs/protocol.md 4.1)."""

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from corpus.marcus.alignment import Finder, find_exactly
from corpus.marcus.tokens import tokenise

GOLD: Final = "g"
OTHER: Final = "i"
_NUMBERED: Final = re.compile(r"^(?P<page>.+)_(?P<n>\d+)(?P<end>\.\w{1,5})$", re.DOTALL)
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
class Stretch:
    """Code points [start, end) of a part's text that come from the passage `key`."""

    key: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Part:
    """A gold segment or the rest of a page; `queries` are those that its passages are gold for."""

    kind: str
    text: str
    stretches: tuple[Stretch, ...]
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
    too, and is no 12th piece of anything.
    """
    match = _NUMBERED.match(pid)
    if match is None:
        return pid, 0
    return match["page"] + match["end"], int(match["n"])


def take_apart(
    sources: Sequence[Source],
    gold: Mapping[int, Sequence[int]],
    *,
    page_text: str = "",
    single_span: bool = False,
) -> Page:
    """The gold segments and the rest of a page.

    `gold` gives the queries of each gold passage by its key. Neighbouring gold passages make one
    segment; `single_span` puts all of a page's into one. With `page_text` the passages' places
    are looked for in it, exactly and then by alignment, and the rest is what lies between; without
    it the page is its passages in the order of their numbers. Of two passages with one id the
    first is taken.
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
        parts, unplaced = _from_text(page_text, ordered, gold)
    else:
        parts, unplaced = _from_passages(ordered, gold), []
    if single_span:
        parts = _in_one(parts)
    return Page(tuple(parts), tuple(unplaced), tuple(repeated))


def _from_passages(sources: Sequence[Source], gold: Mapping[int, Sequence[int]]) -> list[Part]:
    groups: list[tuple[bool, list[Source]]] = []
    for source in sources:
        is_gold = bool(gold.get(source.key))
        # A missing number between two gold passages leaves them neighbours: nothing stands there.
        if groups and groups[-1][0] == is_gold:
            groups[-1][1].append(source)
        else:
            groups.append((is_gold, [source]))
    golds = [_joined(GOLD, members, gold) for is_gold, members in groups if is_gold]
    others = [source for is_gold, members in groups if not is_gold for source in members]
    return golds + ([_joined(OTHER, others, gold)] if others else [])


def _joined(kind: str, sources: Sequence[Source], gold: Mapping[int, Sequence[int]]) -> Part:
    texts, stretches, at = [], [], 0
    for source in sources:
        texts.append(source.text)
        stretches.append(Stretch(source.key, at, at + len(source.text)))
        at += len(source.text) + len(_BETWEEN)
    queries = sorted({query for source in sources for query in gold.get(source.key, ())})
    return Part(kind, _BETWEEN.join(texts), tuple(stretches), tuple(queries))


def _from_text(
    page: str, sources: Sequence[Source], gold: Mapping[int, Sequence[int]]
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
    spans = _merged(sorted(place for key, place in places.items() if gold.get(key)))
    starts = [start for start, _ in spans]
    own: list[dict[int, tuple[int, int]]] = [{} for _ in spans]
    for key, place in places.items():
        if gold.get(key):
            own[bisect_right(starts, place[0]) - 1][key] = place
    parts = [_cut(GOLD, page, [span], own[n], gold) for n, span in enumerate(spans)]
    lost = [s for s in sources if s.key in unplaced and gold.get(s.key)]
    # Gold that is not found in its page is a segment of its own, an empty one too: its label must
    # not get lost with it.
    parts += [_joined(GOLD, [source], gold) for source in lost]
    rest = _between(len(page), spans)
    other = _cut(OTHER, page, rest, {k: v for k, v in places.items() if not gold.get(k)}, gold)
    return parts + ([other] if other.text.strip() else []), list(unplaced)


def _standing(page: str, heads: set[str]) -> set[str]:
    """Those beginnings of texts that the page holds somewhere."""
    whole = {head for head in heads if len(head) == _HEAD}
    there = {head for at in range(len(page)) if (head := page[at : at + _HEAD]) in whole}
    return there | (heads - whole)


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
    texts, stretches, at, queries = [], [], 0, set()
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
                stretches.append(Stretch(key, at + a - start, at + b - start))
                queries |= set(gold.get(key, ())) if kind == GOLD else set()
        at += end - start + len(_BETWEEN)
    order = {key: number for number, key in enumerate(places)}
    ordered = sorted(stretches, key=lambda each: (each.start, each.end, order[each.key]))
    return Part(kind, _BETWEEN.join(texts), tuple(ordered), tuple(sorted(queries)))


def _in_one(parts: Sequence[Part]) -> list[Part]:
    golds = [part for part in parts if part.is_gold]
    if len(golds) < 2:
        return list(parts)
    stretches, at = [], 0
    for part in golds:
        stretches += [Stretch(s.key, s.start + at, s.end + at) for s in part.stretches]
        at += len(part.text) + len(_BETWEEN)
    queries = sorted({query for part in golds for query in part.queries})
    text = _BETWEEN.join(part.text for part in golds)
    whole = Part(GOLD, text, tuple(stretches), tuple(queries))
    return [whole, *[part for part in parts if not part.is_gold]]
