"""The versions of DIVER as steps, and where the paper prints them (docs/protocol.md 5.7)."""

import pytest

from evaluation.pipelines.grid import _printed
from evaluation.pipelines.plan import PRESETS, RETRIEVER, steps_of
from evaluation.pipelines.plan import printed_of as place_of
from evaluation.pipelines.printed import printed_of


def kinds(preset: str, *, is_bm25: bool = False) -> list[str]:
    return [each.kind for each in steps_of(preset, is_bm25=is_bm25)]


def test_versions_expand_merge_and_rerank() -> None:
    assert kinds("v1") == ["expand", "compute", "hybrid", "pointwise"]
    assert kinds("v2") == [*kinds("v1"), "listwise", "merge"]
    assert kinds("v3") == ["expand", "compute", "hybrid", "groupwise"]
    assert kinds("v1", is_bm25=True) == ["expand", "pointwise"]


def test_each_step_is_made_of_earlier_ones() -> None:
    for preset in PRESETS:
        for is_bm25 in (True, False):
            known = {RETRIEVER}
            for each in steps_of(preset, is_bm25=is_bm25):
                assert known >= set(each.of)
                known.add(each.name)


@pytest.mark.parametrize(
    ("preset", "step", "mean"),
    [
        ("v1", "pointwise", 41.6),
        ("v2", "merged", 45.8),
        ("v3", "groupwise", 46.8),
        ("v1", RETRIEVER, 28.9),
        ("v3", RETRIEVER, 31.9),
        ("v1", "expanded", 33.9),
        ("v2", "hybrid", 37.2),
        ("v2", "pointwise", None),
        ("v3", "hybrid", None),
    ],
)
def test_steps_stand_beside_what_the_paper_prints(preset, step, mean) -> None:
    is_last = step == steps_of(preset, is_bm25=False)[-1].name
    found = _printed(preset, step, is_last=is_last)
    assert found == (None if mean is None else pytest.approx(mean / 100))
    assert (place_of(preset, step, is_last=is_last) is None) == (mean is None)


def test_means_over_the_twelve_sets_are_computed_anew() -> None:
    """BM25 on the queries as they are: (18.9 + 27.2 + 14.9 + 12.5 + 13.6 + 18.4 + 15.0 + 24.4 + 7.9
    + 6.2 + 10.4 + 4.9) / 12 = 174.3 / 12 = 14.525, printed 14.5."""
    found = printed_of()
    bm25 = next(each for each in found if each.way.retriever == "BM25")
    assert (bm25.mean, bm25.anew) == (14.5, pytest.approx(174.3 / 12))
    hybrids = [each for each in found if "hybrid" in each.way.method]
    assert [(e.way.retriever, e.mean) for e in hybrids] == [
        ("ReasonIR-8B", 35.7),
        ("DIVER-Retriever(v1)", 37.2),
    ]
    # Both tables of BM25 with GPT-4's words average correctly (docs/protocol.md 7, row 44).
    assert {e.mean for e in found if e.way.retriever == "BM25" and "GPT-4" in e.way.method} == {
        27.0,
        26.5,
    }
    assert not [each for each in found if each.is_off]
