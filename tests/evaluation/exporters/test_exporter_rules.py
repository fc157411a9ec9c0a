"""Small rules of the exporters, one table each."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaluation.exporters import files
from evaluation.exporters.faults import code
from evaluation.exporters.names import (
    NameClash,
    are_integers,
    fits_trec,
    is_canonical_integer,
    split_names,
)
from evaluation.exporters.provenance import without_people
from evaluation.exporters.records import Label, QueryRecord, Statistics, count, total
from evaluation.releases.services import core, suggest


@pytest.mark.parametrize(
    ("domain", "split"),
    [
        ("biology", "biology"),
        ("earth-science", "earth_science"),
        ("Garden & weather", "Garden___weather"),
        ("all", "all_"),
        ("été", "été"),
    ],
)
def test_split_name(domain: str, split: str) -> None:
    assert split_names([domain]) == {domain: split}


@pytest.mark.parametrize("other", ["earth_science", "Earth science", "earth.science"])
def test_split_names_that_clash_name_both_domains(other: str) -> None:
    with pytest.raises(NameClash, match=f"“earth-science” and “{other}”"):
        split_names(["biology", "earth-science", other])


@pytest.mark.parametrize(
    ("qid", "is_one"),
    [
        ("0", True),
        ("103", True),
        ("-4", True),
        ("9223372036854775807", True),
        ("9223372036854775808", False),
        ("007", False),
        ("-0", False),
        ("+1", False),
        ("1.0", False),
        ("1_000", False),
        (" 1", False),
        ("1\n", False),
        ("٣", False),
        ("", False),
    ],
)
def test_canonical_integer(qid: str, is_one: bool) -> None:
    assert is_canonical_integer(qid) is is_one
    assert are_integers(["1", qid]) is is_one


@pytest.mark.parametrize(
    ("name", "fits"),
    [("a/b_1.txt", True), ("a%27[b]", True), ("", False), ("a b", False), ("a\u00a0b", False)],
)
def test_id_fits_trec(name: str, fits: bool) -> None:
    assert fits_trec(name) is fits


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ({"debate": 5, "prompt_sha256": "ab12"}, {"debate": 5, "prompt_sha256": "ab12"}),
        ({"voter": "annotator-1", "user_id": 3, "at": "2026-01-01"}, {}),
        ({"votes": ["annotator-1"]}, {}),
        ({"votes": [{"label": 1, "voter": 4}]}, {"votes": [{"label": 1}]}),
        ({"case": {"votes": [1], "by": "x"}}, {"case": {"votes": [1]}}),
        ({"aspect": "biology-7-a2"}, {"aspect": "biology-7-a2"}),
        ({"reason": "noise", "note": "typed"}, {"reason": "noise"}),
        ({"reason": "a person typed this"}, {}),
    ],
)
def test_provenance_without_people(value: dict, kept: dict) -> None:
    assert without_people(value) == kept


def query(*labels: Label) -> QueryRecord:
    return QueryRecord(pk=1, qid="1", text="", labels=labels)


@pytest.mark.parametrize(
    ("base", "given", "source", "refined", "expert"),
    [
        (1, None, "original", 1, 1),
        (0, None, "original", 0, 0),
        (3, None, "original", 3, 3),
        (None, 1, "debate", 1, 1),  # a hole
        (None, 0, "debate", 0, 0),
        (None, 0, "expert", 0, 0),
        (None, 1, "expert", 1, 1),
        (0, 1, "human", 1, 1),  # judged before, relevant now
        (0, 0, "debate", 0, 0),
        (0, 1, "expert", 1, 1),
        (1, 0, "debate", 1, 1),  # machines and voters take no original gold away
        (1, 0, "human", 1, 1),
        (1, 0, "expert", 1, 0),  # an expert does, in the expert view
        (3, 0, "expert", 3, 0),
        (3, 1, "debate", 3, 3),  # a binary yes keeps the grade
        (3, 1, "human", 3, 3),
        (3, 1, "expert", 3, 3),
        (1, 3, "expert", 3, 3),
        (0, 0, "expert", 0, 0),
    ],
)
def test_views_of_one_pair(
    base: int | None, given: int | None, source: str, refined: int, expert: int
) -> None:
    label = Label("p", 1, base=base, given=given, source=source)
    assert (label.refined, label.expert) == (refined, expert)


LABELS = [
    Label("kept", 1, base=1),
    Label("found", 2, base=None, given=1, source="debate"),
    Label("turned", 3, base=0, given=1, source="human"),
    Label("dropped", 4, base=1, given=0, source="expert"),
    Label("never", 5, base=None, given=0, source="debate"),
    Label("contested", 6, base=2, given=0, source="debate"),
]


def test_hole_is_relevant_and_not_in_the_original_gold() -> None:
    # docs/protocol.md 2.7: hole = 1 iff the final label is 1 and the passage is no original gold.
    assert count([query(*LABELS)], documents=9) == Statistics(
        queries=1,
        gold=4,  # kept, found, turned, contested
        base=3,
        holes=2,
        dropped=1,
        judged=6,
        documents=9,
        sources={"debate": [1, 1], "expert": [0, 1], "human": [1, 0], "original": [2, 0]},
        contested={"debate": 1, "expert": 1},
    )


def test_refined_gold_is_the_original_gold_and_the_holes() -> None:
    # docs/protocol.md 2.7: refined gold = original and holes, whatever was judged 0 since.
    counts = count([query(*LABELS)], documents=0)
    assert len(query(*LABELS).relevant) == counts.base + counts.holes == 5
    assert query(*LABELS).accepted == ("kept", "found", "turned", "contested")


def test_growth_of_the_published_benchmark() -> None:
    # docs/protocol.md 2.7: 29,824 holes over 6,976 original labels, +428 %.
    assert Statistics(base=6976, holes=29824).growth == pytest.approx(4.2752, abs=5e-5)
    assert Statistics(base=0, holes=3).growth is None


def test_total_adds_counts_and_sources() -> None:
    parts = [
        Statistics(queries=1, sources={"human": [1, 0]}, contested={"human": 2}),
        Statistics(
            queries=2,
            sources={"human": [2, 3], "debate": [0, 1]},
            contested={"debate": 1, "human": 1},
        ),
    ]
    assert total(parts) == Statistics(
        queries=3,
        sources={"debate": [0, 1], "human": [3, 3]},
        contested={"debate": 1, "human": 3},
    )


@pytest.mark.parametrize(
    ("version", "parts"),
    [
        ("0.1.0", (0, 1, 0)),
        ("10.20.30-rc.1+build.7", (10, 20, 30)),
        ("1.0.0-01", None),
        ("1.0", None),
        ("1.0.0\n", None),
        ("1.0.0/..", None),
    ],
)
def test_semantic_version(version: str, parts: tuple[int, int, int] | None) -> None:
    assert core(version) == parts


def test_suggestion_compares_numbers() -> None:
    assert suggest(["0.9.0", "0.10.0", "odd"]) == "0.11.0"


def test_rows_of_small_tables_are_written_in_groups(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(files, "ROWS_IN_GROUP", 3)
    schema = pa.schema([("id", pa.string()), ("content", pa.string())])
    rows = [(str(i), "abcd") for i in range(7)]
    path = tmp_path / "a.parquet"
    assert files.write_rows(path, schema, iter(rows)) == 7
    assert pq.ParquetFile(path).num_row_groups == 3
    assert [tuple(row.values()) for row in pq.read_table(path).to_pylist()] == rows


def test_no_rows_write_no_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    assert files.write_rows(path, pa.schema([("id", pa.string())]), []) == 0
    assert not path.exists()


def test_id_as_code_stays_on_its_line() -> None:
    assert code("a`b\n# c") == "`a b\\n# c`"
