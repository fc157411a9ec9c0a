"""The structure of an HTML page: its visible text in blocks, in the order of the page."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from lxml import etree


class Kind(StrEnum):
    """What a block is, as far as its markup says."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    ROW = "row"
    CODE = "code"
    QUOTE = "quote"


@dataclass(frozen=True)
class Block:
    """A run of text that the page sets apart. `level` is that of a heading, else 0."""

    text: str
    kind: Kind = Kind.PARAGRAPH
    level: int = 0


_UNSEEN: Final = frozenset(
    {"script", "style", "template", "svg", "math", "noscript", "iframe", "object", "head"}
)
_KINDS: Final = {
    **{f"h{level}": Kind.HEADING for level in range(1, 7)},
    "li": Kind.ITEM,
    "dt": Kind.ITEM,
    "dd": Kind.ITEM,
    "tr": Kind.ROW,
    "pre": Kind.CODE,
    "blockquote": Kind.QUOTE,
}
# Where a browser begins a new line; everything else runs on.
_BREAKING: Final = frozenset(_KINDS) | {
    "address", "article", "aside", "body", "button", "caption", "center", "dialog", "details",
    "div", "dl", "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "hr",
    "html", "legend", "main", "menu", "nav", "ol", "optgroup", "option", "p", "section",
    "select", "summary", "table", "tbody", "textarea", "tfoot", "thead", "title", "ul",
}  # fmt: skip
_CELLS: Final = frozenset({"td", "th"})
_BLANKS: Final = re.compile(r"[ \t\r\n\f\u00a0]+")
_CELL_GAP: Final = " | "


def page_blocks(html: str) -> tuple[str, list[Block]]:
    """The page's title and every visible block, markup read leniently as browsers do.

    ("", []) for what holds no markup and no text.
    """
    # A parser that is told the encoding does not believe what the page says of itself.
    parser = etree.HTMLParser(remove_comments=True, remove_pis=True, encoding="utf-8")
    try:
        root = etree.fromstring(html.encode("utf-8", "replace"), parser)
    except (etree.ParserError, etree.XMLSyntaxError):
        return "", []
    if root is None:
        return "", []
    title = _BLANKS.sub(" ", root.findtext(".//head/title") or "").strip()
    return title, list(_Walk().blocks(root))


class _Walk:
    """Collects text until something breaks the line."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._kinds: list[tuple[Kind, int]] = [(Kind.PARAGRAPH, 0)]
        self._unseen = 0

    def blocks(self, root: Any) -> Iterator[Block]:
        for event, element in etree.iterwalk(root, events=("start", "end")):
            tag = element.tag if isinstance(element.tag, str) else ""
            if event == "start":
                yield from self._enter(tag)
                self._take(element.text)
            else:
                yield from self._leave(tag)
                self._take(element.tail)
        yield from self._flush()

    def _enter(self, tag: str) -> Iterator[Block]:
        if tag in _UNSEEN:
            self._unseen += 1
        elif tag == "br":
            self._parts.append("\n")
        elif tag in _BREAKING and not self._in_row(tag):
            yield from self._flush()
        if tag in _KINDS:
            self._kinds.append((_KINDS[tag], int(tag[1]) if _KINDS[tag] is Kind.HEADING else 0))

    def _leave(self, tag: str) -> Iterator[Block]:
        if tag in _UNSEEN:
            self._unseen -= 1
        elif tag in _CELLS:
            self._parts.append(_CELL_GAP)
        elif tag in _BREAKING and not self._in_row(tag):
            yield from self._flush()
        if tag in _KINDS and len(self._kinds) > 1:
            self._kinds.pop()

    def _in_row(self, tag: str) -> bool:
        """Whether the tag stands in a table's cell; a row that holds a table is not one row."""
        return self._kinds[-1][0] is Kind.ROW and tag not in ("tr", "table", "tbody")

    def _take(self, text: str | None) -> None:
        if text and not self._unseen:
            self._parts.append(text if self._kinds[-1][0] is Kind.CODE else _BLANKS.sub(" ", text))

    def _flush(self) -> Iterator[Block]:
        kind, level = self._kinds[-1]
        text = "".join(self._parts)
        self._parts.clear()
        if kind is Kind.CODE:
            text = text.strip("\n").rstrip()
        else:
            lines = (_BLANKS.sub(" ", line).strip(" ") for line in text.split("\n"))
            text = "\n".join(line for line in lines if line)
        if kind is Kind.ROW:
            text = text.removesuffix(_CELL_GAP.rstrip()).rstrip()
        if text.strip(" |\n"):
            yield Block(text, kind, level)
