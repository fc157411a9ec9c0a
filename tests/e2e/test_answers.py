"""Reference answers in a browser: written and rated by keyboard, by a model, compared blind."""

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.test_screens import HOME, enter, faults_of  # noqa: F401  (a fixture)

pytestmark = pytest.mark.e2e
SHOTS = os.environ.get("ASSAY_SHOTS", "")


def shoot(page: Page, name: str) -> None:
    """A picture of the whole page, for whoever asked for one by ASSAY_SHOTS."""
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"{name}.png", full_page=True)


def test_answers_are_written_generated_and_compared_by_keyboard(enter, axe) -> None:  # noqa: F811
    author = enter("annotator-1", "light").page
    author.goto(f"{HOME}queries/1/")
    author.keyboard.press("e")
    expect(author.get_by_role("heading", name="Reference answer")).to_be_visible()
    # Outside the field a digit cites; inside it, a number in brackets does.
    author.keyboard.press("e")
    field = author.locator("#answer-text")
    expect(field).to_be_focused()
    field.press("Control+a")
    author.keyboard.type("Blossom-end rot is a lack of calcium in the fruit")
    author.keyboard.press("Escape")
    author.keyboard.press("1")
    first = author.locator("[data-cite-number='1']").get_attribute("data-cite")
    expect(field).to_have_value(re.compile(re.escape(f"fruit [{first}]") + "$"))
    author.keyboard.type(". Water carries it there [2].")
    second = author.locator("[data-cite-number='2']").get_attribute("data-cite")
    expect(field).to_have_value(re.compile(re.escape(f"there [{second}].") + "$"))
    author.keyboard.type(" This is said nowhere [nowhere/page_1.txt].")
    checks = author.locator("#answer-checks")
    expect(checks).to_contain_text("Sentence 3 cites [nowhere/page_1.txt]")
    shoot(author, "editor-error")
    author.keyboard.press("Control+Enter")
    expect(author.get_by_text("Version 1 is kept.")).to_be_visible()
    assert axe(author) == []

    admin = enter("admin", "light").page
    admin.goto(f"{HOME}answers/")
    shoot(admin, "list")
    admin.keyboard.press("c")
    expect(admin.get_by_role("heading", name="Blind comparisons")).to_be_visible()
    admin.locator("#id_size").fill("20")
    admin.keyboard.press("Control+Enter")
    expect(admin.get_by_text("Still without an answer")).to_be_visible()
    comparison = admin.url
    shoot(admin, "comparison-open")
    assert axe(admin) == []
    admin.goto(f"{HOME}answers/runs/new/")
    expect(admin.get_by_text("Tokens in")).to_be_visible()
    admin.get_by_label("Also those that a model has answered").check()  # as it has in the demo
    expect(admin.get_by_text("No query is ready for an answer.")).to_be_hidden()
    shoot(admin, "run-new")
    assert axe(admin) == []
    admin.get_by_role("button", name="Start writing").click()
    expect(admin.locator("#live .tag").first).to_have_text("done", timeout=240_000)
    admin.reload()
    shoot(admin, "run")
    assert axe(admin) == []

    rater = enter("reviewer", "light").page
    rater.goto(f"{HOME}queries/1/answer/")
    expect(rater.get_by_text("are kept from you")).to_be_visible()
    rater.keyboard.press("o")
    expect(rater.get_by_role("heading", name="Rate two answers")).to_be_visible()
    shoot(rater, "rate")
    assert axe(rater) == []
    for _ in range(4):  # each digit goes to the first points that are missing
        rater.locator("main h1").focus()
        rater.keyboard.press("4")
    expect(rater.locator(".weight :checked")).to_have_count(4)
    rater.keyboard.press("a")
    rater.keyboard.press("Control+Enter")
    expect(rater.get_by_text("No pair of answers waits for you")).to_be_visible()

    admin.goto(comparison)
    admin.keyboard.press("x")
    admin.get_by_role("button", name="Close it", exact=True).click()
    expect(admin.get_by_text("Points from 1 to 5")).to_be_visible()
    shoot(admin, "report")
    assert axe(admin) == []


def test_answer_screens_fit_every_window(enter, axe) -> None:  # noqa: F811
    pages = {
        "annotator-1": ["answers/", "queries/1/answer/", "queries/1/answer/history/"],
        "reviewer": ["answers/", "answers/rate/", "answers/comparisons/", "queries/1/answer/"],
        "admin": [
            "answers/runs/",
            "answers/runs/new/",
            "answers/comparisons/",
            "queries/2/answer/",
        ],
    }
    assert faults_of(pages, enter, axe) == []
