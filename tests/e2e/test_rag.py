"""Answers from retrieved passages in a browser: written, graded, their citations judged by machines
and by an expert, who speaks first."""

import pytest
from playwright.sync_api import expect

from tests.e2e.test_screens import HOME, enter, faults_of  # noqa: F401  (a fixture)

pytestmark = pytest.mark.e2e


def test_answers_are_written_graded_and_their_citations_checked(enter, axe) -> None:  # noqa: F811
    admin = enter("admin", "light").page
    admin.goto(f"{HOME}rag/new/")
    admin.get_by_label("Harness").select_option("cited")
    expect(admin.locator("#forecast")).to_contain_text("Calls")
    assert axe(admin) == []
    admin.get_by_role("button", name="Start").click()
    expect(admin.locator("#live .tag").first).to_have_text("done", timeout=240_000)
    admin.reload()
    admin.get_by_role("button", name="Grade its answers").click()
    expect(admin.locator("#live .tag").first).to_have_text("done", timeout=240_000)
    admin.goto(f"{HOME}rag-board/")
    expect(admin.get_by_role("heading", name="RAG board")).to_be_visible()

    admin.goto(f"{HOME}support/")
    admin.keyboard.press("n")
    expect(admin.get_by_role("heading", name="Check answers")).to_be_visible()
    admin.get_by_label("Answers").select_option(index=1)
    expect(admin.locator("#forecast")).to_contain_text("about")
    assert axe(admin) == []
    admin.get_by_role("button", name="Start").click()
    expect(admin.locator("#live .tag").first).to_have_text("done", timeout=240_000)
    admin.reload()
    assert axe(admin) == []
    admin.get_by_role("link", name="What it came to").click()
    expect(admin.get_by_role("heading", name="Support by system")).to_be_visible()
    admin.get_by_text("Ask another judge").click()
    admin.locator("form[action$='/judge/'] [name=temperature]").fill("1")
    admin.get_by_role("button", name="Judge the citations").click()
    expect(admin.locator("#live .tag").first).to_have_text("done", timeout=240_000)
    admin.reload()
    admin.get_by_role("link", name="What it came to").click()
    expect(admin.get_by_role("heading", name="Who agrees")).to_be_visible()
    admin.get_by_text("Draw citations for experts").click()
    assert axe(admin) == []
    admin.locator("[name=post_edit]").fill("0")
    admin.get_by_role("button", name="Draw them").click()
    expect(admin.get_by_text("Experts of the domains are asked now.")).to_be_visible()

    expert = enter("annotator-1", "light").page
    expert.goto("/")
    expert.get_by_role("link", name="Citations to check").click()
    heading = expert.get_by_role("heading", name="Does the passage support the sentence?")
    expect(heading).to_be_visible()
    assert axe(expert) == []
    # Fully, without its words: said so, and nothing is kept.
    expert.keyboard.press("1")
    expect(expert.get_by_text("Choose the words of the passage")).to_be_visible()
    expert.keyboard.press("s")
    expert.keyboard.press("ArrowDown")
    # The draw is random, and some passages begin with a sentence of two words.
    for _ in range(2):
        expert.keyboard.press("Shift+ArrowDown")
    expect(expert.locator("#span-chosen")).to_contain_text("Chosen")
    expert.keyboard.press("1")
    expect(expert.get_by_text("Machines say:")).to_be_visible()
    assert axe(expert) == []
    expert.keyboard.press("k")
    expect(expert.get_by_text("Machines say:")).to_have_count(0)
    expect(heading).to_be_visible()
    expert.keyboard.press("3")
    expect(expert.get_by_text("Machines say:")).to_be_visible()


def test_what_became_of_it_fits_every_window(enter, axe) -> None:  # noqa: F811
    pages = {
        "annotator-1": ["answers/support/"],
        "admin": [
            *("rag/", "rag/1/", "rag/answers/1/", "grade-runs/1/", "rag-board/"),
            *("support/", "support/new/", "support/1/", "support-runs/1/"),
        ],
    }
    assert faults_of(pages, enter, axe) == []
