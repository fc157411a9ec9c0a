"""Every page over one of everything, as the role that may do most: it fits, axe finds nothing, and
every key from every element that can have the focus acts on what shows it, or not at all.

The pages are made in this process, as in test_markup.py. With SHOTS every role that is let in sees
each, and pictures are taken.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.template.loader import render_to_string
from django.test import RequestFactory
from django.urls import reverse
from playwright.sync_api import Page

from tests.e2e.conftest import misfits
from tests.e2e.shots import SHOTS, list_pictures, take_pictures
from tests.e2e.test_keys import EVERY_KEY, TOOLS
from tests.e2e.test_markup import NO_PAGES, Pages, watched  # noqa: F401  (a fixture)
from tests.e2e.test_screens import UNFOLD
from tests.routes.rows import expected
from tests.routes.world import address
from tests.test_routes import ROLES, ROWS, client_of, made, world  # noqa: F401  (fixtures)

pytestmark = [pytest.mark.e2e, pytest.mark.django_db]
# In the order of what they see; an outsider annotates another domain.
SEEING = ("nobody", "stranger", "outsider", "annotator", "reviewer", "admin")
STAFF = ("sign-in-requests", "site-people", "health")


def opened(world: SimpleNamespace) -> Iterator[tuple[str, list[str]]]:  # noqa: F811
    """The address of each page and who sees it."""
    for name, row in ROWS:
        if row.method == "get" and not name.startswith("api-") and name not in NO_PAGES:
            roles = [each for each in SEEING if expected(name, row, each) == 200]
            yield address(name, row, world), roles
    for name in STAFF:
        yield reverse(name), ["staff"]
    yield reverse("site-person", args=[world.people["annotator"].pk]), ["staff"]


def errors() -> dict[str, str]:
    """Pages of errors, by an address."""
    request = RequestFactory().get("/")
    request.user = AnonymousUser()
    names = sorted(each.name for each in Path(settings.BASE_DIR, "templates").glob("[45]*.html"))
    return {f"/{each}": render_to_string(each, {"why": "It ended."}, request) for each in names}


def looked_at(page: Page, axe: Callable[..., list[str]], url: str, role: str) -> list[str]:
    """What is wrong with a page and its keys, everything unfolded."""
    page.goto(url, wait_until="load")
    if SHOTS:
        take_pictures(page, url, role)
    page.evaluate(UNFOLD)
    page.wait_for_function("() => !document.querySelector('.htmx-request')")
    faults = misfits(page, axe, ("light", "dark", "narrow"))
    page.evaluate(TOOLS)
    faults += page.evaluate("keys => tools.everyKeyFromEverywhere(keys).faults", EVERY_KEY)
    return [f"{url} as {role}, {each}" for each in faults]


def test_every_page_fits_with_no_fault_for_axe_or_keys(
    watched: tuple[Page, Pages],  # noqa: F811
    world: SimpleNamespace,  # noqa: F811
    axe: Callable[..., list[str]],
) -> None:
    page, pages = watched
    clients = {role: client_of(world.people.get(role)) for role in ROLES}
    clients["staff"] = client_of(User.objects.create_superuser("staff"))
    faults, seen = [], 0
    for url, roles in opened(world):
        for role in roles if SHOTS else roles[-1:]:
            pages.client = clients[role]
            first = pages.get(url)
            # A file, or a part of a page, is looked at where it is shown.
            if not first["body"].lstrip().lower().startswith(b"<!doctype html"):
                continue
            assert first["status"] == 200, url
            pages.kept[url] = first
            faults += looked_at(page, axe, url, role)
            del pages.kept[url]
            seen += 1
    pages.client = clients["nobody"]
    for url, body in errors().items():
        pages.kept[url] = {"status": 200, "headers": {"Content-Type": "text/html"}, "body": body}
        faults += looked_at(page, axe, url, "nobody")
    if SHOTS:
        list_pictures()
    assert faults == []
    assert pages.tried == []
    assert seen > 160
