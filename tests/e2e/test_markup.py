"""Two thousand pieces of hostile markup in every text that people, pages and models bring: none
runs in a browser, and the content policy has nothing to report.

The pages are made in this process and handed to Chromium with their headers; every page once, as
the role that may do most. `XSS_ALL=1` opens each as every role that is let in.
"""

import html
import logging
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, product
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from django.apps import apps
from django.db import DatabaseError, connections, models, transaction
from django.test import Client
from playwright.sync_api import Browser, Page, Route

from tests.routes.world import address
from tests.test_routes import ROLES, ROWS, client_of, made, world  # noqa: F401  (fixtures)

# The driver of the browser has a loop in this thread; Django is asked beside it, never from within.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
pytestmark = [pytest.mark.e2e, pytest.mark.django_db]
logger = logging.getLogger(__name__)
SITE = "http://assay.test"
# Says that no worker runs beside the test; a script reads it.
NO_PAGES = {"ready"}
# What would end the place that a text is written into.
ENDS = (
    *("", '">', "'>", "\">'>", "</script>", "</textarea>", "</title>", "</style>", "-->", "]]>"),
    *("</option></select>", "</svg>", "</template>", "</noscript>", "*/", '\\"};', "`}", "\u2028"),
    *("</td></tr></table>", "</code></pre>", '" autofocus ', "<![CDATA[", "&quot;>", "\x01<"),
)
# What runs, is fetched or leads away where it becomes an element or an attribute.
VECTORS = (
    "<script>{}</script>", "<img src=x onerror={}>", "<svg onload={}>", "<svg/onload={}//",
    "<script src=//evil.test/{n}></script>", "<iframe srcdoc='<script>parent.{}</script>'>",
    "<iframe src='javascript:{}'>", "<a href='javascript:{}' id=x tabindex=1 autofocus>go</a>",
    "<details open ontoggle={}>", "<input autofocus onfocus={}>", "<body onload={}>",
    "<video><source onerror={}></video>", "<object data='data:text/html,<script>{}</script>'>",
    "<embed src=//evil.test/{n}>", "<link rel=stylesheet href=//evil.test/{n}>",
    "<style>@import '//evil.test/{n}';*{{background:url(//evil.test/{n})}}</style>",
    "<p style='background:url(//evil.test/{n})'>", "<base href=//evil.test/>",
    "<meta http-equiv=refresh content='0;url=javascript:{}'>", "<form action=//evil.test/{n}>",
    "<math><mi xlink:href='javascript:{}'>", "<marquee onstart={}>", "<audio src onerror={}>",
    "<div hx-get=//evil.test/{n} hx-trigger=load>", "<div hx-on::load={}>", "<b hx-vals='js:{}'>",
    "onmouseover={} style=position:fixed;inset:0 x=", "javascript:{}//",
    "<!--><img src onerror={}>",
    "<svg><animate onbegin={} attributeName=x dur=1s>", "![x](javascript:{})", "[x](javascript:{})",
    "<noscript><p title='</noscript><img src onerror={}>'>", "<svg><style><img src onerror={}>",
    "<template shadowrootmode=open><img src onerror={}></template>", "{{{{constructor.x({})}}}}",
    "<img src=//evil.test/{n}>", "<link rel=prefetch href=//evil.test/{n}>", "${{{}}}",
    "<isindex formaction=javascript:{} type=submit>", "<button popovertarget=x onclick={}>",
)  # fmt: skip
WAYS = (
    str.swapcase,
    html.escape,
    quote,
    lambda text: text.replace("<", "＜").replace(">", "＞"),
    lambda text: text.replace("<", "<\x0b").replace("=", "\t=\n"),
)
# Words of the machine: states, keys, digests, names of files and of what is asked by name.
OURS = {
    *("slug", "status", "kind", "key", "password", "username", "owner", "folder", "path", "format"),
    *("sha256", "prompt_sha256", "token_hash", "session_key", "codename", "endpoint", "preset"),
    *("method", "task_name", "scale", "origin", "stage", "view", "metric", "profile", "link"),
    *("app_label", "app", "model", "digest", "content_type", "place", "author", "begun_from"),
}
NOT_ROWS = {"contenttypes", "sessions", "auth"}
# Before anything of the page: what it tries is told to the test.
WATCH = """
for (const name of ['alert', 'prompt', 'confirm', 'print']) window[name] = () => ran(name);
document.addEventListener('securitypolicyviolation',
  (event) => told(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""


def payloads() -> list[str]:
    """Ends and vectors in every combination, each way of writing them in turn."""
    ways, found = cycle(WAYS), []
    for n, (end, vector) in enumerate(product(ENDS, VECTORS)):
        # As it is, and written in two of the other ways.
        text = f"{end}{vector.format(f'ran({n})', n=n)}"
        found += [text, next(ways)(f"{text}{n}"), next(ways)(f"{n}{text}")]
    return list(dict.fromkeys(found))


def spoil(texts: list[str]) -> tuple[set[str], int]:
    """Write them into every text column of every row; which were written, into how many columns."""
    turns, written, columns = cycle(texts), set(), 0
    for model in apps.get_models():
        if model._meta.app_label in NOT_ROWS or not model._meta.managed:
            continue
        for each in model._meta.concrete_fields:
            is_text = isinstance(each, (models.CharField, models.TextField))
            if not is_text or each.choices or each.primary_key or each.name in OURS:
                continue
            columns += 1
            for pk in model._default_manager.values_list("pk", flat=True):
                room, said = each.max_length or 6_000, []
                while (following := next(turns)) and len(following) <= room:
                    said.append(following)
                    room -= len(following) + 1
                    if each.max_length:
                        break
                if not said:
                    said = [following[: each.max_length]]
                try:
                    with transaction.atomic():
                        model._default_manager.filter(pk=pk).update(**{each.name: " ".join(said)})
                    written.update(said)
                except DatabaseError:  # a rule of the table: such a text never gets there
                    continue
    return written, columns


def _share(connection: Any) -> None:
    connections["default"] = connection


class Pages:
    """Answers the browser from this process, and keeps what the pages tried."""

    def __init__(self, client: Client) -> None:
        self.client, self.tried, self.kept = client, [], {}  # type: ignore[var-annotated]
        # The browser's events come in a context of their own, which would open the database anew
        # and wait for the transaction of the test: pages are made in a thread with its connection.
        connections["default"].inc_thread_sharing()
        self.thread = ThreadPoolExecutor(1, initializer=_share, initargs=(connections["default"],))

    def get(self, path: str, **headers: str) -> dict[str, Any]:
        """The answer, as the browser takes it."""
        found: Any = self.thread.submit(self.client.get, path, headers=headers).result()
        return {
            "status": found.status_code,
            "headers": {name: text for name, text in found.items() if name != "Content-Length"},
            "body": b"".join(found) if found.streaming else found.content,
        }

    def answer(self, route: Route) -> None:
        """A page or file of ours; whatever else is asked for was asked by a payload."""
        asked = urlsplit(route.request.url)
        if f"{asked.scheme}://{asked.netloc}" != SITE or route.request.method != "GET":
            self.tried.append(f"{route.request.method} {route.request.url:.200}")
            return route.abort()
        if route.request.resource_type == "font":
            return route.abort()
        path = asked.path + (f"?{asked.query}" if asked.query else "")
        sent = {"HX-Request": "true"} if "hx-request" in route.request.headers else {}
        if path in self.kept and not sent:  # a page that asks for itself anew gets a part
            return route.fulfill(**self.kept[path])
        answer = self.get(path, **sent)
        if path.startswith("/static/"):
            self.kept[path] = answer
        return route.fulfill(**answer)


@pytest.fixture
def watched(browser: Browser) -> Iterator[tuple[Page, Pages]]:
    """A page whose scripts, requests and breaches of the policy are noted."""
    context = browser.new_context(base_url=SITE, viewport={"width": 1280, "height": 900})
    page, pages = context.new_page(), Pages(Client())
    for name in ("ran", "told"):
        page.expose_function(name, lambda said="", name=name: pages.tried.append(f"{name} {said}"))
    page.add_init_script(WATCH)
    page.on(
        "dialog", lambda dialog: (pages.tried.append(f"dialog {dialog.message}"), dialog.dismiss())
    )
    page.on(
        "console",
        lambda said: pages.tried.append(said.text) if "Content Security" in said.text else None,
    )
    page.route("**/*", pages.answer)
    page.on("pageerror", lambda error: pages.tried.append(f"error {error}"))
    yield page, pages
    context.close()
    pages.thread.shutdown()
    connections["default"].dec_thread_sharing()


def test_the_watch_sees_what_runs(watched: tuple[Page, Pages]) -> None:
    """Else the test below could not fail."""
    page, pages = watched
    policy = {"Content-Security-Policy": "img-src 'none'", "Content-Type": "text/html"}
    pages.kept["/"] = {
        "status": 200,
        "headers": policy,
        "body": "<svg onload=ran(1)><img src=x><link rel=stylesheet href=//evil.test>",
    }
    page.goto("/")
    page.wait_for_timeout(300)
    said = " ".join(pages.tried)
    assert "ran 1" in said
    assert "told img-src" in said
    assert "GET http://evil.test/" in said


def test_hostile_markup_runs_nowhere(watched: tuple[Page, Pages], world: Any) -> None:  # noqa: F811
    texts = payloads()
    addresses = [
        (name, row, address(name, row, world))
        for name, row in ROWS
        if row.method == "get"
        and not name.startswith("api-")
        and row.allowed
        and name not in NO_PAGES
    ]
    written, columns = spoil(texts)
    assert len(written) >= 2_000
    assert columns > 100
    page, pages = watched
    clients = {role: client_of(world.people.get(role)) for role in ROLES}
    seen, broken, ran = 0, [], []
    for name, row, url in addresses:
        roles = [role for role in ROLES if role in row.allowed]
        for role in roles if os.environ.get("XSS_ALL") else roles[-1:]:
            pages.client = clients[role]
            first = pages.get(url)
            if first["status"] >= 500:
                broken.append(f"{name} as {role}: {first['status']}")
            if first["status"] != 200 or not first["headers"]["Content-Type"].startswith(
                "text/html"
            ):
                continue
            pages.kept[url] = first
            page.goto(url, wait_until="load")
            page.wait_for_timeout(30)  # what a payload waits for: focus, an image that is not there
            del pages.kept[url]
            seen += 1
            if pages.tried:
                ran.append(f"{name} as {role}: {pages.tried}")
                pages.tried.clear()
    logger.warning("%d payloads in %d columns, %d pages", len(written), columns, seen)
    assert ran == []
    assert broken == []
    assert seen > 140
