"""Lines of crawled pages that are furniture and no text: menus, footers, edit marks. Pure.

One list for the cleaner by rules and for the practice model, so that what the one leaves out the
other knows too. A line counts only as a whole: a sentence that mentions a cookie stays.
"""

import re
from typing import Final

# Longer lines are sentences, whatever they begin with.
_LONGEST: Final = 160
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
    r"all rights reserved|powered by .{0,40}"
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


def is_boilerplate(line: str) -> bool:
    """Whether the whole line is furniture of a page. A blank line is not."""
    if len(line) > _LONGEST:
        return False
    bare = _LINK.sub(r"\1", line).strip(_DECORATION)
    if not bare:
        return bool(_MARK.search(line))
    if _START.match(bare):
        return True
    items = [item.strip(_DECORATION) for item in _BETWEEN.split(bare)]
    return all(_WHOLE.fullmatch(item) for item in items if item)


def without_boilerplate(text: str) -> str:
    """The text without such lines, every other line as it is."""
    return "".join(line for line in text.splitlines(keepends=True) if not is_boilerplate(line))


def edit_marks(text: str) -> list[tuple[int, int]]:
    """Where `[edit]` stands behind a heading, as [start, end)."""
    return [match.span() for match in _MARK.finditer(text)]
