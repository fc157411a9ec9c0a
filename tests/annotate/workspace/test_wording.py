"""Hints about aspects by their words alone."""

import pytest

from annotate.workspace.wording import close_pairs, count_sentences


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("No stop", 1),
        ("One. Two.", 2),
        ("One! Two? Three", 3),
        ("E.g. this one, cf. Smith et al. (2020).", 1),
        ("LEDs emit 3.5 times less.", 1),
        ("Wait... what?", 2),
        ("J. Smith says so.", 1),
    ],
)
def test_sentences_are_counted_roughly(text: str, count: int) -> None:
    assert count_sentences(text) == count


def test_near_duplicates_are_pairs_of_places() -> None:
    texts = [
        "Insects turn their backs toward artificial light.",
        "Heat guides mosquitoes to their hosts.",
        "Toward artificial light insects turn their backs.",
        "Insects turn their backs toward artificial light, which bends their flight into circles.",
        "",
        "",
    ]
    assert close_pairs(texts) == [(0, 2), (0, 3), (2, 3)]


def test_different_points_about_one_subject_are_not_close() -> None:
    texts = [
        "Artificial lights disrupt the innate orientation of insects, which become trapped.",
        "Field evidence shows that attraction follows the spectrum and brightness, not heat.",
        "Heat is a strong cue for some insects when they seek a host.",
        "Many insects are particularly sensitive to short wavelengths.",
    ]
    assert close_pairs(texts) == []


def test_what_an_import_brings_beyond_what_a_form_takes_is_not_compared() -> None:
    one, other = ("".join(f"{side}{n} " for n in range(3000)) for side in "ab")
    assert close_pairs([one, other]) == []
    assert close_pairs([f"{one[:10_000]}{n}" * 2 for n in range(2)]) == [(0, 1)]
