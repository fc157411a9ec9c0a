import pytest

from corpus.importers.rows import QueryRow
from tests.corpus.import_files import (
    faults,
    labels,
    oddities,
    of_kind,
    question,
    read,
    write_lines,
)


def test_hotpotqa_paragraph_ids_are_made_unique_by_the_question(tmp_path) -> None:
    path = write_lines(tmp_path / "dev.jsonl", [question("q1"), question("q2")])
    assert labels(read("hotpotqa", path)) == [
        ("hotpotqa", "q1", "q1/0", 1),
        ("hotpotqa", "q1", "q1/1", 0),
        ("hotpotqa", "q2", "q2/0", 1),
        ("hotpotqa", "q2", "q2/1", 0),
    ]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([{"spans": ["a", "b", "a"]}, {"spans": ["c"]}], ("a", "b", "c")),
        ([{"spans": [], "number": "12", "date": {}}], ("12",)),
        ([{"number": "", "date": {"day": "1", "month": "May", "year": "1900"}}], ("1 May 1900",)),
        ([{"spans": [""], "number": "", "date": {"day": "", "year": "1900"}}], ("1900",)),
        ([], ()),
    ],
)
def test_hotpotqa_answers_are_spans_or_else_numbers_or_dates(tmp_path, answers, expected) -> None:
    path = write_lines(tmp_path / "dev.jsonl", [question(answers_objects=answers)])
    rows = read("hotpotqa", path)
    assert of_kind(rows, QueryRow)[0].answers == expected
    assert (("questions without an answer", "q1") in oddities(rows)) == (not expected)


def test_hotpotqa_faults_name_the_paragraph(tmp_path) -> None:
    contexts = [question()["contexts"][0], {"id": "1", "title": "", "is_supporting": "no"}]
    path = write_lines(tmp_path / "dev.jsonl", [question(), question("q2", contexts=contexts)])
    assert faults(read("hotpotqa", path)) == [
        "dev.jsonl:2 contexts[1].paragraph_text: This field is missing.",
        "dev.jsonl:2 contexts[1].is_supporting: True or false is needed here.",
    ]


def test_hotpotqa_real_data(shared) -> None:
    rows = read("hotpotqa", shared / "hotpotqa" / "dev_250.jsonl.gz")
    found = labels(rows)
    assert len(of_kind(rows, QueryRow)) == 250
    assert len(found) == 2500
    assert sum(label for *_, label in found) == 500
    assert all(row.answers for row in of_kind(rows, QueryRow))
