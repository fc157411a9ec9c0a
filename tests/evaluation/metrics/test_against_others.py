"""Equal to pytrec_eval and pyndeval on random runs, and to NIST's own outputs."""

import random
import shutil
from dataclasses import replace
from itertools import product
from pathlib import Path

import ir_measures
import pyndeval
import pytest
import pytrec_eval

from evaluation.metrics.faults import MetricFault
from evaluation.metrics.gold import Aspect, Gold
from evaluation.metrics.profiles import REFERENCE, STRICT, TREC_EVAL
from evaluation.metrics.run import Run
from evaluation.metrics.scoring import score

RUNS = 1000
TREC = {
    "nDCG": "ndcg",
    "nDCG@3": "ndcg_cut_3",
    "nDCG@10": "ndcg_cut_10",
    "recall@3": "recall_3",
    "recall@10": "recall_10",
    "P@3": "P_3",
    "P@10": "P_10",
    "MAP": "map",
    "MAP@3": "map_cut_3",
    "MRR": "recip_rank",
    "hit@1": "success_1",
    "hit@10": "success_10",
    "Rprec": "Rprec",
    "bpref": "bpref",
    "infAP": "infAP",
    "set_map": "set_map",
    "set_F": "set_F",
    "set_P": "set_P",
    "set_recall": "set_recall",
    "Rndcg": "Rndcg",
    "ndcg_rel": "ndcg_rel",
    "G": "G",
    "binG": "binG",
    "relative_P@5": "relative_P_5",
    "set_relative_P": "set_relative_P",
}
WHOLE = {"Rprec", "bpref", "infAP", "set_map", "set_F", "set_P", "set_recall"}
WHOLE |= {"Rndcg", "ndcg_rel", "G", "binG", "relative_P.5", "set_relative_P"}
ASKED = {"ndcg", "ndcg_cut.3,10", "recall.3,10", "P.3,10", "map", "map_cut.3", "recip_rank"}


def random_case(rng: random.Random) -> tuple[dict, dict]:
    """Few ids and few distinct scores, so that ties are common; some scores differ by 1e-9."""
    ids = [f"d{n}" for n in range(rng.randint(1, 25))] + ["é", "Z", "z/1_2.txt"]
    run, qrels = {}, {}
    for qid in ("q1", "q2", "q3"):
        found = rng.sample(ids, rng.randint(0, len(ids)))
        levels = rng.choice([2, 5, 1000])
        run[qid] = {pid: rng.randrange(levels) / 3 + rng.randrange(2) * 1e-9 for pid in found}
        judged = rng.sample(ids, rng.randint(1, len(ids)))
        qrels[qid] = {pid: rng.choice([-1, 0, 0, 1, 1, 2, 3]) for pid in judged}
        qrels[qid][rng.choice(judged)] = rng.choice([1, 2])
    return run, qrels


@pytest.mark.parametrize("level", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_trec_measures_equal_pytrec_eval(level) -> None:
    rng = random.Random(level)
    run, qrels = {}, {}
    for number in range(RUNS):
        for part, whole in zip(random_case(rng), (run, qrels), strict=True):
            whole.update({f"{number}-{qid}": each for qid, each in part.items()})
    # bpref of an empty list reads where nothing is, and ended the process once: all of it is 0.
    ranked = {qid: found for qid, found in run.items() if found}
    theirs = pytrec_eval.RelevanceEvaluator(
        qrels, {*ASKED, *WHOLE, "success.1,10"}, relevance_level=level
    ).evaluate(ranked)
    profile = replace(REFERENCE, relevant_from=level)
    scores = score(Run.of(run), Gold.of(qrels), ",".join(TREC), profile)
    assert 2.5 * RUNS < len(theirs) == len(ranked) < 3 * RUNS == len(run)
    for name, metric in zip(TREC.values(), scores.metrics.values(), strict=True):
        found = {qid: value or 0.0 for qid, value, _ in metric.rows()}
        wanted = {qid: theirs[qid][name] if qid in theirs else 0.0 for qid in found}
        assert found == pytest.approx(wanted, abs=1e-9), name


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval is a Perl script")
def test_err_equals_gdeval() -> None:
    rng = random.Random(7)
    qrels, run = {}, {}
    for number in range(60):
        judged = rng.sample(range(40), 12)
        qrels[str(number)] = {f"d{n:02}": rng.choice([0, 1, 2, 3, 4]) for n in judged}
        qrels[str(number)][f"d{judged[0]:02}"] = 1
        ranked = rng.sample(range(40), 25)
        run[str(number)] = {f"d{n:02}": float(-place) for place, n in enumerate(ranked)}
    scores = score(Run.of(run), Gold.of(qrels), "ERR@5,ERR@20")
    for k in (5, 20):
        asked = ir_measures.parse_measure(f"ERR@{k}")
        theirs = {each.query_id: each.value for each in asked.iter_calc(qrels, run)}
        # gdeval prints five digits.
        assert scores[f"ERR@{k}"].as_dict() == pytest.approx(theirs, abs=1e-5)
    # Worked: labels 4 at rank 1, 1 at rank 2: 15/16 + 1/2 x 1/16 x 1/16.
    small = score(Run.of({"q": {"a": 2.0, "b": 1.0}}), Gold.of({"q": {"a": 4, "b": 1}}), "ERR")
    assert small["ERR"].mean == pytest.approx(15 / 16 + 1 / 512)
    with pytest.raises(MetricFault, match="labels up to 4"):
        score(Run.of({"q": {"a": 2.0}}), Gold.of({"q": {"a": 5}}), "ERR@20")


def test_gm_bpref_is_the_geometric_mean_of_bpref() -> None:
    # bpref of 1: one of two relevant stands before the irrelevant one, 1/2; of 2: none found.
    qrels = {"1": {"a": 1, "b": 1, "c": 0}, "2": {"a": 1, "b": 0}}
    run = Run.of({"1": {"a": 3.0, "c": 2.0}, "2": {"b": 1.0}})
    scores = score(run, Gold.of(qrels), "bpref,gm_bpref")
    assert scores["bpref"].mean == pytest.approx((1 / 2 + 0) / 2)
    assert scores["gm_bpref"].mean == pytest.approx((1 / 2 * 0.00001) ** 0.5)


def random_aspects(rng: random.Random, qid: str, *, most: int) -> tuple[dict, list, dict]:
    """A list without ties, subtopic judgments of up to `most` aspects a passage, and as aspects."""
    ids = [f"d{n:02}" for n in range(20)]
    found = rng.sample(ids, rng.randint(1, 20))
    support = {
        pid: rng.sample(range(1, 6), rng.randint(1, most))
        for pid in rng.sample(ids, rng.randint(1, 12))
    }
    qrels = [
        pyndeval.SubtopicQrel(qid, str(aspect), pid, 1)
        for pid, aspects in support.items()
        for aspect in aspects
    ]
    aspects = {
        str(k): Aspect(1, [pid for pid, named in support.items() if k in named])
        for named in support.values()
        for k in named
    }
    return {pid: 1.0 - n / 100 for n, pid in enumerate(found)}, qrels, aspects


# Of the eight ways, those that differ in all three.
QUICK = [(STRICT, 0.2, 1), (REFERENCE, 0.5, 3)]
WAYS = [
    pytest.param(*way, marks=[] if way in QUICK else pytest.mark.slow)
    for way in product([STRICT, REFERENCE], [0.5, 0.2], [1, 3])
]


@pytest.mark.parametrize(("profile", "alpha", "most"), WAYS)
def test_alpha_ndcg_equals_pyndeval(profile, alpha, most) -> None:
    rng = random.Random(most)
    run, qrels, aspects = {}, [], {}
    for qid in map(str, range(RUNS)):
        run[qid], judged, aspects[qid] = random_aspects(rng, qid, most=most)
        qrels += judged
    asked = {f"alpha_nDCG(alpha={alpha})@{k}": f"alpha-nDCG@{k}" for k in (5, 10, 20)}
    asked["aspect_recall@10"] = "strec@10"
    ranked = [pyndeval.ScoredDoc(q, pid, value) for q in run for pid, value in run[q].items()]
    theirs = pyndeval.ndeval(qrels, ranked, measures=asked.values(), alpha=alpha)
    labels: dict = {}
    for each in qrels:
        labels.setdefault(each.query_id, {})[each.doc_id] = 1
    gold = Gold.of(labels, aspects=aspects)
    for metric in score(Run.of(run), gold, ",".join(asked), profile).metrics.values():
        expected = {qid: theirs[qid][asked[metric.name]] for qid in run}
        assert metric.as_dict() == pytest.approx(expected, abs=1e-9)


# Ours and ndeval's names of what it computes; every aspect counts alike.
NDEVAL = {
    **{f"{name}@{k}": f"{name}@{k}" for name in ("ERR-IA", "nERR-IA", "P-IA") for k in (1, 5, 20)},
    **{f"{name}@{k}": f"{name}@{k}" for name in ("alpha-DCG", "strec") for k in (1, 5, 20)},
    **{name: name for name in ("NRBP", "nNRBP", "MAP-IA")},
}


@pytest.mark.few(2)
@pytest.mark.parametrize("profile", [STRICT, REFERENCE, TREC_EVAL])
@pytest.mark.parametrize("most", [1, 3])
def test_measures_of_ndeval_equal_pyndeval(profile, most) -> None:
    rng = random.Random(most)
    run, qrels, aspects = {}, [], {}
    for qid in map(str, range(RUNS // 10)):
        run[qid], judged, aspects[qid] = random_aspects(rng, qid, most=most)
        qrels += judged
    ranked = [pyndeval.ScoredDoc(q, pid, value) for q in run for pid, value in run[q].items()]
    theirs = pyndeval.ndeval(qrels, ranked, measures=NDEVAL.values())
    labels: dict = {}
    for each in qrels:
        labels.setdefault(each.query_id, {})[each.doc_id] = 1
    found = score(Run.of(run), Gold.of(labels, aspects=aspects), ",".join(NDEVAL), profile)
    for name, metric in zip(NDEVAL.values(), found.metrics.values(), strict=True):
        assert metric.as_dict() == pytest.approx({q: theirs[q][name] for q in run}, abs=1e-9)


# NIST's name, the suffix it bears in the output, and ours.
NIST = {
    "map": "MAP",
    "recip_rank": "MRR",
    "ndcg": "nDCG",
    **{name: name for name in ("Rprec", "bpref", "infAP", "gm_map", "11pt_avg", "set_F")},
    "set_map": "set_map",
    "set_P": "precision",
    "set_recall": "recall",
    "rbp": "RBP",
    **{f"iprec_at_recall_{n / 20:.2f}": f"iprec_at_recall(recall={n / 20})" for n in range(21)},
    **{f"unj_{k}": f"unjudged@{k}" for k in (5, 10, 20)},
    **{f"P_{k}": f"precision@{k}" for k in (3, 5, 7, 10, 15, 20, 30, 100, 200, 500, 1000)},
    **{f"recall_{k}": f"recall@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000, 2000)},
    **{f"ndcg_cut_{k}": f"nDCG@{k}" for k in (5, 10, 15, 20, 23, 30, 100, 200, 500, 1000)},
    **{f"map_cut_{k}": f"MAP@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)},
    **{f"success_{k}": f"hit@{k}" for k in (1, 2, 5, 10, 20)},
}


def read_run(path: Path) -> dict:
    run: dict = {}
    for line in path.read_text().splitlines():
        qid, _, pid, _, value, *_ = line.split()
        run.setdefault(qid, {})[pid] = float(value)
    return run


def read_qrels(path: Path) -> dict:
    qrels: dict = {}
    for line in path.read_text().splitlines():
        if line.split() and not line.startswith("#"):
            qid, _, pid, label = line.split()[:4]
            qrels.setdefault(qid, {})[pid] = int(label)
    return qrels


def nist_rows(path: Path) -> list[tuple[str, str, str]]:
    """(our name, query id or "all", value as printed) of the measures that we have."""
    lines = (line.split("\t") for line in path.read_text().splitlines())
    return [(NIST[n.strip()], q, v.strip()) for n, q, v in lines if n.strip() in NIST]


@pytest.mark.parametrize("profile", [REFERENCE, TREC_EVAL])
@pytest.mark.parametrize(
    ("expected", "qrels", "run", "changes", "least"),
    [
        ("out.test", "qrels.test", "results.test", {}, 25),
        ("out.test.a", "qrels.test", "results.test", {}, 61),
        ("out.test.aq", "qrels.test", "results.test", {}, 243),
        ("out.test", "qrels.test.with-comments", "results.test", {}, 25),
        # -c: a query that the run does not hold counts 0.
        ("out.test.aqc", "qrels.test", "results.trunc", {"counts_absent": True}, 243),
        # -M100
        (
            "out.test.aqcM",
            "qrels.test",
            "results.trunc",
            {"counts_absent": True, "depth": 100},
            243,
        ),
        # -l2
        ("out.test.aql", "qrels.rel_level", "results.test", {"relevant_from": 2}, 243),
        ("out.test.meas_params", "qrels.test", "results.test", {}, 50),
    ],
)
def test_nists_inputs_give_nists_outputs(
    shared, expected, qrels, run, changes, least, profile
) -> None:
    folder = shared / "trec_eval-tests"
    rows = nist_rows(folder / expected)
    assert len(rows) >= least
    gold, ran = Gold.of(read_qrels(folder / qrels)), Run.of(read_run(folder / run))
    names = ",".join(sorted({name for name, _, _ in rows}))
    scores = score(ran, gold, names, replace(profile, **changes))
    wrong = []
    for name, qid, value in rows:
        found = scores[name].mean if qid == "all" else scores[name].as_dict().get(qid, 0.0)
        if f"{found:.4f}" != value:
            wrong.append((name, qid, value, found))
    assert wrong == []


def test_a_topic_without_a_relevant_passage_counts_as_trec_eval_counts_it(shared) -> None:
    """Of NIST's three topics 303 loses its relevant passages: MAP is (301 + 302 + 0) / 3."""
    folder = shared / "trec_eval-tests"
    alone = {q: float(v) for n, q, v in nist_rows(folder / "out.test.aq") if n == "MAP"}
    qrels = read_qrels(folder / "qrels.test")
    qrels["303"] = dict.fromkeys(qrels["303"], 0)
    run, gold = Run.of(read_run(folder / "results.test")), Gold.of(qrels)
    names = "MAP,gm_map,unjudged@20"
    scores = score(run, gold, names, TREC_EVAL)
    assert scores["MAP"].scored == 3
    assert scores["MAP"].mean == pytest.approx((alone["301"] + alone["302"]) / 3, abs=1e-4)
    # The geometric mean puts .00001 in the place of 0.
    product = alone["301"] * alone["302"] * 0.00001
    assert scores["gm_map"].mean == pytest.approx(product ** (1 / 3), rel=1e-3)
    # What says nothing of relevance stays what NIST printed of it.
    assert scores["unjudged@20"].as_dict() == pytest.approx({"301": 0.1, "302": 0.0, "303": 0.0})
    assert score(run, gold, names, REFERENCE)["MAP"].scored == 2
