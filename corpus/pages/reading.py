"""Pages of strangers as text: each is read in a process of its own, within bounds."""

from collections.abc import Callable
from typing import Any, Final

from corpus.extraction import Kind, Page, Span, Unreadable, extract_html, extract_pdf, extract_text
from kit import bounded

HTML, TEXT, PDF = "text/html", "text/plain", "application/pdf"
# What people can look through, and a screen can show, as one page: code points and blocks.
MOST_TEXT: Final = 5_000_000
MOST_BLOCKS: Final = 20_000
_LARGE: Final = (
    f"The page holds more than {MOST_TEXT:,} characters or {MOST_BLOCKS:,} blocks of text."
)


def read_apart(
    body: bytes,
    kind: str,
    *,
    charset: str | None = None,
    url: str = "",
    bounds: bounded.Bounds | None = None,
    watch: Callable[[], None] | None = None,
) -> Page:
    """The page, read apart; `bounds` and `watch` as in `kit.bounded.call`, `kind` a content type.

    Raises Unreadable for what cannot be read, is too large, or takes more than reading may.
    """
    try:
        found = bounded.call(
            "corpus.pages.reading:_read_here",
            body,
            bounds=bounds,
            watch=watch,
            kind=kind,
            charset=charset,
            url=url,
        )
    except bounded.OutOfBounds as error:
        raise Unreadable(f"Reading this page takes more {error} than one page may.") from None
    if "unreadable" in found:
        raise Unreadable(found["unreadable"])
    spans = (Span(start, end, Kind(kind), *rest) for start, end, kind, *rest in found["spans"])
    return Page(found["text"], tuple(spans), found["title"])


def check_size(page: Page) -> Page:
    """The page; raises Unreadable if it is too large to be shown."""
    if len(page.text) > MOST_TEXT or len(page.spans) > MOST_BLOCKS:
        raise Unreadable(_LARGE)
    return page


def spans_of(page: Page) -> list[list[Any]]:
    """The blocks as they are stored."""
    return [[s.start, s.end, str(s.kind), s.level, s.is_main] for s in page.spans]


def _read_here(body: bytes, *, kind: str, charset: str | None, url: str) -> dict[str, Any]:
    try:
        page = check_size(_page(body, kind, charset, url))
    except Unreadable as error:
        return {"unreadable": str(error)}
    return {"text": page.text, "title": page.title, "spans": spans_of(page)}


def _page(body: bytes, kind: str, charset: str | None, url: str) -> Page:
    if kind == PDF:
        return extract_pdf(body)
    if kind == TEXT:
        return extract_text(body, charset=charset)
    return extract_html(body, charset=charset, url=url or None)
