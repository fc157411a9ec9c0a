"""Where a text is HTML's markup: in pages as they were crawled, and in texts that speak of HTML.

A crawled text may be a page's source, its words alone, or an answer about code, and nobody says
which. What is taken for markup is never compared, so only what can be nothing else is: tags of
HTML's own names (`vector<int>` and `a<b and c>d` are text), comments that end, and scripts that
end in a text that has the blocks of a page.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import islice
from typing import Final, TypeAlias

Span: TypeAlias = tuple[int, int]

_NAMES: Final = (
    "a|abbr|acronym|address|applet|area|article|aside|audio|b|base|bdi|bdo|big|blink|blockquote|"
    "body|br|button|canvas|caption|center|cite|code|col|colgroup|data|datalist|dd|del|details|dfn|"
    "dialog|dir|div|dl|dt|em|embed|fieldset|figcaption|figure|font|footer|form|frame|frameset|"
    "h[1-6]|head|header|hgroup|hr|html|i|iframe|img|input|ins|kbd|label|legend|li|link|main|map|"
    "mark|marquee|math|menu|meta|meter|nav|nobr|noframes|noscript|object|ol|optgroup|option|output|"
    "p|param|path|picture|pre|progress|q|rp|rt|ruby|s|samp|script|section|select|slot|small|source|"
    "span|strike|strong|style|sub|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th|thead|"
    "time|title|tr|track|tt|u|ul|use|var|video|wbr|[a-z][a-z0-9]*(?:-[a-z0-9]+)+"
)
# Attributes that need no value; any other says what it is with an equals sign.
_BARE: Final = (
    "allowfullscreen|async|autofocus|autoplay|checked|compact|controls|default|defer|disabled|"
    "hidden|itemscope|loop|multiple|muted|nomodule|noshade|novalidate|nowrap|open|readonly|"
    "required|reversed|selected|[a-z][a-z0-9]*(?:-[a-z0-9]+)+"
)
# Possessive: nothing is looked at twice, however long a tag is that never ends.
_MARK: Final = re.compile(
    rf"<!--|</?(?P<name>{_NAMES})"
    rf"(?:\s(?=[^<>=]*=)[^<>]*+|(?:\s++(?:{_BARE})(?=[\s/>]))*+\s*+/?)>|<![a-z][^<>]*+>",
    re.IGNORECASE,
)
_COMMENT: Final = "<!--"
_ENDS: Final = {
    _COMMENT: re.compile("-->"),
    **{name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in ("script", "style")},
}
_BLOCK: Final = re.compile(
    r"</?(?:html|head|body|div|p|span|section|article|main|ul|ol|li|table|tr|td|h[1-6])"
    r"(?:\s(?=[^<>=]*=)[^<>]*+)?>",
    re.IGNORECASE,
)
# Elements that are never closed.
_VOID: Final = re.compile("area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr")
# The rest of a tag at an end of a text; it is known by an attribute, as `a > b` has none.
_TORN_START: Final = re.compile(r"\A[^<>]*+(?<=[\"'])/?>")
_TORN_END: Final = re.compile(rf"<(?:{_NAMES})\s[^<>=]*+=[^<>]*+\Z", re.IGNORECASE)
_NOT_LINES: Final = re.compile(r"[^\n]")
_MIN_BLOCKS: Final = 3
# A text that is a page's source has so much markup outside of code that it shows.
_MIN_MARKUP: Final = 0.2
_FENCED: Final = re.compile(r"^```.*?(?:^```|\Z)", re.MULTILINE | re.DOTALL)
# Code that words are about, or a source whose every line is indented.
_INDENTED: Final = re.compile(r"^(?: {4}|\t).*?$", re.MULTILINE)
_SOME_WORDS: Final = 3
_WORD: Final = re.compile(r"[^\W\d_]{2,}")


def markup(text: str) -> list[Span]:
    """[start, end) of each tag and comment in order; code of scripts and styles of a page too."""
    if "<" not in text:
        return []
    found: list[Span] = []
    # Kinds without an end behind some place: there is none behind a later one either, and the rest
    # of the text is not looked through again for every mark.
    endless: set[str] = set()
    has_blocks = is_page(text)
    at = 0
    while (match := _MARK.search(text, at)) is not None:
        kind, start, at = (match["name"] or match[0]).lower(), match.start(), match.end()
        is_code = kind in _ENDS and has_blocks and match[0][1] != "/"
        if (kind == _COMMENT or is_code) and kind not in endless:
            # The dashes that open a comment may be those that end it: `<!-->`.
            end = _ENDS[kind].search(text, at - 2 if kind == _COMMENT else at)
            if end is None:
                endless.add(kind)
            else:
                at = end.end()
        if kind == _COMMENT and kind in endless:
            continue  # no comment: signs that stand in the text
        found.append((start, at))
    return found


def elements(text: str, names: Collection[str]) -> list[tuple[str, int, int]]:
    """(name, start, end) of elements of a page that are closed, each up to its next closing tag."""
    if not is_page(text):
        return []
    closed: dict[str, list[int]] = {name: [] for name in names}
    opened: list[tuple[str, int]] = []
    for match in _MARK.finditer(text):
        name = (match["name"] or "").lower()
        if name not in closed:
            continue
        if match[0][1] == "/":
            closed[name].append(match.end())
        else:
            opened.append((name, match.start()))
    found = []
    for name, start in opened:
        place = bisect_left(closed[name], start)
        if place < len(closed[name]):
            found.append((name, start, closed[name][place]))
    return found


def is_page(text: str) -> bool:
    """Whether a text has blocks of HTML, and does not only speak of some."""
    return len(list(islice(_BLOCK.finditer(text), _MIN_BLOCKS))) == _MIN_BLOCKS


def is_source(text: str) -> bool:
    """Whether a text is the source of a page or of a part of it, and not words about one.

    Three blocks and much markup are; of a passage that was cut out of a source one block, where a
    tag was torn in two at either end, or where it is one from its first tag to its last.
    """
    if _BLOCK.search(text) is None:
        return False
    if _is_whole(text.strip()):
        return True
    words = _FENCED.sub("", text)
    torn = len(words) - len(words := without_torn(words))
    if not torn and not is_page(text):
        return False
    beside = _INDENTED.sub("", words)
    if len(_WORD.findall(blanked(beside, markup(beside)))) >= _SOME_WORDS:
        words = beside
    # Sources are padded with blanks, which are neither.
    size = torn + len(" ".join(words.split()))
    return torn + sum(end - start for start, end in markup(words)) >= _MIN_MARKUP * size > 0


def without_torn(text: str) -> str:
    """The text without the rest of a tag that was cut in two at either end of it."""
    return _TORN_END.sub("", _TORN_START.sub("", text))


def _is_whole(text: str) -> bool:
    """Whether it begins with a block, ends with a tag, and closes what it opens."""
    if not text.endswith(">") or _BLOCK.match(text) is None:
        return False
    still_open: Counter[str] = Counter()
    end = 0
    for match in _MARK.finditer(text):
        end, name = match.end(), (match["name"] or "").lower()
        if name and not _VOID.fullmatch(name) and not match[0].endswith("/>"):
            still_open[name] += -1 if match[0][1] == "/" else 1
    return end == len(text) and not any(still_open.values())


def without_markup(text: str, spans: Sequence[Span], start: int, end: int) -> str:
    """text[start:end] without these spans of the text, which are in order and apart."""
    parts, at = [], start
    for number in range(bisect_right(spans, start, key=_end), len(spans)):
        low, high = spans[number]
        if low >= end:
            break
        parts.append(text[at : max(at, low)])
        at = max(at, high)
    return "".join([*parts, text[at:end]])


def blanked(text: str, spans: Sequence[Span]) -> str:
    """The text with blanks in these spans, line breaks apart, so that all places stay."""
    if not spans:
        return text
    parts, at = [], 0
    for start, end in sorted(spans):
        if end <= at:
            continue
        start = max(start, at)
        parts += [text[at:start], _NOT_LINES.sub(" ", text[start:end])]
        at = end
    return "".join([*parts, text[at:]])


def _end(span: Span) -> int:
    return span[1]
