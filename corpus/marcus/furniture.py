"""Which stretches of a page a cleaner by rules takes out too: their loss is no violation."""

import re
from bisect import bisect_right
from typing import Final

from kit.boilerplate import edit_marks, is_boilerplate

_ELEMENT: Final = re.compile(
    r"<(nav|header|footer|aside|form|button|select|noscript|script|style|template)\b"
    r".*?(?:</\1\s*>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
# What ends a line of a page: line breaks, and the tags of blocks.
_BREAK: Final = re.compile(
    r"\n|</?(?:p|div|li|ul|ol|tr|td|th|table|h[1-6]|br|hr|section|article|main|body|head|html|dl|dt|dd"
    r"|blockquote|pre|figure|figcaption|title)\b[^<>]*>",
    re.IGNORECASE,
)
_TAG: Final = re.compile(r"<[^<>]*>")
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


def furniture(text: str) -> Spans:
    """Lines, edit marks and elements of HTML that are no part of what a page says."""
    spans = edit_marks(text)
    if "<" in text:
        spans += [match.span() for match in _ELEMENT.finditer(text)]
    at = 0
    for match in _BREAK.finditer(text):
        _note(text, at, match.start(), spans)
        at = match.end()
    _note(text, at, len(text), spans)
    return Spans(spans)


def tables(text: str) -> Spans:
    """Rows of tables, in Markdown, between tabs, or in HTML."""
    spans = [match.span() for match in _TABLE.finditer(text)]
    return Spans(spans + [match.span() for match in _TABLE_ELEMENT.finditer(text)])


def _note(text: str, start: int, end: int, spans: list[tuple[int, int]]) -> None:
    if start < end and is_boilerplate(_TAG.sub("", text[start:end])):
        spans.append((start, end))
