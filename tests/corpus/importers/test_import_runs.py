import gzip
import json

import pytest

from corpus.importers import reading, runs
from corpus.importers.formats import RUN_FORMATS
from corpus.importers.rows import RunRow
from corpus.importers.run_names import BadPattern, pattern, run_name
from tests.corpus.import_files import faults, oddities, of_kind

RUN = "q1 Q0 a/b_1.txt 1 2.5 bm25\nq1 Q0 =c 2 1e-3 bm25\nq2 Q0 d 1 -1 bm25\n"


def read_run(path, name="trec_run") -> list:
    return list(RUN_FORMATS[name].read(path))


def written(tmp_path, text, name="biology.run"):
    path = tmp_path / name
    path.write_text(text)
    return path


def scores(tmp_path, value, name="biology.json"):
    return written(tmp_path, value if isinstance(value, str) else json.dumps(value), name)


def test_a_run_is_a_row_for_each_query(tmp_path) -> None:
    rows = read_run(written(tmp_path, RUN))
    found = [(row.domain, row.qid, row.pids, row.scores, row.tag) for row in rows]
    assert found == [
        ("biology", "q1", ("a/b_1.txt", "=c"), (2.5, 0.001), "bm25"),
        ("biology", "q2", ("d",), (-1.0,), "bm25"),
    ]
    assert (rows[1].location.file, rows[1].location.line) == ("biology.run", 3)


def test_a_folder_of_gzipped_runs_gives_their_domains(tmp_path) -> None:
    for name in ("biology", "pony"):
        (tmp_path / f"{name}.run.gz").write_bytes(gzip.compress(RUN.encode()))
    assert [row.domain for row in read_run(tmp_path)] == ["biology"] * 2 + ["pony"] * 2


def test_the_domain_may_be_given(tmp_path) -> None:
    (first, *_) = RUN_FORMATS["trec_run"].read(written(tmp_path, RUN), domain="robotics")
    assert first.domain == "robotics"


def test_the_order_of_the_file_is_kept_and_said_to_be_odd(tmp_path) -> None:
    rows = read_run(written(tmp_path, "q Q0 a 2 1 t\nq Q0 b 1 2 t\n"))
    assert of_kind(rows, RunRow)[0].pids == ("a", "b")
    assert oddities(rows) == [
        ("rankings that are not in the order of their scores", "biology-q"),
        ("rankings whose ranks do not count up with the lines", "biology-q"),
    ]


def test_a_passage_ranked_twice_counts_once(tmp_path) -> None:
    rows = read_run(written(tmp_path, "q Q0 a 1 3 t\nq Q0 b 2 2 t\nq Q0 a 3 1 t\n"))
    assert (rows[0].pids, rows[0].scores) == (("a", "b"), (3.0, 2.0))
    assert oddities(rows) == [("passages ranked twice for a query, the best kept", "biology-q: a")]


def test_a_document_named_for_each_of_its_chunks_has_the_score_of_the_best(tmp_path) -> None:
    rows = read_run(written(tmp_path, "q Q0 a 1 .3 t\nq Q0 b 2 .5 t\nq Q0 a 3 .7 t\n"))
    assert (rows[0].pids, rows[0].scores) == (("a", "b"), (0.7, 0.5))
    text = '{"q": {"a": 0, "b": 0.5, "a": {"score": 0.7}, "c": -1, "c": 0}}'
    rows = of_kind(read_run(scores(tmp_path, text), "score_json"), RunRow)
    assert (rows[-1].pids, rows[-1].scores) == (("a", "b", "c"), (0.7, 0.5, 0.0))


def test_queries_that_stand_apart_are_put_together(tmp_path) -> None:
    rows = read_run(written(tmp_path, "q Q0 a 1 3 t\nr Q0 b 1 2 t\nq Q0 c 2 1 t\n"))
    found = [(row.qid, row.pids) for row in of_kind(rows, RunRow)]
    assert found == [("q", ("a", "c")), ("r", ("b",))]
    assert ("runs whose queries do not stand together", "biology.run") in oddities(rows)


def test_queries_apart_beyond_the_bound_are_a_problem(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(runs, "MAX_SCATTERED", 2)
    rows = read_run(written(tmp_path, "q Q0 a 1 3 t\nr Q0 b 1 2 t\nq Q0 c 2 1 t\n"))
    assert faults(rows) == ["biology.run: Queries stand apart over 2 lines; sort them by query."]


def test_too_many_lines_of_a_query_are_a_problem(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(runs, "MAX_TOGETHER", 2)
    rows = read_run(written(tmp_path, "q Q0 a 1 3 t\nq Q0 b 2 2 t\nq Q0 c 3 1 t\n"))
    assert "More than 2 queries, or lines of one query" in faults(rows)[0]


@pytest.mark.parametrize(
    ("line", "pid", "tag"),
    [
        ("q\tQ0\ta b\t1\t  2.1\tx", "a b", "x"),
        ("q Q0 a b c 1 2.1 x", "a b c", "x"),
        ("q Q0 a 1 2.1 x more junk 5", "a", "x"),
        ("q Q0 a 1 2.1", "a", ""),
    ],
)
def test_columns_are_found_in_every_spelling(tmp_path, line, pid, tag) -> None:
    rows = read_run(written(tmp_path, line + "\r\n"))
    assert (rows[0].pids, rows[0].scores, rows[0].tag) == ((pid,), (2.1,), tag)
    assert (("runs without a name", "biology-q") in oddities(rows)) == (tag == "")


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("q Q0 a 1 nan t", "biology.run:1 score: A score must be a finite number, not nan."),
        ("q Q0 a 1 -Infinity t", "biology.run:1 score: A score must be a finite"),
        ("q Q0 a 1 1e999 t", "biology.run:1 score: A score must be a finite"),
        ("q Q0 a 1 high t", "biology.run:1: Six columns are needed"),
        ("q Q0 a 1 infx t", "biology.run:1: Six columns are needed"),
        ("q Q0 a \u0661 1 t", "biology.run:1: Six columns are needed"),
        ("q Q0 a 1.5 1 t", "biology.run:1: Six columns are needed"),
        ("q Q0 a", "biology.run:1: Six columns are needed"),
        # The last line of one file and the first of the next, with and without a tag between.
        ("q Q0 a 9 1 tr Q0 b 1 2 t", "biology.run:1: These are the columns of two lines"),
        ("q Q0 a 9 1.5r Q0 b 1 2 t", "biology.run:1: These are the columns of two lines"),
        # Is it the rank 11, or the rank 1 of "Apollo 11 1969"?
        ("q Q0 Apollo 11 1969 1 2.5 t", "biology.run:1: These are the columns of two lines"),
        ("q Q0 a\x00 1 1 t", "biology.run:1 passage id: The text holds a NUL"),
        ("\tQ0\ta\t1\t1\tt", "biology.run:1: An id cannot be empty."),
    ],
)
def test_bad_lines_are_named(tmp_path, line, fault) -> None:
    (found,) = faults(read_run(written(tmp_path, line + "\n")))
    assert found.startswith(fault)


@pytest.mark.parametrize(
    ("value", "pids", "kept"),
    [
        ({"q": {"b": 2, "a": 1.5}}, ("b", "a"), (2.0, 1.5)),
        ({"q": ["b", "a"]}, ("b", "a"), None),
        ({"q": {"b": {"score": 2, "text": "x"}}}, ("b",), (2.0,)),
        ({"q": {}}, (), ()),
        ({"q": []}, (), None),
    ],
)
def test_every_flavour_of_scores_is_read(tmp_path, value, pids, kept) -> None:
    rows = of_kind(read_run(scores(tmp_path, value), "score_json"), RunRow)
    assert [(row.domain, row.qid, row.pids, row.scores) for row in rows] == [
        ("biology", "q", pids, kept)
    ]


def test_what_is_odd_about_scores_is_counted(tmp_path) -> None:
    text = '{"q": {"a": 1, "b": {"score": 2, "text": "x"}, "a": 0}, "r": ["c", "c"]}'
    rows = read_run(scores(tmp_path, text), "score_json")
    assert [row.pids for row in of_kind(rows, RunRow)] == [("a", "b"), ("c",)]
    assert oddities(rows) == [
        ("runs without a name", "biology.json"),
        ("passages ranked twice for a query, the best kept", "biology-q: a"),
        ("rankings that are not in the order of their scores", "biology-q"),
        ("passage texts in a run, not read", "biology-q"),
        ("passages ranked twice for a query, the best kept", "biology-r: c"),
    ]


@pytest.mark.parametrize(
    ("name", "domain", "tag"),
    [
        ("theoremqa_theorems_bm25_long_False/score.json", "theoremqa_theorems", "bm25"),
        ("ance/nq_retrieved_corpus.json", "nq", "ance"),
        ("pony/score.json", "pony", ""),
    ],
)
def test_domain_and_system_are_read_from_known_paths(tmp_path, name, domain, tag) -> None:
    (tmp_path / name).parent.mkdir()
    rows = read_run(scores(tmp_path, {"q": ["a"]}, name), "score_json")
    assert [(row.domain, row.tag) for row in of_kind(rows, RunRow)] == [(domain, tag)]


@pytest.mark.parametrize(
    ("path", "given", "found"),
    [
        ("bm25/biology.run.gz", "{run}/{domain}.run.gz", ("biology", "bm25")),
        ("bm25/biology.run.gz", "{run}/{domain}", ("biology", "bm25")),
        ("biology/bm25.k1.run", "{domain}/{run}.run", ("biology", "bm25.k1")),
        ("biology/bm25.k1.run", "{domain}/{run}", ("biology", "bm25.k1")),
        ("input.p_bert", "input.{run}", ("", "p_bert")),
        ("input.p_bert.gz", "input.{run}", ("", "p_bert")),
        ("a-b-biology.txt", "{run}-{domain}.txt", ("b-biology", "a")),
        ("a/x/biology.txt", "{run}/{domain}.txt", ("biology", "x")),
        ("biology.run", "{run}/runs-{domain}", ("", "")),
        ("biology.run", "", ("biology", "")),
        ("output.run", "biology", ("biology", "")),
    ],
)
def test_paths_name_domain_and_run_as_a_pattern_says(tmp_path, path, given, found) -> None:
    assert run_name(tmp_path / path, given) == found


@pytest.mark.parametrize("wrong", ["{domain}/{domain}", "{system}", "{domain", "no names"])
def test_a_pattern_that_names_something_else_is_refused(wrong) -> None:
    with pytest.raises(BadPattern, match=r"\{domain\}"):
        pattern(wrong)


def test_of_a_folder_the_files_that_fit_the_pattern_are_read(tmp_path) -> None:
    (tmp_path / "bm25").mkdir()
    written(tmp_path, RUN, "bm25/input.biology")
    written(tmp_path, "no run", "bm25/notes.txt")
    rows = list(RUN_FORMATS["trec_run"].read(tmp_path, domain="{run}/input.{domain}"))
    found = {(row.domain, row.tag) for row in rows}
    assert (len(rows), found) == (2, {("biology", "bm25")})
    told = faults(list(RUN_FORMATS["trec_run"].read(tmp_path, domain="{run}/x.{domain}")))
    assert "that fits {run}/x.{domain} is needed" in told[0]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"q": {"a": NaN}}', "biology.json:1 q: a: A score must be a finite number, not nan."),
        ('{"q": {"a": 1e999}}', "biology.json:1 q: a: A score must be a finite"),
        ('{"q": {"a": "1"}}', "biology.json:1 q: a: A number is needed here"),
        ('{"q": {"a": true}}', "biology.json:1 q: a: A number is needed here"),
        ('{"q": {"a": null, "b": 1}}', "biology.json:1 q: a: A number is needed here"),
        ('{"q": [1]}', "biology.json:1 q: 1: A passage id must be a text"),
        ('{"q": {"a\\u0000": 1}}', "biology.json:1 q: a\x00: The text holds a NUL"),
        ('{"q": 1}', "biology.json:1: Scores or a list of passage ids are needed for query q."),
        ('{"q": {}, "q": {}}', "biology.json:2: Query q stands twice in this object."),
        ("[1]", "biology.json:1: A JSON object is needed here"),
        ('{"q": {\n "a": }}', "biology.json:2: This is not valid JSON"),
        ('{"q": ' + "[" * 100_000, "biology.json: This JSON is nested too deeply."),
        ('{"q": {"a": ' + "9" * 5000 + "}}", "biology.json: A number in this file is too long."),
        ("", "biology.json:1: This is not valid JSON"),
    ],
)
def test_scores_that_cannot_be_taken_are_named(tmp_path, text, fault) -> None:
    found = faults(read_run(scores(tmp_path, text), "score_json"))
    assert found[0].startswith(fault)
    assert len(found) == 1


def test_an_object_beyond_the_bound_is_not_parsed(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(reading, "SIZE_LIMIT", 10)
    (fault,) = faults(read_run(scores(tmp_path, {"q": {"a": 1.0}}), "score_json"))
    assert "larger than" in fault


@pytest.mark.parametrize("name", RUN_FORMATS)
def test_nothing_to_read_and_qrels_are_problems(tmp_path, name) -> None:
    assert "Nothing to load here" in faults(read_run(tmp_path, name))[0]
    assert "no such file" in faults(read_run(tmp_path / "absent", name))[0]
    rows = list(RUN_FORMATS[name].read(tmp_path, qrels=tmp_path))
    assert "takes no qrels" in faults(rows)[0]


@pytest.mark.slow
def test_real_runs(shared) -> None:
    rows = read_run(shared / "bright" / "runs-reasonir")
    assert (faults(rows), oddities(rows)) == ([], [])
    domains = [row.domain for row in rows]
    counts = {name: domains.count(name) for name in domains}
    assert counts == {"biology": 103, "pony": 112, "psychology": 101, "robotics": 101}
    assert {row.tag for row in rows} == {"reasonir"}
    assert sum(len(row.pids) for row in rows if row.domain == "biology") == 10300


def test_real_runs_with_junk_and_scattered_queries(shared) -> None:
    folder = shared / "trec_eval-tests"
    plain = of_kind(read_run(folder / "results.test"), RunRow)
    assert [(row.qid, len(row.pids)) for row in plain] == [("301", 500), ("302", 500), ("303", 500)]
    mixed = read_run(folder / "results.trunc")
    assert faults(mixed) == []
    assert {row.qid for row in of_kind(mixed, RunRow)} == {"301", "303"}
    assert sum(len(row.pids) for row in of_kind(mixed, RunRow)) == 584
