"""README's ten minutes, word for word, and how far the main places are from home."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.bench.server import Assay
from tests.e2e.conftest import soon_running

pytestmark = pytest.mark.e2e
HOME = "/b/garden-weather/"
ASPECT = "Aluminium makes the blue."


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assay]:
    """A demo that nobody has touched yet."""
    with soon_running(tmp_path_factory.mktemp("readme")) as running:
        yield running


@pytest.fixture(scope="module")
def seen() -> set[str]:
    """Who was here before."""
    return set()


@pytest.fixture
def enter(browser: Browser, demo: Assay, seen: set[str]) -> Iterator[Callable[[str], Page]]:
    """A private window of a person, by the one-time link, whose password is skipped."""
    windows = []

    def window(person: str) -> Page:
        context = browser.new_context(base_url=demo.url, viewport={"width": 1280, "height": 800})
        windows.append(context)
        page = context.new_page()
        page.goto(demo.link(person))
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_text("You are signed in as")).to_be_visible()
        if person not in seen:  # asked at the first visit alone
            click(page, "Skip for now")
        seen.add(person)
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
    said = page.get_by_role("heading", name="the agents still disagree")
    expect(page.get_by_text("From the passage alone")).to_be_visible()
    expect(said).to_have_count(0)
    page.keyboard.press("1")
    expect(page.get_by_text("Your first judgment")).to_be_visible()
    expect(said).to_be_visible()
    page.keyboard.press("k")
    page.wait_for_url(lambda url: url != here)
    return here


def test_the_ten_minutes_of_the_readme(demo: Assay, enter: Callable[[str], Page]) -> None:
    case = vote_and_annotate(demo, enter)
    admin = enter("admin")
    admin.goto(case.replace("/vote/", "/disputes/"))
    outcome = admin.get_by_role("region", name="Positions and votes")
    expect(outcome).to_contain_text("relevant by majority")
    see_runs(admin)
    see_results(admin)
    admin.keyboard.press("Control+k")
    admin.keyboard.type("gardening-2")
    found = admin.locator("#palette-found li").filter(has_text="hydrangea turned pink")
    with admin.expect_navigation():
        found.get_by_role("link").first.click()
    expect(admin.get_by_role("main")).to_contain_text("hydrangea turned pink")


def vote_and_annotate(demo: Assay, enter: Callable[[str], Page]) -> str:
    """What the three annotators do; the case that they voted on."""
    first = enter("annotator-1")
    click(first, "Garden & weather", "My work", "Vote")
    expect(first.get_by_text("1 of 18")).to_be_visible()
    case = judge(first)
    first.keyboard.press("?")
    expect(first.get_by_role("dialog", name="Keys on this page")).to_be_visible()
    for person in ("annotator-2", "annotator-3"):
        other = enter(person)
        other.goto(case)
        expect(other.get_by_text("Voter 1")).to_have_count(0)
        assert judge(other) == case
    first.goto(HOME)
    click(first, "Browse", "Queries", "gardening-1")
    expect(first.locator("article.aspect").first).to_be_visible()
    first.go_back()
    click(first, "gardening-2")
    first.keyboard.press("n")
    expect(first.get_by_role("textbox", name="Aspect a1")).to_be_focused()
    first.keyboard.type(ASPECT)
    first.keyboard.press("Control+Enter")
    expect(first.locator("[data-saved]").first).to_contain_text("Saved")
    first.keyboard.press("Escape")
    first.locator("#passages").focus()
    first.keyboard.press("1")
    expect(first.locator("#aspect-list article")).to_contain_text("1 passage")
    expect(first.get_by_text("1 of 5 decided")).to_be_visible()
    first.keyboard.press("d")
    first.keyboard.press("t")
    expect(first.get_by_text("2 of 5 decided")).to_be_visible()
    return case


def see_runs(admin: Page) -> None:
    """How the disputes came about, and another run."""
    admin.goto(HOME)
    expect(admin.get_by_text("Next step")).to_be_visible()
    click(admin, "Agents", "Debate runs")
    admin.get_by_role("link", name=re.compile("^First run")).click()
    expect(admin.get_by_text("72 of 72 pairs")).to_be_visible()
    expect(admin.get_by_text("Disputed, to people")).to_be_visible()
    click(admin, "Agents", "N New run")
    admin.get_by_role("button", name="Start the run").click()
    expect(admin.locator("#live .tag.good").first).to_have_text("done")


def see_results(admin: Page) -> None:
    """The leaderboard, the agreement, the releases and the chain that built one, and a draft."""
    click(admin, "Results")
    expect(admin.get_by_text("BM25 without length normalisation").first).to_be_visible()
    click(admin, "Agreement")
    # Fifteen whose votes are made up, and the case that was voted on above.
    said = admin.get_by_text(re.compile("of 1[56] .* that two people or more labelled"))
    expect(said).to_contain_text("with 95 % confidence")
    click(admin, "Releases")
    for version, state in (("0.0.1", "draft"), ("0.0.2", "final"), ("0.0.3", "draft")):
        expect(admin.get_by_role("row").filter(has_text=version)).to_contain_text(state)
    click(admin, "Agents", "Chains", "From systems to a draft")
    expect(admin.get_by_role("region", name="Steps", exact=True)).to_contain_text("done")
    click(admin, "Results", "Releases")
    admin.get_by_role("button", name="Build the release").click()
    expect(admin.get_by_role("heading", name="Known faults")).to_be_visible()
    expect(admin.get_by_text(re.compile("practice", re.IGNORECASE)).first).to_be_visible()


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
