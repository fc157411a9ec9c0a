"""What extraction and rules reach on the marked pages, as docs/cleaning.md prints it."""

from pathlib import Path

import pytest
import trafilatura

from corpus.chunking.rules import clean
from corpus.extraction import extract_html
from tests.bench import extraction


@pytest.fixture
def _pages(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = shared / "web-cleaning-dev"
    if not pages.is_dir():
        pytest.skip("../shared/data/web-cleaning-dev is not present")
    monkeypatch.setattr(extraction, "DATA", pages)


@pytest.mark.slow
@pytest.mark.usefixtures("_pages")
def test_rules_on_pages_given_as_text_reach_their_aim() -> None:
    _, recall, f1 = extraction.articles(lambda body: clean(extraction.dumped(body)))
    assert f1 >= 0.85
    assert recall >= 0.95


@pytest.mark.slow
@pytest.mark.usefixtures("_pages")
def test_the_main_text_is_found_no_worse_than_by_trafilatura() -> None:
    *_, ours = extraction.articles(lambda body: extract_html(body).main)
    *_, theirs = extraction.articles(
        lambda body: trafilatura.extract(body, include_comments=False) or ""
    )
    assert ours >= theirs
    # Of a source the rules have the same text.
    *_, of_source = extraction.articles(lambda body: clean(body.decode(errors="replace")))
    assert of_source >= 0.95
