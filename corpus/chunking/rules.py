"""Cleaning a text by rules alone (docs/protocol.md 5.1, step 1)."""

import re
from collections.abc import Sequence
from typing import Final

from corpus.chunking.markup import is_source, without_torn
from kit.boilerplate import inline_boilerplate, is_boilerplate, without_boilerplate, without_menus

# Plain spaces only: these three run over every character of half a million documents.
_SPACES: Final = re.compile(
    r"(?<=\S)[ \t\u00a0\u2000-\u200a\u202f\u3000]{2,}|[\t\u00a0\u2000-\u200a\u202f\u3000]+"
)
_MANY_BLANKS: Final = re.compile(r"\n{3,}")
_BREAKS: Final = re.compile(r"\r\n?|\u2028|\u2029|\x0b|\x0c|\x85")
# A line that ends so is complete; one that begins so is no continuation.
_ENDS: Final = (
    ".",
    "!",
    "?",
    ":",
    ";",
    "”",
    '"',
    "'",
    "’",
    ")",
    "]",
    "。",
    "！",
    "？",
    "…",
    "|",
    "`",
    "-",
)
_NEW_LINE: Final = re.compile(r"\s*(?:[-*+•|>#=~`]|\d{1,3}[.)]\s|\(\w{1,3}\)|\w[.)]\s|$)")
_INDENTED: Final = re.compile(r"(?: {4}|\t)")
_FENCE: Final = "```"
# A heading stands alone because it is short; a sentence that was cut is not.
_SHORT: Final = 40


def clean(text: str, *, is_gold: bool = False) -> str:
    """The text without boilerplate, needless blank lines and spaces, its broken lines joined.

    Of a page's source it is the main text. Gold keeps more: of a source all that can be seen, and
    every line but those that are boilerplate by their own words.
    A line that ends in the middle of a sentence and goes on in lower case is put together with
    the next, but not behind a hyphen: whether a word was cut there or is written so, no rule can
    tell. Lists, tables, headings and code keep their lines. Cleaning twice changes nothing more.
    """
    text = without_source(text, is_gold=is_gold)
    if not is_gold:
        text = without_spans(text, inline_boilerplate(text))
    text = _BREAKS.sub("\n", text) if _has_odd_breaks(text) else text
    if "\n" not in text:
        return "" if is_boilerplate(text, is_gold=is_gold) else _SPACES.sub(" ", text).strip()
    text = _paragraphs((without_boilerplate if is_gold else without_menus)(text).split("\n"))
    text = _MANY_BLANKS.sub("\n\n", text)
    return text.strip("\n").rstrip()


def without_source(text: str, *, is_gold: bool = False) -> str:
    """The main text of a page's source, of gold all that can be seen; any other text as it is."""
    if not is_source(text):
        return text
    from corpus.extraction import extract_html  # slow to import, and few texts are pages

    page = extract_html(without_torn(text))
    return page.text if is_gold else page.main or page.text


def without_spans(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text with a blank for each of these spans, which are in order and apart."""
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    return " ".join(text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True))


def _has_odd_breaks(text: str) -> bool:
    return not text.isascii() or "\r" in text or "\x0b" in text or "\x0c" in text


def _paragraphs(lines: list[str]) -> str:
    made: list[list[str]] = []
    before = ""
    in_code = False
    for line in lines:
        is_fence = line.lstrip().startswith(_FENCE)
        if is_fence or in_code or _INDENTED.match(line):
            in_code = in_code != is_fence
            before = line.rstrip()
            made.append([before])
            continue
        line = _SPACES.sub(" ", line).strip()
        if _goes_on(before, line):
            made[-1].append(line)
            before = _edges(f"{before} {line}")
        else:
            made.append([line])
            before = line
    return "\n".join(" ".join(parts) for parts in made)


def _edges(line: str) -> str:
    """What `_goes_on` looks at of a line, which may be put together from a whole text."""
    return line if len(line) <= 2 * _SHORT else line[:_SHORT] + line[-_SHORT:]


def _goes_on(before: str, line: str) -> bool:
    """Whether a line continues the sentence of the one before it."""
    if not before or not line or before.endswith(_ENDS) or _INDENTED.match(before):
        return False
    if _NEW_LINE.match(line) or before.startswith(("#", "|")):
        return False
    if line[0].islower() or line[0] in ",;)":
        return not _NEW_LINE.match(before) or len(before) > _SHORT
    return before.endswith((",", " and", " or", " of", " the", " a")) and len(before) > _SHORT
