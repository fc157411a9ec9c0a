"""Two browsers write one aspect: what does not clash is merged, and the pages follow."""

import contextlib
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Error, Page, expect

pytestmark = pytest.mark.e2e

WORKSPACE = "/b/garden-weather/queries/3/"


@pytest.fixture
def writers(assay, browser, session_of: Callable[[str], dict]) -> Iterator[tuple[Page, Page]]:
    """Both at the same new aspect."""
    pages = []
    for name in ("annotator-2", "annotator-3"):
        context = browser.new_context(base_url=assay.url, storage_state=session_of(name))
        pages.append(context.new_page())
    mine, theirs = pages
    mine.goto(WORKSPACE)
    count = mine.locator("#aspect-list article").count()
    mine.get_by_role("button", name="New aspect").click()
    expect(mine.locator("#aspect-list article")).to_have_count(count + 1)
    theirs.goto(WORKSPACE)
    yield mine, theirs
    for page in pages:
        page.context.close()


def last(page: Page, name: str):
    return page.locator(f'#aspect-list article:last-child [name="{name}"]')


def rationale(page: Page):
    details = page.locator("#aspect-list article:last-child details")
    if details.get_attribute("open") is None:
        details.locator("summary").click()
    return last(page, "rationale")


def write(field, text: str) -> None:
    """Type and wait until it is saved."""
    field.fill(text)
    with field.page.expect_response(lambda answer: answer.request.method == "POST") as posted:
        field.blur()
    assert posted.value.status == 200
    expect(field.page.locator("#saved")).to_have_attribute("data-state", "saved")


def stored(page: Page) -> tuple[str, str, str]:
    page.reload()
    weight = page.locator('#aspect-list article:last-child [name="weight"]:checked')
    chosen = weight.input_value() if weight.count() else ""
    return last(page, "content").input_value(), rationale(page).input_value(), chosen


def test_their_words_appear_in_the_field_i_left_alone(writers) -> None:
    mine, theirs = writers
    write(rationale(theirs), "long work\nof two lines")
    write(last(mine, "content"), "new")
    expect(rationale(mine)).to_have_value("long work\nof two lines")
    write(rationale(mine), "long work\nof three\nlines")
    assert stored(theirs) == ("new", "long work\nof three\nlines", "")


def test_their_weight_is_chosen_on_my_page_too(writers) -> None:
    mine, theirs = writers
    theirs.locator("#aspect-list article:last-child label", has_text="5").first.click()
    expect(theirs.locator("#saved")).to_have_attribute("data-state", "saved")
    write(last(mine, "content"), "new")
    checked = mine.locator('#aspect-list article:last-child [name="weight"]:checked')
    expect(checked).to_have_value("5")
    assert stored(mine) == ("new", "", "5")


@pytest.mark.parametrize(
    ("choice", "kept"), [("Save mine anyway", "mine"), ("Use theirs", "theirs")]
)
def test_clash_in_one_field_is_settled_and_the_rest_stays(writers, choice: str, kept: str) -> None:
    mine, theirs = writers
    write(last(theirs, "content"), "theirs")
    write(rationale(theirs), "why")
    last(mine, "content").fill("mine")
    conflict = mine.locator(".conflict")
    expect(conflict.locator("[data-theirs]")).to_have_text(["theirs"])
    expect(last(mine, "content")).to_have_value("mine")
    conflict.get_by_role("button", name=choice).click()
    expect(mine.locator("#saved")).to_have_attribute("data-state", "saved")
    assert stored(mine) == (kept, "why", "")


def test_words_restored_after_a_crash_do_not_undo_what_others_wrote(writers) -> None:
    mine, theirs = writers
    write(rationale(theirs), "first")
    mine.reload()
    mine.route("**/aspects/**", lambda route: route.abort())  # the network is gone for this tab
    last(mine, "content").fill("typed while away")
    expect(mine.locator("#saved")).to_have_attribute("data-state", "error")
    write(rationale(theirs), "second")
    crashed, mine = mine, mine.context.new_page()
    # A tab that is closed saves with its last breath; one that crashes does not.
    with contextlib.suppress(Error):
        crashed.goto("chrome://crash")
    mine.goto(WORKSPACE)
    mine.get_by_role("button", name="Restore what you typed").click()
    expect(mine.locator("#saved")).to_have_attribute("data-state", "saved")
    assert stored(mine) == ("typed while away", "second", "")
