import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus.importers.bright import page_of
from corpus.importers.rows import AspectRow, DocumentRow, JudgmentRow, PairRow, PassageRow, QueryRow
from tests.corpus.import_files import (
    PAGE,
    PASSAGES,
    aspect,
    bright_pro,
    example,
    faults,
    oddities,
    of_kind,
    read,
)


def test_a_valid_folder_gives_every_kind_of_row(tmp_path) -> None:
    folder = bright_pro(
        tmp_path,
        pages=[{"id": "light/Moth.txt", "title": "Moth", "content": PAGE}],
        pairs=[{"query_id": 7, "doc_id": "light/Moth_1.txt"}],
    )
    rows = read("bright_pro", folder)
    assert faults(rows) == []
    kinds = (QueryRow, JudgmentRow, AspectRow, DocumentRow, PassageRow, PairRow)
    assert [len(of_kind(rows, kind)) for kind in kinds] == [1, 2, 2, 1, 3, 1]
    assert of_kind(rows, QueryRow)[0].qid == "7"
    assert {row.pid: row.text for row in of_kind(rows, PassageRow)} == PASSAGES
    assert of_kind(rows, PassageRow)[0].page_id == "light/Moth.txt"


def test_parquet_reads_as_json_does(tmp_path) -> None:
    folder = bright_pro(tmp_path / "json")
    plain = read("bright_pro", folder)
    for part in ("examples", "aspects", "documents"):
        rows = (folder / part / "biology.jsonl").read_text().splitlines()
        target = tmp_path / "parquet" / part / "biology-00000-of-00001.parquet"
        target.parent.mkdir(parents=True)
        table = pa.Table.from_pylist([json.loads(row) for row in rows])
        pq.write_table(table, target)
    assert read("bright_pro", tmp_path / "parquet") == plain


def test_optional_fields_of_a_query_are_kept(tmp_path) -> None:
    given = example(
        answers=["They turn their backs."],
        community_answers=[{"text": "Light from above.", "url": "https://ask.example/1"}],
        excluded_ids=["N/A"],
    )
    row = of_kind(read("bright_pro", bright_pro(tmp_path, examples=[given])), QueryRow)[0]
    assert row.answers == ("They turn their backs.",)
    assert row.community_answers == (
        {
            "text": "Light from above.",
            "url": "https://ask.example/1",
            "score": 0,
            "accepted": False,
        },
    )
    assert row.excluded_ids == ()


def test_both_spellings_of_aspect_ids_are_read_and_ordered_by_number(tmp_path) -> None:
    gold = [f"p{n}" for n in (1, 2, 10)]
    folder = bright_pro(
        tmp_path,
        examples=[example(gold_ids=gold)],
        aspects=[
            aspect(10, supporting_docs=["p10"]),
            aspect(2, id="biology-7-aspect-2", supporting_docs=["p2"]),
            aspect(1, supporting_docs=["p1"]),
        ],
    )
    rows = read("bright_pro", folder)
    assert faults(rows) == []
    assert [row.k for row in of_kind(rows, AspectRow)] == [1, 2, 10]


def test_query_ids_may_hold_hyphens(tmp_path) -> None:
    folder = bright_pro(
        tmp_path,
        examples=[example(id="x-a3")],
        aspects=[aspect(1, id="biology-x-a3-a1"), aspect(2, id="biology-x-a3-a2")],
    )
    rows = read("bright_pro", folder)
    assert faults(rows) == []
    assert {row.qid for row in of_kind(rows, AspectRow)} == {"x-a3"}


@pytest.mark.parametrize(("top", "scale"), [(3, "likert3"), (4, "likert5")])
def test_scale_is_read_from_the_heaviest_weight_of_the_folder(tmp_path, top, scale) -> None:
    folder = bright_pro(tmp_path, aspects=[aspect(1, weight=1), aspect(2, weight=top)])
    rows = read("bright_pro", folder)
    assert {row.scale for row in of_kind(rows, AspectRow)} == {scale}
    assert (f"weights read on the scale {scale}", "biology-7-a1") in oddities(rows)


def test_fractions_are_shares_in_hundredths_and_a_one_among_them_is_the_whole(tmp_path) -> None:
    whole = example(id="8", gold_ids=["light/Moth_0.txt"])
    aspects = [aspect(1, weight=0.29), aspect(2, weight=0.71)]
    aspects += [aspect(1, id="biology-8-a1", weight=1, supporting_docs=["light/Moth_0.txt"])]
    rows = read("bright_pro", bright_pro(tmp_path, examples=[example(), whole], aspects=aspects))
    assert faults(rows) == []
    found = of_kind(rows, AspectRow)
    assert [(row.qid, row.weight, row.scale) for row in found] == [
        ("7", 29, "shares"),
        ("7", 71, "shares"),
        ("8", 100, "shares"),
    ]
    assert ("weights read on the scale shares", "biology-8-a1") in oddities(rows)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (0.125, "A whole number from 1 to 5 or a share in hundredths is needed here, not 0.125."),
        (1.5, "A whole number from 1 to 5 or a share"),
        (-0.5, "A whole number from 1 to 5 or a share"),
        (2, "Other weights here are shares, from .01 to 1, and this is none."),
        ("0.5", "A whole number is needed here."),
    ],
)
def test_what_is_no_share_is_refused_and_not_rounded(tmp_path, weight, message) -> None:
    folder = bright_pro(tmp_path, aspects=[aspect(1, weight=0.5), aspect(2, weight=weight)])
    (fault,) = faults(read("bright_pro", folder))
    assert fault.startswith(f"aspects/biology.jsonl:2 weight: {message}")


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        (
            {"examples": [example(gold_ids=["light/Moth_0.txt"])]},
            "aspects/biology.jsonl:2 supporting_docs: light/Lamp_0.txt is not among the gold ids",
        ),
        (
            {"aspects": [aspect(1)]},
            "examples/biology.jsonl:1 gold_ids: light/Lamp_0.txt is gold but supports no aspect.",
        ),
        (
            {"aspects": [aspect(1), aspect(2), aspect(3, supporting_docs=["light/Moth_0.txt"])]},
            "aspects/biology.jsonl:3 supporting_docs: light/Moth_0.txt already supports aspect 1.",
        ),
        (
            {"aspects": [aspect(1), aspect(2), aspect(1, id="biology-8-a1", supporting_docs=[])]},
            "aspects/biology.jsonl:3 id: There is no query 8 in biology.",
        ),
        (
            {"aspects": [aspect(1), aspect(2), aspect(1, id="pony-7-a1")]},
            "aspects/biology.jsonl:3 id: An aspect id looks like biology-12-a1",
        ),
        (
            {"aspects": [aspect(1), aspect(2, id="biology-7-aspect-1")]},
            "aspects/biology.jsonl:2 id: The query has two aspects numbered 1.",
        ),
        ({"aspects": [aspect(1), aspect(2, weight=0)]}, "aspects/biology.jsonl:2 weight: A weight"),
        ({"aspects": [aspect(1), aspect(2, weight=6)]}, "aspects/biology.jsonl:2 weight: A weight"),
        (
            {"aspects": [aspect(1), aspect(2, weight=2.5)]},
            "aspects/biology.jsonl:2 weight: A whole",
        ),
        (
            {"aspects": [aspect(1), aspect(2, weight=None)]},
            "aspects/biology.jsonl:2 weight: Missing",
        ),
        (
            {"examples": [example(excluded_ids=["light/Moth_0.txt"])]},
            "examples/biology.jsonl:1 excluded_ids: light/Moth_0.txt is excluded and gold at once.",
        ),
    ],
)
def test_a_broken_invariant_is_one_problem_with_its_place(tmp_path, parts, fault) -> None:
    (found,) = faults(read("bright_pro", bright_pro(tmp_path, **parts)))
    assert found.startswith(fault)


def test_queries_without_aspects_have_no_invariant(tmp_path) -> None:
    folder = bright_pro(tmp_path, examples=[example(), example(id=8, gold_ids=["old"])])
    assert faults(read("bright_pro", folder)) == []


def test_a_missing_aspects_folder_is_fine(tmp_path) -> None:
    folder = bright_pro(tmp_path)
    (folder / "aspects" / "biology.jsonl").unlink()
    (folder / "aspects").rmdir()
    rows = read("bright_pro", folder)
    assert (faults(rows), of_kind(rows, AspectRow)) == ([], [])


def test_an_aspect_without_passages_is_odd(tmp_path) -> None:
    rows = read("bright_pro", bright_pro(tmp_path, aspects=[aspect(1), aspect(2), aspect(3)]))
    assert ("aspects without a supporting passage", "biology-7-a3") in oddities(rows)


def test_page_of_a_passage_id() -> None:
    ids = ["a/b_1_0.txt", "a/b_12", "a/b.txt", "biology-7/extraction_3.txt"]
    assert [page_of(pid) for pid in ids] == ["a/b_1.txt", "a/b", "", "biology-7/extraction.txt"]


def test_this_format_takes_no_qrels(tmp_path) -> None:
    folder = bright_pro(tmp_path)
    assert len(faults(read("bright_pro", folder, folder / "x.txt"))) == 1


def test_an_empty_folder_says_what_is_needed(tmp_path) -> None:
    (fault,) = faults(read("bright_pro", tmp_path))
    assert "examples/, aspects/ and documents/" in fault


def test_unknown_fields_of_a_query_are_kept(tmp_path) -> None:
    folder = bright_pro(tmp_path, examples=[example(site="ask", votes={"up": 3})])
    (row,) = of_kind(read("bright_pro", folder), QueryRow)
    assert row.extra == {"site": "ask", "votes": {"up": 3}}


def test_lists_in_json_read_as_lines_do(tmp_path) -> None:
    plain = read("bright_pro", bright_pro(tmp_path / "lines"))
    for each in (tmp_path / "lines").rglob("*.jsonl"):
        target = tmp_path / "lists" / each.parent.name / "biology.json"
        target.parent.mkdir(parents=True)
        target.write_text(json.dumps([json.loads(row) for row in each.read_text().splitlines()]))
    assert read("bright_pro", tmp_path / "lists") == plain


def test_the_scale_of_weights_is_read_where_rows_say_it(tmp_path) -> None:
    said = [aspect(1, weight=2, scale="likert5"), aspect(2, weight=1, scale="likert5")]
    rows = read("bright_pro", bright_pro(tmp_path / "a", aspects=said))
    assert ({row.scale for row in of_kind(rows, AspectRow)}, oddities(rows)) == ({"likert5"}, [])
    wrong = [aspect(1, weight=4, scale="likert3"), aspect(2, scale="tens")]
    found = faults(read("bright_pro", bright_pro(tmp_path / "b", aspects=wrong)))
    assert [each.split(": ", 1)[1] for each in found[:2]] == [
        "A weight from 1 to 3 is needed here, not 4.",
        "The scale is one of likert5, likert3, shares.",
    ]


@pytest.mark.parametrize("with_aspects", [True, False])
@pytest.mark.parametrize("is_reversed", [True, False])
def test_numbers_in_answers_become_the_ids_of_the_row_s_own_gold(
    tmp_path, with_aspects, is_reversed
) -> None:
    first, second = ids = sorted(example()["gold_ids"], reverse=is_reversed)
    aspects = [aspect(1, supporting_docs=sorted(ids))] if with_aspects else []
    answer = f"So [doc_1][doc doc2], not [doc_3] nor [see doc_1]; [{first}]."
    asked = example(gold_ids=ids, reference_answer=answer)
    rows = read("bright_pro", bright_pro(tmp_path, examples=[asked], aspects=aspects))
    assert faults(rows) == []
    (query,) = of_kind(rows, QueryRow)
    # Of two gold passages none is the third: that cites nothing, and stays as it is.
    told = f"So [{first}][{second}], not [doc_3] nor [see doc_1]; [{first}]."
    assert query.reference_answer == told


def test_a_column_of_shares_holds_weights_of_other_scales_as_floats(tmp_path) -> None:
    said = [aspect(1, weight=3.0, scale="likert5"), aspect(2, weight=1.0, scale="shares")]
    rows = of_kind(read("bright_pro", bright_pro(tmp_path, aspects=said)), AspectRow)
    assert [(row.weight, row.scale) for row in rows] == [(3, "likert5"), (100, "shares")]


BEIR, TREC = "beir/biology/qrels/test.tsv", "qrels/biology.expert.txt"


def labelled(root, labels: dict[str, int], *, name: str = BEIR, **fields):
    """A folder with a release's labels of query 7 beside it."""
    folder = bright_pro(root, examples=[example(**fields)], aspects=[])
    (folder / name).parent.mkdir(parents=True)
    if name == BEIR:
        lines = [f"7\t{pid}\t{label}" for pid, label in labels.items()]
        lines.insert(0, "query-id\tcorpus-id\tscore")
    else:
        lines = [f"7 0 {pid} {label}" for pid, label in labels.items()]
    (folder / name).write_text("\n".join(lines) + "\n")
    return folder


def labels_of(rows) -> dict[str, int]:
    assert {row.gold for row in of_kind(rows, JudgmentRow)} == {""}
    return {row.pid: row.label for row in of_kind(rows, JudgmentRow)}


@pytest.mark.parametrize("name", [BEIR, TREC])
def test_a_release_s_labels_are_read_and_gold_without_one_is_1(tmp_path, name) -> None:
    folder = labelled(tmp_path, {"a": 3, "z": 0}, name=name, gold_ids=["a", "b"])
    rows = read("bright_pro", folder)
    assert faults(rows) == []
    # b is gold that the file does not name.
    assert labels_of(rows) == {"a": 3, "z": 0, "b": 1}


def test_labels_in_beir_s_form_come_before_those_of_trec(tmp_path) -> None:
    folder = labelled(tmp_path, {"a": 3}, gold_ids=["a"])
    (folder / TREC).parent.mkdir()
    (folder / TREC).write_text("7 0 a 1\n7 0 z 1\n")
    assert labels_of(read("bright_pro", folder)) == {"a": 3}


@pytest.mark.parametrize("name", [BEIR, TREC])
def test_labels_that_contradict_their_query_are_refused(tmp_path, name) -> None:
    folder = labelled(
        tmp_path, {"a": 0, "b": 1, "x": 2, "y": 0}, name=name, gold_ids=["a", "b"],
        excluded_ids=["x", "y"],
    )  # fmt: skip
    refused, both = (each.split(name, 1)[1] for each in faults(read("bright_pro", folder)))
    assert refused.endswith("a is among the gold ids of the query, and not relevant here.")
    # What is judged not relevant may be excluded.
    assert both.endswith("x is excluded and gold at once.")


def test_gold_that_the_labels_do_not_name_may_not_be_excluded_either(tmp_path) -> None:
    folder = labelled(tmp_path, {"a": 1}, gold_ids=["a", "b"], excluded_ids=["b"])
    (fault,) = faults(read("bright_pro", folder))
    assert "b is excluded and gold at once." in fault
