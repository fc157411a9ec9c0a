"""manage.py aggregate_votes: both labels, the rules behind them, and their scores."""

import csv
import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

# Three voters; the third is always wrong. q4 is a tie of two, q5 has a missing vote and no truth.
VOTES = """item,worker,vote,gold
q1,a,1,1
q1,b,1,1
q1,c,0,1
q2,a,0,0
q2,b,0,0
q2,c,1,0
q3,a,10,10
q3,b,9,10
q3,c,9,10
q4,a,1,0
q4,b,0,0
q5,a,1,
q5,b,,
"""
COLUMNS = {"rater": "worker", "label": "vote"}


@pytest.fixture
def votes(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(VOTES)
    return path


def aggregated(path, **options):
    out, err = StringIO(), StringIO()
    call_command("aggregate_votes", str(path), stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue()


@pytest.mark.parametrize(
    ("ties", "label", "rule", "right"),
    [
        ("none", None, "most votes; a tie has no label", 2),
        ("lowest", 0, "most votes; a tie gets the lowest of its labels on the scale", 3),
        ("highest", 1, "most votes; a tie gets the highest of its labels on the scale", 2),
    ],
)
def test_a_tie_goes_by_the_rule_that_is_said(votes, ties, label, rule, right):
    shown = aggregated(votes, json=True, ties=ties, truth="gold", **COLUMNS)[0]
    found = json.loads(shown)
    assert (found["rules"]["majority"], found["ties"]) == (rule, 1)
    # Numbers have their order: 10 is above 9.
    assert found["categories"] == [0, 1, 9, 10]
    assert [(row["item"], row["majority"], row["tied"]) for row in found["rows"]] == [
        ("q1", 1, False),
        ("q2", 0, False),
        ("q3", 9, False),
        ("q4", label, True),
        ("q5", 1, False),
    ]
    assert found["missing_labels"] == 1
    score = found["scores"]["majority"]
    assert (score["items"], score["right"]) == (4, right)
    assert score["accuracy"] == right / 4
    assert found["rows"][4]["truth"] is None


def test_f1_is_of_each_class_and_their_mean(votes):
    found = json.loads(aggregated(votes, json=True, truth="gold", **COLUMNS)[0])
    score = found["scores"]["majority"]
    assert score["without_label"] == 1
    classes = {each["label"]: (each["precision"], each["recall"]) for each in score["classes"]}
    # True 0: q2 found, the tie q4 not. 9 was given once and never true, 10 true and never given.
    assert classes == {0: (1, 1 / 2), 1: (1, 1), 9: (0, None), 10: (None, 0)}
    f1 = {each["label"]: each["f1"] for each in score["classes"]}
    assert f1 == {0: pytest.approx(2 / 3), 1: 1, 9: 0, 10: 0}
    assert score["macro_f1"] == pytest.approx((2 / 3 + 1 + 0 + 0) / 4)


def test_rows_go_to_a_file_or_to_standard_output_and_never_over_the_votes(votes, tmp_path):
    out, err = aggregated(votes, truth="gold", **COLUMNS)
    assert "a tie has no label; 1 ties" in err
    rows = list(csv.DictReader(StringIO(out)))
    assert [row["majority"] for row in rows] == ["1", "0", "9", "", "1"]
    assert rows[3]["tied"] == "1"
    assert rows[4]["truth"] == ""
    path = tmp_path / "labels.csv"
    said, _ = aggregated(votes, out=path, truth="gold", **COLUMNS)
    assert path.read_text() == out
    assert "macro F1" in said
    with pytest.raises(CommandError, match="would overwrite the votes"):
        aggregated(votes, out=votes, **COLUMNS)


def test_words_wide_tables_and_items_of_two_columns(tmp_path):
    path = tmp_path / "votes.tsv"
    path.write_text("query\tdoc\ta\tb\tc\n1\tx\tyes\tyes\tno\n1\ty\tno\t\tno\n")
    out, err = aggregated(path, format="wide", item="query,doc")
    rows = list(csv.DictReader(StringIO(out)))
    assert [(row["query"], row["doc"], row["votes"], row["majority"]) for row in rows] == [
        ("1", "x", "3", "yes"),
        ("1", "y", "2", "no"),
    ]
    assert "truth" not in rows[0]
    assert "accuracy" not in err


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            VOTES + "q1,d,1,0\n",
            {"truth": "gold"},
            r"votes.csv:15 truth: Line 2 gives 1 as",
        ),
        (VOTES, {"truth": "right"}, r"votes.csv:1 right: The column is missing"),
        ("item,worker,vote\nq1,a,\n", {}, "There is no label in this file"),
        ("1 0 p 1\n", {"format": "qrels"}, "A qrels file is one rater"),
    ],
)
def test_what_cannot_be_aggregated_is_said(votes, text, options, message):
    votes.write_text(text)
    with pytest.raises(CommandError, match=message):
        aggregated(votes, **COLUMNS, **options)


def test_the_votes_of_snow_give_the_printed_accuracy(shared):
    """Dawid and Skene on 800 items by 164 workers: 92.75 %, where 65 ties leave 685 of 800."""
    path = shared / "agreement" / "snow2008" / "rte.tsv"
    found = json.loads(aggregated(path, rater="worker", truth="gold", json=True)[0])
    scores = found["scores"]
    assert (found["ties"], scores["majority"]["right"]) == (65, 685)
    assert scores["dawid_skene"]["accuracy"] == 0.9275
