"""What must hold for any run: bounds, monotonicity, indifference to how things are written."""

from dataclasses import replace
from itertools import pairwise
from math import inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.metrics.gold import Aspect, Gold
from evaluation.metrics.profiles import PROFILES, REFERENCE, STRICT
from evaluation.metrics.run import Run
from evaluation.metrics.scoring import score
from tests.evaluation.metrics.toys import every_metric, one

PIDS = [f"p{n}" for n in range(12)]
CUTS = (1, 2, 5, 20)
ALL = every_metric(*CUTS)
lists = st.dictionaries(st.sampled_from(PIDS), st.sampled_from([0.0, 0.5, 1.0, 2.5]), max_size=12)
# ln .00001 to ln 1; two aspects of a passage at ranks 1, 2, ... gain what they gain.
BOUNDS = {
    **dict.fromkeys(("gm_map", "gm_bpref"), (log(0.00001), 0.0)),
    "alpha_DCG": (0.0, inf),
}
runs = st.dictionaries(st.sampled_from(["q1", "q2", "q3", "q9"]), lists, max_size=4)


@st.composite
def golds(draw) -> Gold:
    labels, aspects, base = {}, {}, {}
    for qid in ("q1", "q2", "q3"):
        labels[qid] = draw(
            st.dictionaries(st.sampled_from(PIDS), st.integers(-1, 3), min_size=1, max_size=8)
        )
        relevant = [pid for pid, label in labels[qid].items() if label > 0]
        aspects[qid] = {f"a{k}": Aspect(draw(st.integers(1, 5)), relevant[k::3]) for k in range(3)}
        base[qid] = dict.fromkeys(draw(st.sets(st.sampled_from(PIDS), max_size=3)), 1)
    return Gold.of(labels, aspects=aspects, base=base)


@given(runs, golds(), st.sampled_from(sorted(PROFILES)))
def test_every_value_lies_between_0_and_1_and_undefined_ones_say_why(run, gold, profile) -> None:
    scores = score(Run.of(run), gold, ALL, PROFILES[profile])
    for metric in scores.metrics.values():
        least, most = BOUNDS.get(metric.name.split("@")[0], (0.0, 1.0))
        for _, value, why in metric.rows():
            assert (value is None) == bool(why)
            assert value is None or least <= value <= most + 1e-9


@pytest.mark.slow
@given(runs, golds())
def test_a_deeper_cut_never_finds_less(run, gold) -> None:
    scores = score(Run.of(run), gold, ALL)
    for name in ("recall", "hit", "MAP", "MRR", "aspect_recall", "new_aspect"):
        values = [scores[f"{name}@{k}"].values for k in CUTS]
        for less, more in pairwise(values):
            assert (less <= more + 1e-12).all()


@st.composite
def shared_aspects(draw) -> dict:
    """Labels and aspects of which a passage may support several."""
    labels, aspects = {}, {}
    for qid in ("q1", "q2", "q3"):
        gold = draw(st.lists(st.sampled_from(PIDS), min_size=1, max_size=8, unique=True))
        labels[qid] = {pid: n % 3 + 1 for n, pid in enumerate(gold)}
        support = draw(st.lists(st.sets(st.integers(0, 3), min_size=1), min_size=8, max_size=8))
        aspects[qid] = {
            f"a{k}": Aspect(k + 1, named)
            for k in range(4)
            if (named := [pid for pid, own in zip(gold, support, strict=False) if k in own])
        }
    return {"labels": labels, "aspects": aspects}


@pytest.mark.slow
@given(st.lists(runs, min_size=2, max_size=3), shared_aspects(), st.integers(1, 2))
def test_what_a_gold_keeps_changes_no_run(several, given, least) -> None:
    """Ideal orders are kept for further runs, cut-offs, alphas and labels; a new gold has none."""
    asked = ("alpha_nDCG@2", "alpha_nDCG@20,alpha_nDCG", "alpha_nDCG(alpha=1)@3")
    kept = Gold.of(**given)
    for run in several:
        for profile in (STRICT, replace(STRICT, relevant_from=least)):
            for metrics in asked:
                found = score(Run.of(run), kept, metrics, profile)
                assert found.means == score(Run.of(run), Gold.of(**given), metrics, profile).means
    label = np.where(np.arange(len(kept.pids)) % 2, kept.label, 0)
    fresh = replace(Gold.of(**given), label=label)
    assert (
        score(Run.of(several[0]), kept.with_labels(label), asked[1]).means
        == score(Run.of(several[0]), fresh, asked[1]).means
    )


@given(runs, shared_aspects())
def test_queries_taken_together_have_the_ideals_that_each_has_alone(run, given) -> None:
    together = score(Run.of(run), Gold.of(**given), "alpha_nDCG@3,alpha_nDCG")
    for qid in given["labels"]:
        own = Gold.of(**{name: {qid: each[qid]} for name, each in given.items()})
        alone = score(Run.of(run), own, "alpha_nDCG@3,alpha_nDCG")
        for name, metric in alone.metrics.items():
            assert metric.as_dict()[qid] == pytest.approx(together[name].as_dict()[qid], abs=1e-12)


@pytest.mark.slow
@given(runs, golds(), st.randoms(use_true_random=False))
def test_the_order_of_the_file_does_not_matter(run, gold, random) -> None:
    shuffled = {qid: random.sample(list(run[qid].items()), len(run[qid])) for qid in run}
    other = {qid: dict(shuffled[qid]) for qid in random.sample(list(run), len(run))}
    assert score(Run.of(other), gold, ALL).means == score(Run.of(run), gold, ALL).means


@given(runs, golds(), st.sampled_from([STRICT, REFERENCE]))
def test_only_the_order_of_scores_matters(run, gold, profile) -> None:
    other = {qid: {pid: 8 * value - 3 for pid, value in each.items()} for qid, each in run.items()}
    assert score(Run.of(other), gold, ALL, profile).means == (
        score(Run.of(run), gold, ALL, profile).means
    )


@given(runs, golds())
def test_a_ranking_is_a_run_without_ties(run, gold) -> None:
    ranked = {qid: sorted(each, key=lambda pid: (-each[pid], pid)) for qid, each in run.items()}
    assert score(Run.of(ranked), gold, ALL).means == score(Run.of(run), gold, ALL).means


@pytest.mark.slow
@given(runs, golds())
def test_without_ties_profiles_agree_on_queries_they_score(run, gold) -> None:
    untied = {qid: {pid: float(-n) for n, pid in enumerate(each)} for qid, each in run.items()}
    names = ",".join(name for name in every_metric(5).split(",") if name != "nDCG@5")
    scores = [score(Run.of(untied), gold, names, each) for each in PROFILES.values()]
    for name in scores[0].metrics:
        values = [each[name].as_dict() for each in scores]
        shared = set.intersection(*map(set, values))
        for qid in shared:
            assert len({each[qid] for each in values}) == 1


@given(runs, golds(), st.floats(0.01, 100))
def test_the_scale_of_weights_does_not_matter(run, gold, factor) -> None:
    aspects = gold.aspects
    named: dict = {qid: {} for qid in gold.qids}
    for number, (qid, name) in enumerate(aspects.names):
        pids = [gold.pids[row] for row in aspects.row[aspects.aspect == number]]
        named[qid][name] = Aspect(float(aspects.weight[number]) * factor, pids)
    labels = {qid: {} for qid in gold.qids}
    for query, pid, label in zip(gold.query, gold.pids, gold.label, strict=True):
        labels[gold.qids[query]][pid] = int(label)
    other = Gold.of(labels, aspects=named)
    names = "alpha_nDCG@5,alpha_nDCG(alpha=0)@3,aspect_recall@5"
    ours, theirs = (score(Run.of(run), each, names).means for each in (gold, other))
    assert ours == pytest.approx(theirs, abs=1e-9)


@given(golds())
def test_all_gold_first_is_perfect(gold) -> None:
    perfect = {}
    for number, qid in enumerate(gold.qids):
        rows = range(gold.offsets[number], gold.offsets[number + 1])
        perfect[qid] = {gold.pids[row]: float(gold.label[row]) for row in rows}
    scores = score(Run.of(perfect), gold, "nDCG@5,nDCG_exp@3,recall@20,MAP,MRR,hit@1")
    for metric in scores.metrics.values():
        assert all(value == pytest.approx(1.0) for value in metric.as_dict().values())


@given(lists.filter(bool), st.sampled_from(PIDS))
def test_a_relevant_passage_that_moves_up_never_lowers_a_measure(ranked, pid) -> None:
    gold = Gold.of({"q": {pid: 1, "p0": 1}})
    up = {**ranked, pid: max(ranked.values()) + 1}
    for name in ("nDCG@3", "nDCG_bridge@3", "MAP", "MRR", "recall@2", "P@2"):
        assert one(up, gold, name) >= one(ranked, gold, name) - 1e-12


@given(runs, golds())
def test_excluding_is_the_same_as_never_returning(run, gold) -> None:
    labels = {"q1": {"p1": 1}, "q2": {"p2": 1, "p3": 0}, "q3": {"p5": 1}}
    out = {"q1": ["p3", "p4"], "q2": ["p0"], "q3": ["N/A", "p0"]}
    removed = {"q1": {"p3", "p4"}, "q2": {"p0"}}
    without = {
        qid: {pid: value for pid, value in each.items() if pid not in removed.get(qid, ())}
        for qid, each in run.items()
    }
    names = "nDCG@3,MRR,unjudged@2,P(divisor=returned)@2"
    for profile in PROFILES.values():
        told = score(Run.of(run), Gold.of(labels, excluded=out), names, profile)
        plain = score(Run.of(without), Gold.of(labels), names, profile)
        assert told.means == plain.means
