"""Which texts are the source of a page or a piece cut out of one, and which speak of HTML."""

import pytest

from corpus.chunking.markup import is_source, without_torn
from corpus.chunking.rules import clean

WORDS = "Ferns have no seeds. They spread by spores, which the wind takes far away from the garden."
LINK = '<a href="/spores">spores</a>'


@pytest.mark.parametrize(
    ("source", "left"),
    [
        # One paragraph, hardly any markup.
        (f"<p>{WORDS}</p>", WORDS),
        (f"<p>{WORDS} {LINK}</p>\n", f"{WORDS} spores"),
        (f'<div class="text">{WORDS}<br>{WORDS}</div>', None),
        # Cut in the middle of a tag, at either end.
        (f'ss="post-content entry-content" id="post-17">{WORDS}</p><p class="a b">', WORDS),
        (f'<p class="entry-content">{WORDS} <a href="https://example.org/a/rather/long/ad', WORDS),
        # Indented from the first line to the last, and padded with blanks.
        (f"    <div>\n        <p>{WORDS}</p>\n{' ' * 400}\n    </div>\n", WORDS),
    ],
)
def test_a_passage_cut_from_a_source_is_one(source: str, left: str | None) -> None:
    assert is_source(source)
    cleaned = clean(source)
    assert "<" not in cleaned
    assert "Ferns have no seeds." in cleaned
    assert left is None or " ".join(cleaned.split()) == left


@pytest.mark.parametrize(
    "text",
    [
        WORDS,
        "<div> is a block, and <span> is none. Neither says what it holds.",
        "<p> begins a paragraph and </p> ends it.",
        f"{WORDS} Write <p>so</p>",
        "<b>Note</b> that a vector<int> holds <i>numbers</i>",
        "Where a<b and c>d the answer is no, and <p> a paragraph.",
        # Words about a sample that is set apart by its indent or by a fence.
        f"{WORDS}\n\n    <div>\n    <p>One</p>\n    <p>Two</p>\n    </div>\n",
        f"{WORDS}\n```\n<div>\n<p>One</p>\n<p>Two</p>\n</div>\n```\n",
        "```\n<div><p>One</p><p>Two</p></div>\n```",
        "x < y; <p",
        "",
    ],
)
def test_words_about_html_are_no_source(text: str) -> None:
    assert not is_source(text)
    assert without_torn(text) == text
    assert clean(text, is_gold=True).split() == text.split()
