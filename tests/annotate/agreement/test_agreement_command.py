"""manage.py agreement: numbers for scripts, a table for people, errors with file, line, field."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotate.agreement.report import FEW

A, B = (5, 4, 3, 2, 1, 5, 3, 4, 2, 1), (5, 3, 3, 2, 2, 4, 3, 5, 2, 3)


@pytest.fixture
def ratings(tmp_path):
    path = tmp_path / "ratings.csv"
    rows = [f"q{n},{rater},{label}" for n, pair in enumerate(zip(A, B, strict=True))
            for rater, label in zip("ab", pair, strict=True)]  # fmt: skip
    path.write_text("\n".join(["item,rater,label", *rows]) + "\n", encoding="utf-8")
    return path


def agreement(path, **options) -> str:
    out = StringIO()
    call_command("agreement", str(path), stdout=out, **options)
    return out.getvalue()


def test_json_has_every_coefficient_with_its_interval(ratings):
    found = json.loads(agreement(ratings, level="interval", json=True))
    assert (found["items"], found["raters"], found["labels"]) == (10, 2, 20)
    assert found["categories"] == [1, 2, 3, 4, 5]
    values = {name: each["value"] for name, each in found["coefficients"].items()}
    # docs/protocol.md 6.12
    assert values["cohen_kappa"] == pytest.approx(0.375)
    assert values["cohen_kappa_linear"] == pytest.approx(0.583333, abs=5e-7)
    assert values["cohen_kappa_quadratic"] == pytest.approx(0.75)
    assert values["percent_agreement"] == 0.5
    assert values["conger_kappa"] == pytest.approx(0.375)
    assert len(values) == 9
    for each in found["coefficients"].values():
        ends = each["interval"]
        assert ends["low"] < each["value"] < ends["high"]
        assert ends["confidence"] == 0.95
        assert ends["method"]
        assert each["few_items"]


def test_json_says_why_there_is_no_number(tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("item,rater,label\nq1,a,1\nq1,b,1\nq2,a,1\nq2,b,\nq3,a,1\nq3,b,1\n")
    found = json.loads(agreement(path, level="ordinal", json=True))
    assert found["missing_labels"] == 1
    each = found["coefficients"]
    assert each["percent_agreement"]["value"] == 1.0
    assert each["cohen_kappa_quadratic"]["value"] is None
    assert each["cohen_kappa_quadratic"]["reason"].startswith("Every label is 1.")
    assert each["krippendorff_alpha_interval"]["reason"].startswith("Needs labels on interval")


def test_three_raters_are_listed_pair_by_pair(tmp_path):
    path = tmp_path / "three.csv"
    rows = [f"q{n},{r},{(n + (r == 'c')) % 2}" for n in range(6) for r in "abc"]
    path.write_text("\n".join(["item,rater,label", *rows]))
    found = json.loads(agreement(path, level="nominal", json=True))
    assert found["coefficients"]["cohen_kappa"]["value"] is None
    kappas = {
        "".join(pair["raters"]): pair["coefficients"]["cohen_kappa"]["value"]
        for pair in found["pairs"]
    }
    assert kappas == {"ab": 1.0, "ac": -1.0, "bc": -1.0}


def test_table_shows_numbers_and_warns_of_few_items(ratings):
    shown = agreement(ratings, level="ordinal", width=0.2)
    assert "cohen kappa quadratic         0.7500  [" in shown
    assert "Intervals: 95 % jackknife" in shown
    assert "more to judge" in shown
    assert "Needs labels on interval level" in shown
    assert FEW in shown
    assert max(len(line) for line in shown.splitlines()) <= 110


def test_the_whole_scale_changes_weights(ratings):
    text = agreement(ratings, level="ordinal", categories="1,2,3,4,5", json=True)
    assert json.loads(text)["coefficients"]["cohen_kappa_linear"]["value"] == pytest.approx(7 / 12)
    with pytest.raises(CommandError, match=r"ratings.csv:2 label: '5' is not one of"):
        agreement(ratings, level="ordinal", categories="1,2,3,4")


def test_bootstrap_repeats_with_its_seed(ratings):
    runs = [
        agreement(ratings, level="nominal", method="bootstrap", seed=s, json=True)
        for s in (1, 1, 2)
    ]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]
    assert "seed 1" in runs[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"item,rater,label\nq1,a,1\nq1,a,1\n", r"bad.csv:3 rater: Rater 'a' has labelled"),
        (b"item,rater\nq1,a\n", r"bad.csv:1 label: The column is missing"),
        (b"item,rater,label\nq1,a,\xff\n", r"bad.csv:2: This is not UTF-8"),
        (b"item,rater,label\nq1,a,x\n", r"bad.csv:2 label: 'x' is no number"),
        (b"", r"bad.csv:1 item: The column is missing"),
    ],
)
def test_what_is_wrong_names_file_line_and_field(tmp_path, content, message):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(CommandError, match=message):
        agreement(path, level="interval")


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(CommandError, match=r"nowhere.csv: No such file"):
        agreement(tmp_path / "nowhere.csv", level="nominal")
    with pytest.raises(CommandError, match="Is a directory"):
        agreement(tmp_path, level="nominal")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--width=3", "between 0 and 1"),
        ("--width=wide", "between 0 and 1"),
        ("--confidence=nan", "between 0 and 1"),
        ("--votes=1", "from 2 to"),
        ("--resamples=1e9", "from 2 to"),
        ("--level=cardinal", "invalid choice"),
        ("--cut=high", "give a number"),
        ("--format=xml", "invalid choice"),
    ],
)
def test_options_that_make_no_sense_are_refused(ratings, option, message):
    with pytest.raises(CommandError, match=message):
        call_command("agreement", str(ratings), "--level=nominal", option)


QRELS = {
    "people": "1 0 p1 2\n1 0 p2 0\n2 0 p1 1\n2 0 p2 3\n",
    "same": "2 0 p2 3\n2 0 p1 1\n1 0 p1 2\n1 0 p2 0\n",
    "half": "1 0 p1 1\n1 0 p2 0\n\n2 0 p1 1\n3 0 p9 2\n",
}


@pytest.fixture
def qrels(tmp_path):
    for name, text in QRELS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_one_file_is_compared_with_each_of_many(qrels):
    others = [qrels / "same", qrels / "half"]
    options = {"format": "qrels", "against": others, "json": True}
    found = json.loads(agreement(qrels / "people", level="ordinal", **options))
    assert [each["file"] for each in found["against"]] == list(map(str, others))
    same, half = (each["coefficients"] for each in found["against"])
    assert (same["cohen_kappa_quadratic"]["value"], same["cohen_kappa"]["items"]) == (1.0, 4)
    # Of the three shared pairs 2-1, 0-0 and 1-1 two agree; chance of Cohen: (1 + 2) / 9.
    assert half["percent_agreement"]["value"] == pytest.approx(2 / 3)
    assert half["cohen_kappa"]["value"] == pytest.approx((2 / 3 - 3 / 9) / (1 - 3 / 9))
    assert list(half) == [
        *("percent_agreement", "cohen_kappa", "cohen_kappa_linear", "cohen_kappa_quadratic"),
        "krippendorff_alpha_ordinal",
    ]
    shown = agreement(qrels / "people", level="nominal", **(options | {"json": False}))
    assert f"{others[1]}\npercent agreement             0.6667" in shown


def test_grades_are_cut(qrels):
    options = {"format": "qrels", "against": [qrels / "half"], "json": True}
    found = json.loads(agreement(qrels / "people", level="nominal", cut=1.0, **options))
    assert found["categories"] == [0, 1]
    assert found["against"][0]["coefficients"]["cohen_kappa"]["value"] == 1.0


FORMS = [
    ("item\trater\tlabel\nq,1\ta\t1\nq,1\tb\t1\nq2\ta\t0\nq2\tb\t1\n", {}),
    (
        "Query,Doc,who,grade,rater\n1,2,a,1,x\n1,2,b,1,x\n1,3,a,0,x\n1,3,b,1,x\n",
        {"item": "query,doc", "rater": "who", "label": "grade"},
    ),
    ("unit,a,b\nu1,1,1\nu2,0,1\n", {"format": "wide", "item": "unit"}),
    ("a\tb\n1\t1\n0\t1\n", {"format": "wide"}),
    ("a,note,b\n1,x,1\n0,y,1\n", {"format": "wide", "raters": "a,b"}),
]


@pytest.mark.parametrize(("text", "options"), FORMS)
def test_every_form_of_file_gives_the_same(tmp_path, text, options):
    path = tmp_path / "votes"
    path.write_text(text)
    found = json.loads(agreement(path, level="nominal", json=True, **options))
    assert (found["items"], found["raters"], found["labels"]) == (2, 2, 4)
    assert found["coefficients"]["percent_agreement"]["value"] == 0.5


WRONG = [
    ("1 0 p1\n", {"format": "qrels", "against": True}, r"votes:1: Four columns"),
    ("1 0 p1 2\n1 0 p1 2\n", {"format": "qrels", "against": True}, r"votes:2 rater: .*'1 p1'"),
    ("1 0 p1 x\n", {"format": "qrels", "against": True, "cut": 1.0}, r"votes:1 label: 'x' is no"),
    ("1 0 p1 2\n", {"format": "qrels"}, "A qrels file is one rater"),
    ("a,b\n1,1\n", {"format": "wide", "against": True}, "takes files of one rater each"),
    ("a,a\n1,1\n", {"format": "wide"}, "votes:1: Every rater needs a name"),
    ("u\n1\n", {"format": "wide", "item": "u"}, "votes:1: No column is left"),
    ("u,a\n,1\n", {"format": "wide", "item": "u"}, "votes:2 u: This field is empty"),
    (
        "item,rater,label\n",
        {"rater": "who"},
        "votes:1 who: The column is missing; .* who and",
    ),
    ("item,rater,label\nq,a,-1\n", {"level": "ratio"}, "votes:2 label: '-1' is below zero"),
    ("item,rater,label\n", {"cut": 1.0, "categories": "0,1"}, "leave --categories out"),
    ("item,rater,label\n", {"raters": "a"}, "goes with --format wide"),
]


@pytest.mark.parametrize(("text", "options", "message"), WRONG)
def test_what_does_not_fit_its_form_is_named(tmp_path, text, options, message):
    path, other = tmp_path / "votes", tmp_path / "other"
    path.write_text(text)
    other.write_text("1 0 p1 2\n")
    if options.get("against"):
        options = options | {"against": [other]}
    with pytest.raises(CommandError, match=message):
        agreement(path, **({"level": "nominal"} | options))
