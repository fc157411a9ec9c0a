"""Replies of rerankers and the rankings that follow, by the worked values of the protocol."""

import json

import pytest

from corpus.reranking import rules


@pytest.mark.parametrize(
    ("said", "reference", "strict"),
    [
        ("Relevance score: 8.", 0.8, 0.8),
        ("Relevance score: 10", 1.0, 1.0),
        ("relevance score 7.5", 0.75, 0.75),
        ("Relevance score is 8", None, 0.8),
        ("Relevance score of 8/10", None, 0.8),
        ("**Relevance score:** 9", None, 0.9),
        ("Relevance score: 100", 1.0, None),
        ("Relevance score: 11", 0.1, None),
        ("Score: 6", None, None),
        ("Relevance score: -3", None, None),
        ("Relevance score: 2. Relevance score: 9.", 0.2, None),
        ("Relevance score: 3</think>Relevance score: 4", 0.3, 0.4),
        ("", None, None),
    ],
)
def test_points_are_read_as_the_reference_does_or_strictly(said, reference, strict) -> None:
    assert rules.read_point(said, rules.REFERENCE) == reference
    assert rules.read_point(said, rules.STRICT) == strict


def fenced(listed) -> str:
    return f"<think>```json\n[1]\n```</think>So:\n```json\n{json.dumps(listed)}\n```"


@pytest.mark.parametrize(
    ("said", "reference", "strict"),
    [
        (fenced([3, 1, 2]), [2, 0, 1], [2, 0, 1]),
        (fenced([2]), [1], [1, 0, 2]),  # a short list
        (fenced([2, 7]), None, [1, 0, 2]),  # out of range
        (fenced([2, 2, 0]), None, [1, 0, 2]),
        (fenced([9]), None, None),
        (fenced([]), None, None),
        (fenced(["2"]), None, None),
        (fenced([True]), None, None),
        ("[2, 1, 3]", None, None),  # not fenced
        ("```json\n[2, \n```", None, None),
        ("```json\n[1, 2, 3]\n``` and\n```json\n[3, 2, 1]\n```", [2, 1, 0], [2, 1, 0]),
    ],
)
def test_lists_are_read_with_their_fallbacks(said, reference, strict) -> None:
    assert rules.read_list(said, 3, rules.REFERENCE) == reference
    assert rules.read_list(said, 3, rules.STRICT) == strict


@pytest.mark.parametrize(
    ("said", "reference", "strict"),
    [
        ('<answer>{"[1]": 5, "[2]": 10}</answer>', {0: 0.5, 1: 1.0}, {0: 0.5, 1: 1.0}),
        ('<answer>```json\n{"2": 5}\n```</answer>', {0: 0.0, 1: 0.5}, {1: 0.5}),
        ('<answer>{"[1]": 5, "[9]": 3}</answer>', {0: 0.5, 1: 0.0}, {0: 0.5}),
        ('<answer>{"[1]": 11}</answer>', None, None),
        ('<answer>{"[1]": true}</answer>', None, None),
        ("<answer>[1]</answer>", None, None),
        ("<answer>{}</answer>", None, None),
        ('{"[1]": 5}', None, None),
    ],
)
def test_groups_are_read(said, reference, strict) -> None:
    assert rules.read_group(said, 2, rules.REFERENCE) == reference
    assert rules.read_group(said, 2, rules.STRICT) == strict


def test_interpolation_as_the_paper_and_as_the_script() -> None:
    paper = rules.interpolated([0.8, 0.8, 0.2], [0.5, 0.75, 0.25], 0.6)
    assert paper == pytest.approx([0.68, 0.78, 0.22])
    script = rules.interpolated([0.8, 0.8, 0.2], [0.5, 0.75, 0.25], 0.5)
    assert script == pytest.approx([0.65, 0.775, 0.225])
    # Without a score nothing is made up: the document stands where the retriever put it.
    assert rules.interpolated([None], [0.3], 0.6) == [0.3]
    assert rules.tie_broken([0.8, None], [1.0, 0.25], [12.5, 3.0]) == [92.5, 28.0]


def test_points_and_lists_are_merged_by_the_logarithm_of_their_ranks() -> None:
    found = rules.merged(["a", "b", "c"], ["c", "a", "b"])
    assert {k: round(v, 4) for k, v in found.items()} == {"a": -0.2773, "c": -0.6592, "b": -0.8553}
    assert [pid for pid, _ in rules.ranked(found)] == ["a", "c", "b"]
    # Who is missing stands behind the last.
    assert rules.merged(["a", "b"], ["a"])["b"] == pytest.approx(-0.6931, abs=1e-4)


def test_reciprocal_ranks_are_added_and_who_is_missing_has_none() -> None:
    found = rules.merged(["a", "b", "c"], ["c", "a"], 0.5, rules.RRF)
    # a .5/61 + .5/62, c .5/63 + .5/61, b .5/62 and nothing.
    wanted = {"a": 0.016261, "c": 0.016133, "b": 0.008065}
    assert found == pytest.approx(wanted, abs=1e-6)


def test_groups_repeats_and_their_spread() -> None:
    assert rules.groups([4, 2, 0, 1, 3], 2) == [[4, 2], [0, 1], [3]]
    assert rules.averaged([0.5, 0.7]) == (0.6, pytest.approx(0.1414, abs=1e-4))
    assert rules.averaged([0.5]) == (0.5, None)
    assert rules.averaged([]) == (None, None)


def test_the_oracle_puts_the_relevant_first_and_the_rest_stays() -> None:
    assert rules.oracle(["a", "b", "c", "d"], {"c", "b", "z"}) == [1, 2, 0, 3]
    assert rules.by_place([1, 0]) == {1: 2.0, 0: 1.0}


def test_auc() -> None:
    assert rules.auc([2, 3], [1, 0]) == 1
    assert rules.auc([1, 1], [1, 1]) == 0.5
    assert rules.auc([0], [1]) == 0
