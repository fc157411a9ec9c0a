"""Quotes are found letter for letter, white space aside, at offsets of the passage as given."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.dream.quotes import locate_all
from debate.dream.types import Quote

SPACES = st.text(" \t\n\r\u00a0\u2003\u2028\u3000", min_size=1, max_size=3)
WORDS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6).filter(
        lambda word: word and not any(sign.isspace() for sign in word)
    ),
    min_size=1,
    max_size=12,
)


def normal(text: str) -> str:
    return " ".join(text.split())


@st.composite
def passages_with_quotes(draw: st.DrawFn) -> tuple[str, str]:
    """A passage of words between any white space, and some of its words spaced otherwise."""
    words = draw(WORDS)
    passage = "".join(draw(SPACES) + word for word in words) + draw(SPACES)
    first = draw(st.integers(0, len(words) - 1))
    last = draw(st.integers(first, len(words) - 1))
    return passage, "".join(draw(SPACES) + word for word in words[first : last + 1])


@given(passages_with_quotes())
def test_quote_from_the_passage_is_found_whatever_its_spacing(sample: tuple[str, str]) -> None:
    passage, quote = sample
    found = locate_all([quote], passage)[0]
    assert found.found
    assert normal(passage[found.start : found.end]) == normal(quote)


@given(st.text(), st.text())
def test_any_quote_is_found_exactly_where_the_normal_texts_say_so(quote: str, passage: str) -> None:
    for found in locate_all([quote], passage):
        assert found.found == (normal(quote) in normal(passage))
        assert not found.found or normal(passage[found.start : found.end]) == normal(quote)


@given(st.text(min_size=1), st.text(min_size=1))
def test_quote_bounds_never_include_white_space_around_it(quote: str, passage: str) -> None:
    for found in locate_all([quote], passage):
        if found.found:
            assert passage[found.start : found.end] == passage[found.start : found.end].strip()


@pytest.mark.parametrize(
    ("quote", "passage", "start", "end"),
    [
        ("b", "a b a b", 2, 3),
        ("moths circle", "At night moths\n\n  circle lamps.", 9, 24),
        ("  circle\tlamps ", "At night moths circle lamps.", 15, 27),
        ("light", "🦋🦋 light", 3, 8),
        ("cd ef", "abcd efgh", 2, 7),
        ("the whole", "the\u00a0whole", 0, 9),
    ],
    ids=["first-of-two", "line-break", "other-blanks", "code-points", "inside-words", "no-break"],
)
def test_quote_offsets_count_code_points_of_the_original(
    quote: str, passage: str, start: int, end: int
) -> None:
    assert locate_all([quote], passage)[0] == Quote(quote, start, end)


@pytest.mark.parametrize(
    ("quote", "passage"),
    [
        ("Moths circle", "moths circle"),
        ("moths' wings", "moths\u2019 wings"),
        ("re\u0301sume\u0301", "r\u00e9sum\u00e9"),
        ("mothscircle", "moths circle"),
        ("moths circle lamps", "moths circle"),
        ("moths", ""),
    ],
    ids=["case", "apostrophe", "accents", "missing-blank", "too-long", "empty-passage"],
)
def test_quote_that_differs_in_more_than_white_space_is_not_found(quote: str, passage: str) -> None:
    assert locate_all([quote], passage)[0] == Quote(quote, None, None)


def test_empty_quotes_are_ignored_and_order_is_kept() -> None:
    assert locate_all(["b", "", " \n", "x", "a"], "a b") == (
        Quote("b", 2, 3),
        Quote("x", None, None),
        Quote("a", 0, 1),
    )
