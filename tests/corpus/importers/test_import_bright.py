import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus.importers.rows import DocumentRow, PassageRow, QueryRow
from tests.corpus.import_files import (
    bright_row,
    faults,
    labels,
    oddities,
    of_kind,
    read,
    write_lines,
)


@pytest.fixture
def folder(tmp_path):
    write_lines(tmp_path / "queries" / "biology.jsonl.gz", [bright_row()])
    write_lines(tmp_path / "queries" / "pony.jsonl", [bright_row()])
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "biology.txt").write_text("0\t0\ta/b_0.txt\t1\n0 0 a/new one_5.txt 2\r\n")
    return tmp_path


@pytest.mark.parametrize("part", ["", "queries"])
def test_folder_gives_every_domain_with_the_gold_of_the_rows(folder, part) -> None:
    rows = read("bright", folder / part)
    assert [(row.domain, row.qid) for row in of_kind(rows, QueryRow)] == [
        ("biology", "0"),
        ("pony", "0"),
    ]
    assert len(labels(rows)) == 4


def test_texts_stay_as_they_are_even_where_they_say_nothing(folder) -> None:
    row = of_kind(read("bright", folder), QueryRow)[0]
    assert (row.reasoning, row.gold_answer, row.gold_ids_long) == ("N/A", "N/A", ("a/b.txt",))


def test_one_file_is_the_domain_of_its_name(folder) -> None:
    rows = read("bright", folder / "queries" / "biology.jsonl.gz")
    assert {row.domain for row in of_kind(rows, QueryRow)} == {"biology"}


def test_qrels_are_the_gold_of_their_domain_only(folder) -> None:
    rows = read("bright", folder, folder / "qrels" / "biology.txt")
    assert labels(rows) == [
        ("pony", "0", "a/b_0.txt", 1),
        ("pony", "0", "a/b_1.txt", 1),
        ("biology", "0", "a/b_0.txt", 1),
        ("biology", "0", "a/new one_5.txt", 2),
    ]
    assert labels(read("bright", folder, folder / "qrels")) == labels(rows)


def test_qrels_of_no_domain_here_are_a_problem(folder) -> None:
    (folder / "qrels" / "biology.txt").rename(folder / "qrels" / "history.txt")
    for qrels in (folder / "qrels" / "history.txt", folder / "qrels"):
        (fault,) = faults(read("bright", folder, qrels))
        assert "named after its domain" in fault


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("0 0 x", "biology.txt:1: Four columns are needed"),
        ("0 0 x many", "biology.txt:1 label: A whole number is needed"),
        ("0 0 x 99999", "biology.txt:1 label: A whole number is needed"),
        ("0\t0\tx\x00y\t1", "biology.txt:1 passage id: The text holds a NUL"),
    ],
)
def test_bad_qrels_lines_are_named(folder, line, fault) -> None:
    qrels = folder / "qrels" / "biology.txt"
    qrels.write_text(line + "\n")
    (found,) = faults(read("bright", folder, qrels))
    assert found.startswith(fault)


def test_qrels_may_be_graded_and_negative(folder) -> None:
    qrels = folder / "qrels" / "biology.txt"
    qrels.write_text("0 0 x 3\n0 0 y -2\n")
    assert [label for domain, *_, label in labels(read("bright", folder, qrels))][-2:] == [3, -2]


def test_gold_ids_are_a_set_and_repeats_are_counted(tmp_path) -> None:
    row = bright_row(gold_ids=["a", "b", "a", "a"])
    rows = read("bright", write_lines(tmp_path / "biology.jsonl", [row]))
    assert [pid for _, _, pid, _ in labels(rows)] == ["a", "b"]
    repeated = ("gold ids repeated in a query", "biology-0: a")
    assert [odd for odd in oddities(rows) if odd == repeated] == [repeated] * 2


def test_na_among_excluded_ids_means_none(tmp_path) -> None:
    given = [bright_row(), bright_row(id="1", excluded_ids=["x", "x"]), bright_row(id="2")]
    del given[2]["excluded_ids"]
    rows = of_kind(read("bright", write_lines(tmp_path / "b.jsonl", given)), QueryRow)
    assert [row.excluded_ids for row in rows] == [(), ("x",), None]


def test_an_id_excluded_and_gold_at_once_is_a_problem(tmp_path, folder) -> None:
    row = bright_row(excluded_ids=["a/b_1.txt"])
    path = write_lines(tmp_path / "biology.jsonl", [row])
    assert faults(read("bright", path)) == [
        "biology.jsonl:1 excluded_ids: a/b_1.txt is excluded and gold at once."
    ]
    qrels = folder / "qrels" / "biology.txt"
    assert faults(read("bright", path, qrels)) == []  # the chosen gold does not hold it
    qrels.write_text("0 0 z 1\n0 0 a/b_1.txt 1\n")
    (fault,) = faults(read("bright", path, qrels))
    assert fault.startswith("biology.txt:2 passage id: a/b_1.txt is excluded and gold")


def test_ids_come_out_byte_equal(tmp_path) -> None:
    ids = ["a%27b/c [1]_0.txt", "\u00e9/..\\x.txt", " lead", "=1+1", "\U0001f98b_3"]
    rows = read("bright", write_lines(tmp_path / "b.jsonl", [bright_row(gold_ids=ids)]))
    assert [pid for _, _, pid, _ in labels(rows)] == ids


def test_nothing_to_read_is_said(tmp_path) -> None:
    assert "no such file" in faults(read("bright", tmp_path / "absent"))[0]
    assert "Nothing to load here" in faults(read("bright", tmp_path))[0]


def test_counts_of_the_real_data(shared) -> None:
    folder = shared / "bright"
    rows = read("bright", folder)
    queries = [row.domain for row in of_kind(rows, QueryRow)]
    counts = {name: queries.count(name) for name in ("biology", "psychology", "robotics", "pony")}
    assert counts == {"biology": 103, "psychology": 101, "robotics": 101, "pony": 112}
    assert sum(domain == "biology" for domain, *_ in labels(rows)) == 372
    fixed = labels(read("bright", folder, folder / "qrels-fixed"))
    assert sum(domain == "biology" for domain, *_ in fixed) == 393
    assert sorted(labels(read("bright", folder, folder / "qrels"))) == sorted(labels(rows))


@pytest.fixture
def hub(tmp_path):
    """The folders as they lie on a hub, one shard each."""
    row = bright_row(gold_ids=["a/b_0.txt"])
    parts = {
        "examples": [row],
        "documents": [{"id": "a/b_0.txt", "content": "One."}, {"id": "c.txt", "content": "Two."}],
        "long_documents": [{"id": "a/b.txt", "content": "Menu\nOne.\nFoot"}],
    }
    for name, rows in parts.items():
        (tmp_path / name).mkdir()
        target = tmp_path / name / "biology-00000-of-00001.parquet"
        pq.write_table(pa.Table.from_pylist(rows), target)
    (tmp_path / "documents" / "pony.jsonl").write_text('{"id": "a/b_0.txt", "content": "Three."}\n')
    write_lines(tmp_path / "gpt4_reason" / "biology.jsonl", [row])
    (tmp_path / "README.md").write_text("---\n")
    return tmp_path


def test_the_layout_of_a_hub_brings_passages_and_their_pages(hub) -> None:
    rows = read("bright", hub)
    assert faults(rows) == []
    assert [(row.domain, row.doc_id) for row in of_kind(rows, DocumentRow)] == [
        ("biology", "a/b.txt")
    ]
    found = {(row.domain, row.pid): (row.text, row.page_id) for row in of_kind(rows, PassageRow)}
    assert found == {
        ("biology", "a/b_0.txt"): ("One.", "a/b.txt"),
        ("biology", "c.txt"): ("Two.", ""),
        ("pony", "a/b_0.txt"): ("Three.", ""),
    }


def test_pages_come_before_the_passages_that_are_cut_from_them(hub) -> None:
    rows = read("bright", hub)
    last_page = max(n for n, row in enumerate(rows) if isinstance(row, DocumentRow))
    assert last_page < min(n for n, row in enumerate(rows) if isinstance(row, PassageRow))


def test_other_query_sets_are_not_read_and_said(hub) -> None:
    assert ("folders of other query sets, not read", "gpt4_reason") in oddities(read("bright", hub))


def test_documents_alone_are_enough(hub) -> None:
    (hub / "examples" / "biology-00000-of-00001.parquet").unlink()
    rows = read("bright", hub)
    assert (faults(rows), len(of_kind(rows, PassageRow))) == ([], 3)


def test_unknown_fields_of_a_query_are_kept(tmp_path) -> None:
    path = write_lines(tmp_path / "b.jsonl", [bright_row(site="ask", votes=3), bright_row(id="1")])
    rows = of_kind(read("bright", path), QueryRow)
    assert [row.extra for row in rows] == [{"site": "ask", "votes": 3}, None]
