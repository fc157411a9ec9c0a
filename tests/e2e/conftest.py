"""A real Assay (web, worker, practice model) and a headless Chromium beside it."""

import importlib.util
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests import migrated
from tests.bench.server import Assay, running_assay

expect.set_options(timeout=60_000)


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict:
    """Debian's Chromium; as root, as in CI, it runs without its sandbox."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.fail("Chromium is missing: apt-get install chromium")
    return {"executable_path": found, "args": ["--no-sandbox", "--disable-dev-shm-usage"]}


@contextmanager
def soon_running(data: Path, *, port: int = 0, **settings: str) -> Iterator[Assay]:
    """An Assay with the demo benchmark that finds its tables made, if the suite has made some.

    Making them takes most of a first start, which test_expert.py goes through from nothing.
    """
    migrated.copy_to(str(data / "assay.sqlite3"))
    with running_assay(data, port=port, **settings) as running:
        yield running


@pytest.fixture(scope="session")
def assay(tmp_path_factory) -> Iterator[Assay]:
    """One running Assay with the demo benchmark for the whole session."""
    with soon_running(tmp_path_factory.mktemp("assay")) as running:
        yield running


def use_link(page: Page, link: str) -> None:
    """Sign in by a one-time link, and skip the password that a first visit asks for."""
    page.goto(link)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("You are signed in as")).to_be_visible()
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()


@pytest.fixture(scope="session")
def session_of(browser: Browser, assay: Assay) -> Callable[[str], dict]:
    """The signed-in session of a person of the demo, as a browser keeps it."""
    kept: dict[str, dict] = {}

    def session(person: str) -> dict:
        if person not in kept:
            context = browser.new_context(base_url=assay.url)
            page = context.new_page()
            use_link(page, assay.link(person))
            kept[person] = context.storage_state()
            context.close()
        return kept[person]

    return session


@pytest.fixture
def complaints() -> list[str]:
    """What the browser complained about: errors of scripts and of the content policy."""
    return []


@pytest.fixture
def visit(browser: Browser, assay: Assay, complaints: list[str]) -> Iterator[Callable[[], Page]]:
    """Fresh visitors, each with a browser context of their own; all must stay without errors."""
    contexts: list[BrowserContext] = []

    def new_visitor() -> Page:
        context = browser.new_context(base_url=assay.url, viewport={"width": 1280, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: _note(said.type, said.text, complaints))
        return page

    yield new_visitor
    for context in contexts:
        context.close()
    assert complaints == []


def _note(kind: str, text: str, complaints: list[str]) -> None:
    # An answer of 409 or 422 is part of the conversation; Chromium logs it all the same.
    if kind == "error" and not re.search(r"status of 4(09|22)", text):
        complaints.append(text)


@pytest.fixture
def sign_in(visit: Callable[[], Page]) -> Callable[[str], Page]:
    """A visitor who used a one-time link."""

    def signed_in(link: str) -> Page:
        page = visit()
        use_link(page, link)
        return page

    return signed_in


@pytest.fixture(scope="session")
def axe() -> Callable[..., list[str]]:
    """What axe-core, which a test package brings, finds wrong with a page as it stands.

    `only` names a group of its rules, such as cat.color.
    """
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        pytest.fail("axe is missing: install requirements-dev.txt")
    script = (Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8")

    def faults(page: Page, only: str = "") -> list[str]:
        if not page.evaluate("() => 'axe' in window"):
            page.evaluate(script)
        options = {"resultTypes": ["violations"]} | ({"runOnly": [only]} if only else {})
        told = page.evaluate("options => axe.run(document, options)", options)
        return [
            f"{each['id']} {[node['html'][:120] for node in each['nodes'][:3]]}"
            for each in told["violations"]
        ]

    return faults
