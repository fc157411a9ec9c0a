"""The expert's day in a browser: a query from the queue to submission by keyboard alone, who may
write, and words that survive a killed tab, a restart of the server and an expired sign-in."""

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Browser, Error, Page, expect

from tests.bench.server import ROOT, Assay, free_port, running_assay
from tests.e2e.conftest import soon_running, use_link

pytestmark = pytest.mark.e2e

SLUG = "workday"
HOME = f"/b/{SLUG}/"
PEOPLE = ("expert-1", "expert-2", "expert-3")
SET_UP = f"""
from corpus.models import Benchmark, Query
from corpus.benchmarks.services import add_person
from annotate.assignments.services import assign_queries
benchmark = Benchmark.objects.get(slug="{SLUG}")
for name in {PEOPLE}:
    add_person(benchmark=benchmark, username=name, roles=["annotator"], actor=None)
boss, _ = add_person(benchmark=benchmark, username="boss", roles=["admin"], actor=None)
first = benchmark.memberships.get(user__username="expert-1").user
query = Query.objects.get(domain__benchmark=benchmark, domain__name="gardening", qid="2")
assign_queries(benchmark=benchmark, queries=[query], people=[first], actor=boss.user)
rows = Query.objects.filter(domain__benchmark=benchmark)
print(*(f"{{row}}={{row.pk}}" for row in rows))
"""


@dataclass
class Day:
    """The benchmark of this file, and a way in for its people."""

    assay: Assay
    queries: dict[str, int]
    enter: Callable[..., Page]

    def url(self, name: str, more: str = "") -> str:
        """A query's address by its name on the screens."""
        return f"{HOME}queries/{self.queries[name]}/{more}"


def load(assay: Assay) -> dict[str, int]:
    """The demo's texts as a benchmark of this file's own; queries by name."""
    folder = str(ROOT / "corpus" / "demo")
    how = ("--format", "bright_pro", "--benchmark", SLUG, "--name", "Working day")
    assay.manage("load_benchmark", folder, *how)
    said = assay.manage("shell", "-c", SET_UP)
    return {name: int(pk) for name, pk in re.findall(r"(\S+-\d+)=(\d+)", said)}


@pytest.fixture(scope="module")
def queries(assay: Assay) -> dict[str, int]:
    return load(assay)


@pytest.fixture
def day(
    assay: Assay,
    browser: Browser,
    queries: dict[str, int],
    session_of: Callable[[str], dict],
) -> Iterator[Day]:
    contexts = []

    def enter(person: str, **how) -> Page:
        how.setdefault("viewport", {"width": 1280, "height": 900})
        context = browser.new_context(base_url=assay.url, storage_state=session_of(person), **how)
        contexts.append(context)
        page = context.new_page()
        page.goto("/")
        return page

    yield Day(assay, queries, enter)
    for context in contexts:
        context.close()


def sign_in(page: Page, assay: Assay, person: str) -> None:
    use_link(page, assay.link(person))


def saved(page: Page) -> None:
    expect(page.locator("#saved")).to_have_attribute("data-state", "saved")


def field(page: Page, k: int = 1):
    return page.get_by_role("textbox", name=f"Aspect a{k}")


def test_whole_query_from_the_queue_to_submission_without_a_mouse(day: Day) -> None:
    page = day.enter("expert-1")
    expect(page.get_by_role("link", name="gardening-2")).to_be_visible()
    press(page, "o", heading="Original gold")
    expect(page).to_have_url(re.compile(day.url("gardening-2")))
    press(page, "s", heading="Submit gardening-2")
    expect(page.get_by_text("There are no aspects yet")).to_be_visible()
    press(page, "b", heading="Original gold")
    for number, words in enumerate(("Aluminium makes the blue.", "Acid soil frees it."), start=1):
        page.keyboard.press("n")
        expect(field(page, number)).to_be_focused()
        page.keyboard.type(words)
        page.keyboard.press("Tab")  # to the weights, none of which is chosen
        page.keyboard.press("ArrowRight")
        expect(page.get_by_text("no weight yet")).to_have_count(0)
        saved(page)
        page.keyboard.press("Escape")
    page.locator("#passages").focus()
    for left, key in enumerate("12121", start=1):
        page.keyboard.press(key)
        expect(page.get_by_text(f"{left} of 5 decided")).to_be_visible()
    before = page.locator("#passages article").count()
    attach_found_passage(page)
    expect(page.locator("#passages article")).to_have_count(before + 1)
    page.locator("h1").first.focus()
    press(page, "s", heading="Submit gardening-2")
    expect(page.get_by_text("Every original is decided")).to_be_visible()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="My queue")).to_be_visible()
    expect(page.locator("#results").get_by_role("link", name="gardening-2")).to_be_visible()
    page.goto(day.url("gardening-2"))
    expect(page.get_by_text("Take it back to go on writing.")).to_be_visible()
    expect(page.locator("textarea")).to_have_count(0)
    page.keyboard.press("y")
    expect(field(page)).to_have_value("Aluminium makes the blue.")


def press(page: Page, key: str, *, heading: str) -> None:
    """A key that leads to another page."""
    page.keyboard.press("Escape")
    page.keyboard.press(key)
    expect(page.get_by_role("heading", name=heading).first).to_be_visible()


def attach_found_passage(page: Page) -> None:
    """R finds passages for a1; the arrows choose, Enter attaches."""
    page.locator("#passages").focus()
    page.keyboard.press("r")
    buttons = page.locator("#beside [data-item]")
    expect(buttons.first).to_be_visible()
    expect(page.locator("#beside mark").first).to_be_visible()
    expect(page.locator("#beside [data-item]:focus")).to_have_count(1)
    attaching = page.get_by_role("button", name=re.compile(r"^Attach .* to a1"))
    for _ in range(buttons.count()):
        if "Attach to" in page.locator("#beside [data-item]:focus").inner_text():
            break
        page.keyboard.press("ArrowDown")
    assert attaching.count() > 0
    page.keyboard.press("Enter")
    expect(page.locator("#passages").get_by_text("supports a1")).to_be_visible()


def test_claimed_query_shuts_others_out_and_keeps_what_they_typed(day: Day) -> None:
    mine, theirs = day.enter("expert-2"), day.enter("expert-3")
    path = day.url("gardening-4")
    theirs.goto(path)
    theirs.keyboard.press("n")
    expect(field(theirs)).to_be_focused()
    mine.goto(path)
    mine.keyboard.press("y")
    expect(mine.locator("#work")).to_contain_text("Yours")
    theirs.keyboard.type("Typed while it was claimed.")
    expect(theirs.locator("#saved")).to_contain_text("your text is kept")
    theirs.on("dialog", lambda dialog: dialog.accept())
    theirs.reload()
    expect(theirs.locator("#work")).to_contain_text("expert-2 works on this query")
    expect(theirs.get_by_text("Typed while it was claimed.")).to_be_visible()
    expect(field(theirs)).to_have_count(0)
    mine.reload()
    field(mine).fill("Mine.")
    saved(mine)


def note(page: Page):
    """The note of the open passage, which a button sends."""
    return page.locator("article.passage.open [data-draft*=note]")


def open_note(page: Page) -> None:
    if not note(page).is_visible():
        page.locator("article.passage.open summary", has_text="Discard").click()


def crash(page: Page) -> None:
    # A tab that is closed saves with its last breath; one that crashes does not.
    with contextlib.suppress(Error):
        page.goto("chrome://crash")


def test_note_typed_in_a_tab_that_crashes_is_back_at_once(day: Day) -> None:
    page = day.enter("expert-2")
    page.goto(day.url("weather-2"))
    open_note(page)
    note(page).press_sequentially("cut off in the middle of")
    page.wait_for_function(
        "Object.values(localStorage).some((kept) => kept.includes('in the middle of'))"
    )
    crash(page)
    page = page.context.new_page()
    page.goto(day.url("weather-2"))
    expect(note(page)).to_have_value("cut off in the middle of")
    expect(page.get_by_text("is back.")).to_be_visible()
    # On another machine, too, once the server has it.
    expect(page.locator("[data-saved]").first).to_have_text("Draft kept")
    other = day.enter("expert-2")
    other.goto(day.url("weather-2"))
    expect(note(other)).to_have_value("cut off in the middle of")
    # Both tabs write on: the stale one is shown both.
    note(other).press("End")
    note(other).press_sequentially(" a word")
    expect(other.locator("[data-saved]").first).to_have_text("Draft kept")
    note(page).press("End")
    note(page).press_sequentially(" a line")
    notice = page.locator("[data-draft-notice]")
    expect(notice.locator("[data-theirs]")).to_have_text("cut off in the middle of a word")
    expect(note(page)).to_have_value("cut off in the middle of a line")
    notice.get_by_role("button", name="Use the other").click()
    expect(note(page)).to_have_value("cut off in the middle of a word")


def test_keys_of_what_is_folded_away_do_nothing(day: Day) -> None:
    page = day.enter("expert-2")
    page.goto(day.url("gardening-7"))
    count = page.get_by_text(re.compile(r"\d of \d decided")).inner_text()
    page.locator("article.passage.open").focus()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method))
    for key in "tiof":  # the reasons of a discard, which D unfolds
        page.keyboard.press(key)
    page.keyboard.press("d")
    expect(page.get_by_role("button", name="Topic only")).to_be_visible()
    assert "POST" not in sent
    expect(page.get_by_text(count)).to_be_visible()


def test_note_is_forgotten_once_it_was_sent(day: Day) -> None:
    page = day.enter("expert-2")
    page.goto(day.url("weather-6"))
    open_note(page)
    first = page.locator("article.passage.open").get_attribute("id")
    note(page).fill("no sentence is whole")
    expect(page.locator("[data-saved]").first).to_have_text("Draft kept")
    page.get_by_role("button", name="Fragment").click()
    expect(page.get_by_text("discarded: fragment").first).to_be_visible()
    page.goto(f"{day.url('weather-6')}?passage={first.removeprefix('passage-')}")
    expect(note(page)).to_have_value("")
    page.goto("/drafts/")
    expect(page.get_by_text("no sentence is whole")).to_have_count(0)


def test_sign_in_that_expires_loses_nothing(day: Day) -> None:
    page = day.enter("expert-3")
    page.goto(day.url("weather-3"))
    page.keyboard.press("n")
    expect(field(page)).to_be_focused()
    page.keyboard.type("Before. ")
    saved(page)
    page.context.clear_cookies(name="sessionid")
    page.keyboard.type("After the sign-in expired.")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    sign_in(page, day.assay, "expert-3")
    page.goto("/")
    page.locator("#unsaved").get_by_role("link", name="weather-3").click()
    page.get_by_role("button", name="Restore what you typed").click()
    saved(page)
    page.reload()
    expect(field(page)).to_have_value(re.compile(r"^Before\. After the sign-in|^Before\. A"))


def test_pasted_page_survives_an_expired_sign_in(day: Day) -> None:
    page = day.enter("expert-3")
    page.goto(day.url("weather-3", "collect/"))
    page.keyboard.press("t")
    text = page.get_by_label("Text", exact=True)
    text.fill("A page that cannot be fetched.")
    expect(page.locator("[data-saved]").first).to_have_text("Draft kept")
    page.context.clear_cookies(name="sessionid")
    text.press_sequentially(" With more.")
    expect(page.locator("[data-saved]").first).to_contain_text("Signed out")
    sign_in(page, day.assay, "expert-3")
    page.goto(day.url("weather-3", "collect/"))
    expect(text).to_have_value("A page that cannot be fetched. With more.")
    page.get_by_role("button", name="Keep the text").click()
    expect(page.locator("#page-text")).to_contain_text("With more.")
    page.goto(day.url("weather-3", "collect/"))
    expect(text).to_have_value("")


def test_server_that_restarts_is_waited_for(browser: Browser, tmp_path: Path) -> None:
    port = free_port()
    context = browser.new_context(base_url=f"http://127.0.0.1:{port}")
    page = context.new_page()
    with soon_running(tmp_path, port=port) as first:
        path = f"{HOME}queries/{load(first)['weather-3']}/"
        sign_in(page, first, "expert-1")
        page.goto(path)
        page.keyboard.press("n")
        expect(field(page)).to_be_focused()
        page.keyboard.type("Typed before")
        saved(page)
    page.keyboard.type(", typed while the server was away")
    expect(page.locator("#saved")).to_have_text("Not saved. Trying again")
    with running_assay(tmp_path, port=port, demo=True):
        expect(page.locator("#saved")).to_have_attribute("data-state", "saved", timeout=240_000)
        page.reload()
        expect(field(page)).to_have_value("Typed before, typed while the server was away")
    context.close()


def test_time_at_work_is_counted_while_the_page_is_used(day: Day) -> None:
    page = day.enter("expert-3")
    page.goto(day.url("weather-3"))
    with page.expect_response(re.compile(r"/time/$"), timeout=240_000) as told:
        page.keyboard.press("Shift")
    assert told.value.status == 204
    body = parse_qs(told.value.request.post_data or "")
    counted = (int(body["end"][0]) - int(body["start"][0])) / 1000
    api = page.request.get(f"/api{day.url('weather-3', 'time/')}").json()
    assert api["seconds"] >= counted > 0  # another stretch may have been told since


WIDTHS = {"phone": {"width": 390, "height": 800}, "narrow": {"width": 320, "height": 640}}
TOO_WIDE = "() => document.documentElement.scrollWidth - window.innerWidth"


@pytest.mark.parametrize(("size", "scheme"), [("phone", "light"), ("narrow", "dark")])
def test_screens_fit_a_phone(day: Day, size: str, scheme: str) -> None:
    how = {"viewport": WIDTHS[size], "color_scheme": scheme}
    expert, boss = day.enter("expert-1", **how), day.enter("boss", **how)
    own = [
        f"{HOME}queue/",
        day.url("weather-1"),
        day.url("gardening-2", "submit/"),
        "/drafts/",
        "/",
    ]
    own.append(day.url("weather-1", "beside/?words=frost+grass"))
    for page, paths in ((expert, own), (boss, [f"{HOME}assignments/", f"{HOME}progress/"])):
        for path in paths:
            assert page.goto(path).status == 200, path
            page.wait_for_function("() => !document.querySelector('.htmx-request')")
            assert page.evaluate(TOO_WIDE) <= 0, path
