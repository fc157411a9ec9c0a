"""User names: which read alike, and which nobody may have."""

import pytest

from kit.account.names import check_name, looks
from kit.errors import Refused


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("\u0131ngo", "ingo"),  # i without its dot
        ("\u0251nna", "anna"),  # Latin alpha
        ("\u0261eorge", "george"),  # script g
        ("anna", "a\u0274\u0274a"),  # small capitals
        ("lars", "\u0142ars"),  # l with stroke
        ("\u041c\u0410\u0425", "MAX"),  # Cyrillic capitals
        ("\u03a4\u039f\u039c", "TOM"),  # Greek capitals
        ("\u0585\u0570\u0585", "oho"),  # Armenian
        ("rnartin", "martin"),
        ("vvilli", "willi"),
        ("b0b", "BOB"),
    ],
)
def test_names_that_read_alike_look_the_same(name, other) -> None:
    assert looks(name) == looks(other)
    with pytest.raises(Refused, match="reads like"):
        check_name(name, {looks(other): other})


@pytest.mark.parametrize(
    "name",
    [
        "\u04bbanna",
        "\u04cfee",
        "\u0585wen",
        "\u043cax",
        "an\u13aa",
        "x.ann\u0430",
        "\u0430nn@x.org",
    ],
)
def test_a_word_of_two_alphabets_is_no_name(name) -> None:
    with pytest.raises(Refused, match=r"mixes .* and .* letters in a word"):
        check_name(name, {})


@pytest.mark.parametrize(
    "name",
    [
        "anna-9",
        "\u0410\u043d\u043d\u0430",  # Anna in Cyrillic
        "\u0410\u043d\u043d\u0430@example.org",  # of one alphabet in each word
        "\u4f50\u85e4\u306e\u308a\u3053",  # Han and Hiragana
        "Kim\u6c0f",  # Latin and Han
        "\uae40\u91d1",  # Hangul and Han
        "Ya\u02bbqub",  # an Uzbek apostrophe
        "\u0645\u062d\u0645\u062f\u0665",  # Arabic with a digit
        "stra\u00dfe",
    ],
)
def test_names_of_any_alphabet_are_names(name) -> None:
    assert check_name(name, {looks("bob"): "bob"}) == name
