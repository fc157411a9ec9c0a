"""Measures of a benchmark's own runs under its three golds."""

import math

import pytest

from evaluation.metrics.faults import MetricFault
from evaluation.metrics.profiles import REFERENCE, STRICT
from evaluation.metrics.reading.inputs import read_joined
from evaluation.metrics.reading.runs import read_run
from evaluation.metrics.scoring import score
from evaluation.scores.services import GoldView
from tests.corpus.import_files import imported
from tests.evaluation.conftest import scores_of
from tests.factories import make_benchmark, make_gold, make_passage, make_query, make_ranking


@pytest.fixture
def ranked(garden):
    """bm25 in both domains, dense in one. biology-7: gold b0, refused b1, hole b2."""
    make_ranking(garden.query, "b3", "b2", "b1", "b0", scores=[4, 3, 2, 1])
    make_ranking(garden.plain, "e0", "e1", scores=[2.0, 1.0])
    make_ranking(garden.query, "b0", "b1", name="dense")
    return garden


def scored(garden, metrics, view=GoldView.REFINED, profile=STRICT):
    """bm25 and dense."""
    return scores_of(garden.benchmark, metrics, view, profile).values()


@pytest.mark.parametrize(
    ("view", "bm25", "dense"),
    [
        # base: b0 and b1. refined: b2, too. expert: b0 and b2.
        ("base", 1 / 2, 2 / 2),
        ("refined", 2 / 3, 2 / 3),
        ("expert", 1 / 2, 1 / 2),
    ],
)
def test_recall_under_each_gold(ranked, view, bm25, dense) -> None:
    found = scored(ranked, "recall@3", GoldView(view))
    values = [each["biology"]["recall@3"].as_dict() for each in found]
    assert values == [{"7": pytest.approx(bm25)}, {"7": pytest.approx(dense)}]


def test_imported_subtopics_are_aspects_as_in_their_file(tmp_path, db) -> None:
    folder, run = tmp_path / "web", tmp_path / "web.run"
    folder.mkdir()
    (folder / "topics.txt").write_text("1\tmoths\n2\tponies\n")
    (folder / "docs.txt").write_text("".join(f"d{n}\ttext {n}\n" for n in range(4)))
    qrels = folder / "qrels.txt"
    # Query 1: d0 is of both subtopics, d1 of the second. Query 2: nothing is of its only one.
    qrels.write_text("1 1 d0 1\n1 2 d0 2\n1 1 d1 0\n1 2 d1 1\n2 1 d2 0\n")
    run.write_text("1 Q0 d1 1 3 s\n1 Q0 d0 2 2 s\n2 Q0 d2 1 1 s\n")
    benchmark = make_benchmark("web")
    assert imported(benchmark, folder, "trec").status == "done"
    assert imported(benchmark, run, "trec_run").status == "done"
    metrics = "aspect_recall@1,alpha_nDCG@2"
    (found,) = scores_of(benchmark, metrics, GoldView.REFINED, STRICT).values()
    # The first, d1, covers one of two aspects.
    assert found["web"]["aspect_recall@1"].as_dict() == {"1": 0.5}
    # It gains 1, d0 then 1 + 1/2 at the second place; at best d0 gains 2 and d1 then 1/2.
    gain, best = 1 + 1.5 / math.log2(3), 2 + 0.5 / math.log2(3)
    assert found["web"]["alpha_nDCG@2"].as_dict() == {"1": pytest.approx(gain / best)}
    of_files = score(read_run(run).run, read_joined(qrels, profile=STRICT)[0], metrics)
    for name, values in of_files.metrics.items():
        assert list(values.rows()) == list(found["web"][name].rows())


def test_holes_and_what_nobody_judged(ranked) -> None:
    bm25, _ = scored(ranked, "hole@4,unjudged@4")
    found = {name: each.mean for name, each in bm25["biology"].metrics.items()}
    # b2 is a hole, b3 has no label.
    assert found == {"hole@4": 1 / 4, "unjudged@4": 1 / 4}


def test_aspects_with_their_weights(ranked) -> None:
    bm25, dense = scored(ranked, "aspect_recall@2", GoldView.EXPERT)
    # a1 (3 of 4) is supported by b0, a2 (1 of 4) by b2.
    found = [each["biology"]["aspect_recall@2"].mean for each in (bm25, dense)]
    assert found == [1 / 4, 3 / 4]
    plain = bm25["earth_science"]["aspect_recall@2"]
    assert (plain.mean, plain.skipped) == (None, {"no aspects": 1})


def test_an_unfinished_annotation_is_counted(ranked) -> None:
    bm25, _ = scored(ranked, "alpha_nDCG@5")
    left_out = "gold passages without an aspect, left out of the measures of aspects"
    assert bm25["biology"].counts[left_out] == 1


def test_queries_that_a_run_does_not_hold(ranked) -> None:
    other = make_query(ranked.benchmark, "8", "biology")
    make_gold(other, make_passage(ranked.benchmark, "b8", "biology"))
    _, dense = scored(ranked, "MRR")
    assert dense["biology"]["MRR"].mean == 0.5
    _, dense = scored(ranked, "MRR", profile=REFERENCE)
    assert dense["biology"]["MRR"].mean == 1.0


def test_excluded_passages_leave_the_list(ranked) -> None:
    ranked.query.excluded_ids = ["b3"]
    ranked.query.save()
    bm25, _ = scored(ranked, "MRR")
    assert bm25["biology"]["MRR"].mean == 1.0
    assert bm25["biology"].counts["excluded"] == 1


def test_what_is_excluded_and_gold_at_once_is_refused(ranked) -> None:
    ranked.query.excluded_ids = ["b0"]
    ranked.query.save()
    with pytest.raises(MetricFault, match="query 7: b0 is excluded and gold at once"):
        scored(ranked, "MRR")
