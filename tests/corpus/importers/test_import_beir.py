import pytest

from corpus.importers.rows import JudgmentRow, PassageRow, QueryRow
from tests.corpus.import_files import faults, labels, oddities, of_kind, read, write_lines


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "scifact"
    write_lines(
        root / "corpus.jsonl",
        [
            {"_id": "4983", "title": "Light", "text": "Moths.", "metadata": {"year": 1999}},
            {"_id": "=1+1", "text": "", "metadata": {}},
        ],
    )
    write_lines(
        root / "queries.jsonl",
        [{"_id": "1", "text": "Why?", "metadata": {"url": "u"}}, {"_id": 2, "text": "How?"}],
    )
    gold(root, "test", "1\t4983\t2\n")
    gold(root, "train", "2\t=1+1\t1\n2\t4983\t-1\n")
    return root


def gold(root, split, lines, header="query-id\tcorpus-id\tscore\n") -> None:
    (root / "qrels").mkdir(exist_ok=True)
    (root / "qrels" / f"{split}.tsv").write_text(header + lines)


def test_a_folder_is_a_domain_and_its_splits_are_one_gold(folder) -> None:
    rows = read("beir", folder)
    assert labels(rows) == [
        ("scifact", "1", "4983", 2),
        ("scifact", "2", "=1+1", 1),
        ("scifact", "2", "4983", -1),
    ]
    assert [row.gold for row in of_kind(rows, JudgmentRow)] == ["test", "train", "train"]


def test_metadata_is_kept_and_empty_metadata_says_nothing(folder) -> None:
    rows = read("beir", folder)
    passages = [(row.pid, row.title, row.extra) for row in of_kind(rows, PassageRow)]
    assert passages == [("4983", "Light", {"metadata": {"year": 1999}}), ("=1+1", None, None)]
    assert [(row.qid, row.extra) for row in of_kind(rows, QueryRow)] == [
        ("1", {"metadata": {"url": "u"}}),
        ("2", None),
    ]


def test_a_folder_of_folders_gives_a_domain_for_each(folder, tmp_path) -> None:
    write_lines(tmp_path / "nfcorpus" / "queries.jsonl.gz", [{"_id": "1", "text": "Who?"}])
    rows = read("beir", tmp_path)
    assert {row.domain for row in of_kind(rows, QueryRow)} == {"scifact", "nfcorpus"}


def test_given_qrels_take_the_place_of_the_folders_own(folder, tmp_path) -> None:
    (tmp_path / "newer.tsv").write_text("query-id\tcorpus-id\tscore\r\n1\t=1+1\t1\r\n")
    (tmp_path / "plain.txt").write_text("1 0 4983 1\n")
    for name, expected in (("newer.tsv", "=1+1"), ("plain.txt", "4983")):
        rows = read("beir", folder, tmp_path / name)
        assert [pid for _, _, pid, _ in labels(rows)] == [expected]


def test_the_header_may_be_missing(folder) -> None:
    gold(folder, "test", "1\t4983\t1\n", header="")
    assert labels(read("beir", folder))[0] == ("scifact", "1", "4983", 1)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("1\t4983", "qrels/test.tsv:2: Three columns by tabs"),
        ("1\t4983\tyes", "qrels/test.tsv:2 label: A whole number is needed here, not 'yes'."),
        ("1\t4983\t1_0", "qrels/test.tsv:2 label: A whole number"),
        ("\t4983\t1", "qrels/test.tsv:2 query id: An id cannot be empty."),
        ("1\ta\x00b\t1", "qrels/test.tsv:2 passage id: The text holds a NUL"),
    ],
)
def test_bad_lines_of_qrels_are_named(folder, line, fault) -> None:
    gold(folder, "test", line + "\n")
    (found,) = faults(read("beir", folder))
    assert found.startswith(fault)


def test_missing_fields_are_named(folder) -> None:
    write_lines(folder / "corpus.jsonl", [{"_id": "1"}, {"text": "x"}])
    assert faults(read("beir", folder)) == [
        "corpus.jsonl:1 text: This field is missing.",
        "corpus.jsonl:2 _id: This field is missing.",
    ]


def test_what_json_columns_cannot_hold_is_left_out_and_counted(folder) -> None:
    write_lines(folder / "queries.jsonl", [{"_id": "1", "text": "x", "n": "a\x00", "m": [1]}])
    rows = read("beir", folder)
    assert of_kind(rows, QueryRow)[0].extra == {"m": [1]}
    assert ("unknown fields that cannot be stored, left out", "scifact-1: 'n'") in oddities(rows)


def test_an_empty_folder_says_what_is_needed(tmp_path) -> None:
    (fault,) = faults(read("beir", tmp_path))
    assert "corpus.jsonl, queries.jsonl and qrels/" in fault
