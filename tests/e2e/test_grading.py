"""Answers of search agents in a browser: run, judged, drawn, and scored blind by keyboard."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.test_screens import HOME, enter, faults_of  # noqa: F401  (a fixture)

pytestmark = pytest.mark.e2e


def judge(admin: Page, run: str) -> None:
    admin.goto(run)
    admin.get_by_role("button", name="Judge its answers").click()
    expect(admin.locator("#live .tag").first).to_have_text("done", timeout=240_000)
    admin.reload()


def draw(admin: Page) -> str:
    """Draw a sample of what was judged, and stay at it; its address."""
    admin.goto(f"{HOME}judge-samples/")
    admin.locator("#id_runs option").first.click()
    admin.locator("main h1").focus()
    admin.keyboard.press("Control+Enter")
    expect(admin.get_by_role("heading", name=re.compile(r"Sample \d+"))).to_be_visible()
    return urlsplit(admin.url).path


def test_answers_of_an_agent_are_scored_by_one_digit_each(enter, axe) -> None:  # noqa: F811
    admin = enter("admin", "light").page
    admin.goto(f"{HOME}agents/new/")
    admin.get_by_role("button", name="Start").click()
    expect(admin.locator("#live .tag").first).to_have_text("done", timeout=240_000)
    judge(admin, admin.url)
    admin.get_by_text("Bridge to another judge").click()
    assert axe(admin) == []
    draw(admin)
    assert axe(admin) == []

    expert = enter("annotator-1", "light").page
    expert.goto("/")
    expert.get_by_role("link", name="Answers to score blind").click()
    expect(expert.get_by_role("heading", name="Score an answer")).to_be_visible()
    assert axe(expert) == []
    groups = expert.locator(".weight").count()
    for digit in ["5"] + ["1"] * (groups - 2) + ["4"]:
        expert.keyboard.press(digit)
    expect(expert.locator(".weight :checked")).to_have_count(groups)
    # Points are a draft until they are given, as words are.
    expect(expert.locator("[data-saved]").first).to_have_text("Draft kept")
    expert.reload()
    expect(expert.get_by_text("is back.")).to_be_visible()
    expect(expert.locator(".weight :checked")).to_have_count(groups)
    assert expert.locator("[name=a1]:checked").get_attribute("value") == "0.5"
    assert expert.locator("[name=quality]:checked").get_attribute("value") == "4"
    # Within a group a digit is another score of the same aspect.
    expert.locator("[name=a1]:checked").focus()
    expert.keyboard.press("0")
    assert expert.locator("[name=a1]:checked").get_attribute("value") == "0"
    expert.keyboard.press("n")
    expert.keyboard.type("Thin on why.")
    expert.keyboard.press("Control+Enter")
    expect(expert.get_by_text("Your scores are kept.")).to_be_visible()
    expert.goto("/drafts/")
    expect(expert.get_by_text("a1=")).to_have_count(0)


def test_what_judges_are_worth_fits_every_window(enter, axe) -> None:  # noqa: F811
    admin = enter("admin", "light").page
    judge(admin, f"{HOME}agents/1/")
    sample = draw(admin).removeprefix(HOME)
    pages = {
        "annotator-1": ["answers/grade/"],
        "admin": ["judge-samples/", sample, "agent-board/", "agent-board/calibration/"],
    }
    assert faults_of(pages, enter, axe) == []
