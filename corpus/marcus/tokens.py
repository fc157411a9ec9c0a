"""Texts as tokens with places, white space and markup left out: what "verbatim" is measured in.

HTML's markup (corpus.chunking.markup) and Markdown's own signs are left out. Words, numbers and
punctuation are text and must be the same, letter by letter and in the same case; only quotation
marks do not differ by shape or by slant, and Unicode is compared in its composed form
(NFC).
Places are code points of the text as given.
"""

import re
import unicodedata
from html import unescape
from typing import Final, NamedTuple

from corpus.chunking.markup import blanked, markup

_TOKEN: Final = re.compile(
    r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]{2,10});"
    r"|(?<![\w.])[-−+]\d+(?:[.,]\d+)*"
    r"|\d+(?:[.,]\d+)+"
    r"|\w+(?:[\u00ad\u200b-\u200d\u2060]+\w+)*"
    r"|[^\w\s]"
)
_INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_QUOTES: Final = str.maketrans("‘’‚‛′`´“”„‟″«»", "'''''''\"\"\"\"\"\"\"")
# Markdown as it is written at the start of a line, and inside of one.
_LINE_MARK: Final = re.compile(
    r"^[ \t]*+(?:>[ \t]*+)*+(?:#{1,6}(?=[ \t]|$)|[-*+](?=[ \t]|$))?", re.MULTILINE
)
# Possessive: lines of nothing but blanks, which tags leave behind, are as long as pages.
_RULE: Final = re.compile(
    r"^[ \t]*+(?:(?:\|[ \t]*+)?+:?-{2,}+:?[ \t]*+(?:\|[ \t]*+:?-{2,}+:?[ \t]*+)*+\|?"
    r"|[=_*~-]{3,}+|`{3}.*)[ \t]*+$",
    re.MULTILINE,
)
_LINK: Final = re.compile(r"!?\[([^\[\]\n]*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"\n]*\")?\)")
_EMPHASIS: Final = re.compile(
    r"(?<![\w*])\*{1,3}(?=\S)|(?<=[^\s*])\*{1,3}(?!\w)|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)|`+|~~"
)
_ESCAPE: Final = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
# Bars of tables and menus; one between two signs, as in P(A|B), is text.
_ROW: Final = re.compile(r"^[ \t]*\|.*$", re.MULTILINE)
_BAR: Final = re.compile(r"(?<!\S)\||\|(?!\S)")


class Token(NamedTuple):
    """One word, number or sign: as compared, and where it stands, [start, end)."""

    form: str
    start: int
    end: int


def tokenise(text: str) -> list[Token]:
    """The tokens of a text in order, markup left out."""
    bare = _blank(text)
    tokens: list[Token] = []
    for match in _TOKEN.finditer(bare):
        raw = match[0]
        if raw.isascii() and raw[0] not in "&`":  # nearly all: it is compared as it stands
            tokens.append(Token(raw, *match.span()))
        else:
            tokens += _forms(match)
    return tokens


def count_tokens(text: str) -> int:
    """How many tokens a text has, for reports: runs of signs between white space."""
    return len(text.split())


def _blank(text: str) -> str:
    """The text with markup as blanks, so that places stay."""
    text = blanked(text, markup(text))
    spans = [match.span() for match in _RULE.finditer(text)]
    spans += [match.span() for match in _LINE_MARK.finditer(text) if match.end() > match.start()]
    for match in _LINK.finditer(text):
        start, end = match.span(1)
        spans += [(match.start(), start), (end, match.end())]
    for pattern in (_ESCAPE, _BAR):
        spans += [match.span() for match in pattern.finditer(text)]
    for row in _ROW.finditer(text):
        spans += [(at, at + 1) for at in range(*row.span()) if text[at] == "|"]
    return blanked(blanked(text, spans), [match.span() for match in _EMPHASIS.finditer(text)])


def _forms(match: re.Match[str]) -> list[Token]:
    raw = match[0]
    if raw[0] == "&" and len(raw) > 1:
        decoded = unescape(raw)
        if decoded == raw:  # no entity after all: the sign, the word, the sign
            at = match.start()
            found = re.finditer(r"\w+|[^\w\s]", raw)
            return [Token(_normal(each[0]), at + each.start(), at + each.end()) for each in found]
        raw = decoded
        if raw.isspace() or not _INVISIBLE.sub("", raw):
            return []
    form = _normal(raw)
    return [Token(form, match.start(), match.end())] if form else []


def _normal(raw: str) -> str:
    if raw.isascii():
        return raw.translate(_QUOTES) if raw == "`" else raw
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", raw)).translate(_QUOTES)
