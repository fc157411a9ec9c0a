"""A second review by keys: blind scores, changes asked for, answered, accepted; and an exam."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.bench.server import Assay
from tests.e2e.conftest import use_link

pytestmark = pytest.mark.e2e

BENCHMARK = "/b/garden-weather"
# The demo's finished query as somebody's work: imported aspects have no author who could answer.
GIVE_AN_AUTHOR = """
from django.contrib.auth.models import User
from annotate.models import Aspect
Aspect.objects.filter(query__qid="1", query__domain__name="weather").update(
    created_by=User.objects.get(username="annotator-1")
)
"""


def press(page: Page, *keys: str) -> None:
    """Press keys, each once what the one before it did is there."""
    for key in keys:
        with page.expect_response(lambda answer: answer.request.method == "POST"):
            page.keyboard.press(key)
        page.wait_for_load_state("networkidle")


def check_looks(page: Page, axe) -> None:
    """No fault for axe, in light and dark; and the page fits a small phone."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        # Buttons change their colours over a moment.
        page.wait_for_function("() => !document.getAnimations().length")
        assert axe(page) == []
    page.set_viewport_size({"width": 320, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert axe(page) == []
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 900})


def test_a_review_with_changes_asked_for_answered_and_accepted(assay: Assay, sign_in, axe) -> None:
    assay.manage("shell", "-c", GIVE_AN_AUTHOR)
    reviewer = sign_in(assay.link("reviewer"))
    reviewer.goto(f"{BENCHMARK}/reviews/")
    row = reviewer.locator("li", has_text="weather-1").last
    row.get_by_role("button", name="Review it").click()
    expect(reviewer.get_by_role("heading", name="How much does each aspect weigh?")).to_be_visible()
    expect(reviewer.get_by_text("the author")).to_have_count(0)
    groups = reviewer.locator("fieldset.weight")
    groups.first.locator("input").first.focus()
    reviewer.keyboard.press("ArrowRight")  # in an unset group to its first
    expect(groups.first.locator(":checked")).to_have_value("1")
    reviewer.keyboard.press("4")  # the group that has the focus
    expect(groups.first.locator(":checked")).to_have_value("4")
    for done in range(1, groups.count()):
        reviewer.locator("h1").first.focus()
        reviewer.keyboard.press("5")  # the first without a weight
        expect(reviewer.locator(".weight :checked")).to_have_count(done + 1)
    expect(groups.first.locator(":checked")).to_have_value("4")
    press(reviewer, "Control+Enter")
    expect(reviewer.get_by_text(re.compile(r"both \d|blind \d")).first).to_be_visible()

    # Passages stand open in reading order; nothing can be accepted before it was looked at.
    deck = reviewer.locator("#review-deck")
    accept = reviewer.get_by_role("button", name=re.compile("Accept"))
    left = int(re.search(r"(\d+) to look at", deck.inner_text())[1])
    expect(accept).to_be_disabled()
    expect(accept).to_contain_text(f"({left} left)")
    passages = reviewer.locator(".passage .verbatim")
    assert passages.count() > 1
    assert all(each.is_visible() for each in passages.all())
    check_looks(reviewer, axe)
    reviewer.reload()
    ring = reviewer.locator("[data-look].open")
    expect(ring).to_have_attribute("aria-label", "Weight of a1")
    reviewer.mouse.wheel(0, 1500)  # the ring goes with what is read
    expect(ring).not_to_have_attribute("aria-label", "Weight of a1")
    expect(ring).to_be_in_viewport()
    reviewer.get_by_role("link", name=re.compile("^Weight")).first.click()
    expect(ring).to_have_attribute("aria-label", "Weight of a1")

    # The first question is not answered with Yes: a note says what should change.
    reviewer.get_by_role("link", name=re.compile("^Comprehensive")).click()
    reviewer.keyboard.press("2")
    note = ring.get_by_label("What should change, for the author")
    with reviewer.expect_response(lambda answer: "/api/drafts/" in answer.url and answer.ok):
        note.fill("One point is missing.")
    here = reviewer.url
    reviewer.context.clear_cookies()  # the session is lost, and with it nothing that was typed
    use_link(reviewer, assay.link("reviewer"))
    reviewer.goto(here)
    reviewer.get_by_role("link", name=re.compile("^Comprehensive")).click()
    expect(note).to_have_value("One point is missing.")
    note.focus()
    press(reviewer, "Control+Enter")
    expect(reviewer.get_by_text("1 asked for")).to_be_visible()
    for still in range(left - 2, -1, -1):
        expect(ring).to_be_in_viewport()
        press(reviewer, "1")
        expect(deck).to_contain_text(f"{still} to look at")
    expect(accept).to_be_disabled()  # something is asked for
    press(reviewer, "h")
    expect(reviewer.get_by_text("with the author")).to_be_visible()

    author = sign_in(assay.link("annotator-1"))
    author.goto(f"{BENCHMARK}/reviews/")
    author.keyboard.press("o")
    expect(author.get_by_text("One point is missing.").first).to_be_visible()
    press(author, "1")
    expect(author.get_by_text("1 agreed")).to_be_visible()
    press(author, "h")
    expect(author.get_by_text("with the reviewer")).to_be_visible()

    reviewer.reload()
    expect(reviewer.get_by_text("1 agreed")).to_be_visible()
    press(reviewer, "a")
    expect(reviewer.locator("#review-deck")).to_contain_text("Accepted")
    reviewer.keyboard.press("n")
    expect(reviewer.get_by_role("heading", name="How much does each aspect weigh?")).to_be_visible()


def test_an_exam_is_one_key_an_item(assay: Assay, sign_in) -> None:
    admin = sign_in(assay.link("admin"))
    admin.goto(f"{BENCHMARK}/qualification/bank/")
    admin.keyboard.press("d")
    admin.get_by_label("Domain").first.select_option(label="gardening")
    admin.get_by_role("button", name="Draw them").click()
    expect(admin.get_by_text("items were drawn")).to_be_visible()

    person = sign_in(assay.link("annotator-2"))
    person.goto(f"{BENCHMARK}/qualification/")
    press(person, "x")
    for place in range(10):
        expect(person.get_by_text(f"{place + 1} of 10")).to_be_visible()
        press(person, "1")
    expect(
        person.get_by_role("heading", name=re.compile("Not passed: [456] of 10"))
    ).to_be_visible()
