"""docs/protocol.md 6.1 to 6.5: every worked number with its arithmetic."""

from itertools import permutations
from math import log2

import pytest

from evaluation.metrics.faults import MetricFault
from evaluation.metrics.gold import Aspect, Gold
from evaluation.metrics.novelty import aspect_recall
from evaluation.metrics.profiles import PAPER, REFERENCE, STRICT, Family
from evaluation.metrics.ranking import Matched
from evaluation.metrics.run import Run
from evaluation.metrics.scoring import case_of
from tests.evaluation.metrics.toys import ASPECTS, GOLD, RANKING, aspect_gold, one

WEIGHTS = {"d1": (1, 1 / 2), "d2": (1, 1 / 2), "d3": (2, 1 / 3), "d4": (3, 1 / 6)}


def dcg(ranking, alpha=0.5, k=5) -> float:
    """Straight from the formula, one rank after the other."""
    seen: dict[int, int] = {}
    total = 0.0
    for rank, pid in enumerate(ranking[:k], start=1):
        if pid in WEIGHTS:
            aspect, weight = WEIGHTS[pid]
            total += weight * (1 - alpha) ** seen.get(aspect, 0) / log2(rank + 1)
            seen[aspect] = seen.get(aspect, 0) + 1
    return total


def close(value: float):
    return pytest.approx(value, abs=1e-6)


def test_alpha_ndcg_at_3() -> None:
    # d1 1/2 at rank 1; d2 repeats a1 at rank 3: 1/2 * 1/2 / log2 4 = 1/8.
    assert dcg(RANKING, k=3) == close(0.625)
    # Ideal: d1 1/2, d3 1/3 / log2 3, d2 1/4 / log2 4.
    ideal = 1 / 2 + 1 / 3 / log2(3) + 1 / 4 / 2
    assert ideal == close(0.835310)
    assert one(RANKING, aspect_gold(), "alpha_nDCG@3") == close(0.625 / ideal) == close(0.748225)


def test_alpha_ndcg_at_5() -> None:
    # d3 brings a2 at rank 4: 1/3 / log2 5.
    found = 0.625 + 1 / 3 / log2(5)
    assert found == close(0.768559)
    # The ideal order d1, d3, d2, d4 is the best of all 24.
    ideal = 1 / 2 + 1 / 3 / log2(3) + 1 / 4 / 2 + 1 / 6 / log2(5)
    assert ideal == close(0.907089) == close(max(map(dcg, permutations(GOLD))))
    assert one(RANKING, aspect_gold(), "alpha_nDCG@5") == close(found / ideal) == close(0.847280)


def test_alpha_0_is_aspect_weighted_ndcg() -> None:
    # Every repetition counts in full: gains .5, .5, .3333 at ranks 1, 3, 4.
    found = 1 / 2 + 1 / 2 / 2 + 1 / 3 / log2(5)
    ideal = 1 / 2 + 1 / 2 / log2(3) + 1 / 3 / 2 + 1 / 6 / log2(5)
    assert one(RANKING, aspect_gold(), "alpha_nDCG(alpha=0)@5") == close(found / ideal)
    assert found / ideal == close(0.847850)


def test_alpha_1_counts_each_aspect_once() -> None:
    found = 1 / 2 + 1 / 3 / log2(5)
    ideal = 1 / 2 + 1 / 3 / log2(3) + 1 / 6 / 2
    assert one(RANKING, aspect_gold(), "alpha_nDCG(alpha=1)@5") == close(found / ideal)
    assert found / ideal == close(0.810892)


def test_alpha_ndcg_of_another_ranking() -> None:
    # d3 1/3, d1 1/2 / log2 3, d4 1/6 / 2, d2 1/4 / log2 5.
    found = 1 / 3 + 1 / 2 / log2(3) + 1 / 6 / 2 + 1 / 4 / log2(5)
    ranking = ["d3", "d1", "d4", "d2", "x"]
    assert one(ranking, aspect_gold(), "alpha_nDCG@5") == close(found / 0.907089) == close(0.925819)


def test_a_repeated_passage_is_credited_by_the_reference_only() -> None:
    ranking = ["d1", "d1", "d1"]
    # Reference: 1/2 + 1/4 / log2 3 + 1/8 / 2. After de-duplication: 1/2.
    repeated = 1 / 2 + 1 / 4 / log2(3) + 1 / 8 / 2
    assert one(ranking, aspect_gold(), "alpha_nDCG@5", REFERENCE) == close(repeated / 0.907089)
    assert repeated / 0.907089 == close(0.794004)
    assert one(ranking, aspect_gold(), "alpha_nDCG@5", STRICT) == close(0.5 / 0.907089)
    assert close(0.551214) == 0.5 / 0.907089


@pytest.mark.parametrize(
    ("rounds", "k", "value"), [(1, 5, 0.551214), (2, 10, 0.682111), (3, 15, 0.809810)]
)
def test_alpha_ndcg_over_the_unique_passages_of_rounds(rounds, k, value) -> None:
    turns = [
        ["d1", "x1", "x2", "x3", "x4"],
        ["x1", "d3", "x5", "d1", "x6"],
        ["d4", "x7", "x8", "x9", "d2"],
    ]
    # Unique: d1 x1..x4 | d3 x5 x6 | d4 x7 x8 x9 d2, so d3 at 6, d4 at 9, d2 at 13.
    gains = {1: 1 / 2, 6: 1 / 3, 9: 1 / 6, 13: 1 / 4}
    last = {1: 5, 2: 8, 3: 13}[rounds]
    found = sum(gain / log2(rank + 1) for rank, gain in gains.items() if rank <= last)
    so_far = [pid for turn in turns[:rounds] for pid in turn]
    assert one(so_far, aspect_gold(), f"alpha_nDCG@{k}") == close(found / 0.907089) == close(value)
    assert one(turns[0], aspect_gold(), f"alpha_nDCG@{k}") == close(0.551214)


def test_weights_of_any_scale_give_the_same_alpha_ndcg() -> None:
    thirds = {name: Aspect(each.weight / 6, each.passages) for name, each in ASPECTS.items()}
    raw, normalised = (
        one(RANKING, aspect_gold(each), "alpha_nDCG@5") for each in (ASPECTS, thirds)
    )
    assert raw == pytest.approx(normalised, abs=1e-12)


def test_aspect_recall() -> None:
    # At 3 only a1 is found: 1/2. At 5 also a2: 1/2 + 1/3.
    assert one(RANKING, aspect_gold(), "aspect_recall@3") == close(0.5)
    assert one(RANKING, aspect_gold(), "aspect_recall@5") == close(1 / 2 + 1 / 3)


def test_aspect_recall_refuses_raw_weights() -> None:
    matched = Matched.of(Run.of({"q": RANKING}), aspect_gold())
    case = case_of(matched, Family.ASPECT, STRICT)
    # It would be 3 + 2 = 5.
    with pytest.raises(MetricFault, match="query q: its weights add up to 6, not to 1"):
        aspect_recall(case, 5, weights=case.aspects.weight)


def test_an_aspect_without_gold_cannot_be_covered() -> None:
    gold = aspect_gold({**ASPECTS, "a4": Aspect(2, [])})
    perfect = ["d1", "d3", "d4", "d2"]
    # Weights 3, 2, 1, 2: 6 of 8 can be reached; of what is supported, all.
    assert one(perfect, gold, "aspect_recall@5") == close(6 / 8)
    assert one(perfect, gold, "aspect_recall(denominator=supported)@5") == close(1.0)
    # d4 before d2: 1/6 / 2 + 1/4 / log2 5 instead of 1/4 / 2 + 1/6 / log2 5.
    found = 1 / 2 + 1 / 3 / log2(3) + 1 / 6 / 2 + 1 / 4 / log2(5)
    assert one(perfect, gold, "alpha_nDCG@5") == close(found / 0.907089) == close(0.993631)


LETTERS = ["a", "b", "c", "d", "e"]
BEZ = Gold.of({"q": {"b": 1, "e": 1, "z": 1}}, base={"q": {}})


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("nDCG@1", 0.0),
        # b at rank 2; the ideal holds 3 relevant: 1 + 1/log2 3 + 1/2.
        ("nDCG@3", (1 / log2(3)) / (1 + 1 / log2(3) + 1 / 2)),
        ("nDCG@5", (1 / log2(3) + 1 / log2(6)) / (1 + 1 / log2(3) + 1 / 2)),
        ("MAP@5", (1 / 2 + 2 / 5) / 3),
        ("recall@5", 2 / 3),
        ("P@5", 2 / 5),
        ("MRR", 1 / 2),
        ("hit@5", 1.0),
        ("hit@1", 0.0),
        ("F1@5", 2 * (2 / 5) * (2 / 3) / (2 / 5 + 2 / 3)),
        ("nDCG_bridge@5", (1 / log2(3) + 1 / log2(6)) / (1 + 1 / log2(3) + 1 / 2)),
    ],
)
def test_the_ladder_of_binary_measures(metric, value) -> None:
    assert one(LETTERS, BEZ, metric) == close(value)
    assert one(LETTERS, BEZ, metric, REFERENCE) == close(value)


def test_the_printed_values_of_the_ladder() -> None:
    found = [one(LETTERS, BEZ, f"nDCG@{k}") for k in (3, 5)]
    assert found == [pytest.approx(0.29608, abs=1e-5), pytest.approx(0.47762, abs=1e-5)]
    assert one(LETTERS, BEZ, "F1@5") == close(0.5)
    assert one(LETTERS, BEZ, "nDCG_bridge@5") == close(0.477624)


def test_graded_gain_linear_and_exponential() -> None:
    gold = Gold.of({"q": {"a": 3, "b": 1, "c": 2}})
    ideal = 3 + 2 / log2(3) + 1 / 2
    linear = (1 + 2 / log2(3) + 3 / 2) / ideal
    assert one(["b", "c", "a"], gold, "nDCG") == close(linear) == close(0.789998)
    exponential = (1 + 3 / log2(3) + 7 / 2) / (7 + 3 / log2(3) + 1 / 2)
    assert one(["b", "c", "a"], gold, "nDCG_exp@3") == close(exponential) == close(0.680606)
    # The paper prints the exponential form.
    assert one(["b", "c", "a"], gold, "nDCG@3", PAPER) == close(0.680606)


@pytest.mark.parametrize(("count", "ratio"), [(12, 0.8922), (17, 0.7160), (30, 0.4959)])
def test_bridge_does_not_cut_its_ideal(count, ratio) -> None:
    gold = Gold.of({"q": {f"g{n:02}": 1 for n in range(count)}})
    perfect = [f"g{n:02}" for n in range(10)]
    top, everything = (sum(1 / log2(r + 1) for r in range(1, n + 1)) for n in (10, count))
    assert one(perfect, gold, "nDCG_bridge@10") == close(top / everything)
    assert top / everything == pytest.approx(ratio, abs=5e-5)
    assert one(perfect, gold, "nDCG@10") == 1.0


def test_filling_holes_lowers_bridges_ndcg_more() -> None:
    ranking = ["o", "h01", "x1", "h02", "x2", "x3", "x4", "x5", "x6", "x7"]
    before = Gold.of({"q": {"o": 1}})
    after = Gold.of({"q": {"o": 1, **{f"h{n:02}": 1 for n in range(1, 17)}}})
    assert one(ranking, before, "nDCG_bridge@10") == 1.0
    found = 1 + 1 / log2(3) + 1 / log2(5)
    ideal_17, ideal_10 = (sum(1 / log2(r + 1) for r in range(1, n + 1)) for n in (17, 10))
    assert one(ranking, after, "nDCG_bridge@10") == close(found / ideal_17) == close(0.324877)
    assert one(ranking, after, "nDCG@10") == close(found / ideal_10) == close(0.453743)
