"""docs/protocol.md 1.5 and 6.5: holes on a toy of three systems, and one tie by three rules."""

from math import log2

import numpy as np
import pytest

from evaluation.metrics.gold import Aspect, Gold
from evaluation.metrics.novelty import alpha_ndcg
from evaluation.metrics.profiles import REFERENCE, STRICT, Family
from evaluation.metrics.ranking import Matched
from evaluation.metrics.run import Run
from evaluation.metrics.scoring import case_of
from tests.evaluation.metrics.toys import aspect_gold, scored


def close(value: float):
    return pytest.approx(value, abs=1e-6)


ORIGINAL = {"q1": {"o1": 1}, "q2": {"o2": 1}}
FILLED = Gold.of(
    {"q1": {"o1": 1, "h1": 1, "h2": 1}, "q2": {"o2": 1, "h3": 1}},
    base=ORIGINAL,
)
SYSTEMS = {
    "A": {"q1": ["o1", "h1", "x1"], "q2": ["x2", "o2", "x3"]},
    "B": {"q1": ["h1", "h2", "x1"], "q2": ["h3", "x2", "x4"]},
    "C": {"q1": ["o1", "x5", "h2"], "q2": ["o2", "h3", "x6"]},
}


@pytest.mark.parametrize(
    ("system", "value"), [("A", (1 / 3 + 0) / 2), ("B", (2 / 3 + 1 / 3) / 2), ("C", 2 / 6)]
)
def test_holes_at_3(system, value) -> None:
    assert scored(SYSTEMS[system], FILLED, "hole@3")["hole@3"].mean == close(value)


def test_holes_turn_misses_into_hits() -> None:
    before = scored(SYSTEMS["B"], Gold.of(ORIGINAL), "hit@3")["hit@3"].mean
    after = scored(SYSTEMS["B"], FILLED, "hit@3")["hit@3"].mean
    assert (before, after) == (0.0, 1.0)


def test_ties_by_three_rules() -> None:
    run = {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}
    gold_c, gold_a = Gold.of({"q": {"c": 1}}), Gold.of({"q": {"a": 1}})
    assert scored(run, gold_c, "MRR", REFERENCE)["MRR"].mean == 1.0
    assert scored(run, gold_a, "MRR", REFERENCE)["MRR"].mean == close(1 / 3)
    assert scored(run, gold_a, "MRR", STRICT)["MRR"].mean == 1.0
    # The script of alpha-nDCG keeps the order of the dict.
    gold = aspect_gold({"a1": Aspect(1, ["b"])}, {"b": 1})
    run = {"q": {"b": 1.0, "a": 1.0, "c": 1.0}}
    assert scored(run, gold, "alpha_nDCG@3", REFERENCE)["alpha_nDCG@3"].mean == 1.0
    assert scored(run, gold, "alpha_nDCG@3", STRICT)["alpha_nDCG@3"].mean == close(1 / log2(3))


def test_an_empty_list_stops_bridges_code_only() -> None:
    gold = Gold.of({"q": {"a": 1}}, base={})
    names = "nDCG_bridge@3,F1@3,hole@3,MRR"
    scores = scored({"q": {}}, gold, names, REFERENCE)
    why = "empty list, where the source's code divides by zero"
    assert [each.skipped for each in scores.metrics.values()] == [{why: 1}] * 3 + [{}]
    assert scores["MRR"].mean == 0.0
    assert set(scored({"q": {}}, gold, names, STRICT).means.values()) == {0.0}


def test_other_labels_are_another_case() -> None:
    gold = aspect_gold({"a1": Aspect(1, ["a"]), "a2": Aspect(1, ["b"])}, {"a": 1, "b": 1})
    case = case_of(Matched.of(Run.of({"q": ["a", "x"]}), gold), Family.ASPECT, STRICT)
    # One of two aspects at rank 1; without b all there is.
    assert alpha_ndcg(case, 5).values.tolist() == [close(1 / (1 + 1 / log2(3)))]
    without_b = case.with_labels(np.array([1, 0]))
    assert alpha_ndcg(without_b, 5).values.tolist() == [1.0]
