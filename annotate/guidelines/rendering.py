"""Markdown that admins write as HTML: made once, kept, and bounded in what it may cost."""

import hashlib
import re
from typing import Final

import nh3
from django.core.cache import cache
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

from kit.bounded import Bounds, OutOfBounds, call
from kit.errors import Refused

# A text so short costs less than the process in which a longer one is made.
_SHORT: Final = 20_000
_BOUNDS: Final = Bounds(seconds=2, memory=512 * 1024**2, output=8 * 1024**2)
# A path of this site. Browsers read //host, also with a tab or backslash in it, as another one.
_OWN: Final = re.compile(r"/\w")


def check_markdown(text: str, *, field: str) -> None:
    """Make the HTML of what is about to be saved; raises Refused where that costs too much."""
    try:
        _kept(text)
    except OutOfBounds:
        message = "Showing this text takes too long: it nests or repeats too many marks."
        raise Refused(message, field=field) from None


def rendered(text: str) -> SafeString:
    """Markdown as HTML, cleaned; as it was typed, where its HTML costs too much."""
    try:
        html = _kept(text)
    except OutOfBounds:  # saved before this was asked of it
        html = f"<pre>{escape(text)}</pre>"
        cache.set(_key(text), html, timeout=None)
    return mark_safe(html)  # noqa: S308  (cleaned or escaped)


def as_html(body: bytes) -> str:
    """Markdown in UTF-8 as HTML, cleaned: what an admin pasted cannot act on the page.

    Pictures of other hosts, which the content policy refuses and reports, lose their address.
    """
    html = MarkdownIt("commonmark").enable("table").render(body.decode())
    return nh3.clean(html, attribute_filter=_own_picture)


def _own_picture(tag: str, attribute: str, value: str) -> str | None:
    is_foreign = tag == "img" and attribute == "src" and not _OWN.match(value)
    return None if is_foreign else value


def _kept(text: str) -> str:
    html: str | None = cache.get(_key(text))
    if html is None:
        body = text.encode("utf-8", "replace")
        if len(body) <= _SHORT:
            html = as_html(body)
        else:
            html = str(call("annotate.guidelines.rendering:as_html", body, bounds=_BOUNDS))
        cache.set(_key(text), html, timeout=None)
    return html


def _key(text: str) -> str:
    return f"markdown:2:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()}"
