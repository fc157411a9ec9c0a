"""Boards of known numbers: RAGAlign with its cells, correlations, uplift, gains, agreement."""

import numpy as np
import pytest
from django.db import connection
from django.utils import timezone

from corpus.models import CleaningRun, CorpusVersion, Domain, Query
from evaluation.models import DomainScore
from evaluation.rag import alignment
from evaluation.rag import board as boards
from evaluation.rag.models import GradeRun, RagRun, RagSource
from evaluation.rag.reading import board_of, generators
from kit.lists.report_tables import ReportTable
from kit.stats.proportions import wilson
from tests.evaluation.rag.boards import CONFIG, Sheets

pytestmark = pytest.mark.django_db

# docs/protocol.md 6.8.
R = [1, 1, 0, 1, 0, 0, 1, 0]
G = [1, 0, 0, 1, 1, 0, 1, 0]
X = [0.9, 0.5, 0.1, 0.8, 0.6, 0.0, 0.7, 0.2]


def scores(hits, gains=None) -> dict[str, dict[str, list]]:
    """By view, before and after alike."""
    values = {"hit@10": hits, "nDCG@10": gains or hits, "recall@10": hits}
    return {"base": values, "refined": values}


def cells(table: ReportTable, *named: str) -> dict[str, object]:
    """The row that begins with these names."""
    (row,) = [r for r in table.rows if tuple(c.value for c in r[: len(named)]) == named]
    return {head: cell.value for head, cell in zip(table.header, row, strict=True)}


@pytest.fixture
def sheets() -> Sheets:
    return Sheets(8)


def named(sheets: Sheets, outcome: str) -> dict[str, ReportTable]:
    return {each.name: each for each in boards.tables(board_of(sheets.run), outcome)}


def test_rag_align_with_its_four_cells_before_and_after(sheets) -> None:
    before = scores([0] * 8)["base"]
    source = sheets.system("bm25", G, {"base": before, "refined": scores(R, X)["refined"]})
    tables = named(sheets, "accuracy")
    # R and G agree in 6 of 8: both in q0, q3, q6; neither in q2, q5, q7; q1 hits and is wrong,
    # q4 misses and is right.
    found = cells(tables["align"], "bm25", "after holes")
    counts = [found[words] for words in alignment.CELLS.values()]
    assert (counts, found["RAGAlign@10"], found["queries"]) == ([3, 1, 1, 3], 0.75, 8)
    (row,) = [
        r for r in tables["align"].rows if [c.value for c in r[:2]] == ["bm25", "after holes"]
    ]
    share = row[tables["align"].header.index("RAGAlign@10")]
    assert (share.low, share.high) == pytest.approx((wilson(6, 8).low, wilson(6, 8).high))
    # Without a hit anywhere only the wrong answers agree: 4 of 8.
    found = cells(tables["align"], "bm25", "before holes")
    assert [found[words] for words in alignment.CELLS.values()] == [0, 0, 4, 4]
    assert found["RAGAlign@10"] == 0.5
    # (.75 - .20) / .337004 * sqrt(4 * 4 / (8 * 7)) = .872357
    found = cells(tables["correlation"], "bm25", "after holes")
    assert found["nDCG@10"] == pytest.approx(0.872357, abs=1e-6)
    assert found["nDCG@10: queries"] == 8
    found = cells(tables["correlation"], "bm25", "before holes")
    assert found["nDCG@10"] is None  # s = 0
    row = board_of(sheets.run).systems.index(source)
    opened = alignment.queries_in(board_of(sheets.run), "accuracy", row, "refined", "miss_correct")
    assert opened == [4]


@pytest.mark.parametrize("same", [[1] * 8, [0] * 8])
def test_a_correlation_with_an_outcome_that_never_varies_is_undefined(sheets, same) -> None:
    sheets.system("bm25", same, scores(R, X))
    found = cells(named(sheets, "accuracy")["correlation"], "bm25", "after holes")
    assert found["nDCG@10"] is None


def test_what_is_left_given_which_queries_can_be_answered(sheets) -> None:
    answerable = [1, 1, 0, 1, 1, 0, 1, 0]
    sheets.source("gold", "gold evidence", answerable)
    sheets.system("bm25", G, scores(R, X))
    found = cells(named(sheets, "accuracy")["correlation"], "bm25", "after holes")
    # x with z: means 3.5 / 5 and .3 / 3 where z is 1 and 0, s = .337004.
    one = (0.7 - 0.1) / 0.337004 * (5 * 3 / (8 * 7)) ** 0.5
    # g with z: both in 4 of 8, (4/8 - 4/8 * 5/8) / sqrt(4/8 * 4/8 * 5/8 * 3/8) = .774597.
    other = (4 / 8 - 4 / 8 * 5 / 8) / (4 / 8 * 4 / 8 * 5 / 8 * 3 / 8) ** 0.5
    expected = (0.872357 - one * other) / ((1 - one**2) * (1 - other**2)) ** 0.5
    assert found["nDCG@10, given answerable"] == pytest.approx(expected, abs=1e-4)


def test_correlations_within_domains_know_nothing_of_what_tells_these_apart(sheets) -> None:
    # Four queries of each domain. Within the first r = .1 / sqrt(.04 * .75) = 1 / sqrt(3), within
    # the second -1 / sqrt(3); both together .8 / sqrt(1.36 * 2) = .485: one is the easier domain.
    zoo = Domain.objects.create(benchmark=sheets.benchmark, name="zoo")
    own, far = sheets.queries[:4], sheets.queries[4:]
    Query.objects.filter(pk__in=[q.pk for q in far]).update(domain=zoo)
    first, second = [1.0, 0.8, 1.0, 0.8], [0.2, 0.0, 0.2, 0.0]
    for name, gains in (("a", first), ("b", [0.8, 1.0, 0.8, 1.0])):
        sheets.queries = own
        source = sheets.system(name, [1, 1, 1, 0], scores([0] * 4, gains))
        for view, values in scores([0] * 4, second).items():
            DomainScore.objects.create(
                sheet=sheets.sheet, run=source.retrieval_run, domain=zoo, view=view,
                qids=[q.qid for q in far], values=values,
            )  # fmt: skip
        source.sheet["queries"] = [q.pk for q in (*own, *far)]
        source.sheet |= {key: [1, 1, 1, 0, 0, 0, 0, 1] for key in ("accuracy", "exact", "f1")}
        source.save()
    tables = named(sheets, "accuracy")
    r = 3**-0.5
    (domain,) = set(board_of(sheets.run).domains) - {"zoo"}
    found = cells(tables["correlation-domains"], "a", "after holes", "nDCG@10")
    assert (found[domain], found["zoo"]) == (pytest.approx(r), pytest.approx(-r))
    assert (found["mean of domains"], found["domains"]) == (pytest.approx(0), 2)
    together = cells(tables["correlation"], "a", "after holes")["nDCG@10"]
    assert together == pytest.approx(0.8 / 2.72**0.5)
    # b's first domain is a's turned round: -1 / sqrt(3) in both, so that the systems' mean is 0 in
    # the first, -1 / sqrt(3) in the second, and half of that over both.
    found = cells(tables["correlation-domains"], "mean of systems", "after holes", "nDCG@10")
    assert (found[domain], found["zoo"]) == (pytest.approx(0), pytest.approx(-r))
    assert found["mean of domains"] == pytest.approx(-r / 2)
    # Nobody hits: each of both is as often wrong as alike, 1 of 4 and 3 of 4.
    found = cells(tables["align"], "mean of systems", "after holes")
    assert [found[name] for name in (domain, "zoo", "mean of domains")] == [0.25, 0.75, 0.5]


def test_of_gold_of_two_corpus_versions_the_newest_is_the_baseline_and_both_are_named(
    sheets,
) -> None:
    sheets.system("bm25", G, scores(R, X))
    answerable = [1, 1, 0, 1, 1, 0, 1, 0]
    sheets.source("gold", "gold evidence", answerable)
    tables = named(sheets, "accuracy")
    alone = cells(tables["correlation"], "bm25", "after holes")["nDCG@10, given answerable"]
    version = CorpusVersion.objects.create(
        benchmark=sheets.benchmark, name="cleaned", state="ready", recipe={"kind": "cleaned"}
    )
    sheets.source("gold", "gold evidence", [0, 1, 1, 1, 0, 0, 1, 1], version=version)
    tables = named(sheets, "accuracy")
    names = [row[0].value for row in tables["generation"].rows]
    assert names == ["gold evidence", "gold evidence, cleaned", "bm25"]
    found = cells(tables["correlation"], "bm25", "after holes")["nDCG@10, given answerable"]
    sheets.run.sources.filter(corpus_version=None, kind="gold").delete()
    only = cells(named(sheets, "accuracy")["correlation"], "bm25", "after holes")
    assert found == only["nDCG@10, given answerable"] != alone
    assert "from gold evidence, cleaned is" in tables["correlation"].notes[1]


def test_a_newer_run_over_some_queries_hides_none_over_all(sheets) -> None:
    whole = sheets.system("bm25", G, scores(R, X))
    part = sheets.source("run", "bm25", [1, 1], retrieval_run=whole.retrieval_run)
    part.run = RagRun.objects.create(
        benchmark=sheets.benchmark, name="some", harness="short", config=CONFIG, endpoint="e",
        model="m", status="done", total=1, done=1,
    )  # fmt: skip
    part.sheet["queries"] = part.sheet["queries"][:2]
    part.save()
    assert list(board_of(part.run).systems) == [whole]
    # As many answers that are newer stand in the older ones' place.
    part.sheet |= {"queries": whole.sheet["queries"]}
    part.sheet |= dict.fromkeys(("accuracy", "exact", "f1"), R)
    part.save()
    assert list(board_of(sheets.run).systems) == [part]


def test_systems_that_retrieve_better_answer_better_and_ranks_shift(sheets) -> None:
    sheets.system("a", [1, 1, 1, 1, 0, 0, 0, 0], scores([1] * 6 + [0] * 2))
    sheets.system("b", [1, 1, 0, 0, 0, 0, 0, 0], scores([1] * 2 + [0] * 6))
    sheets.system("c", [1, 1, 1, 1, 1, 1, 0, 0], scores([1] * 4 + [0] * 4))
    board = board_of(sheets.run)
    found = cells(named(sheets, "accuracy")["systems"], "hit@10", "after holes")
    # Hits .75, .25, .5 and answers .5, .25, .75: r = (.25 * 0 + .25 * .25) / (.125) = .5.
    assert (found["Pearson"], found["systems"]) == (pytest.approx(0.5), 3)
    assert found["rank changed"] == 2  # a falls to 2, c rises to 1, b stays 3
    drawn = {each.title: str(each) for each in boards.charts(board, "accuracy")}
    row = cells(named(sheets, "accuracy")["shift"], "a", "hit@10, after holes")
    # Answers .25 to .75 from 0 to 100: .5 is half way. Retrieval .75 is the best.
    scaled = (row["from 0 to 100"], row["answers from 0 to 100"], row["places won"])
    assert scaled == (100, 50, -1)
    (shift,) = [each for title, each in drawn.items() if "hit@10 after holes" in title]
    assert "a falls from 1 to 2" in shift
    assert "c rises from 2 to 1" in shift


def test_one_system_or_equal_ones_have_no_correlation(sheets) -> None:
    sheets.system("a", G, scores(R))
    assert cells(named(sheets, "accuracy")["systems"], "hit@10", "after holes")["Pearson"] is None
    sheets.system("b", G, scores(R))
    assert cells(named(sheets, "accuracy")["systems"], "hit@10", "after holes")["Pearson"] is None


def test_the_gain_over_no_retrieval_is_paired(sheets) -> None:
    sheets.source("none", "no retrieval", [0, 0, 0, 0, 1, 0, 0, 0])
    sheets.system("bm25", [1, 1, 1, 1, 1, 1, 0, 0], scores(R))
    table = named(sheets, "accuracy")["generation"]
    found = cells(table, "bm25")
    # Six right against one: (6 - 1) / 8 = .625. Of the 2^8 sign patterns only those that keep all
    # five differences on one side are as far: 2 * 2^3 of 2^8 = 1/16.
    assert (found["accuracy"], found["over no retrieval"]) == (0.75, 0.625)
    assert found["p"] == 1 / 16
    (gain,) = [row[2] for row in table.rows if row[0].value == "bm25"]
    assert gain.low is not None
    assert gain.low > 0
    assert cells(table, "no retrieval")["over no retrieval"] is None
    assert table.summary == (
        "bm25 has the highest accuracy of 1 systems: 0.750. The interval of the gain over no "
        "retrieval lies above 0 for 1."
    )


def test_the_distance_to_gold_evidence_is_paired(sheets) -> None:
    sheets.source("none", "no retrieval", [0, 0, 0, 0, 1, 0, 0, 0])
    sheets.source("gold", "gold evidence", [1, 1, 1, 1, 1, 1, 1, 0])
    sheets.system("bm25", [1, 1, 1, 0, 0, 0, 0, 0], scores(R))
    table = named(sheets, "accuracy")["generation"]
    # 3 right against 7: -4 / 8, all four on one side: 2 of 2^4 sign patterns are as far.
    found = cells(table, "bm25")
    assert (found["against gold evidence"], found["p, against gold evidence"]) == (-0.5, 1 / 8)
    (short,) = [row[4] for row in table.rows if row[0].value == "bm25"]
    assert short.high is not None
    assert short.high < 0
    assert cells(table, "no retrieval")["against gold evidence"] == -0.75
    found = cells(table, "gold evidence")
    assert (found["over no retrieval"], found["against gold evidence"]) == (0.75, None)


def test_baselines_stand_in_every_table_of_retrieval_and_answers(sheets) -> None:
    bare = sheets.source("none", "no retrieval", [0, 0, 0, 0, 1, 0, 0, 0])
    sheets.source("gold", "gold evidence", [1, 1, 1, 1, 1, 1, 1, 0])
    for name, right in (("a", G), ("b", R)):
        sheets.system(name, right, scores(R if name == "a" else G))
    tables = named(sheets, "accuracy")
    # Nothing is no hit, so that the 7 wrong ones are alike; gold is a hit: the 7 right ones.
    found = cells(tables["align"], "no retrieval", "by definition")
    assert [found[words] for words in alignment.CELLS.values()] == [0, 0, 1, 7]
    assert found["RAGAlign@10"] == 7 / 8
    found = cells(tables["align"], "gold evidence", "by definition")
    assert [found[words] for words in alignment.CELLS.values()] == [7, 1, 0, 0]
    # a has R for retrieval and G for answers, b the other way round: 6 of 8 are alike in both.
    assert cells(tables["align"], "mean of systems", "after holes")["RAGAlign@10"] == 0.75
    row = board_of(sheets.run).systems.index(bare)
    opened = alignment.queries_in(board_of(sheets.run), "accuracy", row, "refined", "miss_correct")
    assert opened == [4]
    for name in ("correlation", "systems"):
        assert "accuracy: no retrieval 0.125, gold evidence 0.875." in tables[name].notes[-1]
    # Of equal means no two systems are told apart: no row of the shift, nor of a baseline.
    assert "shift" not in tables
    sheets.system("c", [1] * 8, scores([1] * 8))
    shift = named(sheets, "accuracy")["shift"]
    assert cells(shift, "gold evidence", "by definition")["accuracy"] == 0.875
    assert [row[0].value for row in shift.rows][:2] == ["no retrieval", "gold evidence"]


def test_what_cannot_be_read_is_left_out_and_counted_with_both_bounds(sheets) -> None:
    source = sheets.system("bm25", G, scores(R))
    grades = [1, 1, None, 1, 0, None, 0, 0]
    sheets.graded("one", {source: grades})
    found = cells(named(sheets, "together")["generation"], "bm25")
    # 3 of 6 that were read; with the other two as 0 3 of 8, as 1 5 of 8.
    assert found["majority of graders"] == 0.5
    assert (found["left out"], found["left out as 0"], found["left out as best"]) == (
        2,
        0.375,
        0.625,
    )


def test_what_a_run_of_one_domain_never_asked_is_not_left_out(sheets) -> None:
    other = Domain.objects.create(benchmark=sheets.benchmark, name="other")
    every = [*sheets.queries, Query.objects.create(domain=other, qid="z", text="Z?")]
    part, sheets.queries = sheets.queries, every
    sheets.system("bm25", [*G, 1], scores([*R, 1]))
    sheets.queries = part
    source = sheets.system("dense", G, scores(R))
    grades = [1, 1, None, 1, 0, None, 0, 0]
    sheets.graded("one", {source: grades, sheets.run.sources.first(): [*grades, None]})
    tables = named(sheets, "together")
    found = {name: cells(tables["generation"], name) for name in ("bm25", "dense")}
    assert (found["bm25"]["left out"], found["bm25"]["left out as best"]) == (3, (5 / 8 + 1) / 2)
    # No mean over domains of which it was asked one, and none with 0 in its place.
    assert (found["dense"]["left out"], found["dense"]["left out as 0"]) == (2, None)
    assert cells(tables["align"], "dense", "after holes")["left out"] == 2
    assert cells(tables["align"], "bm25", "after holes")["left out"] == 3


def test_one_models_replies_read_twice_are_one_voice(sheets) -> None:
    source, other = (sheets.system(name, G, scores(R)) for name in ("bm25", "dense"))
    sheets.graded("one", {source: [1, 1, 0, 0, None, 1, 0, 0]})
    assert "graders" not in named(sheets, "together")
    sheets.graded("one", {source: [1] * 8, other: [1] * 8}, profile="reference")
    board = board_of(sheets.run)
    assert len(board.graders) == 2
    assert "graders" not in named(sheets, "together")
    # Each system by what was read strictly, else by the reference.
    assert cells(named(sheets, "together")["generation"], "bm25")["left out"] == 1
    assert cells(named(sheets, "together")["generation"], "dense")["majority of graders"] == 1
    sheets.graded("two", {source: [0] * 8})
    together = board_of(sheets.run).outcomes["together"][0]
    # Each says one thing of an answer: where they differ there is no majority.
    assert np.isnan(together).tolist() == [True, True, False, False, False, True, False, False]
    agreed = cells(named(sheets, "together")["graders"], "percent agreement")
    assert (agreed["value"], agreed["answers"], agreed["graders"]) == (4 / 7, 7, 2)


def test_several_graders_have_a_majority_and_an_agreement(sheets) -> None:
    source = sheets.system("bm25", G, scores(R))
    said = {
        "one": [1, 1, 0, 1, 0, 0, 1, None],
        "two": [1, 0, 0, 1, 0, 1, 0, None],
        "three": [1, 1, 0, 0, None, 0, 1, None],
    }
    for model, values in said.items():
        sheets.graded(model, {source: values})
    board = board_of(sheets.run)
    together = board.outcomes["together"][0].tolist()
    assert together[:7] == [1, 1, 0, 1, 0, 0, 1]
    assert together[7] != together[7]  # nobody said anything
    tables = named(sheets, "together")
    found = cells(tables["graders"], "krippendorff alpha nominal")
    assert found["answers"] == 7
    assert found["graders"] == 3
    # Pairable labels: 20. Of each answer the ordered pairs that differ over m - 1: answers 1, 3, 5
    # and 6 have (2 * 2) / 2 = 2 each, so Do = 8 / 20; 10 labels are 1 and 10 are 0, so
    # De = 2 * 10 * 10 / (20 * 19); alpha = 1 - (8 / 20) / (200 / 380) = .24.
    assert found["value"] == pytest.approx(0.24)


def test_points_have_a_kappa_that_knows_how_far_apart_they_are() -> None:
    sheets = Sheets(4, harness="long")
    source = sheets.system("bm25", [0.0] * 4, scores([1, 1, 0, 0]))
    sheets.graded("one", {source: [0, 50, 50, 100]})
    sheets.graded("two", {source: [10, 40, 60, 90]})
    found = named(sheets, "together")["graders"]
    # Squares 4 * 100 = 400, mean 100. By chance every point of one meets every one of the other:
    # of 0: 100 + 1600 + 3600 + 8100, of 50 twice: 1600 + 100 + 100 + 1600, of 100 as of 0;
    # (13400 + 2 * 3400 + 13400) / 16 = 2100. 1 - 100 / 2100 = 20 / 21; unweighted it is below 0.
    assert [row[0].value for row in found.rows] == [
        "percent agreement", "cohen kappa quadratic", "krippendorff alpha interval"
    ]  # fmt: skip
    assert cells(found, "cohen kappa quadratic")["value"] == pytest.approx(20 / 21)
    sheets.graded("three", {source: [0, 50, 50, None]})
    pairs = [row[0].value for row in named(sheets, "together")["graders"].rows][1:-1]
    assert len(pairs) == 3
    assert all(pair.startswith("cohen kappa quadratic, ") for pair in pairs)
    assert len(set(pairs)) == 3


def test_a_tie_of_graders_is_no_verdict(sheets) -> None:
    source = sheets.system("bm25", G, scores(R))
    sheets.graded("one", {source: [1] * 8})
    sheets.graded("two", {source: [0] * 4 + [1] * 4})
    together = board_of(sheets.run).outcomes["together"][0]
    assert [value == value for value in together.tolist()] == [False] * 4 + [True] * 4


def test_the_same_grader_asked_again_counts_once(sheets) -> None:
    source = sheets.system("bm25", G, scores(R))
    sheets.graded("one", {source: [0] * 8})
    sheets.graded("one", {source: [1] * 8})
    board = board_of(sheets.run)
    assert len(board.graders) == 1
    assert board.outcomes["together"][0].tolist() == [1] * 8


def test_the_printed_gain_is_explained_and_ours_stands_below() -> None:
    sheets = Sheets(2, harness="long")
    for name, value in (("", 50.0), ("marcus_s", 59.0), ("marcus", 60.0)):
        version = None
        if name:
            version = CorpusVersion.objects.create(
                benchmark=sheets.benchmark, name=name, state="ready", recipe={"kind": "cleaned"}
            )
            CleaningRun.objects.create(
                benchmark=sheets.benchmark, source=sheets.version, version=version, preset=name
            )
        source = sheets.system("bm25", [None, None], {}, version)
        RagSource.objects.filter(pk=source.pk).update(name=f"bm25, {name or 'as loaded'}")
        sheets.graded(name, {})
        sheets.run.grade_runs.filter(model=name).update(sheet={str(source.pk): [value, value]})
    table = named(sheets, "together")["gain"]
    # (60.17 - 58.43) / (60.39 - 58.43) = 1.74 / 1.96 = .8878, not the printed 83 %.
    assert cells(table, "printed")["relative gain"] == pytest.approx(0.8878, abs=1e-4)
    assert "83 %" in table.notes[1]
    assert "89 %" in table.notes[1]
    assert cells(table, "bm25")["relative gain"] == pytest.approx(0.9)


def test_the_printed_gain_is_explained_where_nothing_was_cleaned(sheets) -> None:
    sheets.system("bm25", G, scores(R))
    table = named(sheets, "accuracy")["gain"]
    assert [row[0].value for row in table.rows] == ["printed"]
    assert "1.74 / 1.96 = 89 %" in table.notes[1]


def test_runs_of_one_generator_stand_together_and_others_apart(sheets) -> None:
    sheets.system("bm25", G, scores(R))
    old = sheets.run
    for model in ("m", "n"):
        old.pk = None
        old.name, old.model = f"again {model}", model
        old.save()
        sheets.source("none", "no retrieval", [0] * 8)
    found = generators(sheets.benchmark)
    assert [each.model for each in found] == ["n", "m"]
    assert [each.name for each in board_of(found[1]).systems] == ["no retrieval", "bm25"]


@pytest.mark.parametrize(("systems", "count"), [
    (2, 8),
    pytest.param(25, 3_657, marks=pytest.mark.slow),
])  # fmt: skip
def test_a_board_reads_few_statements_however_large_it_is(
    systems, count, django_assert_max_num_queries
) -> None:
    sheets = Sheets(count)
    correct = [n % 2 for n in range(count)]
    sheets.source("none", "no retrieval", [0] * count)
    sheets.source("gold", "gold evidence", [1] * count)
    made = [sheets.system(f"s{n}", correct, scores(correct)) for n in range(systems)]
    sheets.graded("one", dict.fromkeys(made, correct))
    with django_assert_max_num_queries(10):
        board_of(sheets.run)
    found = boards.shown(sheets.run)
    # What was counted once is read in as many statements, none of which reads a sheet.
    with django_assert_max_num_queries(7) as asked:
        assert boards.shown(sheets.run) == found
    said = " ".join(each["sql"] for each in asked.captured_queries)
    assert "evaluation_domainscore" not in said
    assert '"sheet"' not in said
    tables = found.tables
    assert len(tables[0].rows) == systems + 2
    assert cells(tables[1], "s0", "after holes")["RAGAlign@10"] == 1.0


def test_a_kept_board_is_counted_anew_once_what_it_follows_from_is_another(sheets) -> None:
    source = sheets.system("bm25", G, scores(R))
    assert [name for name, _ in boards.shown(sheets.run).outcomes] == ["accuracy", "exact", "f1"]
    grading = sheets.graded("one", {source: [1] * 8})
    mean = "majority of graders"
    found = boards.shown(sheets.run)
    assert (found.outcome, cells(found.tables[0], "bm25")[mean]) == ("together", 1.0)
    # Its failed grades were asked for again: another sheet, another end.
    GradeRun.objects.filter(pk=grading.pk).update(
        sheet={str(source.pk): [0] * 8}, ended_at=timezone.now()
    )
    assert cells(boards.shown(sheets.run).tables[0], "bm25")[mean] == 0.0
    assert boards.shown(sheets.run, "no such outcome").outcome == "together"


def test_a_grading_that_ends_while_the_board_is_read_is_on_the_next(sheets) -> None:
    source = sheets.system("bm25", G, scores(R))
    sheets.graded("one", {source: G})

    def ends(execute, sql, params, many, context):
        found = execute(sql, params, many, context)
        if "sheet" in sql and 'FROM "evaluation_graderun"' in sql and sheets.later:
            sheets.later.pop()()
        return found

    sheets.later = [lambda: sheets.graded("two", {source: [0] * 8})]
    with connection.execute_wrapper(ends):
        assert boards.shown(sheets.run).graders == [GradeRun.objects.earliest("pk").grader]
    assert not sheets.later
    again = boards.shown(sheets.run)
    assert len(again.graders) == 2
    # The four that one grader calls right and one wrong are left out, the others are wrong by both.
    (table,) = [each for each in again.tables if each.name == "generation"]
    assert cells(table, "bm25")["majority of graders"] == 0
