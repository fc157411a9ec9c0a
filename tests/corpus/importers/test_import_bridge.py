from pathlib import Path

import pytest

from corpus.importers.json_formats import subset_of
from corpus.importers.rows import PassageRow, QueryRow
from tests.corpus.import_files import faults, labels, oddities, of_kind, read, write_lines

QUERY = {"q_id": "7", "query": "who?", "answers": ["Ada", "A. L."], "doc_id": ["d1", "d2", "d1"]}
WEB = [{"_id": "d1", "title": "T", "text": "One."}, {"_id": "d2", "title": "", "text": "Two."}]
FORUM = [{"doc_id": 1, "text": "One."}]


@pytest.mark.parametrize(
    ("queries", "corpus"),
    [
        ("nq/qrels.jsonl", "nq/corpus.jsonl"),
        ("qrels/nq.jsonl", "nq/documents.jsonl.gz"),
        ("nq.jsonl", "nq_corpus.jsonl"),
        ("datasets/qrels/nq.json", "datasets/corpora/nq.jsonl"),
        ("nq/test-00000-of-00001.jsonl", "nq/corpus.jsonl"),
    ],
)
def test_every_layout_gives_one_subset(tmp_path, queries, corpus) -> None:
    write_lines(tmp_path / queries, [QUERY])
    write_lines(tmp_path / corpus, WEB)
    rows = read("bridge", tmp_path)
    assert faults(rows) == []
    assert {row.domain for row in rows if isinstance(row, QueryRow | PassageRow)} == {"nq"}
    assert labels(rows) == [("nq", "7", "d1", 1), ("nq", "7", "d2", 1)]
    assert of_kind(rows, QueryRow)[0].answers == ("Ada", "A. L.")
    assert [row.title for row in of_kind(rows, PassageRow)] == ["T", ""]


def test_the_corpora_of_forums_have_another_name_for_the_id(tmp_path) -> None:
    write_lines(tmp_path / "science" / "documents.jsonl", FORUM)
    assert [(row.domain, row.pid) for row in of_kind(read("bridge", tmp_path), PassageRow)] == [
        ("science", "1")
    ]


def test_repeats_and_missing_answers_are_odd(tmp_path) -> None:
    path = write_lines(tmp_path / "nq.jsonl", [QUERY, QUERY | {"q_id": "8", "answers": []}])
    found = oddities(read("bridge", path))
    assert ("gold ids repeated in a query", "nq-7: d1") in found
    assert ("questions without an answer", "nq-8") in found


def test_files_that_are_neither_are_not_read(tmp_path) -> None:
    write_lines(tmp_path / "nq.jsonl", [QUERY])
    write_lines(tmp_path / "nq_config.json", [{"model": "x"}])
    (odd,) = [each for each in oddities(read("bridge", tmp_path)) if "neither" in each[0]]
    assert odd[1] == "nq_config.json"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"doc_id": "d1"}, "doc_id: A list is needed here."),
        ({"answers": None}, "answers: This field is missing."),
        ({"query": 3}, "query: Text is needed here."),
        ({"doc_id": [""]}, "doc_id: An id cannot be empty."),
    ],
)
def test_wrong_fields_are_named(tmp_path, change, fault) -> None:
    path = write_lines(tmp_path / "nq.jsonl", [QUERY | change])
    assert faults(read("bridge", path)) == [f"nq.jsonl:1 {fault}"]


def test_a_file_that_cannot_be_read_is_named(tmp_path) -> None:
    (tmp_path / "nq.jsonl").write_text("{broken\n")
    assert faults(read("bridge", tmp_path))[0].startswith("nq.jsonl:1: This is not valid JSON")


def test_subset_of_a_file_at_the_top() -> None:
    assert subset_of(Path("a/b/corpus.jsonl")) == "b"


def test_no_other_qrels_are_taken(tmp_path) -> None:
    path = write_lines(tmp_path / "nq.jsonl", [QUERY])
    assert "takes no qrels" in faults(read("bridge", path, tmp_path))[0]
