"""README's ten minutes, word for word, and how far the main places are from home."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.bench.server import ROOT, Assay
from tests.e2e.conftest import soon_running, use_link

pytestmark = pytest.mark.e2e
HOME = "/b/garden-weather/"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assay]:
    """A demo that nobody has touched yet."""
    with soon_running(tmp_path_factory.mktemp("readme")) as running:
        yield running


@pytest.fixture
def enter(browser: Browser, demo: Assay) -> Iterator[Callable[[str], Page]]:
    """A private window of a person, by the one-time link."""
    windows = []

    def window(person: str) -> Page:
        context = browser.new_context(base_url=demo.url, viewport={"width": 1280, "height": 800})
        windows.append(context)
        page = context.new_page()
        use_link(page, demo.link(person))
        return page

    yield window
    for context in windows:
        context.close()


def click(page: Page, *names: str) -> None:
    """One click each, and the page that it leads to."""
    for name in names:
        with page.expect_navigation():
            page.get_by_role("link", name=name, exact=True).first.click()


def judge(page: Page) -> str:
    """The open case from its passage alone, then the judgment is kept; the case."""
    here = page.url
    page.keyboard.press("1")
    expect(page.get_by_text("Your first judgment")).to_be_visible()
    page.keyboard.press("k")
    page.wait_for_url(lambda url: url != here)
    return here


def test_the_ten_minutes_of_the_readme(demo: Assay, enter: Callable[[str], Page]) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "*Vote*: eighteen disputes wait" in text
    admin = enter("admin")
    admin.goto(f"{HOME}debates/1/")
    expect(admin.get_by_text("72 of 72 pairs")).to_be_visible(timeout=240_000)

    first = enter("annotator-1")
    click(first, "Garden & weather", "My work", "Vote")
    expect(first.get_by_text("1 of 18")).to_be_visible()
    case = judge(first)
    first.keyboard.press("?")
    expect(first.get_by_role("dialog", name="Keys on this page")).to_be_visible()

    for person in ("annotator-2", "annotator-3"):
        other = enter(person)
        other.goto(case)
        assert judge(other) == case
    admin.goto(f"{HOME}disputes/?status=closed&kind=dispute")
    expect(admin.locator("#results tbody tr")).to_have_count(1)

    first.goto(HOME)
    click(first, "Browse", "gardening-1")
    expect(first.locator("article.aspect").first).to_be_visible()
    first.goto(f"{HOME}queries/")
    click(first, "gardening-2")
    first.keyboard.press("n")
    expect(first.get_by_role("textbox", name="Aspect a1")).to_be_focused()
    first.keyboard.type("Aluminium makes the blue.")
    first.keyboard.press("Control+Enter")
    expect(first.locator("[data-saved]").first).to_contain_text("Saved")
    first.keyboard.press("Escape")
    first.locator("#passages").focus()
    first.keyboard.press("1")
    expect(first.locator("#aspect-list article")).to_contain_text("1 passage")
    expect(first.get_by_text("1 of 5 decided")).to_be_visible()
    first.keyboard.press("d")

    admin.goto("/")
    click(admin, "Garden & weather")
    expect(admin.get_by_text("Next step")).to_be_visible()
    click(admin, "Agents", "N New run")
    admin.goto(HOME)
    click(admin, "Results")
    expect(admin.get_by_text("BM25 without length normalisation").first).to_be_visible()
    click(admin, "Agreement")
    expect(admin.get_by_text("with 95 % confidence")).to_be_visible()
    click(admin, "Releases")
    for version, state in (("0.0.1", "draft"), ("0.0.2", "final")):
        row = admin.get_by_role("row").filter(has_text=version)
        expect(row).to_contain_text(state)
    admin.keyboard.press("Control+k")
    expect(admin.get_by_role("dialog")).to_be_visible()


# What an admin opens, the links to it from home, and what is there to be pressed or read then.
PLACES = {
    "import": (["Garden & weather", "Data", "Imports"], "Import"),
    "debate": (["Garden & weather", "Agents", "N New run"], "Start the run"),
    "leaderboard": (["Garden & weather", "Results"], ""),
    "release": (["Garden & weather", "Results", "Releases"], "Build the release"),
    "ten people": (["Garden & weather", "Manage"], "Add and make a link"),
}


def test_main_places_are_two_or_three_clicks_from_home(enter: Callable[[str], Page]) -> None:
    page = enter("admin")
    for place, (links, button) in PLACES.items():
        page.goto("/")
        click(page, *links)
        if button:
            expect(page.get_by_role("button", name=button).first, place).to_be_visible()
    page.get_by_label("User names").fill("\n".join(f"expert-{n}" for n in range(10)))
    page.get_by_label("Annotator").check()
    with page.expect_navigation():
        page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="10 people are members")).to_be_visible()
    assert page.get_by_label("One-time sign-in links").input_value().count("/sign-in/") == 10
