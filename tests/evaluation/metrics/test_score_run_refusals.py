"""What score_run refuses, and that it names the place."""

import gzip

import orjson
import pytest

from evaluation.metrics.reading.rows import string_count
from tests.evaluation.metrics.score_files import (
    ASPECTS,
    BRIGHT_PRO,
    EXAMPLE,
    RUN,
    TOY,
    file,
    refused,
)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("r.run", "1 Q0 a 1 high s\n", "r.run:1: Six columns are needed"),
        ("r.run", "1 Q0 a 1 nan s\n", "r.run:1 score: A score must be a finite number, not nan."),
        ("r.run", b"1 Q0 \xff 1 2 s\n", "r.run:1: This is not UTF-8 text"),
        ("r.json", '{"1": {"a": 1},\n "1": {}}', "r.json:2: Query 1 stands twice"),
        ("r.json", '{"1": {"a": "x"}}', "r.json:1 1: a: A number is needed here"),
        ("r.json", '{"1": {"a": true}}', "r.json:1 1: a: A number is needed here"),
        ("r.json", '{"1": {"a": 1e999}}', "r.json:1 1: a: A score must be a finite number"),
        ("r.json", '{"1": {"": 1}}', "A passage id must be a text that is not empty."),
        ("r.json", '{"1": {"a": 1}', "r.json:1: This is not valid JSON"),
        ("r.json", '{"1": 3}', "r.json:1: Scores or a list of passage ids are needed"),
        ("r.json", "[1]", "r.json:1: A JSON object is needed here"),
        ("r.jsonl", '{"qid": 1, "docid": "a"}\n{"qid": 1}\n', "r.jsonl:2 docid: This field is"),
        (
            "r.jsonl",
            '{"qid": 1, "docid": "a", "score": 1}\n{"qid": 1, "docid": "b"}\n',
            "r.jsonl:2 score: Either all passages of a query have a score, or none has.",
        ),
        ("r.jsonl", '{"qid": 1, "docid": "a", "score": "x"}\n', "r.jsonl:1 1: a: A number is"),
        ("r.run.gz", gzip.compress(RUN.encode(), mtime=0)[:20], "The gzip file ends too early"),
        ("r.run", "", "r.run: There is no ranking in this file."),
        (
            "r.run",
            f"{RUN.strip()}3 Q0 a 1 9 sys\n",
            "r.run:4: These are the columns of two lines",
        ),
    ],
)
def test_a_bad_run_is_named_with_its_place(tmp_path, qrels, name, content, message) -> None:
    assert message in refused(file(tmp_path, name, content), qrels)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("q.txt", "1 0 a\n", "q.txt:1: Four columns are needed"),
        ("q.txt", "1 0 a yes\n", "q.txt:1 label: A whole number is needed here"),
        ("q.txt", "1 0 a 1\n1 0 a 0\n", "q.txt:2 label: a has the label 1 for query 1 before."),
        ("q.txt", "", "q.txt: There is no judgment in this file."),
        ("q.txt", "1 0 a 12 0 b 1\n", "q.txt:1: These are the columns of two lines"),
        ("q.jsonl", '{"qid": 1, "docid": "a", "label": 0.5}\n', "q.jsonl:1 label: A whole number"),
        ("q.json", '{"1": {"a": 1, "a": 0}}', "q.json: This object should hold labels"),
        (
            "q.json",
            '{"1": {"a": 1.5}}',
            "q.json: query 1: a: a label must be a whole",
        ),
        (
            "q.json",
            '{"1": {"a": 5000}}',
            "q.json: query 1: a: a label lies between",
        ),
        ("q.json", [{"id": 1, "query": "q"}], "q.json:1 gold_ids: This field is missing."),
        ("q.json", [BRIGHT_PRO[0], BRIGHT_PRO[0]], "Query 1 stands at q.json:1 query before."),
        (
            "q.json",
            [{**BRIGHT_PRO[0], "excluded_ids": ["z"]}],
            "q.json:1 excluded_ids: z is excluded and gold at once.",
        ),
        ("q.parquet", b"PAR1", "q.parquet: This is not a readable parquet file"),
    ],
)
def test_bad_gold_is_named_with_its_place(tmp_path, run, name, content, message) -> None:
    assert message in refused(run, file(tmp_path, name, content))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weight": 9}, "a.json:1 weight: A weight from 1 to 5 is needed here, not 9."),
        ({"id": "biology-7-b1"}, "a.json:1 id: An aspect id looks like"),
        (
            {"supporting_docs": ["d1"]},
            "gold.json, a.json: query 7: d2 is gold but",
        ),
        (
            {"supporting_docs": ["d1", "d2", "x"]},
            "gold.json, a.json: query 7: x supports",
        ),
        ({"supporting_docs": ["d1", "d2", "d3"]}, "d3 already supports aspect a1."),
        ({"id": "biology-7-a2"}, "The query 7 has two aspects numbered 2."),
        ({"id": "biology-8-a1"}, "query 8 has aspects but no labels."),
    ],
)
def test_bad_aspects_are_named(tmp_path, changes, message) -> None:
    run, gold = file(tmp_path, "score.json", TOY), file(tmp_path, "gold.json", EXAMPLE)
    aspects = file(tmp_path, "a.json", [{**ASPECTS[0], **changes}, *ASPECTS[1:]])
    arguments = ("--aspects", aspects, "--metrics", "alpha_nDCG@5")
    assert message in refused(run, gold, *arguments)


def test_what_one_file_excludes_and_another_calls_gold_names_both(tmp_path, run, qrels) -> None:
    excluded = file(tmp_path, "out.json", {"1": ["z"]})
    message = refused(run, qrels, "--excluded", excluded)
    assert f"{qrels.name}, out.json: query 1: z is excluded and gold at once." in message


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ("nDGC@10", "There is no metric nDGC. Known: nDCG, nDCG_exp, nDCG_bridge, alpha_nDCG,"),
        ("nDCG@ten", "'nDCG@ten' is no metric; one looks like nDCG@10."),
        ("nDCG@0", "nDCG@0: a cut-off is at least 1."),
        ("alpha_nDCG@5", "alpha_nDCG@5 needs aspects, and none are given."),
        ("hole@5", "hole@5 needs the original gold to tell holes, and none is given."),
        ("alpha_nDCG(alpha=2)@5", "alpha_nDCG: alpha is a number from 0 to 1, not '2'."),
        ("hit(alpha=1)@5", "hit has no option 'alpha'. Known: none."),
        ("precision(divisor=x)@5", "precision: divisor is k or returned, not 'x'."),
    ],
)
def test_a_metric_that_cannot_be_is_named(run, qrels, metrics, message) -> None:
    assert message in refused(run, qrels, "--metrics", metrics)


def test_every_unknown_metric_is_named(run, qrels) -> None:
    message = refused(run, qrels, "--metrics", "one,two@3,MAP")
    assert "no metric one." in message
    assert "no metric two." in message


def test_a_file_that_is_not_there(tmp_path, run, qrels) -> None:
    assert "There is no such file." in refused(tmp_path / "no.run", qrels)
    message = refused(run, qrels, "--excluded", tmp_path)
    assert "This is no regular file; name one." in message


@pytest.mark.parametrize(
    "content",
    [
        "{}",
        '{"1": [["a"]]}',
        '{"1": [1, null]}',
        '{"1": {"a": null}}',
        '{"": {"a": 1}}',
        '{"1": {"a\\u0000": 1}}',
        '{"1": {"\\ud800": 1}}',
        '{"1": ["\\ud800"]}',
    ],
)
def test_no_json_value_is_taken_for_a_ranking_that_is_none(tmp_path, qrels, content) -> None:
    assert "s.json" in refused(file(tmp_path, "s.json", content), qrels)


def test_texts_are_counted_whatever_they_hold() -> None:
    value = {'a"': [], "b\\": ["\\\\", '"', '\\"', "", "é\n"], "": []}
    assert string_count(orjson.dumps(value)) == 3 + 5
    assert string_count(b'{"a": 1, "a": 2}') == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["docid"], "--map: 'docid' is not OURS=THEIRS, as docid=id is."),
        (["=id"], "--map: '=id' is not OURS=THEIRS"),
        (["docid=id", "qid=id"], "--map: 'id' cannot be both 'docid' and 'qid'."),
        # The other docid must not be lost: it gets another name by `--map old=docid`.
        (["docid=id"], "two fields of a record are read as one of ['docid']"),
    ],
)
def test_a_mapping_that_says_two_things_is_refused(tmp_path, qrels, given, message) -> None:
    rows = file(tmp_path, "r.jsonl", '{"qid": 1, "docid": "a", "id": "b", "score": 1}\n')
    maps = [part for each in given for part in ("--map", each)]
    assert message in refused(rows, qrels, *maps)
