"""Everything that one person can reach by reading: the whole route table, asked one by one.

For tests that compare two worlds. The routes come from the URL configuration, so that a page that
is added later is compared without anybody remembering to (test_routes.py asks for its row).
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import product, zip_longest
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

# What is no part of a benchmark, the same text for everybody and long, or a secret made anew.
LEFT_OUT = frozenset(
    {"api-schema", "api-docs", "favicon.ico", "sign-in-link", "home", "second-factor"}
)
# Routes found to be written to and never read, whatever their numbers name: asked once.
WRITTEN: set[str] = set()
# Masked, and nothing else: CSRF tokens, nonces of the policy, ids of sessions and requests,
# lengths, and dates.
HEADERS_APART = ("Content-Security-Policy", "Set-Cookie", "Content-Length", "X-Request-ID")
MASKS = (
    (re.compile(r'("csrfmiddlewaretoken" value=|"x-csrftoken": )"[^"]*"'), r'\1"MASKED"'),
    (re.compile(r'nonce="[^"]*"'), 'nonce="MASKED"'),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT"), "DATE"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)"), "DATE"),
    (re.compile(r"\d{4}-\d\d-\d\d"), "DATE"),
    (re.compile(r"\d\d? \w{3,9} \d{4},? \d\d:\d\d"), "DATE"),
    (re.compile(r"\d\d? \w{3,9} \d{4}"), "DATE"),
    (re.compile(r"\b\d\d:\d\d\b"), "DATE"),
)
# Links of a page to itself in another order or filter, and the choices of its filters.
SAME_PAGE = re.compile(r'href="(\?[^"#]+)"')
SELECT = re.compile(r'<select[^>]*\bname="(\w+)"[^>]*>(.*?)</select>', re.DOTALL)
OPTION = re.compile(r'<option[^>]*\bvalue="([^"]+)"')
# Arguments of routes that are words, by how the route's name begins; "{}" stands for a key.
READINGS = ("votes", "weights", "sample", "verdicts", "answered")
WORDS: tuple[tuple[str, str, Collection[str]], ...] = (
    ("agreement", "what", READINGS),
    ("agreement-table", "name", ("labels", "coefficients", "people")),
    ("adjudicate", "name", ("majority-{}", "unreadable-{}", "weights-{}", "reviews-{}")),
    ("published-table", "name", ("dream-hole10",)),
    ("debate-run-table", "name", ("cost",)),
)
# Which rows the number of an address names: by the argument, and for `pk` by how the route's name
# begins. What is not listed names nothing in the worlds that are compared.
ARGUMENTS = {
    "passage_pk": "passage",
    "query_pk": "query",
    "aspect_pk": "aspect",
    "case": "case",
    "debate": "debate",
    "item": "item",
    "place": "place",
}
BEGINNINGS = (
    ("candidate", "candidate"),
    *(("panel", "panel"), ("spot-check", "panel"), ("override-log", "panel")),
    *(("rescoring", "task"), ("review-start", "query"), ("review", "review")),
    *(("query", "query"), ("gold-passages", "query"), ("aspects", "query")),
    *(("aspect-history", "query"), ("aspect-add", "query"), ("aspect", "aspect")),
    *(
        ("answer-grade", "graded"),
        ("answer", "query"),
        ("short-answers", "query"),
        ("collect", "query"),
        ("fetches", "query"),
        ("pages", "query"),
    ),
    *(("passage-", "query"), ("passage", "passage")),
    *(("vote-batch", "batch"), ("vote-item", "batch"), ("batch", "batch")),
    *(("vote", "vote"), ("feedback-vote", "vote"), ("decision", "vote")),
    *(("debate-requeue", "debate"), ("debates", "run"), ("debate", "run"), ("pool", "pool")),
    *(("leaderboard", "ranking"), ("retrieval-run", "ranking"), ("ranked-list", "ranking")),
)


@dataclass
class Walk:
    """One person's way through one benchmark. `rows` holds keys of rows by what they are.

    Fragments are parts of the same pages, and other orders and filters show the same rows: both
    may be left out.
    """

    person: User
    slug: str
    rows: Mapping[str, Collection[Any]]
    fragments: bool = True
    filters: bool = True
    client: Client = field(init=False)

    def __post_init__(self) -> None:
        self.client = Client(raise_request_exception=False)
        self.client.force_login(self.person)

    def seen(self, only: str = "") -> dict[tuple[str, str], Any]:
        """Status, headers and body of every address (with these words)."""
        found: dict[tuple[str, str], Any] = {}
        for route, address in self.addresses():
            if only in address and route not in WRITTEN:
                self._look(address, found)
                if found[address, ""] == 405:
                    WRITTEN.add(route)
                    del found[address, ""]
        return found

    def addresses(self) -> Iterator[tuple[str, str]]:
        """Every address that the routes can name in this world, each with its route's name."""
        for pattern in _patterns(get_resolver()):
            if pattern.name and pattern.name not in LEFT_OUT:
                route = pattern.name.removeprefix("api-")
                offered = [self._offered(route, name) for name in pattern.pattern.converters]
                for values in product(*offered):
                    yield pattern.name, _address(pattern.name, *values)

    def _offered(self, route: str, name: str) -> Collection[Any]:
        if name == "slug":
            return [self.slug]
        words = [words for begins, of, words in WORDS if route.startswith(begins) and of == name]
        if words or name in ("name", "what", "verb", "path"):
            keys = sorted({key for keys in self.rows.values() for key in keys}, key=str)
            every = words[-1] if words else ["none"]
            return [word.format(n) for word in every for n in (keys if "{}" in word else keys[:1])]
        kinds = (kind for begins, kind in BEGINNINGS if route.startswith(begins))
        kind = next(kinds, "") if name == "pk" else ARGUMENTS.get(name, "")
        return self.rows.get(kind) or [0]

    def _look(self, address: str, found: dict[tuple[str, str], Any]) -> None:
        page = self._ask(address, found)
        if page is None or address.startswith("/api/"):
            return
        if self.fragments:
            self._ask(address, found, HTTP_HX_REQUEST="true", HTTP_HX_TARGET="results")
        if not self.filters:
            return
        others = {link.replace("&amp;", "&") for link in SAME_PAGE.findall(page)}
        for name, options in SELECT.findall(page):
            others |= {f"?{name}={value}" for value in OPTION.findall(options)}
        for other in sorted(others):
            self._ask(f"{address}{other}", found)

    def _ask(self, address: str, found: dict[tuple[str, str], Any], **headers: str) -> str | None:
        """Keep the answer; its body where somebody is let in."""
        key = (address, headers.get("HTTP_HX_TARGET", ""))
        answer = self.client.get(address, **headers)
        if answer.status_code in (404, 403, 405):
            found[key] = answer.status_code
            return None
        content = b"".join(answer) if answer.streaming else answer.content  # type: ignore[attr-defined]
        body = masked(content.decode(errors="replace"))
        kept = {name: masked(text) for name, text in answer.items() if name not in HEADERS_APART}
        found[key] = (answer.status_code, kept, body)
        return body if answer.status_code == 200 else None


@cache
def _address(route: str, *values: Any) -> str:
    """Django compiles the pattern of a route to check it, and there are more than Python keeps:
    each walk compiled every one anew. The worlds that are compared have the same keys."""
    return reverse(route, args=values)


def masked(text: str) -> str:
    """The text without what differs in every answer."""
    for pattern, instead in MASKS:
        text = pattern.sub(instead, text)
    return text


def differences(first: dict[Any, Any], second: dict[Any, Any]) -> list[str]:
    """Addresses whose answers are not the same, each with the first line that differs."""
    found = []
    for key in sorted(first.keys() | second.keys()):
        if first.get(key) != second.get(key):
            lines = zip_longest(*(_lines(each.get(key)) for each in (first, second)))
            apart = next(pair for pair in lines if pair[0] != pair[1])
            found.append(f"{key[0]}: {apart[0]!r:.300} or {apart[1]!r:.300}")
    return found


def _lines(answer: Any) -> list[str]:
    return str(answer).replace("\\n", "\n").splitlines()


def _patterns(resolver: URLResolver) -> Iterator[URLPattern]:
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            yield from _patterns(pattern)
        else:
            yield pattern
