"""Ranks out of counting and bisection are those of sorting each list whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.metrics.faults import MetricFault
from evaluation.metrics.gold import Aspect, Gold
from evaluation.metrics.profiles import PROFILES, Tie
from evaluation.metrics.ranking import Matched
from evaluation.metrics.run import Run
from evaluation.metrics.scoring import score
from tests.evaluation.metrics.toys import every_metric

PIDS = [f"p{n}" for n in range(40)]
SCORES = [0.0, 1.0, 1.0 + 1e-9, 2.5, -3.0]
lists = st.dictionaries(st.sampled_from(PIDS), st.sampled_from(SCORES), max_size=40)
runs = st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), lists, max_size=3)


def by_sorting(ranked: dict, tie: Tie) -> list[str]:
    """The whole list in the order of the rule."""
    if tie is Tie.FILE:
        return list(ranked)
    if tie is Tie.GIVEN:
        return sorted(ranked, key=lambda pid: -ranked[pid])
    if tie is Tie.ID:
        return sorted(ranked, key=lambda pid: (-ranked[pid], pid))
    kept = np.float32 if tie is Tie.TREC else float
    return sorted(ranked, key=lambda pid: (kept(ranked[pid]), pid), reverse=True)


@given(
    runs,
    st.sets(st.sampled_from(PIDS), min_size=1),
    st.sets(st.sampled_from(PIDS)),
    st.sampled_from(Tie),
)
def test_ranks_are_those_of_sorting(run, judged, excluded, tie) -> None:
    excluded -= judged
    qids = ["q1", "q2", "q3"]
    gold = Gold.of(
        dict.fromkeys(qids, dict.fromkeys(judged, 1)), excluded=dict.fromkeys(qids, excluded)
    )
    ranked = Matched.of(Run.of(run), gold).ranked(tie)
    found = {
        (gold.qids[query], gold.pids[row]): rank
        for query, row, rank in zip(ranked.query, ranked.row, ranked.rank, strict=True)
    }
    expected = {}
    for qid, each in run.items():
        left = [pid for pid in by_sorting(each, tie) if pid not in excluded]
        places = enumerate(left, start=1)
        expected.update({(qid, pid): rank for rank, pid in places if pid in judged})
    assert found == expected
    in_order = sorted(found, key=lambda pair: (pair[0], found[pair]))
    assert ranked.rank.tolist() == [found[pair] for pair in in_order]


def test_the_depth_cuts_after_exclusion() -> None:
    gold = Gold.of({"q": {"c": 1, "d": 1}}, excluded={"q": ["a"]})
    ranked = Matched.of(Run.of({"q": ["a", "b", "c", "d"]}), gold).ranked(Tie.ID).up_to(2)
    assert (ranked.rank.tolist(), ranked.returned.tolist(), ranked.cut) == ([2], [2], 1)


def test_ties_are_counted_by_list() -> None:
    run = Run.of({"1": {"a": 1, "b": 2, "c": 1}, "2": {}, "3": {"a": 1}, "4": {"a": 1, "b": 1}})
    assert run.tied.tolist() == [2, 0, 0, 2]
    assert run.unsorted == 1


def test_repeated_passages_keep_their_first_place() -> None:
    run = Run.of({"q": ["a", "b", "a", "c", "b"]})
    assert (list(run.lists[0]), run.repeated) == (["a", "b", "c"], 2)
    gold = Gold.of({"q": {"c": 1}})
    assert Matched.of(run, gold).ranked(Tie.ID).rank.tolist() == [3]
    assert Matched.of(run, gold).ranked(Tie.GIVEN, repeats=True).rank.tolist() == [4]


@pytest.mark.parametrize("run", [{}, {"q": {}}, {"z": {"a": 1}}])
@pytest.mark.parametrize("labels", [{}, {"q": {}}, {"q": {"a": 0}}, {"q": {"a": 1}}])
@pytest.mark.parametrize("profile", PROFILES.values(), ids=list(PROFILES))
def test_nothing_at_all_is_no_error(run, labels, profile) -> None:
    aspects = {"q": {"1": Aspect(1, ["a"])}} if labels == {"q": {"a": 1}} else {}
    gold = Gold.of(labels, aspects=aspects, base={})
    means = score(Run.of(run), gold, every_metric(1, 10), profile).means
    # The least value in a geometric mean is .00001.
    for name in ("gm_map", "gm_bpref"):
        assert means.pop(name) in (None, pytest.approx(0.00001))
    assert all(mean in (0.0, None) for mean in means.values())


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ({"q": {"a": float("nan")}}, "query q: a: a score must be a finite number, not nan."),
        ({"q": {"a": float("inf")}}, "query q: a: a score must be a finite number, not inf."),
        ({"q": {"a": "1"}}, "query q: a: a score must be a finite number, not '1'."),
        ({"q": {"a": None}}, "query q: a: a score must be a finite number, not None."),
        ({"q": {"a": True}}, "query q: a: a score must be a finite number, not True."),
        ({"q": {"a": 10**400}}, "query q: a: a score must be a finite number"),
        ({"q": {1: 1.0}}, "query q: passage id '1': an id must be a text."),
        ({"q": {"": 1.0}}, "query q: passage id '': An id cannot be empty."),
        ({"q": ["a", "a\x00"]}, "The text holds a NUL character"),
        ({"q": {"\ud800": 1.0}}, "half of a surrogate pair"),
        ({"": {"a": 1.0}}, "query '': An id cannot be empty."),
    ],
)
def test_what_is_no_run_is_named(run, message) -> None:
    with pytest.raises(MetricFault) as fault:
        Run.of(run)
    assert message in str(fault.value)


def test_many_faults_are_named_and_counted() -> None:
    with pytest.raises(MetricFault) as fault:
        Run.of({"q": {f"p{n}": None for n in range(50)}})
    assert len(fault.value.messages) == 21
    assert fault.value.messages[-1] == "… and 30 more like these."


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"aspects": {"q": {"a1": Aspect(0, ["a"])}}}, "a weight above 0 is needed, not 0"),
        ({"aspects": {"q": {"a1": Aspect(float("nan"), ["a"])}}}, "is needed, not nan"),
        (
            {"aspects": {"q": {"a1": Aspect(1, ["b"])}}},
            "query q: a is gold but supports no aspect.",
        ),
        ({"excluded": {"q": ["a"]}}, "query q: a is excluded and gold at once."),
    ],
)
def test_what_is_no_gold_is_named(more, message) -> None:
    with pytest.raises(MetricFault) as fault:
        Gold.of({"q": {"a": 1}}, **more)
    assert message in str(fault.value)
