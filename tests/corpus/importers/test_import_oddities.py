"""What trips naive loaders, and the test that holds each: a table that must stay true.

The first column is an oddity of real data (`../shared/data/README.md` and the SOURCE notes) or an
edge case of docs/protocol.md 9 that touches loading. Those that have no better place are
tested below the table.
"""

from importlib import import_module

import pytest

from corpus.benchmarks.services import create_benchmark
from corpus.models import GoldVersion, Judgment, Passage, Query, RetrievalRun
from tests.corpus.import_files import bright_row, imported, write_lines

pytestmark = pytest.mark.django_db

READERS, STORED = "tests.corpus.importers.test_import_", "tests.corpus.imports.test_loading"
HERE, TREC, RUNS = f"{READERS}oddities", f"{READERS}trec", f"{READERS}runs"
BRIGHT, PRO, CRANFIELD = f"{READERS}bright", f"{READERS}bright_pro", f"{READERS}cranfield"
STORED_RUNS, LOADING = f"{STORED}_runs", STORED
REAL = "tests.evaluation.releases.test_shared_data"
INVARIANTS = "test_a_broken_invariant_is_one_problem_with_its_place"
ODDITIES = {
    "gold_ids repeats ids in one query": (
        BRIGHT,
        "test_gold_ids_are_a_set_and_repeats_are_counted",
    ),
    "the same text stands in two tasks": (HERE, "test_one_text_in_two_tasks_is_two_queries"),
    'excluded_ids is ["N/A"]': (BRIGHT, "test_na_among_excluded_ids_means_none"),
    "ids hold %27, dots, slashes, brackets": (BRIGHT, "test_ids_come_out_byte_equal"),
    "ties decide scores: the file's order is kept": (HERE, "test_tied_scores_keep_their_order"),
    "runs are shorter than asked": (HERE, "test_a_short_run_is_as_long_as_it_is"),
    "two versions of one gold": (REAL, "test_bright_with_both_golds_and_its_runs"),
    "Cranfield numbers queries by order": (CRANFIELD, "test_queries_are_numbered_by_their_order"),
    "Cranfield's 1 is best": (CRANFIELD, "test_codes_count_down_and_labels_up"),
    "Cranfield's empty documents": (CRANFIELD, "test_what_is_odd_is_counted"),
    "Cranfield's 240, 576 and 578": (REAL, "test_cranfield_as_beir_and_as_trec"),
    "HotpotQA: fewer than ten paragraphs, yes and no": (
        REAL,
        "test_hotpotqa_with_answers_and_unsupporting_paragraphs",
    ),
    "LLMJudge has no passage text": (REAL, "test_llmjudge_people_and_judges"),
    "a judge that never uses the highest label": (REAL, "test_llmjudge_people_and_judges"),
    "comments in qrels": (TREC, "test_judgments_may_be_graded_negative_and_commented"),
    "subtopics in qrels": (TREC, "test_subtopics_make_one_judgment_with_the_highest_label"),
    "junk at the end of run lines": (RUNS, "test_real_runs_with_junk_and_scattered_queries"),
    "query sets that are no queries of BRIGHT": (
        BRIGHT,
        "test_other_query_sets_are_not_read_and_said",
    ),
    # docs/protocol.md 9
    "ranked document absent from corpus": (STORED_RUNS, "test_a_run_is_summed_up"),
    "gold id absent from corpus": (
        LOADING,
        "test_gold_without_text_is_kept_as_ids_and_filled_in_later",
    ),
    "gold document with no aspect": (PRO, INVARIANTS),
    "aspect without documents": (PRO, "test_an_aspect_without_passages_is_odd"),
    "document under two aspects of a query": (PRO, INVARIANTS),
    "document under two queries": (HERE, "test_one_passage_is_gold_of_two_queries"),
    "weight missing for an aspect": (PRO, INVARIANTS),
    "duplicate ids in the corpus": (
        LOADING,
        "test_rows_repeated_in_a_load_are_odd_and_clashing_ones_a_problem",
    ),
    "duplicate ids in a ranking": (RUNS, "test_a_passage_ranked_twice_counts_once"),
    "empty gold": (HERE, "test_a_query_without_gold_comes_in"),
    "empty result list": (HERE, "test_an_empty_result_list_is_a_ranking"),
    "query missing from run": (HERE, "test_a_short_run_is_as_long_as_it_is"),
    "excluded id not in corpus": (HERE, "test_an_excluded_id_that_the_corpus_lacks_is_kept"),
    "excluded id also gold": (BRIGHT, "test_an_id_excluded_and_gold_at_once_is_a_problem"),
    "corrupt run file": (RUNS, "test_bad_lines_are_named"),
}


@pytest.mark.parametrize("oddity", ODDITIES)
def test_every_oddity_has_its_test(oddity) -> None:
    module, name = ODDITIES[oddity]
    assert callable(getattr(import_module(module), name))


@pytest.fixture
def benchmark():
    return create_benchmark(name="Odd", slug="odd", actor=None)


def queries(tmp_path, domain="biology", **changes):
    write_lines(tmp_path / "queries" / f"{domain}.jsonl", [bright_row(**changes)])
    return tmp_path


def ranked(benchmark, tmp_path, content: str, format: str = "trec_run", ending: str = "run"):
    path = tmp_path / "runs" / f"biology.{ending}"
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    run = imported(benchmark, path, format)
    assert (run.status, run.problems) == ("done", [])
    return RetrievalRun.objects.get()


def test_one_text_in_two_tasks_is_two_queries(benchmark, tmp_path) -> None:
    for task in ("theoremqa_questions", "theoremqa_theorems"):
        queries(tmp_path, task, query="Is it so?")
    assert imported(benchmark, tmp_path, "bright").status == "done"
    assert list(Query.objects.values_list("domain__name", "qid", "text")) == [
        ("theoremqa_questions", "0", "Is it so?"),
        ("theoremqa_theorems", "0", "Is it so?"),
    ]
    assert Passage.objects.filter(pid="a/b_0.txt").count() == 2


def test_tied_scores_keep_their_order(benchmark, tmp_path) -> None:
    imported(benchmark, queries(tmp_path), "bright")
    content = "".join(f"0 Q0 {pid} {n} 1.0 t\n" for n, pid in enumerate("cab", start=1))
    assert ranked(benchmark, tmp_path, content).lists.get().pids == ["c", "a", "b"]


def test_a_short_run_is_as_long_as_it_is(benchmark, tmp_path) -> None:
    rows = [bright_row(id="0"), bright_row(id="1")]
    write_lines(tmp_path / "queries" / "biology.jsonl", rows)
    imported(benchmark, tmp_path, "bright")
    run = ranked(benchmark, tmp_path, "0 Q0 a/b_0.txt 1 2 t\n0 Q0 a/b_1.txt 2 1 t\n")
    assert (run.query_count, run.depth, run.unknown_count) == (1, 2, 0)


def test_one_passage_is_gold_of_two_queries(benchmark, tmp_path) -> None:
    rows = [bright_row(id="0", gold_ids=["same"]), bright_row(id="1", gold_ids=["same"])]
    write_lines(tmp_path / "queries" / "biology.jsonl", rows)
    assert imported(benchmark, tmp_path, "bright").status == "done"
    assert (Passage.objects.count(), Judgment.objects.count()) == (1, 2)


def test_a_query_without_gold_comes_in(benchmark, tmp_path) -> None:
    run = imported(benchmark, queries(tmp_path, gold_ids=[]), "bright")
    assert (run.status, Query.objects.count(), Judgment.objects.count()) == ("done", 1, 0)
    assert not GoldVersion.objects.exists()


def test_an_empty_result_list_is_a_ranking(benchmark, tmp_path) -> None:
    imported(benchmark, queries(tmp_path), "bright")
    run = ranked(benchmark, tmp_path, '{"0": {}}', "score_json", "json")
    assert (run.query_count, run.depth, run.lists.get().pids) == (1, 0, [])


def test_an_excluded_id_that_the_corpus_lacks_is_kept(benchmark, tmp_path) -> None:
    run = imported(benchmark, queries(tmp_path, excluded_ids=["not/here_0.txt"]), "bright")
    assert run.status == "done"
    assert Query.objects.get().excluded_ids == ["not/here_0.txt"]
    assert not Passage.objects.filter(pid="not/here_0.txt").exists()
