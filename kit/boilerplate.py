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
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate, groupby
from typing import Final, NamedTuple

# Longer lines are sentences, whatever they begin with; in gold, notices of so many words.
_MAX_LENGTH: Final = 160
_LONG_NOTICE: Final = 12
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
    r"accept(?: all)?(?: cookies)?|about us|contact(?: us)?|disclaimers|mobile view|"
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


def is_boilerplate(line: str, *, is_gold: bool = False) -> bool:
    """Whether the whole line is boilerplate of a page. A blank line is not; nor is of gold a long
    notice of rights, with which articles of news agencies end."""
    if len(line) > _MAX_LENGTH:
        return False
    bare = _LINK.sub(r"\1", line).strip(_DECORATION)
    if not bare:
        return bool(_MARK.search(line))
    if _START.match(bare):
        return not is_gold or count_words(bare) < _LONG_NOTICE
    items = [item.strip(_DECORATION) for item in _BETWEEN.split(bare)]
    return all(_WHOLE.fullmatch(item) for item in items if item)


def without_boilerplate(text: str) -> str:
    """Gold without lines that are boilerplate by their words, every other line as it is."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not is_boilerplate(line, is_gold=True))


def without_menus(text: str) -> str:
    """The same, and of a page that was dumped as text the lines of its article alone.

    For no gold: a table of results looks like a menu. Asked of its answer, it leaves out no more.
    """
    lines = text.splitlines(keepends=True)
    while len(content := [line for line in _content(lines) if not is_bar(line)]) < len(lines):
        lines = content
    return "".join(lines)


def is_bar(line: str) -> bool:
    """Whether a whole menu stands in one line: short entries between bars or dots, a quarter of
    them and two at least with words of menus; or a list that says of itself that it is one.

    A row of a table has such bars, too, and hardly such words. For no gold.
    """
    text = line.strip()
    if len(text) > _LONGEST_NOTICE or not text:
        return False
    if _LISTED.match(text):
        return not _is_sentence_inside(text)
    entries = [entry.strip(_DECORATION) for entry in _BARS.split(text)]
    entries = [entry for entry in entries if entry]
    if len(entries) < _LEAST_ENTRIES or _is_sentence_inside(text):
        return False
    if max(map(count_words, entries)) > _LONGEST_ENTRY:
        return False
    signs = sum(
        bool(_WHOLE.fullmatch(entry) or _SECTION.fullmatch(entry) or _SIGN.search(entry))
        for entry in entries
    )
    return signs >= max(2, len(entries) / 4)


def _is_sentence_inside(text: str) -> bool:
    """Whether any part of the line is a whole sentence."""
    parts = _SENTENCES.split(text)
    return any(count_words(part) >= _SENTENCE and _STOP.search(part) for part in parts)


def menu_lines(
    texts: Sequence[str],
    *,
    links: Sequence[float] = (),
    paragraphs: Collection[int] = (),
    head: bool = True,
    tail: bool = True,
    protected: Collection[str] = (),
    recurring: Collection[str] = (),
) -> list[bool]:
    """For each line of a page whether it is one of a menu: for gold, so it takes much to say so.

    `links` is the share of each line's words that are links, `recurring` holds lines that stand on
    other pages of the site too; `head` and `tail` say which end of the lines is one of the page.
    Before its text a page may have menus, up to the last sign of one; behind it from the first sign
    on; and among its sentences between signs that stand close. A sentence, a list, code, a table, a
    line with one of the `protected` words (in small letters), a long notice that touches the text,
    one of the `paragraphs` (places) that has other words than menus have, and before the text
    whatever could be a headline, is never one.
    """
    lines = [_line(text.rstrip()) for text in texts]
    recurs = [line.text.strip() in recurring and not line.text.endswith(":") for line in lines]
    known = zip(lines, recurs, strict=True)
    is_content = _stretches([line._replace(is_sign=line.is_sign or is_) for line, is_ in known])
    if not any(is_content):  # too short a text
        is_content = [_is_prose(line) for line in lines]
    places = [place for place, inside in enumerate(is_content) if inside]
    if not places:
        return [False] * len(lines)
    begin, end = places[0], places[-1] + 1
    shares = links or [0.0] * len(lines)
    signs = [
        _sign(line, share, again, is_edge=(head and place < begin) or (tail and place >= end))
        for place, (line, share, again) in enumerate(zip(lines, shares, recurs, strict=True))
    ]
    stays = _staying(lines, is_content, protected, paragraphs)
    found = [False] * len(lines)
    for first, last in _outside(is_content):
        marks = [place for place in range(first, last) if signs[place]]
        for group in _menus(_close(marks), signs):
            for place in group:
                found[place] = recurs[place] and not stays[place]
        # What recurs goes itself; other signs take along what lies between them.
        marks = [place for place in marks if signs[place] != _RECURS]
        is_head, is_tail = head and last <= begin, tail and end <= first
        most = _LONG if is_tail else _HEADLINE
        for group in _menus([marks] if is_head or is_tail else _close(marks), signs):
            menu = range(first if is_head else group[0], last if is_tail else group[-1] + 1)
            short = sum(lines[place].size < _ENTRY or lines[place].is_known for place in menu)
            for place in menu if 2 * short >= len(menu) else ():
                is_short = signs[place] > 0 or lines[place].size < most
                found[place] |= is_short and not stays[place]
    return found


def _staying(
    lines: Sequence["_Line"],
    is_content: Sequence[bool],
    protected: Collection[str],
    paragraphs: Collection[int],
) -> list[bool]:
    """For each line of gold whether no menu takes it along."""
    return [
        _stays(line, protected)
        or is_table
        or (place in paragraphs and not line.is_clear)
        # A long notice that touches the text may be its last words.
        or (
            line.is_notice
            and line.size >= _LONG_NOTICE
            and any(is_content[max(0, place - 1) : place + 2])
        )
        for place, (line, is_table) in enumerate(zip(lines, _in_tables(lines), strict=True))
    ]


def _menus(groups: Sequence[list[int]], signs: Sequence[float]) -> list[list[int]]:
    """The groups of places whose signs come to a menu."""
    return [group for group in groups if sum(signs[place] for place in group) >= _LEAST_MENU]


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

# Fewer lines are no page; nor are fewer, or a lesser share, that are clearly of a menu.
_LEAST_LINES: Final = 12
_LEAST_SIGNS: Final = 3
_LEAST_RATE: Final = 0.01
# Where less than this share of the words would be left, the page was no article, and stays whole.
_LEAST_SHARE: Final = 0.05
# What it costs to go from content to boilerplate or back, in words.
_CHANGE: Final = 20.0
# Words of a whole sentence that stays wherever it stands; of a line that is prose however it ends;
# of a short sentence; the most that count of a line; of a line whose words may be those of a menu.
_PROTECTED, _LONG, _SENTENCE, _MOST, _SHORT = 20, 25, 7, 40, 20
# The share of a line's words that makes it clearly one of a menu: a poem may say `share` as well.
_CLEAR: Final = 1 / 3
# Of gold: what signs must come to that make a menu, how many lines may lie between two of them,
# what one counts that recurs or is a link, which share of words makes it one, and the words of a
# line that could be a headline.
_LEAST_MENU: Final = 2.99
_NEAR: Final = 12
_SURE, _RECURS, _LINKED, _LINKS = 1.5, 0.999, 0.6, 0.8
_HEADLINE: Final = 8
# Half of the lines of a menu are shorter; those of verse are not.
_ENTRY: Final = 4
# Lines around one that are looked at for numbers, and the share of numbers in a table of cells.
_AROUND, _NUMBERS = 10, 0.3
_WORD: Final = re.compile(r"[^\W_]+")
# Written without spaces: two letters count as a word.
_UNSPACED: Final = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_STOP: Final = re.compile(r"[.!?…。！？؟।][\"'”’»)\]」』]*$")
_PAUSES: Final = (",", ";", "—", "–", "，", "、")
_GOES_ON: Final = re.compile(r"[,;:.!?。、，] ?\S|[,:;]$")
_CODE: Final = re.compile(
    r"(?: {4}|\t)\s*\S|```|.*[;{}]$|.*\w\(\)|.*\s[=!<>+-]?=\s|\d\d:\d\d:\d\d", re.DOTALL
)
_NUMBER: Final = re.compile(r"[\d\s.,:%$€£+/()#–-]*\d[\d\s.,:%$€£+/()#–-]*")
_LABEL: Final = re.compile(r"\A\w{1,20}: |:\Z")
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


# Whole lines that stand in menus, but may be the words of a list too: only at the ends of a page.
_SECTION: Final = re.compile(
    r"\W*(?:home|news|world|business|politics|opinion|sports?|entertainment|science|health|tech|"
    r"technology|travel|culture|lifestyle|style|weather|markets|video|videos|photos|podcasts?|"
    r"multimedia|events|jobs|shop|blog|forums?|community|about|more|close|search|help|reddit|"
    r"youtube|rss|careers|staff|masthead|feedback|edition|newsletters|most (?:read|popular)|"
    r"top stories|latest(?: news)?|you may also like|start(?:seite)?|accueil|inicio|início)\W*",
    re.IGNORECASE,
)
_NOTICE: Final = re.compile(
    r"\b(?:we|site|website|page|magazine) (?:may )?uses? (?:\w+ ){0,2}cookies\b|\buse of cookies\b|"
    r"\bcookie (?:settings|preferences)\b|"
    r"\bby (?:signing up|submitting|continuing|clicking|viewing|using|choosing|subscribing)\b"
    r".{0,120}\byou (?:agree|consent|accept|acknowledge|are (?:agreeing|consenting|accepting))\b|"
    r"\byou can unsubscribe\b|\bour (?:\w+ )?newsletters?\b|\byour (?:e-?mail )?inbox\b|"
    r"\be-?mail address will not be published\b|\bsave my name, e-?mail\b|"
    r"\byou must (?:be logged|log) in\b|\bplease (?:log|sign) in\b|\brecaptcha\b|\bakismet\b|"
    r"\benable javascript\b|\bearn (?:an? )?(?:affiliate )?commission\b|"
    r"\bprivacy policy\b.{0,60}\bterms\b|\bterms\b.{0,60}\bprivacy policy\b|"
    r"\bmay not be (?:published|reproduced|redistributed|copied)\b|"
    r"\bno part may be reproduced\b|\bcheck your email addresses\b|\bshare posts by email\b|"
    r"\b(?:all rights reserved|alle rechte vorbehalten|tous droits réservés)\b|"
    r"\bverwende[nt] cookies\b|\butilis(?:e|ons) des cookies\b|\butiliza(?:mos)? cookies\b|"
    r"\bus(?:a|amos) cookies\b|\butilizza(?:no)? (?:i )?cookie\b|\bgebruik(?:t|en) cookies\b",
    re.IGNORECASE,
)
_LONGEST_NOTICE: Final = 600
# A menu in one line: how many entries, and of how many words; and what lists of links begin with.
_LEAST_ENTRIES, _LONGEST_ENTRY = 4, 6
_BARS: Final = re.compile(r"\s*[|•·»]\s*|\s+>\s+|\s*\]\s*\[\s*")
_SENTENCES: Final = re.compile(r"(?<=[.!?])\s+|\s*[|•·»]\s*")
_LISTED: Final = re.compile(
    r"(?:hidden )?categor(?:y|ies): \S|retrieved from \W?https?://|"
    r"(?:you may also like|most read|more from \w+|trending now|related(?: \w+)?|read next|"
    r"share this|like this|tags?|tagged|filed under|authority control|external links): \S.*[|·•]|"
    r"(?:this page was )?last (?:edited|modified|updated) (?:on )?\S{1,12}\b",
    re.IGNORECASE,
)


class _Line(NamedTuple):
    """A line; `is_known`: boilerplate by its words; `is_notice`: of cookies, rights and the like;
    `is_sign`: it has words that menus have, and `is_clear`: hardly others."""

    text: str
    size: float
    is_known: bool
    is_notice: bool
    is_sign: bool
    is_clear: bool


def _content(texts: Sequence[str]) -> list[str]:
    """The lines that are no boilerplate."""
    lines = [_line(text.rstrip()) for text in texts]
    kept = [not line.is_known for line in lines]
    filled = sum(bool(line.text) for line in lines)
    signs = sum(line.is_clear for line in lines)
    if filled >= _LEAST_LINES and signs >= max(_LEAST_SIGNS, _LEAST_RATE * filled):
        found = [
            not line.is_known and (is_content or _is_protected(line))
            for line, is_content in zip(lines, _stretches(lines), strict=True)
        ]
        left = sum(line.size for line, is_content in zip(lines, found, strict=True) if is_content)
        if left >= _LEAST_SHARE * sum(line.size for line in lines):
            kept = found
    return [text for text, is_kept in zip(texts, kept, strict=True) if is_kept]


def _line(text: str) -> _Line:
    size, is_known = count_words(text), is_boilerplate(text)
    is_notice = len(text) <= _LONGEST_NOTICE and bool(_NOTICE.search(text))
    # Verse, lists, code and subtitles have such words too; hardly a menu begins its lines so.
    is_none = size >= _SHORT or (
        size > 1 and bool(text[:1].islower() or _ITEM.match(text) or _CODE.match(text))
    )
    signs = [] if is_none or is_notice else list(_SIGN.finditer(text))
    covered = sum(count_words(sign[0]) for sign in signs)
    is_sentence = size >= 4 and bool(_STOP.search(text))
    is_clear = is_known or is_notice or (not is_sentence and 0 < _CLEAR * size <= covered)
    return _Line(text, size, is_known, is_notice, is_clear or bool(signs), is_clear)


def _is_prose(line: _Line) -> bool:
    """Whether a line bears a sentence of a text."""
    is_long = line.size >= (_SENTENCE if _STOP.search(line.text) else _LONG)
    return is_long and not (line.is_notice or line.is_known)


def _is_protected(line: _Line) -> bool:
    return line.size >= _PROTECTED and not line.is_sign and bool(_STOP.search(line.text))


def _stays(line: _Line, protected: Collection[str]) -> bool:
    """Whether a line of gold is none of a menu wherever it stands."""
    text = line.text
    # A heading, or a label with what it labels.
    if (text.startswith("#") or _LABEL.search(text)) and not line.is_clear:
        return True
    if text[:1].islower() and not (line.is_known or (line.is_clear and line.size == 1)):
        return True
    if _is_prose(line) or _CODE.match(text) or (line.size >= 2 and _ITEM.match(text)):
        return True
    return bool(protected) and any(word.lower() in protected for word in _WORD.findall(text))


def _sign(line: _Line, links: float, recurs: bool, *, is_edge: bool) -> float:
    """How much a line says that there is a menu, 0 to 1."""
    if line.is_clear:
        return _SURE if line.is_known or line.is_notice else 1.0
    if recurs:
        return _RECURS
    is_link = bool(line.size) and links >= _LINKS
    return _LINKED if is_edge and (is_link or _SECTION.fullmatch(line.text)) else 0.0


def _in_tables(lines: Sequence[_Line]) -> list[bool]:
    """For each line whether it stands in a table that was dumped with a line for every cell."""
    numbers = _nearby([bool(_NUMBER.fullmatch(line.text)) for line in lines])
    return [here > 0 for here, _ in _nearby([n >= max(4, _NUMBERS * of) for n, of in numbers])]


def _nearby(flags: Sequence[bool]) -> list[tuple[int, int]]:
    """For each place how many of the flags around it are set, and of how many."""
    sums = list(accumulate(flags, initial=0))
    edges = ((max(0, at - _AROUND), min(len(flags), at + _AROUND + 1)) for at in range(len(flags)))
    return [(sums[last] - sums[first], last - first) for first, last in edges]


def _outside(is_content: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """[start, end) of each run of lines that are no content."""
    at = 0
    for inside, run in groupby(is_content):
        size = len(list(run))
        if not inside:
            yield at, at + size
        at += size


def _close(places: Sequence[int]) -> list[list[int]]:
    """Places in order, in groups of neighbours that stand close."""
    groups: list[list[int]] = []
    for place in places:
        if groups and place - groups[-1][-1] <= _NEAR:
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups


def count_words(line: str) -> float:
    """Words of a line; of scripts without spaces two characters are one."""
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
    if _CODE.match(text) or (size >= 2 and _ITEM.match(text)) or _NUMBER.fullmatch(text):
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
    # Verse, subtitles, lists, and what was broken in the middle of a sentence.
    if words[0][0].islower() or (size >= 3 and text.endswith(_PAUSES)):
        return size / 3
    if size >= 5 and capitals < 0.5:
        return 0.0
    return -5.0 if capitals >= 0.6 else -4.0


def _stretches(lines: Sequence[_Line]) -> list[bool]:
    """For each line whether it is content: Viterbi's best way through the two states."""
    times = Counter(line.text for line in lines)
    outside, inside = 0.0, -_CHANGE
    came_from: list[tuple[bool, bool]] = []
    for line in lines:
        leaves, stays = inside - _CHANGE >= outside, inside >= outside - _CHANGE
        came_from.append((leaves, stays))
        outside, inside = (
            inside - _CHANGE if leaves else outside,
            (inside if stays else outside - _CHANGE) + _score(line, times[line.text]),
        )
    is_content = inside - _CHANGE >= outside
    found = []
    for leaves, stays in reversed(came_from):
        found.append(is_content)
        is_content = stays if is_content else leaves
    return found[::-1]
