"""`manage.py score_run`, on files as people have them; no test here touches a database."""

import gzip
import json

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.evaluation.metrics.score_files import (
    ALL,
    ASPECTS,
    BRIDGE,
    BRIGHT_PRO,
    EXAMPLE,
    QRELS,
    RUN,
    TOY,
    as_json,
    called,
    file,
    means,
)


def test_means_and_counts(run, qrels) -> None:
    found = as_json(run, qrels, "--metrics", "recall@2,MRR")
    # recall: 1/2, 0 and, absent, 0; MRR: 1/2, 0, 0.
    assert means(found) == pytest.approx({"recall@2": 0.5 / 3, "MRR": 0.5 / 3})
    assert found["metrics"]["MRR"]["mean_of_present"] == 0.25
    assert (found["run"], found["name"], found["profile"]) == ("bm25.run", "sys", "strict")
    wanted = {"queries": 3, "present": 2, "absent": 1, "passages": 4, "tied": 0}
    assert wanted.items() <= found["counts"].items()


def test_the_reference_skips_absent_queries(run, qrels) -> None:
    found = as_json(run, qrels, "--metrics", "MRR", "--profile", "reference")
    each = found["metrics"]["MRR"]
    assert (each["mean"], each["scored"]) == (0.25, 2)
    assert each["skipped"] == {"absent from the run": 1}


@pytest.mark.parametrize(
    ("options", "mean", "scored"),
    [
        # Query 1 finds b at rank 2, 2 nothing of b; 3 is absent; 4 was judged without finding any.
        ((), (1 / 2 + 0 + 0) / 3, 3),
        (("-c",), (1 / 2 + 0 + 0 + 0) / 4, 4),
        (("--complete", "-M", 1), 0.0, 4),
        # The only label of 2 is z's, which is not returned.
        (("-l", 2), 0.0, 3),
    ],
)
def test_trec_eval_and_its_options(run, tmp_path, options, mean, scored) -> None:
    qrels = file(tmp_path, "with-4.txt", QRELS.replace("z 1", "z 2") + "4 0 a 0\n")
    with run.open("a") as lines:
        lines.write("4 Q0 a 1 1 sys\n")
    found = as_json(run, qrels, "--metrics", "recip_rank", "--profile", "trec_eval", *options)
    each = found["metrics"]["MRR"]
    assert (each["mean"], each["scored"]) == (pytest.approx(mean), scored)
    text = called(run, qrels, "--profile", "trec_eval", *options)
    assert "of them without a relevant passage, counted 0" in text


def test_measures_are_called_as_trec_eval_calls_them(run, qrels) -> None:
    names = "P_2,iprec_at_recall_0.50,Rprec,bpref,gm_map,rbp"
    found = means(as_json(run, qrels, "--metrics", names, "--profile", "trec_eval"))
    # Query 1 has b at rank 2 of R = 2, query 2 nothing. RBP: .1 x .9; gm_map: AP 1/4 and .00001.
    wanted = {
        "precision@2": (1 / 2 + 0) / 2,
        "iprec_at_recall(recall=0.5)": (1 / 2 + 0) / 2,
        "Rprec": (1 / 2 + 0) / 2,
        # Nothing was judged irrelevant before b; one of two is found.
        "bpref": (1 / 2 + 0) / 2,
        "gm_map": (1 / 4 * 0.00001) ** 0.5,
        "RBP": (0.1 * 0.9 + 0) / 2,
    }
    assert found == pytest.approx(wanted)


def test_rows_of_queries(run, qrels) -> None:
    found = as_json(run, qrels, "--metrics", "MRR", "--profile", "reference", "--per-query")
    assert found["queries"] == [
        {"query": "1", "values": {"MRR": 0.5}, "undefined": {}},
        {"query": "2", "values": {"MRR": 0.0}, "undefined": {}},
        {"query": "3", "values": {"MRR": None}, "undefined": {"MRR": "absent from the run"}},
    ]


def test_text_for_people(run, qrels) -> None:
    text = called(run, qrels, "--metrics", "MRR", "--per-query", "--profile", "reference")
    assert text.splitlines() == [
        "MRR\t1\t0.500000",
        "MRR\t2\t0.000000",
        "MRR\t3\tundefined: absent from the run",
        "",
        "bm25.run (sys) profile reference",
        "  MRR  0.2500  over 2; skipped: 1 absent from the run",
        "  3 queries in the gold",
        "  1 of them absent from the run",
        "  4 passages ranked",
    ]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("r.run.gz", gzip.compress(RUN.encode(), mtime=0)),
        ("score.json", {"1": {"c": 1, "a": 3.0, "b": 2}, "2": {"a": 1.5}}),
        (
            "score.json.gz",
            gzip.compress(b'{"1": {"a": 3, "b": 2, "c": 1}, "2": {"a": 1}}', mtime=0),
        ),
        ("ranked.json", {"1": ["a", "b", "c"], "2": ["a"]}),
        ("bridge.json", {"1": {"a": {"score": 3, "text": "t"}, "b": {"score": 2}}, "2": {"a": 1}}),
        ("scattered.txt", "1 Q0 a 1 3 s\n2 Q0 a 1 1 s\n1 Q0 b 2 2 s\n"),
    ],
)
def test_runs_in_every_form_give_the_same(tmp_path, run, qrels, name, content) -> None:
    other = file(tmp_path, name, content)
    expected = means(as_json(run, qrels, "--metrics", ALL))
    assert means(as_json(other, qrels, "--metrics", ALL)) == expected


def parquet(folder, name, rows):
    pq.write_table(pa.Table.from_pylist(rows), folder / name)
    return folder / name


def jsonl(rows) -> str:
    return "".join(json.dumps(each) + "\n" for each in rows)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("gold.qrels.gz", gzip.compress(QRELS.encode(), mtime=0)),
        ("beir.tsv", "query-id\tcorpus-id\tscore\n1\tb\t1\n1\tz\t1\n2\tb\t1\n3\ta\t1\n"),
        ("qrels.json", {"1": {"b": 1, "z": 1}, "2": {"b": 1}, "3": {"a": 1}}),
        ("biology.json", BRIGHT_PRO),
        ("biology.jsonl", jsonl(BRIGHT_PRO)),
        ("nq.jsonl", jsonl(BRIDGE)),
        ("nq.jsonl.gz", gzip.compress(jsonl(BRIDGE).encode(), mtime=0)),
    ],
)
def test_gold_in_every_form_gives_the_same(tmp_path, run, qrels, name, content) -> None:
    other = file(tmp_path, name, content)
    expected = means(as_json(run, qrels, "--metrics", ALL))
    assert means(as_json(run, other, "--metrics", ALL)) == expected


def test_gold_out_of_parquet(tmp_path, run, qrels) -> None:
    other = parquet(tmp_path, "biology-00000-of-00001.parquet", BRIGHT_PRO)
    expected = means(as_json(run, qrels, "--metrics", ALL))
    assert means(as_json(run, other, "--metrics", ALL)) == expected


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_bright_pro_with_aspects(tmp_path, form) -> None:
    run, gold = file(tmp_path, "score.json", TOY), file(tmp_path, "gold.json", EXAMPLE)
    aspects = (
        parquet(tmp_path, "my-aspects.parquet", ASPECTS)
        if form == "parquet"
        else file(tmp_path, "my-aspects.json", ASPECTS)
    )
    arguments = ("--aspects", aspects, "--metrics", "alpha_nDCG@5,aspect_recall@5")
    for profile in ("strict", "paper", "reference"):
        found = means(as_json(run, gold, *arguments, "--profile", profile))
        # docs/protocol.md 6.1 and 6.2
        assert found == pytest.approx(
            {"alpha_nDCG@5": 0.847280, "aspect_recall@5": 5 / 6}, abs=1e-6
        )


def test_qrels_of_subtopics_are_aspects(tmp_path) -> None:
    run = file(tmp_path, "score.json", TOY)
    subtopics = file(tmp_path, "s.txt", "7 1 d1 1\n7 1 d2 1\n7 2 d3 1\n7 3 d4 1\n7 3 x 0\n")
    found = means(as_json(run, subtopics, "--metrics", "aspect_recall@1,aspect_recall@5"))
    assert found == pytest.approx({"aspect_recall@1": 1 / 3, "aspect_recall@5": 2 / 3})
    gold = file(tmp_path, "gold.json", EXAMPLE)
    given = as_json(run, gold, "--aspects", subtopics, "--metrics", "aspect_recall@1")
    assert means(given) == pytest.approx({"aspect_recall@1": 1 / 3})


def test_holes_are_told_by_the_original_gold(tmp_path, run, qrels) -> None:
    base = file(tmp_path, "base.txt", "1 0 z 1\n2 0 b 1\n3 0 a 1\n")
    found = means(as_json(run, qrels, "--base", base, "--metrics", "hole@2,unjudged@2"))
    # Query 1: b is a hole, a is unjudged. Query 2: a is unjudged. Query 3 is absent.
    assert found == pytest.approx({"hole@2": 1 / 2 / 3, "unjudged@2": (1 / 2 + 1 / 2) / 3})


@pytest.mark.parametrize(
    "content",
    [
        {"1": ["a", "nowhere"], "2": ["N/A"]},
        "1 a\n1 nowhere\n",
        jsonl(
            [{"id": "1", "excluded_ids": ["a", "nowhere"]}, {"id": "2", "excluded_ids": ["N/A"]}]
        ),
    ],
)
def test_excluded_passages_leave_the_list_before_the_cut(tmp_path, run, qrels, content) -> None:
    excluded = file(tmp_path, "excluded.dat", content)
    found = as_json(run, qrels, "--excluded", excluded, "--metrics", "MRR", "--per-query")
    assert [each["values"]["MRR"] for each in found["queries"]] == [1.0, 0.0, 0.0]
    assert (found["counts"]["excluded"], found["counts"]["excluded_not_returned"]) == (1, 1)


def test_excluded_ids_of_the_gold_file_count(tmp_path, run) -> None:
    gold = [{"id": "1", "query": "q", "gold_ids": ["b"], "excluded_ids": ["a"]}]
    assert means(as_json(run, file(tmp_path, "g.json", gold), "--metrics", "MRR")) == {"MRR": 1.0}


def test_repeated_and_tied_passages_are_counted(tmp_path, qrels) -> None:
    twice = file(tmp_path, "s.json", '{"1": {"a": 3, "b": 3, "a": 1}, "2": {"a": 1}}')
    found = as_json(twice, qrels, "--metrics", "MRR")
    wanted = {"repeated": 1, "tied": 2, "queries_with_ties": 1, "passages": 3}
    assert wanted.items() <= found["counts"].items()
    assert found["notes"]["passages ranked twice for a query, the best kept"] == 1


def test_escapes_are_no_repetitions(tmp_path, qrels) -> None:
    content = orjson.dumps({"1": {'a"\\': 3, "b\\": 2, "\\\\": 1}, "2": {"é\n": 1}})
    found = as_json(file(tmp_path, "s.json", content), qrels, "--metrics", "MRR")
    assert (found["counts"]["repeated"], found["counts"]["passages"]) == (0, 4)


def test_the_reference_leaves_out_what_has_no_aspect(tmp_path) -> None:
    run, gold = file(tmp_path, "score.json", TOY), file(tmp_path, "gold.json", EXAMPLE)
    aspects = file(tmp_path, "a.json", ASPECTS[:1])
    arguments = ("--aspects", aspects, "--metrics", "aspect_recall@1", "--profile", "reference")
    found = as_json(run, gold, *arguments)
    assert means(found) == {"aspect_recall@1": 1.0}
    left_out = "gold passages without an aspect, left out of the measures of aspects"
    assert found["counts"][left_out] == 2


@pytest.mark.parametrize(
    ("domain", "ndcg", "recall"),
    [
        ("biology", 0.4349, 0.8383),
        ("psychology", 0.3957, 0.7523),
        ("robotics", 0.2082, 0.5355),
        ("pony", 0.1955, 0.4848),
    ],
)
def test_real_runs_give_the_published_figures(shared, domain, ndcg, recall) -> None:
    folder = shared / "bright"
    run, qrels = folder / f"runs-reasonir/{domain}.run.gz", folder / f"qrels/{domain}.txt"
    found = as_json(run, qrels, "--metrics", "nDCG@10,R@100", "--profile", "reference")
    assert means(found) == pytest.approx({"nDCG@10": ndcg, "recall@100": recall}, abs=5e-5)
    queries = folder / f"queries/{domain}.jsonl.gz"
    by_rows = as_json(run, queries, "--metrics", "R@100", "--profile", "reference")
    assert means(by_rows) == pytest.approx({"recall@100": recall}, abs=5e-5)


@pytest.mark.parametrize(
    ("content", "note"),
    [
        ("1 Q0 a 1 1 s\n1 Q0 b 2 2 s\n", "rankings that are not in the order of their scores"),
        ("1 Q0 a 2 2 s\n1 Q0 b 1 1 s\n", "rankings whose ranks do not count up with the lines"),
        ("1 Q0 a 1 2 s\n1 Q0 b 2 1 t\n", "runs under more than one name, the first kept"),
        ("1 Q0 a 1 2 s\n1 Q0 a 2 1 s\n", "passages ranked twice for a query, the best kept"),
        (
            "1 Q0 a 1 2 s\n2 Q0 a 1 2 s\n1 Q0 b 2 1 s\n",
            "runs whose queries do not stand together",
        ),
    ],
)
def test_what_is_odd_about_a_run_is_noted(tmp_path, qrels, content, note) -> None:
    found = as_json(file(tmp_path, "r.run", content), qrels, "--metrics", "MRR")
    assert (found["notes"], found["name"]) == ({note: 1}, "s")


def test_the_lowest_relevant_label_can_be_raised(tmp_path, run) -> None:
    graded = file(tmp_path, "graded.txt", "1 0 a 1\n1 0 b 2\n2 0 a 1\n")
    found = as_json(run, graded, "--metrics", "MRR,nDCG@1", "--relevant-from", "2")
    # b stands second for query 1; query 2 has nothing of label 2, but a gain of 1.
    assert means(found) == {"MRR": 0.5, "nDCG@1": (1 / 2 + 1) / 2}
    assert found["counts"]["without_gold"] == 1
    assert found["metrics"]["MRR"]["skipped"] == {"no relevant passage in the gold": 1}


def rows_of(qrels: str, *names: str) -> str:
    """TREC's columns 1, 3 and the last given ones as JSON lines under these names."""
    lines = (line.split() for line in qrels.splitlines())
    picked = ((each[0], each[2], each[-2] if len(each) > 4 else each[-1]) for each in lines)
    return "".join(
        json.dumps(dict(zip(names, (q, p, int(v)), strict=True))) + "\n" for q, p, v in picked
    )


@pytest.mark.parametrize("shape", ["lines", "list", "parquet"])
def test_rows_of_one_judgment_or_passage_each(run, qrels, tmp_path, shape) -> None:
    expected = as_json(run, qrels, "--metrics", ALL)
    gold = rows_of(QRELS, "qid", "docid", "label")
    ran = file(tmp_path, "rows.jsonl", rows_of(RUN, "qid", "docid", "score"))
    if shape == "lines":
        given = file(tmp_path, "gold.jsonl", gold)
    elif shape == "list":
        given = file(tmp_path, "gold.json", [json.loads(line) for line in gold.splitlines()])
    else:
        table = pa.Table.from_pylist([json.loads(line) for line in gold.splitlines()])
        pq.write_table(table, given := tmp_path / "gold.parquet")
    found = as_json(ran, given, "--metrics", ALL)
    assert (found["metrics"], found["counts"]) == (expected["metrics"], expected["counts"])


def test_fields_of_other_names_are_mapped(run, qrels, tmp_path) -> None:
    expected = means(as_json(run, qrels, "--metrics", ALL))
    gold = file(tmp_path, "gold.jsonl", rows_of(QRELS, "query-id", "corpus-id", "grade"))
    # Told by its first row, as the name of the file says nothing.
    ran = file(tmp_path, "run.json", rows_of(RUN, "q", "id", "sim"))
    names = ("qid=query-id", "docid=corpus-id", "label=grade", "qid=q", "docid=id", "score=sim")
    maps = [part for each in names for part in ("--map", each)]
    assert means(as_json(ran, gold, "--metrics", ALL, *maps)) == expected
    table = called(tmp_path / "run*.json", gold, "--csv", "--metrics", "MRR", *maps)
    assert f",{expected['MRR']}" in table


def test_mapping_reaches_every_file_of_rows(run, tmp_path) -> None:
    rows = [{"no": row["id"], "query": row["query"], "good": row["gold_ids"]} for row in BRIGHT_PRO]
    plain = file(tmp_path, "plain.json", BRIGHT_PRO)
    other = file(tmp_path, "other.json", rows)
    maps = ("--map", "id=no", "--map", "gold_ids=good")
    assert means(as_json(run, other, *maps)) == means(as_json(run, plain))
    out = file(tmp_path, "out.json", [{"no": "1", "excluded_ids": ["a"]}])
    given = as_json(run, other, "--excluded", out, *maps)
    assert given["counts"]["excluded"] == 1


def test_rows_without_scores_are_in_their_order(tmp_path) -> None:
    lines = '{"qid": 1, "docid": "b"}\n{"qid": 2, "docid": "x"}\n{"qid": 1, "docid": "a"}\n'
    gold = file(tmp_path, "gold.txt", "1 0 a 1\n2 0 x 1\n")
    found = as_json(file(tmp_path, "ranked.jsonl", lines), gold, "--metrics", "MRR")
    assert means(found) == {"MRR": 0.75}
