from collections import Counter

import pytest

from corpus.importers.rows import JudgmentRow, PassageRow, QueryRow
from tests.corpus.import_files import faults, labels, oddities, of_kind, read

DOCUMENTS = """.I 1
.T
wings in a
slipstream .
.A
a,b.
.B
j. 25, 1958.
.W
first line .
  indented .

.not a mark
.W
more .
.I 2
.T
.A
.B
.W
.I
"""
QUERIES = ".I 001\r\n.W\r\nwhat laws\r\nhold .\r\n.I 004\r\n.W\r\nwhy .\r\n"
GOLD = "1 2 1\n1 1 4\n2 1 5\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "cran.all.1400").write_text(DOCUMENTS)
    (tmp_path / "cran.qry").write_bytes(QUERIES.encode())
    (tmp_path / "cranqrel").write_text(GOLD)
    return tmp_path


def test_queries_are_numbered_by_their_order(folder) -> None:
    found = [(row.qid, row.text, row.extra) for row in of_kind(read("cranfield", folder), QueryRow)]
    assert found == [
        ("1", "what laws\nhold .", {"number": "001"}),
        ("2", "why .", {"number": "004"}),
    ]


def test_codes_count_down_and_labels_up(folder) -> None:
    assert labels(read("cranfield", folder)) == [
        ("cranfield", "1", "2", 4),
        ("cranfield", "1", "1", 1),
        ("cranfield", "2", "1", 0),
    ]


def test_documents_keep_their_lines(folder) -> None:
    first, second = of_kind(read("cranfield", folder), PassageRow)
    assert first.title == "wings in a\nslipstream ."
    assert first.text == "first line .\n  indented .\n\n.not a mark\nmore ."
    assert first.extra == {"author": "a,b.", "bibliography": "j. 25, 1958."}
    assert (second.pid, second.text, second.title, second.extra) == ("2", "", "", None)


def test_what_is_odd_is_counted(folder) -> None:
    assert oddities(read("cranfield", folder)) == [
        ("fields given twice in a record, joined", "1: .W"),
        ("documents without text", "2"),
        ("records without a number and content, passed over", "cran.all.1400:21"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("cranqrel", "1 2\n", "cranqrel:1: Three columns are needed"),
        ("cranqrel", "1 2 1\n1 x 1\n", "cranqrel:2: Three columns are needed"),
        ("cranqrel", "1 2 -1\n", "cranqrel:1 code: A code from 1 to 5 is needed, not '-1'."),
        ("cran.qry", "what?\n", "cran.qry:1: A record begins with a line like .I 12."),
        ("cran.qry", ".I 1\nwhat?\n", "cran.qry:1: Text before the first field"),
        ("cran.qry", ".I 1\n.W\na\x00b\n", "cran.qry:1 .W: The text holds a NUL"),
    ],
)
def test_what_cannot_be_read_is_named(folder, name, text, fault) -> None:
    (folder / name).write_text(text)
    assert faults(read("cranfield", folder))[0].startswith(fault)


def test_a_line_that_is_not_utf8_is_named(folder) -> None:
    (folder / "cran.all.1400").write_bytes(b".I 1\n.W\ncaf\xe9\n")
    (fault,) = faults(read("cranfield", folder))
    assert fault == (
        "cran.all.1400:3: This is not UTF-8 text (byte 4 of the line). "
        "Convert the file to UTF-8 first."
    )


def test_an_empty_folder_says_what_is_needed(tmp_path) -> None:
    assert "cran.all.1400, cran.qry and cranqrel" in faults(read("cranfield", tmp_path))[0]


def test_the_real_collection(shared) -> None:
    rows = read("cranfield", shared / "cranfield")
    assert faults(rows) == []
    passages, queries = of_kind(rows, PassageRow), of_kind(rows, QueryRow)
    assert (len(passages), len(queries)) == (1400, 225)
    assert [row.pid for row in passages if not row.text] == ["471", "995"]
    assert (queries[2].qid, queries[2].extra) == ("3", {"number": "004"})
    counts = Counter(row.label for row in of_kind(rows, JudgmentRow))
    assert counts == {4: 353, 3: 387, 2: 734, 1: 363}
    assert {row.qid for row in of_kind(rows, JudgmentRow)} == {str(n + 1) for n in range(225)}
