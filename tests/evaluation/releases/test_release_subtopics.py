"""Imported qrels of subtopics are aspects from the import to the release and back."""

from pathlib import Path

import pytest
from pyarrow.parquet import read_table, write_table

from annotate.models import Aspect, GoldPassage
from annotate.workspace.gold import assign_passage, discard_passage
from annotate.workspace.loading import SUBTOPICS, run_import
from annotate.workspace.views.board import read_board
from corpus.imports.named import SEVERAL
from corpus.models import Benchmark, ImportRun, Judgment, Passage, Query
from evaluation.metrics.profiles import STRICT
from evaluation.releases.exporting import export_benchmark
from evaluation.scores.services import GoldView
from evaluation.verification.folder import verify
from tests.corpus.import_files import claimed, imported
from tests.evaluation.conftest import release_into, scores_of
from tests.factories import make_benchmark, make_gold, make_member, make_passage, make_query

pytestmark = pytest.mark.django_db
TOPICS = """<topics>
<topic number="1" type="faceted"><query>moths</query>
<subtopic number="1" type="inf">How moths fly</subtopic>
<subtopic number="2" type="inf">What moths eat</subtopic>
</topic>
<topic number="2" type="faceted"><query>ponies</query></topic>
</topics>
"""
# Query 1: d0 is of both subtopics, d1 and d2 of one each, d3 of none. Query 2: named ones.
QRELS = """1 1 d0 1
1 2 d0 2
1 2 d1 1
1 1 d1 0
1 1 d2 3
1 2 d3 0
2 food d1 1
2 coat d3 1
"""
RUN = "1 Q0 d0 1 3 s\n1 Q0 d1 2 2 s\n1 Q0 d2 3 1 s\n2 Q0 d3 1 2 s\n2 Q0 d1 2 1 s\n"
METRICS = ("aspect_recall@1", "alpha_nDCG@3")


def trec(folder: Path, qrels: str = QRELS) -> Path:
    folder.mkdir(parents=True)
    (folder / "topics.xml").write_text(TOPICS)
    (folder / "docs.txt").write_text("".join(f"d{n}\tText number {n} here.\n" for n in range(4)))
    (folder / "qrels.txt").write_text(qrels)
    return folder


def load(benchmark: Benchmark, path: Path, **options) -> ImportRun:
    run = claimed(benchmark, path, **options)
    run_import(run)
    assert (run.status, run.problems) == ("done", [])
    return run


@pytest.fixture
def web(tmp_path) -> Benchmark:
    benchmark = make_benchmark("web", domains=())
    load(benchmark, trec(tmp_path / "trec" / "web"), format="trec")
    (tmp_path / "web.run").write_text(RUN)
    imported(benchmark, tmp_path / "web.run", "trec_run")
    return benchmark


def rows_of(benchmark: Benchmark) -> list[tuple]:
    aspects = Aspect.objects.filter(query__domain__benchmark=benchmark).order_by("query", "k")
    columns = ("query__qid", "k", "subtopic", "content", "weighed")
    return list(aspects.values_list(*columns))


def assigned() -> list[tuple]:
    return assigned_in(Benchmark.objects.get(slug="web"))


def assigned_in(benchmark: Benchmark) -> list[tuple]:
    rows = GoldPassage.objects.standing().filter(query__domain__benchmark=benchmark)
    rows = rows.order_by("query", "aspect__k", "pk")
    return list(rows.values_list("query__qid", "aspect__k", "passage__pid"))


def odd(run: ImportRun, what: str) -> tuple[int, list[str]]:
    found = {each["what"]: (each["count"], each["examples"]) for each in run.summary["oddities"]}
    return found.get(what, (0, []))


def values(benchmark: Benchmark) -> dict[str, dict[str, float]]:
    (found,) = scores_of(benchmark, ",".join(METRICS), GoldView.REFINED, STRICT).values()
    return {metric: found["web"][metric].as_dict() for metric in METRICS}


def test_subtopics_become_aspects_with_their_words_and_gold(web) -> None:
    assert rows_of(web) == [
        ("1", 1, "1", "How moths fly", False),
        ("1", 2, "2", "What moths eat", False),
        ("2", 1, "coat", "coat", False),
        ("2", 2, "food", "food", False),
    ]
    # d0 is of both, so it waits for an expert.
    assert assigned() == [("1", 1, "d2"), ("1", 2, "d1"), ("2", 1, "d3"), ("2", 2, "d1")]
    run = ImportRun.objects.filter(format="trec").get()
    assert odd(run, SUBTOPICS)[0] == 4
    assert odd(run, SEVERAL) == (1, ["web-1: d0"])
    board = read_board(Query.objects.get(qid="1"), open_next=True)
    assert (board.current.passage.pid, board.current.listed) == ("d0", ("a1", "a2"))


def test_the_same_subtopics_again_change_nothing_and_another_gold_moves_them(web, tmp_path) -> None:
    load(web, tmp_path / "trec" / "web", format="trec")
    assert (len(rows_of(web)), len(assigned())) == (4, 4)
    # A judge has d2 under the other subtopic, and a third one.
    newer = QRELS.replace("1 1 d2 3", "1 2 d2 1\n1 3 d2 0")
    load(web, trec(tmp_path / "newer" / "web", newer), format="trec")
    assert ("1", 2, "d2") in assigned()
    assert rows_of(web)[2] == ("1", 3, "3", "", False)


def test_a_document_of_two_subtopics_counts_for_both_until_an_expert_decides(web) -> None:
    assert values(web)["aspect_recall@1"] == {"1": 1.0, "2": 0.5}
    query, passage = Query.objects.get(qid="1"), Passage.objects.get(pid="d0")
    expert = make_member(web, "expert", "annotator")
    aspect = query.aspects.get(k=2)
    assign_passage(query=query, passage=passage, aspect=aspect, actor=expert)
    assert values(web)["aspect_recall@1"] == {"1": 0.5, "2": 0.5}
    discard_passage(query=query, passage=passage, reason="noise", actor=expert)
    (expert_view,) = scores_of(web, "aspect_recall@1", GoldView.EXPERT, STRICT).values()
    assert expert_view["web"]["aspect_recall@1"].as_dict() == {"1": 0.0, "2": 0.5}


def test_a_final_release_has_all_of_them_and_comes_back_as_it_was(web, tmp_path) -> None:
    folder = tmp_path / "web-1.0.0"
    release = release_into(web, folder, "1.0.0", final=True)
    assert (release.status, release.error) == ("done", "")
    found = {fault["check"]: fault["count"] for fault in release.faults}
    assert found == {"equal_subtopics": 4, "several_subtopics": 1}
    aspects = read_table(folder / "aspects/web.parquet").to_pylist()
    assert [(row["subtopic"], row["supporting_docs"], row["subtopic_docs"]) for row in aspects] == [
        ("1", ["d2"], ["d0"]),
        ("2", ["d1"], ["d0"]),
        ("coat", ["d3"], []),
        ("food", ["d1"], []),
    ]
    imported_lines = set((folder / "qrels/web.subtopics.txt").read_text().splitlines())
    assert imported_lines == set(QRELS.splitlines())
    assert "1 1 d0 1\n" in (folder / "qrels/web.aspects.txt").read_text()
    assert verify(folder).differences == []
    # In another installation the same run has the same measures of aspects.
    again = make_benchmark("again", domains=())
    load(again, folder, format="bright_pro")
    imported(again, tmp_path / "web.run", "trec_run")
    assert values(again) == values(web)


def labels_of(benchmark: Benchmark) -> set[tuple]:
    rows = Judgment.objects.filter(query__domain__benchmark=benchmark).original()
    columns = ("query__qid", "passage__pid", "label", "subtopics")
    return {(*pair, of and tuple(sorted(of.items()))) for *pair, of in rows.values_list(*columns)}


def release(benchmark: Benchmark, folder: Path) -> None:
    release_into(benchmark, folder)


def exported(benchmark: Benchmark, folder: Path) -> None:
    export_benchmark(benchmark=benchmark, folder=folder, format="bright_pro")


@pytest.mark.parametrize("write", [release, exported])
def test_grades_and_zeros_come_back(tmp_path, write) -> None:
    benchmark = make_benchmark()
    query = make_query(benchmark, "1", "biology")
    for label, pid in ((3, "best"), (1, "good"), (0, "no"), (-1, "spam"), (0, "no, with blanks")):
        make_gold(query, make_passage(benchmark, pid, "biology"), label=label)
    write(benchmark, tmp_path / "out")
    again = make_benchmark("again", domains=())
    load(again, tmp_path / "out", format="bright_pro")
    assert labels_of(again) == labels_of(benchmark)
    assert len(labels_of(again)) == 5


def test_what_is_gold_and_not_relevant_is_refused_by_its_line(web, tmp_path) -> None:
    release(web, tmp_path / "out")
    labels = next((tmp_path / "out/beir").rglob("*.tsv"))
    labels.write_text(labels.read_text().replace("2\td3\t1", "2\td3\t0"))
    run = claimed(make_benchmark("again", domains=()), tmp_path / "out", format="bright_pro")
    run_import(run)
    (problem,) = run.problems
    assert problem["file"] == "beir/web/qrels/test.tsv"
    assert "d3 is among the gold ids" in problem["message"]


@pytest.mark.parametrize("write", [release, exported])
def test_grades_and_zeros_of_subtopics_come_back(web, tmp_path, write) -> None:
    write(web, tmp_path / "out")
    again = make_benchmark("again", domains=())
    load(again, tmp_path / "out", format="bright_pro")
    assert labels_of(again) == labels_of(web)
    assert ("1", "d0", 2, (("1", 1), ("2", 2))) in labels_of(again)
    assert ("1", "d3", 0, (("2", 0),)) in labels_of(again)
    # All but that nobody chose the weights, for which the shape has no place.
    assert [row[:-1] for row in rows_of(again)] == [row[:-1] for row in rows_of(web)]
    write(again, tmp_path / "twice")
    for name in ("aspects/web", "examples/web"):
        for file in (tmp_path / "out").glob(f"{name}.*"):
            assert file.read_bytes() == (tmp_path / "twice" / f"{name}{file.suffix}").read_bytes()


def test_what_an_expert_decided_stands_before_the_grades(web, tmp_path) -> None:
    expert = make_member(web, "expert", "annotator")
    query = Query.objects.get(qid="1")
    d0, d2 = (Passage.objects.get(pid=pid) for pid in ("d0", "d2"))
    assign_passage(query=query, passage=d0, aspect=query.aspects.get(k=1), actor=expert)
    discard_passage(query=query, passage=d2, reason="noise", actor=expert)
    release_into(web, tmp_path / "out")
    again = make_benchmark("again", domains=())
    load(again, tmp_path / "out", format="bright_pro")
    of_1 = {row for row in labels_of(again) if row[0] == "1"}
    # d0 is of one aspect now, with its highest label; d2 is no gold any more, as the expert said.
    assert of_1 == {
        ("1", "d0", 2, None),
        ("1", "d1", 1, (("1", 0), ("2", 1))),
        ("1", "d2", 0, None),
        ("1", "d3", 0, (("2", 0),)),
    }
    assert {pid for qid, k, pid in assigned_in(again) if (qid, k) == ("1", 1)} == {"d0"}


def test_a_grade_that_was_altered_in_the_aspects_is_named(web, tmp_path) -> None:
    release_into(web, tmp_path / "out")
    path = tmp_path / "out/aspects/web.parquet"
    table = read_table(path)
    at = table.schema.get_field_index("subtopic_labels")
    labels = [[9 * label for label in row] for row in table["subtopic_labels"].to_pylist()]
    write_table(table.set_column(at, table.schema[at], [labels]), path)
    whys = [each.why for each in verify(tmp_path / "out", checksums=False).differences]
    assert "it says 18 of 2, qrels/web.subtopics.txt does not" in whys


def test_a_label_of_a_subtopic_that_was_altered_is_named(web, tmp_path) -> None:
    folder = tmp_path / "out"
    release_into(web, folder)
    file = folder / "qrels/web.subtopics.txt"
    file.write_text(file.read_text().replace("1 1 d2 3", "1 1 d2 2"))
    whys = {each.why for each in verify(folder, checksums=False).differences}
    assert whys == {
        "its highest label is 2, the original gold says 3",
        "it says 3 of 1, qrels/web.subtopics.txt does not",
    }
