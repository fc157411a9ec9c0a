"""A corpus is cleaned by agents that leave a word out: from the form to its report, by keys."""

import re
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.bench.server import Assay
from tests.corpus.scripted import cleaner
from tests.e2e.conftest import misfits, soon_running, use_link

pytestmark = pytest.mark.e2e

HOME = "/b/garden-weather/"


def without_a_word(role: str, said: str) -> str:
    """What a cleaner of gold text must not do."""
    words = said.split(" ")
    return " ".join(words[:-4] + words[-3:]) if role == "safe_clean" and words[8:] else said


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assay]:
    """The demo with an endpoint whose cleaner of gold leaves words out."""
    given = SimpleNamespace()
    with cleaner(given, without_a_word):
        settings = {
            "OPENAI_BASE_URL": given.OPENAI_BASE_URL,
            "OPENAI_API_KEY": given.OPENAI_API_KEY,
            "ASSAY_MODEL": given.ASSAY_MODEL,
        }
        with soon_running(tmp_path_factory.mktemp("cleaning"), **settings) as running:
            yield running


@pytest.fixture
def page(browser: Browser, site: Assay) -> Iterator[Page]:
    """The admin's, who signs in."""
    context = browser.new_context(base_url=site.url, viewport={"width": 1280, "height": 900})
    found = context.new_page()
    use_link(found, site.link("admin"))
    yield found
    context.close()


@pytest.fixture
def look_at(page: Page, axe: Callable[..., list[str]]) -> Callable[[], None]:
    """Looks at the page as it stands in every window and all colours."""

    def look() -> None:
        assert misfits(page, axe) == [], page.url

    return look


def press(page: Page, key: str, to: str) -> None:
    """Press a key that leads to another page."""
    page.keyboard.press(key)
    page.wait_for_url(re.compile(to))
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_violations_are_decided_and_the_report_is_read_by_keys(page: Page, look_at) -> None:
    page.goto(f"{HOME}versions/")
    press(page, "n", "/cleaning/new/$")
    expect(page.locator("#forecast")).to_contain_text("Advised: nothing.")
    page.get_by_label("Where an agent changed gold text").select_option("person")
    page.get_by_label("Ask about left-out gold").fill("0")
    page.get_by_label("Name of the new version").fill("by hand")
    look_at()
    page.keyboard.press("Control+Enter")
    page.wait_for_url(re.compile(r"/cleaning/\d+/$"))
    expect(page.get_by_role("link", name=re.compile("Decide"))).to_be_visible(timeout=240_000)
    look_at()

    press(page, "l", "/pages/")
    look_at()
    page.go_back()
    press(page, "d", r"/violations/\d+/$")
    look_at()
    skipped = page.url
    page.keyboard.press("s")
    page.wait_for_url(lambda url: url != skipped)
    decided = page.url
    page.keyboard.press("2")
    page.wait_for_url(lambda url: url != decided)
    look_at()
    page.once("dialog", lambda dialog: dialog.accept())
    page.keyboard.press("u")  # a slip of the finger
    page.wait_for_url(decided)
    expect(page.get_by_text("The decision was taken back")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("Repair from the source"))).to_be_visible()
    for number in range(100):
        before = page.url
        if "/violations/" not in before:
            break
        page.keyboard.press("123"[number % 3])
        page.wait_for_url(lambda url, before=before: url != before)
    expect(page.locator("#live .tag.good")).to_contain_text("done", timeout=240_000)
    look_at()

    press(page, "v", "/violations/$")
    expect(page.locator("#results")).to_contain_text("repaired from the source")
    look_at()
    page.go_back()
    press(page, "a", "/report/$")
    look_at()
    page.get_by_text("Width of the bins").click()
    page.get_by_label("Tokens in a bin").fill("20")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"tokens=20"))
    lengths = page.get_by_role("region", name="Table: Lengths of passages")
    count = lengths.locator("tbody a").first
    expected = int(count.inner_text().replace(",", ""))
    count.click()
    page.wait_for_url(re.compile("/rows/"))
    expect(page.locator("table tbody tr")).to_have_count(expected)
    look_at()
    press(page, "b", "/report/")


def test_a_version_is_searched_compared_taken_up_and_given_back(page: Page, look_at) -> None:
    page.goto(f"{HOME}cleaning/new/")
    page.get_by_label("Preset").select_option("diver_rules")
    page.get_by_label("Name of the new version").fill("tidied here")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(re.compile(r"/cleaning/\d+/$"))
    expect(page.locator("#live .tag.good")).to_contain_text("done", timeout=240_000)

    press(page, "o", r"/versions/\d+/$")
    look_at()
    press(page, "f", "/search/$")
    page.keyboard.press("/")
    page.keyboard.type("leaf")
    expect(page.locator("article.passage").first).to_be_visible(timeout=240_000)
    page.wait_for_url(re.compile(r"q=leaf"))
    page.wait_for_load_state("networkidle")  # a list that is swapped would swallow the click
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.keyboard.press("Tab")  # nor does leaving the field swap it
    assert page.evaluate("document.activeElement.name") == "domain"
    assert asked == []
    for place, address in ((1, r"domain=.+"), (0, r"domain=$")):
        page.get_by_label("Domain").select_option(index=place)
        page.wait_for_url(re.compile(address))
    page.wait_for_load_state("networkidle")
    look_at()
    page.get_by_role("link", name=re.compile("With its source passages")).first.click()
    expect(page.get_by_role("region", name="Before")).to_be_visible()
    look_at()
    press(page, "]", r"/passages/\d+/$")

    page.goto(f"{HOME}versions/")
    look_at()
    page.get_by_role("link", name="make current tidied here").click()
    expect(page.get_by_role("heading", name="Answers and aspects")).to_be_visible()
    look_at()
    press(page, "t", "/versions/$")
    row = page.get_by_role("row", name=re.compile("tidied here")).first
    expect(row.get_by_text("current", exact=True)).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_text(re.compile("is the current version again"))).to_be_visible()
    page.goto(f"{HOME}leaderboard/versions/")
    look_at()
