"""HTML, PDF and plain text as pages: one text, its blocks by offset, the main ones marked."""

import codecs
import contextlib
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rapidfuzz.distance import LCSseq

from corpus.extraction.blocks import Block, Kind, page_blocks

_GAP: Final = "\n\n"
_MAX_PAGES: Final = 2_000
# The alignment holds a bit for every pair of words; a page beyond that is matched line by line.
_MAX_PAIRS: Final = 2_000_000_000
_WORD: Final = re.compile(r"\w+")
# Of Python's own, no page's: what names one means to be read slowly, or wrongly.
_NO_CHARSETS: Final = frozenset(
    {"idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined", "utf-7"}
)
# A block belongs to the main text when at least so much of it is found there, in order.
_SHARE: Final = 0.6
# Below this much of the main text found in the blocks, it came from elsewhere (a script's JSON).
_FOUND: Final = 0.8


class Unreadable(Exception):
    """The bytes are not a page of their kind; the message says why, for people."""


@dataclass(frozen=True)
class Span:
    """A block's place in the text: [start, end) in code points."""

    start: int
    end: int
    kind: Kind
    level: int
    is_main: bool


@dataclass(frozen=True)
class Page:
    """All visible text of a page, and its blocks in order; gaps between them are blank lines."""

    text: str
    spans: tuple[Span, ...]
    title: str = ""

    @property
    def main(self) -> str:
        """The main text alone."""
        return _GAP.join(self.text[s.start : s.end] for s in self.spans if s.is_main)


def extract_html(body: bytes | str, *, charset: str | None = None, url: str | None = None) -> Page:
    """A page of HTML. `charset` is what the server said of the bytes, which may be wrong."""
    html = body if isinstance(body, str) else _decoded(body, charset)
    title, blocks = page_blocks(html)
    main = main_text(html, url=url)
    marks = mark_main(blocks, main)
    if marks is None:  # the text stands in a script: it comes first, what is seen stays below
        own = [Block(line) for line in main.splitlines() if line.strip()]
        return _page([*own, *blocks], [True] * len(own) + [False] * len(blocks), title)
    return _page(blocks, marks, title)


def extract_text(body: bytes | str, *, charset: str | None = None) -> Page:
    """Plain text: paragraphs are what blank lines part; all of it is main text."""
    text = body if isinstance(body, str) else _decoded(body, charset)
    return _all_main(_paragraphs(text))


def extract_pdf(body: bytes) -> Page:
    """The text of a PDF file, page by page; raises Unreadable for what is none or holds no text."""
    import pypdf  # slow to import, and most processes read no page

    try:
        reader = pypdf.PdfReader(io.BytesIO(body))
        if len(reader.pages) > _MAX_PAGES:
            raise Unreadable(f"The PDF has more than {_MAX_PAGES:,} pages.")
        texts = [page.extract_text() for page in reader.pages]
    except (
        pypdf.errors.PyPdfError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise Unreadable("This is not a PDF that can be read.") from error
    blocks = [block for text in texts for block in _paragraphs(text)]
    if not blocks:
        raise Unreadable("The PDF holds no text, perhaps only pictures of it.")
    return _all_main(blocks)


def _page(blocks: Sequence[Block], marks: Iterable[bool], title: str = "") -> Page:
    spans, parts, at = [], [], 0
    for block, is_main in zip(blocks, marks, strict=True):
        text = _storable(block.text)
        spans.append(Span(at, at + len(text), block.kind, block.level, is_main))
        parts.append(text)
        at += len(text) + len(_GAP)
    return Page(_GAP.join(parts), tuple(spans), _storable(title))


def _all_main(blocks: Sequence[Block]) -> Page:
    return _page(blocks, [True] * len(blocks))


def _paragraphs(text: str) -> list[Block]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n\n")
    return [Block(line.strip("\n")) for line in lines if line.strip()]


def _storable(text: str) -> str:
    """Without what no database keeps: NUL and halves of surrogate pairs."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _decoded(body: bytes, charset: str | None) -> str:
    for name in filter(None, (charset, "utf-8")):
        with contextlib.suppress(LookupError, UnicodeDecodeError, ValueError):
            if codecs.lookup(name).name not in _NO_CHARSETS:
                return body.decode(name)
    from trafilatura.utils import decode_file

    return str(decode_file(body))


# The main text, as trafilatura sees it


def main_text(html: str, *, url: str | None = None) -> str:
    """The page's main text, one paragraph to a line, "" where there is none."""
    import trafilatura  # slow to import, and most processes read no page

    found = trafilatura.extract(html, url=url, include_comments=False, include_tables=True)
    return found or ""


def mark_main(blocks: Sequence[Block], main: str) -> list[bool] | None:
    """For each block whether it is main text; None if the main text is not made of the blocks.

    Words of both are aligned by their longest common subsequence, so that a menu that repeats a
    headline's word is not taken for it.
    """
    words = [_WORD.findall(block.text) for block in blocks]
    flat = [word for of_block in words for word in of_block]
    requested = _WORD.findall(main)
    if not requested:
        return [False] * len(blocks)
    if len(flat) * len(requested) > _MAX_PAIRS:
        lines = [tuple(_WORD.findall(line)) for line in main.splitlines()]
        known = set(lines)
        marks = [bool(of_block) and tuple(of_block) in known for of_block in words]
        found = sum(len(of_block) for of_block, mark in zip(words, marks, strict=True) if mark)
        return marks if found >= _FOUND * sum(map(len, lines)) else None
    hit = bytearray(len(flat))
    for step in LCSseq.opcodes(flat, requested):
        if step.tag == "equal":
            hit[step.src_start : step.src_end] = b"\x01" * (step.src_end - step.src_start)
    if sum(hit) < _FOUND * len(requested):
        return None
    marks, at = [], 0
    for of_block in words:
        share = sum(hit[at : at + len(of_block)]) / len(of_block) if of_block else 0.0
        marks.append(share >= _SHARE)
        at += len(of_block)
    return marks
