"""Which stretches of a page a cleaner by rules takes out too, and which are menus: their loss is
no violation."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from corpus.chunking.markup import Span, blanked, elements, is_source, markup
from kit.boilerplate import edit_marks, is_boilerplate, menu_lines

# Elements that hold no words of a page, and those that may: where they are short and hold neither
# heading nor paragraph. Whole pages stand in one form, and titles in a header.
_ALWAYS: Final = ("nav", "footer", "button", "select", "noscript", "template")
_WHERE_SHORT: Final = ("header", "aside", "form")
_MAX_WORDS: Final = 12
_LONGEST_ELEMENT: Final = 20_000
_PROSE: Final = re.compile(r"<(?:h[1-6]|p|article|main|table|blockquote|pre)\b", re.IGNORECASE)
# What ends a line of a page: line breaks, and the tags of blocks.
_BLOCK: Final = (
    r"</?(?:p|div|li|ul|ol|tr|td|th|table|h[1-6]|br|hr|section|article|main|body|head|html|dl|dt|dd"
    r"|blockquote|pre|figure|figcaption|title|nav|header|footer|aside|form|button|option|select"
    r"|label|address)\b[^<>]*>"
)
_BREAK: Final = re.compile(rf"\n|{_BLOCK}", re.IGNORECASE)
_TAG_BREAK: Final = re.compile(_BLOCK, re.IGNORECASE)
_PARAGRAPH: Final = re.compile(r"<p\b[^<>]*>\Z", re.IGNORECASE)
_HEADING: Final = re.compile(r"<h[1-6]\b[^<>]*>\Z", re.IGNORECASE)
_LONGEST_TAG: Final = 200
# Pages on which a line recurs, and of how few pages fewer; the words of a line that is a sentence.
_RECURS, _RECURS_IN_FEW, _FEW_PAGES = 3, 2, 5
_LONG_LINE: Final = 12
_LINK: Final = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*(?: +\"[^\"\n]*\")?\)")
_TAG: Final = re.compile(r"<[^<>]*>")
_WORD: Final = re.compile(r"\S+")
_TABLE: Final = re.compile(
    r"^(?:[ \t]*\|.*|[^|\n]*\|[^|\n]*\|.*|[^\t\n]*\t[^\t\n]*\t.*)$\n?", re.MULTILINE
)
_TABLE_ELEMENT: Final = re.compile(r"<table\b.*?(?:</table\s*>|\Z)", re.DOTALL | re.IGNORECASE)


class Spans:
    """Stretches of a text, [start, end), to be asked whether a place lies in one."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self.spans: list[tuple[int, int]] = []
        for start, end in sorted(spans):
            if self.spans and start <= self.spans[-1][1]:
                self.spans[-1] = (self.spans[-1][0], max(end, self.spans[-1][1]))
            else:
                self.spans.append((start, end))
        self._starts = [start for start, _ in self.spans]

    def holds(self, place: int) -> bool:
        """Whether the code point at that place is inside."""
        return self.around(place) is not None

    def around(self, place: int) -> tuple[int, int] | None:
        """The stretch that the code point at that place is in."""
        at = bisect_right(self._starts, place) - 1
        return self.spans[at] if at >= 0 and place < self.spans[at][1] else None


def boilerplate_spans(text: str) -> Spans:
    """Lines, edit marks and elements of HTML that are no part of what a page says."""
    spans = edit_marks(text)
    if "<" in text:
        # Looked for once in all: elements may lie in each other by the thousand.
        words = _starts(_WORD, _TAG.sub(lambda tag: " " * len(tag[0]), text))
        prose = _starts(_PROSE, text)
        spans += [
            (start, end)
            for name, start, end in elements(text, (*_ALWAYS, *_WHERE_SHORT))
            if _may_go(name, start, end, prose, words)
        ]
    spans += [
        (start, end)
        for start, end in _between_breaks(text, _BREAK)
        if is_boilerplate(_TAG.sub("", text[start:end]), is_gold=True)
    ]
    return Spans(spans)


def _may_go(name: str, start: int, end: int, prose: Sequence[int], words: Sequence[int]) -> bool:
    """Whether an element holds no words of what the page says."""
    if name == "footer":  # that prose stands behind is the end of a part of it
        return not prose or prose[-1] < end
    return name in _ALWAYS or (
        end - start <= _LONGEST_ELEMENT
        and not _between(prose, start, end)
        and _between(words, start, end) <= _MAX_WORDS
    )


def menu_spans(
    text: str,
    *,
    head: bool = True,
    tail: bool = True,
    protected: Collection[str] = (),
    recurring: Collection[str] = (),
) -> list[Span]:
    """The lines of a page, of a page's source the blocks, that are menus by `menu_lines`."""
    lines, links, spans = [], [], []
    for line, share, span in page_lines(text):
        lines.append(line)
        links.append(share)
        spans.append(span)
    found = menu_lines(
        lines,
        links=links,
        paragraphs={n for n, (start, _) in enumerate(spans) if _opens(_PARAGRAPH, text, start)},
        head=head,
        tail=tail,
        protected=protected,
        recurring=recurring,
    )
    return [span for span, is_menu in zip(spans, found, strict=True) if is_menu]


def page_lines(text: str) -> list[tuple[str, float, Span]]:
    """What can be seen of each line of a page, of a page's source of each block, with the share of
    its words that are links and with its place; headings begin as in Markdown."""
    hidden, anchors = markup(text), [(start, end) for _, start, end in elements(text, ("a",))]
    for link in _LINK.finditer(text):
        start, end = link.span(1)
        hidden += [(link.start(), start), (end, link.end())]
        anchors.append((start, end))
    bare, inside = blanked(text, hidden), Spans(anchors)
    words = _starts(_WORD, bare)
    linked = [place for place in words if inside.holds(place)]
    found, is_markup = [], is_source(text)
    for start, end in _between_breaks(text, _TAG_BREAK if is_markup else _BREAK):
        if not (size := _between(words, start, end)):
            continue
        line = " ".join(bare[start:end].split()) if is_markup else bare[start:end].rstrip()
        if _opens(_HEADING, text, start):
            line = f"# {line}"
        found.append((line, _between(linked, start, end) / size, (start, end)))
    return found


def recurring_lines(pages: Iterable[str]) -> frozenset[str]:
    """The lines that stand on three pages of a site, of five pages or fewer on two; a page that
    has most of its sentences from one before it is its copy, and does not count."""
    times: Counter[str] = Counter()
    long: set[str] = set()
    count = 0
    for text in pages:
        lines = {line.strip() for line, *_ in page_lines(text)}
        own = {line for line in lines if len(line.split()) >= _LONG_LINE}
        if own and len(own & long) > len(own) / 2:
            continue
        times.update(lines)
        long |= own
        count += 1
    least = _RECURS if count > _FEW_PAGES else _RECURS_IN_FEW
    return frozenset(line for line, n in times.items() if n >= least)


def _between_breaks(text: str, breaks: re.Pattern[str]) -> list[Span]:
    edges = [0, *(edge for found in breaks.finditer(text) for edge in found.span()), len(text)]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]


def tables(text: str) -> Spans:
    """Rows of tables, in Markdown, between tabs, or in HTML."""
    spans = [match.span() for match in _TABLE.finditer(text)]
    return Spans(spans + [match.span() for match in _TABLE_ELEMENT.finditer(text)])


def _opens(tag: re.Pattern[str], text: str, place: int) -> bool:
    """Whether such a tag ends at this place."""
    return tag.search(text, max(0, place - _LONGEST_TAG), place) is not None


def _starts(pattern: re.Pattern[str], text: str) -> list[int]:
    return [match.start() for match in pattern.finditer(text)]


def _between(places: Sequence[int], start: int, end: int) -> int:
    """How many of these places lie in [start, end)."""
    return bisect_left(places, end) - bisect_left(places, start)
