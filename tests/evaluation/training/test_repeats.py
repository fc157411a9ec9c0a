"""Texts that repeat others, exactly or nearly."""

import re

import pytest
from datasketch import MinHash

from evaluation.training.repeats import Repeats
from tests.evaluation.training.room import ASIDE, PAGE

WORDS = [f"word{n}" for n in range(400)]


def found(own: list[str], others: list[str]) -> dict[tuple[int, int], float]:
    return {(mine, other): share for mine, other, share in Repeats(own).among(others)}


def test_the_same_text_is_found_whatever_its_case_and_signs() -> None:
    assert found([ASIDE, "Moist soil."], ["moist  SOIL", PAGE, ASIDE.upper()]) == {
        (1, 0): 1.0,
        (0, 2): 1.0,
    }
    assert found(["", "?!"], ["", "..."]) == {}
    assert found([], [ASIDE]) == found([ASIDE], []) == {}


def test_a_passage_inside_a_long_page_is_found() -> None:
    passage, page = " ".join(WORDS[100:160]), " ".join(WORDS)
    # All its 60 - 4 runs of five words stand in the page.
    assert found([page], ["something else", passage]) == {(0, 1): 1.0}
    # Of 56 runs those of ten foreign words at the end are gone: 46 of 56.
    half = " ".join([*WORDS[100:150], *(f"other{n}" for n in range(10))])
    assert found([page], [half])[0, 0] == pytest.approx(46 / 56)
    # Every tenth word another: of 56 runs, 5 x 6 hold one, but for the ends: 28 are left.
    edited = [f"other{n}" if n % 10 == 9 else word for n, word in enumerate(WORDS[100:160])]
    assert found([page], [" ".join(edited)])[0, 0] == pytest.approx(30 / 56)
    # 11 of 56 are below .3; a phrase is nobody's.
    less = " ".join([*WORDS[100:115], *(f"other{n}" for n in range(45))])
    assert found([page], [less, " ".join(WORDS[:20])]) == {}


def test_shares_agree_with_a_sketch() -> None:
    """Of texts of one length, a share s is a Jaccard index of s / (2 - s)."""
    first = " ".join(WORDS[:300])
    other = " ".join([*WORDS[:280], *(f"other{n}" for n in range(20))])
    (share,) = found([first], [other]).values()
    assert share == 276 / 296
    sketches = []
    for text in (first, other):
        words = re.findall(r"\w+", text)
        sketch = MinHash(num_perm=512, seed=1)
        sketch.update_batch([" ".join(words[at : at + 5]).encode() for at in range(len(words) - 4)])
        sketches.append(sketch)
    assert sketches[0].jaccard(sketches[1]) == pytest.approx(share / (2 - share), abs=0.04)
