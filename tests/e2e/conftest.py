"""A real Assay (web, worker, practice model) and a headless Chromium beside it."""

import fcntl
import importlib.util
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from django.apps import apps
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect

from kit.runs.models import OVER, TrackedRun
from tests import migrated
from tests.bench.server import Assay, running_assay

expect.set_options(timeout=240_000)
LOOKS = {
    "light": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 800}, "color_scheme": "light"},
    "narrow": {"viewport": {"width": 320, "height": 640}, "color_scheme": "dark"},
}
TOO_WIDE = "() => document.documentElement.scrollWidth - window.innerWidth"


def chromium() -> dict:
    """How Debian's Chromium is launched; as root, as in CI, it runs without its sandbox.

    Its headless shell has the same engine without what surrounds a page on a desktop, and takes
    half the processor time.
    """
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.fail("Chromium is missing: apt-get install chromium-headless-shell")
    return {"executable_path": found, "args": ["--no-sandbox", "--disable-dev-shm-usage"]}


@pytest.fixture(scope="session", autouse=True)
def loop_before_connections(playwright: Playwright) -> None:
    """Playwright's event loop runs before Django opens a connection: with it, it has another one.

    A module's rows that were made before (`undone_database`) would lock the database for its tests.
    """


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict:
    """Chromium, as it is here."""
    return chromium()


def first_start() -> Path:
    """The data folder of an Assay with the demo whose first runs are done; nobody looked at it yet.

    Made once for all processes: tables, demo and runs take most of a start. test_expert.py goes
    through them from nothing.
    """
    data = Path(os.environ["ASSAY_TEST_DATA"]) / "first-start"
    with data.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not data.exists():
            part = data.with_suffix(".part")
            part.mkdir()
            migrated.copy_to(str(part / "assay.sqlite3"))
            with running_assay(part, workers=1):
                wait_for_runs(part / "assay.sqlite3")
            part.rename(data)
    return data


def wait_for_runs(file: Path, seconds: float = 300.0) -> None:
    """Return once no run in that database is left to do."""
    kinds = [each for each in apps.get_models() if issubclass(each, TrackedRun)]
    names = [each._meta.db_table for each in kinds]
    each_one = " UNION ALL ".join(f"SELECT '{name}', status FROM {name}" for name in names)
    begun = time.monotonic()
    with closing(sqlite3.connect(file)) as database:
        while left := [row for row in database.execute(each_one) if row[1] not in OVER]:
            assert time.monotonic() < begun + seconds, left
            time.sleep(0.1)


@contextmanager
def soon_running(data: Path, *, port: int = 0, **settings: str) -> Iterator[Assay]:
    """An Assay with the demo that goes on from where a first start ended, with one worker."""
    log = shutil.ignore_patterns("serve.log")
    shutil.copytree(first_start(), data, ignore=log, dirs_exist_ok=True)
    with running_assay(data, port=port, workers=1, **settings) as running:
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


# What the contrast of a text follows from, by which texts are alike: its ink, size and weight, and
# all that lies behind it. Rows of a table repeat one another, and axe weighs each for milliseconds;
# of those alike the first two that show are weighed.
ALIKE = """() => {
  const of = new Map();
  for (const each of document.body.querySelectorAll('*')) {
    const speaks = each.matches('input, textarea, select')
      || [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const { width, height } = each.getBoundingClientRect();
    if (!speaks || width < 2 || height < 2 || !each.checkVisibility({ visibilityProperty: true })) {
      continue;
    }
    const own = getComputedStyle(each);
    const told = [each.tagName, own.color, own.fontSize, own.fontWeight, own.textShadow,
                  each.matches(':disabled, [aria-disabled=true]')];
    for (let behind = each; behind; behind = behind.parentElement) {
      const look = getComputedStyle(behind);
      told.push(look.backgroundColor, look.backgroundImage, look.opacity, look.filter,
                look.position);
    }
    const key = told.join();
    if ((of.get(key) ?? []).length < 2) of.set(key, [...(of.get(key) ?? []), each]);
  }
  return [...of.values()].flat();
}"""
WEIGHED = f"""async (onlyColors) => {{
  const alike = ({ALIKE})(), kinds = ['color-contrast', 'color-contrast-enhanced'];
  const violations = {{ resultTypes: ['violations'] }}, found = [];
  if (alike.length) {{
    const weighed = {{ runOnly: {{ type: 'rule', values: kinds.slice(0, onlyColors ? 2 : 1) }} }};
    found.push(await axe.run({{ include: alike }}, {{ ...violations, ...weighed }}));
  }}
  const rules = Object.fromEntries(kinds.map((kind) => [kind, {{ enabled: false }}]));
  const group = onlyColors ? {{ runOnly: ['cat.color'] }} : {{}};
  found.push(await axe.run(document, {{ ...violations, ...group, rules }}));
  return found.flatMap((each) => each.violations);
}}"""


@pytest.fixture(scope="session")
def axe() -> Callable[..., list[str]]:
    """What axe-core, which a test package brings, finds wrong with a page as it stands.

    `only_colors` leaves out all that colours do not change, and asks for 7 to 1 where else 4.5 do.
    """
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        pytest.fail("axe is missing: install requirements-dev.txt")
    script = (Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8")

    def faults(page: Page, *, only_colors: bool = False) -> list[str]:
        if not page.evaluate("() => 'axe' in window"):
            page.evaluate(script)
        told = page.evaluate(WEIGHED, only_colors)
        return [
            f"{each['id']} {[node['html'][:120] for node in each['nodes'][:3]]}" for each in told
        ]

    return faults


def turn_to(page: Page, look: str) -> None:
    """Give the page another window and other colours, at once."""
    page.set_viewport_size(LOOKS[look]["viewport"])
    page.emulate_media(color_scheme=LOOKS[look]["color_scheme"], reduced_motion="reduce")


def misfits(
    page: Page,
    axe: Callable[..., list[str]],
    weighed: tuple[str, ...] = ("light", "dark", "phone"),
) -> list[str]:
    """What is wrong with a page as it stands: where it is wider than a window, and what axe says.

    In the same window nothing but the colours is another; the narrowest has the parts of a phone's
    in the colours of the dark one.
    """
    faults = []
    for look in LOOKS:
        turn_to(page, look)
        if (excess := page.evaluate(TOO_WIDE)) > 0:
            faults.append(f"{look}: {excess} px too wide")
        if look in weighed:
            faults += [f"{look}: {each}" for each in axe(page, only_colors=look == "dark")]
    turn_to(page, "light")
    return faults
