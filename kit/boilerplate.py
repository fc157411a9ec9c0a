"""Lines of crawled pages that are boilerplate and no text: menus, footers, edit marks. Pure.

One list for the cleaner by rules, the check of gold and the practice model, so that what the one
leaves out the others know too. A line counts only as a whole: a sentence that mentions a cookie
stays. A line is boilerplate by its words (`is_boilerplate`) or, outside of gold, because it stands
among menus, share buttons and headlines of other pages: a text dump has a line for each of them.

Lines of such a dump are scored by length, by how they end, by capitals and by words of menus; then
each is content or boilerplate so that the scores of the content sum to most, where every change
between the two costs. (Features: Kohlschuetter et al. 2010; best stretches: Pasternack and Roth
2009.) No language is asked for beyond the words of `_SIGN`.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

# Longer lines are sentences, whatever they begin with.
_MAX_LENGTH: Final = 160
_MARK: Final = re.compile(r"\[\s*edit(?:\s+source)?\s*\]", re.IGNORECASE)
_DECORATION: Final = " \t\r\n#*>|•·»«›‹–—-:.!…[]()"
_WHOLE: Final = re.compile(
    r"(?:"
    r"(?:jump|skip) to (?:the )?(?:main )?(?:content|navigation|search|article|body)|"
    r"(?:main )?(?:navigation|menu|navigation menu|main page|site ?map|side ?bar|breadcrumbs?)|"
    r"(?:toggle|open|close|show|hide) (?:the )?"
    r"(?:navigation|menu|side ?bar|search|table of contents)|"
    r"(?:table of )?contents(?: \[?hide\]?)?|"
    r"search(?: (?:this|our|the) site)?|search\b.{0,30}\bgo|"
    r"(?:log|sign) ?(?:in|on|out|up)(?: (?:or|/) (?:register|sign ?up|create (?:an )?account))?|"
    r"create (?:an )?account|register(?: now)?|my account|"
    r"edit(?: (?:this )?(?:page|links|source|section))?|view (?:source|history)|"
    r"permanent link|page information|cite this page|printable version|download as pdf|"
    r"what links here|related changes|special pages|recent changes|random article|"
    r"other languages|in other languages|languages|add languages|"
    r"donate(?: now| to wikipedia)?|support us|"
    r"privacy policy|terms of (?:use|service)|cookie (?:policy|statement|settings|preferences)|"
    r"accept(?: all)?(?: cookies)?|about us|contact(?: us)?|disclaimers?|mobile view|"
    r"share(?: (?:this|on) .{0,30})?|tweet(?: this)?|print(?: this page)?|"
    r"follow us(?: on .{0,40})?|like us on facebook|(?:facebook|twitter|instagram|linkedin)|"
    r"subscribe(?: (?:now|to our newsletter))?|newsletter|advertisement|advertise with us|"
    r"sponsored(?: content)?|back to top|read more|load more|"
    r"all rights reserved|powered by .{0,40}|"
    r"impressum|datenschutz(?:erklärung)?|nutzungsbedingungen|agb|alle rechte vorbehalten|"
    r"mentions légales|politique de confidentialité|tous droits réservés|"
    r"aviso legal|política de privacida(?:d|de)|"
    r"tod[oa]s (?:los|os) (?:derechos|direitos) reservados|"
    r"informativa sulla privacy|tutti i diritti riservati|privacyverklaring"
    r")",
    re.IGNORECASE,
)
_START: Final = re.compile(
    r"(?:(?:copyright\s*)?(?:©|\(c\))\s*(?:copyright\s*)?(?:19|20)\d\d\b|copyright\s+(?:19|20)\d\d\b|"
    r"this (?:page|site|website) uses cookies\b|we use cookies\b|"
    r"please (?:help us|consider) (?:donat|by donat))",
    re.IGNORECASE,
)
_BETWEEN: Final = re.compile(r"\s*(?:\||•|·|»|\s{2,}|\t)\s*")
_LINK: Final = re.compile(r"\[([^\[\]]*)\]\([^()\s]*\)")
# Inside of lines: edit marks, links on them too, and menus of five or more links.
_TARGET: Final = r"\([^()\s]*(?: +\"[^\"\n]{0,200}\")?\)"
_ANCHOR: Final = rf"!?\[[^\[\]\n]{{0,60}}\]{_TARGET}"
_EDIT: Final = rf"{_MARK.pattern}(?:{_TARGET})?"
_INLINE: Final = re.compile(
    rf"\[\s*{_EDIT}\s*\]|{_EDIT}|(?:[*•] +)?{_ANCHOR}(?:[ \t*|•·>»/,\\-]*{_ANCHOR}){{4,}}",
    re.IGNORECASE,
)


def is_boilerplate(line: str) -> bool:
    """Whether the whole line is boilerplate of a page. A blank line is not."""
    if len(line) > _MAX_LENGTH:
        return False
    bare = _LINK.sub(r"\1", line).strip(_DECORATION)
    if not bare:
        return bool(_MARK.search(line))
    if _START.match(bare):
        return True
    items = [item.strip(_DECORATION) for item in _BETWEEN.split(bare)]
    return all(_WHOLE.fullmatch(item) for item in items if item)


def without_boilerplate(text: str) -> str:
    """The text without lines that are boilerplate by their words, every other line as it is."""
    return "".join(line for line in text.splitlines(keepends=True) if not is_boilerplate(line))


def without_menus(text: str) -> str:
    """The same, and of a page that was dumped as text the lines of its article alone.

    For no gold: a table of results looks like a menu. Asked of its answer, it leaves out no more.
    """
    lines = text.splitlines(keepends=True)
    while len(content := _content(lines)) < len(lines):
        lines = content
    return "".join(lines)


def edge_menus(
    text: str, *, head: bool = True, tail: bool = True, protected: Collection[str] = ()
) -> list[tuple[int, int]]:
    """Lines that are menus because of where a page has them, as [start, end) in order: for gold.

    Before its first sentence a page may have menus, up to the last line there with words that
    menus have; behind its last sentence from the first such line on. Two such lines are needed.
    A sentence, a line with one of the `protected` words (in small letters) and all between
    sentences is never one. `head` and `tail` say which end of the text is one of the page.
    """
    lines, at = [], 0
    for whole in text.splitlines(keepends=True):
        lines.append((at, at + len(whole), _line(whole.rstrip())))
        at += len(whole)
    prose = [number for number, (*_, line) in enumerate(lines) if _is_prose(line)]
    ends = [(0, prose[0] if prose else len(lines), True)] if head else []
    if tail:
        ends.append((prose[-1] + 1 if prose else 0, len(lines), False))
    found: dict[tuple[int, int], None] = {}
    for first, last, is_head in ends:
        signs = [number for number in range(first, last) if lines[number][2].is_sign]
        if len(signs) < _LEAST_MENU:
            continue
        menu = range(first, signs[-1] + 1) if is_head else range(signs[0], last)
        for start, end, line in (lines[number] for number in menu):
            if protected and any(word.lower() in protected for word in _WORD.findall(line.text)):
                continue
            found[start, end] = None
    return sorted(found)


def edit_marks(text: str) -> list[tuple[int, int]]:
    """Where `[edit]` stands behind a heading, as [start, end)."""
    return [match.span() for match in _MARK.finditer(text)]


def inline_boilerplate(text: str) -> list[tuple[int, int]]:
    """Edit marks and menus of links inside of lines, as [start, end) in order.

    For no gold: code may ask for `options[edit]`, and an answer may be a list of links.
    """
    return [match.span() for match in _INLINE.finditer(text)] if "[" in text else []


# A dumped page. The numbers were chosen on the 61 pages of ../shared/data/web-cleaning-dev, given
# as text: docs/cleaning.md tells what they reach.

# Fewer lines, or fewer that are boilerplate by their words, are no page.
_LEAST_LINES: Final = 12
_LEAST_SIGNS: Final = 3
# At an end of gold so many of them make a menu.
_LEAST_MENU: Final = 2
# Where less than this share of the words would be left, the page was no article, and stays whole.
_LEAST_SHARE: Final = 0.05
# What it costs to go from content to boilerplate or back, in words.
_CHANGE: Final = 20.0
# Words of a whole sentence that stays wherever it stands; of a line that is prose however it ends;
# of a short sentence; the most that count of a line; of a line whose words may be those of a menu.
_PROTECTED, _LONG, _SENTENCE, _MOST, _SHORT = 20, 25, 7, 40, 20
_WORD: Final = re.compile(r"[^\W_]+")
# Written without spaces: two letters count as a word.
_UNSPACED: Final = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_STOP: Final = re.compile(r"[.!?…。！？؟।][\"'”’»)\]」』]*$")
_GOES_ON: Final = re.compile(r"[,;:.!?。、，] ?\S|[,:;]$")
_CODE: Final = re.compile(r"(?: {4}|\t)\s*\S|```")
_ITEM: Final = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s|[^|]*\|[^|]*\|")
_SIGN: Final = re.compile(
    r"\b(?:copyright|all rights reserved|cookies?|subscribe|newsletter|sign (?:up|in)|"
    r"log ?(?:in|out)|register|comments?|reply|related|recommended|read (?:more|next)|more from|"
    r"share|tweet|facebook|twitter|instagram|pinterest|whatsapp|e-?mail|privacy|terms|advertis\w*|"
    r"sponsored|follow us|your name|password|popular|trending|recent posts|categories|archives|"
    r"previous|next|download our app|click here|"
    # German, French, Spanish, Portuguese, Italian, Dutch
    r"impressum|datenschutz\w*|anmelden|registrieren|kommentare?|teilen|mehr lesen|abonnieren|"
    r"mentions légales|confidentialité|se connecter|s['’]inscrire|commentaires?|partager|"
    r"s['’]abonner|lire (?:la suite|aussi)|aviso legal|privacidad|iniciar sesión|regístrate|"
    r"comentarios?|compartir|suscríbete|leer más|privacidade|entrar|cadastre-se|comentários?|"
    r"compartilhar|assine|leia (?:mais|também)|accedi|registrati|commenti|condividi|iscriviti|"
    r"leggi (?:anche|tutto)|inloggen|aanmelden|reacties|delen|abonneren|lees (?:meer|ook))\b|©",
    re.IGNORECASE,
)


class _Line(NamedTuple):
    """A line; `is_known`: boilerplate by its words; `is_sign`: it has words that menus have."""

    text: str
    size: float
    is_known: bool
    is_sign: bool


def _content(texts: Sequence[str]) -> list[str]:
    """The lines that are no boilerplate."""
    lines = [_line(text.rstrip()) for text in texts]
    kept = [not line.is_known for line in lines]
    has_signs = sum(line.is_sign for line in lines) >= _LEAST_SIGNS
    if has_signs and sum(bool(line.text) for line in lines) >= _LEAST_LINES:
        times = Counter(line.text for line in lines)
        stretches = _best_stretches([_score(line, times[line.text]) for line in lines])
        found = [
            not line.is_known and (is_content or _is_protected(line))
            for line, is_content in zip(lines, stretches, strict=True)
        ]
        left = sum(line.size for line, is_content in zip(lines, found, strict=True) if is_content)
        if left >= _LEAST_SHARE * sum(line.size for line in lines):
            kept = found
    return [text for text, is_kept in zip(texts, kept, strict=True) if is_kept]


def _line(text: str) -> _Line:
    size, is_known = _size(text), is_boilerplate(text)
    return _Line(text, size, is_known, is_known or (size < _SHORT and bool(_SIGN.search(text))))


def _is_prose(line: _Line) -> bool:
    """Whether a line bears a sentence."""
    return line.size >= (_SENTENCE if _STOP.search(line.text) else _LONG)


def _is_protected(line: _Line) -> bool:
    return line.size >= _PROTECTED and not line.is_sign and bool(_STOP.search(line.text))


def _size(line: str) -> float:
    """Words of a line."""
    unspaced = 0 if line.isascii() else len(_UNSPACED.findall(line))
    spaced = _UNSPACED.sub(" ", line) if unspaced else line
    return unspaced / 2 + len(_WORD.findall(spaced))


def _score(line: _Line, times: int) -> float:
    """How much a line speaks for content, in words; `times` it stands on the page."""
    text, size = line.text, line.size
    if not size:
        return -1.0 if text else 0.0
    if line.is_sign:
        return -6.0 if line.is_known else -15.0
    if _CODE.match(text) or (size >= 4 and _ITEM.match(text)):
        return 0.0  # goes with what stands around it
    if times > 1 and size < _LONG:
        return -4.0
    if size >= _LONG:
        return min(size, _MOST)
    if _STOP.search(text):
        return 0.7 * size if size >= _SENTENCE else float(size >= 3)
    words = _WORD.findall(text)
    capitals = sum(not word[0].islower() for word in words) / len(words)
    if size > _SENTENCE and capitals < 0.4 and _GOES_ON.search(text):
        return size / 2
    if size >= 5 and capitals < 0.5:
        return -2.0
    return -5.0 if capitals >= 0.6 else -4.0


def _best_stretches(scores: Sequence[float]) -> list[bool]:
    """For each line whether it is content: Viterbi's best way through the two states."""
    outside, inside = 0.0, -_CHANGE
    came_from: list[tuple[bool, bool]] = []
    for score in scores:
        leaves, stays = inside - _CHANGE >= outside, inside >= outside - _CHANGE
        came_from.append((leaves, stays))
        outside, inside = (
            inside - _CHANGE if leaves else outside,
            (inside if stays else outside - _CHANGE) + score,
        )
    is_content = inside - _CHANGE >= outside
    found = []
    for leaves, stays in reversed(came_from):
        found.append(is_content)
        is_content = stays if is_content else leaves
    return found[::-1]
