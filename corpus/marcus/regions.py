"""Which stretches of a page a cleaner by rules takes out too: their loss is no violation."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final

from corpus.chunking.markup import elements
from kit.boilerplate import edit_marks, is_boilerplate

# Elements that hold no words of a page, and those that may: where they are short and hold neither
# heading nor paragraph. Whole pages stand in one form, and titles in a header.
_ALWAYS: Final = ("nav", "footer", "button", "select", "noscript", "template")
_WHERE_SHORT: Final = ("header", "aside", "form")
_MAX_WORDS: Final = 40
_LONGEST_ELEMENT: Final = 20_000
_PROSE: Final = re.compile(r"<(?:h[1-6]|p|article|main|table|blockquote|pre)\b", re.IGNORECASE)
# What ends a line of a page: line breaks, and the tags of blocks.
_BREAK: Final = re.compile(
    r"\n|</?(?:p|div|li|ul|ol|tr|td|th|table|h[1-6]|br|hr|section|article|main|body|head|html|dl|dt|dd"
    r"|blockquote|pre|figure|figcaption|title)\b[^<>]*>",
    re.IGNORECASE,
)
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
            if name in _ALWAYS
            or (
                end - start <= _LONGEST_ELEMENT
                and not _between(prose, start, end)
                and _between(words, start, end) <= _MAX_WORDS
            )
        ]
    edges = [0, *(edge for found in _BREAK.finditer(text) for edge in found.span()), len(text)]
    spans += [
        (start, end)
        for start, end in zip(edges[::2], edges[1::2], strict=True)
        if start < end and is_boilerplate(_TAG.sub("", text[start:end]))
    ]
    return Spans(spans)


def tables(text: str) -> Spans:
    """Rows of tables, in Markdown, between tabs, or in HTML."""
    spans = [match.span() for match in _TABLE.finditer(text)]
    return Spans(spans + [match.span() for match in _TABLE_ELEMENT.finditer(text)])


def _starts(pattern: re.Pattern[str], text: str) -> list[int]:
    return [match.start() for match in pattern.finditer(text)]


def _between(places: Sequence[int], start: int, end: int) -> int:
    """How many of these places lie in [start, end)."""
    return bisect_left(places, end) - bisect_left(places, start)
