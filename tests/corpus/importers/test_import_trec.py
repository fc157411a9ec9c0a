import gzip
from collections import Counter

import pytest

from corpus.importers import reading
from corpus.importers.rows import JudgmentRow, PassageRow, QueryRow
from tests.corpus.import_files import faults, labels, oddities, of_kind, read, write_lines

TOPICS = """
<top>
<num> Number: 301
<title> International
Organized Crime

<desc> Description:
Identify organizations.
<narr> Narrative:
A relevant document < must > name one.

</top>
<top>
<num>302</num>
<title> Polio </title>
</top>
"""
DOCUMENTS = """<DOC>
<DOCNO> FT-1 </DOCNO>
<HEADLINE> Wings </HEADLINE>
<TEXT>
First line.

  <P>Second &amp; last.</P>
</TEXT>
</DOC>

<doc><docno>FT-2</docno><dochdr>ignored</dochdr>
body <b>only</b>
</doc>
"""


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "robust"
    root.mkdir()
    (root / "topics.robust.txt").write_text(TOPICS)
    (root / "docs.trectext").write_text(DOCUMENTS)
    (root / "qrels.txt").write_text(
        "# a comment\n301 0 FT-1 2\r\n301\tQ0\tFT-2\t-1\n302 0 FT-1 0\n"
    )
    return root


def qrels_of(folder, text) -> list:
    (folder / "qrels.txt").write_text(text)
    return read("trec", folder)


def test_topics_keep_all_their_parts(folder) -> None:
    rows = of_kind(read("trec", folder), QueryRow)
    found = [(row.domain, row.qid, row.text, row.description, row.narrative) for row in rows]
    assert found == [
        (
            "robust",
            "301",
            "International\nOrganized Crime",
            "Identify organizations.",
            "A relevant document < must > name one.",
        ),
        ("robust", "302", "Polio", None, None),
    ]


WEB = """<?xml version="1.0"?>
<webtrack2009>

<topic number="1" type="faceted">
  <query>obama &amp; family</query>
  <description>Find the
  tree.
  </description>
  <subtopic number="1" type="nav">
    A photo essay
  </subtopic>
  <subtopic number="2" type="inf">Parents</subtopic>
</topic>
<topic number="2"><query>polio</query></topic>
<topic><num>3</num><title>wings</title><narrative>Of moths</narrative><question>How?</question>
</topic>
<topic number="4">A patient of 60 years</topic>
</webtrack2009>
"""


@pytest.mark.parametrize("name", ["topics.robust.txt", "wt09.xml"])
def test_topics_in_xml_keep_all_their_parts(folder, name) -> None:
    (folder / "topics.robust.txt").unlink()
    (folder / name).write_text(WEB if name == "wt09.xml" else f"\n{WEB[22:]}")
    path = folder if name.startswith("topics") else folder / name
    rows = [row for row in of_kind(read("trec", path), QueryRow) if row.text is not None]
    found = [(row.qid, row.text, row.description, row.narrative, row.extra) for row in rows]
    subtopics = [
        {"number": "1", "type": "nav", "text": "A photo essay"},
        {"number": "2", "type": "inf", "text": "Parents"},
    ]
    of_first = {"type": "faceted", "subtopics": subtopics}
    assert found == [
        ("1", "obama & family", "Find the\n  tree.", None, of_first),
        ("2", "polio", None, None, None),
        ("3", "wings", None, "Of moths", {"question": "How?"}),
        ("4", "A patient of 60 years", None, None, None),
    ]
    assert [row.location.line for row in rows] == [4, 14, 15, 17]


def test_documents_are_what_stands_in_text_or_all_but_the_head(folder) -> None:
    rows = of_kind(read("trec", folder), PassageRow)
    assert [(row.pid, row.title, row.text) for row in rows] == [
        ("FT-1", "Wings", "First line.\n\n  <P>Second &amp; last.</P>"),
        ("FT-2", None, "body <b>only</b>"),
    ]


def test_files_with_cr_lf_read_as_those_without(folder) -> None:
    plain = read("trec", folder)
    for each in folder.iterdir():
        text = each.read_text().replace("\r", "")
        each.write_bytes(text.replace("\n", "\r\n").encode())
    assert read("trec", folder) == plain


def test_judgments_may_be_graded_negative_and_commented(folder) -> None:
    assert labels(read("trec", folder)) == [
        ("robust", "301", "FT-1", 2),
        ("robust", "301", "FT-2", -1),
        ("robust", "302", "FT-1", 0),
    ]


def test_subtopics_make_one_judgment_with_the_highest_label(folder) -> None:
    rows = qrels_of(folder, "301 1 FT-1 -1\n301 2 FT-1 0\n301 2 FT-2 1\n301 0 FT-2 2\n")
    found = [(row.pid, row.label, row.subtopics) for row in of_kind(rows, JudgmentRow)]
    assert found == [("FT-1", 0, {"1": -1, "2": 0}), ("FT-2", 2, {"2": 1, "0": 2})]


@pytest.mark.parametrize("middle", ["0", "Q0", "7"])
def test_one_word_in_the_second_column_is_an_iteration(folder, middle) -> None:
    rows = qrels_of(folder, f"301 {middle} FT-1 1\n302 {middle} FT-1 1\n")
    assert [row.subtopics for row in of_kind(rows, JudgmentRow)] == [None, None]


def test_subtopics_that_say_two_things_are_a_problem_and_repeats_are_odd(folder) -> None:
    rows = qrels_of(folder, "301 1 FT-1 1\n301 2 FT-1 1\n301 2 FT-1 1\n301 1 FT-1 0\n")
    assert faults(rows) == [
        "qrels.txt:4 label: FT-1 has the label 1 for this subtopic before.",
    ]
    assert ("judgments of a subtopic repeated", "robust-301: FT-1") in oddities(rows)


def test_queries_known_by_judgments_alone_have_no_text(folder) -> None:
    rows = read("trec", folder / "qrels.txt")
    assert [(row.domain, row.qid, row.text) for row in of_kind(rows, QueryRow)] == [
        ("qrels", "301", None),
        ("qrels", "302", None),
    ]
    assert ("queries known by their judgments alone", "qrels-301") in oddities(rows)


def test_given_qrels_take_the_place_of_the_folders_own(folder, tmp_path) -> None:
    (tmp_path / "judge.txt").write_text("301 0 FT-1 3\n")
    assert labels(read("trec", folder, tmp_path / "judge.txt")) == [("robust", "301", "FT-1", 3)]


def test_columns_and_json_read_as_markup_does(folder, tmp_path) -> None:
    other = tmp_path / "again" / "robust"
    (other / "documents").mkdir(parents=True)
    (other / "topics.tsv").write_text("301\tInternational\tcrime\n")
    write_lines(other / "documents" / "part.jsonl", [{"id": "FT-1", "contents": "x", "extra": 1}])
    (other / "documents" / "part.tsv.gz").write_bytes(gzip.compress(b"FT-2\ty\n"))
    rows = read("trec", other)
    assert faults(rows) == []
    assert [(row.qid, row.text) for row in of_kind(rows, QueryRow)] == [
        ("301", "International\tcrime")
    ]
    assert [(row.pid, row.text, row.extra) for row in of_kind(rows, PassageRow)] == [
        ("FT-1", "x", {"extra": 1}),
        ("FT-2", "y", None),
    ]


@pytest.mark.parametrize(
    ("content", "count"),
    [("<top>\n<num> 1\n<title> x\n</top>", 1), ("1\tx\n2\ty\n", 2), ("1 0 d 1\n", 1)],
)
def test_a_single_file_is_told_by_how_it_begins(tmp_path, content, count) -> None:
    (tmp_path / "data.txt").write_text(content)
    rows = read("trec", tmp_path / "data.txt")
    assert (faults(rows), len(of_kind(rows, QueryRow))) == ([], count)


def test_a_topic_without_a_title_is_read_by_its_description(folder) -> None:
    (folder / "topics.robust.txt").write_text("<top>\n<num> 9\n<desc> Description: Why?\n</top>")
    rows = read("trec", folder)
    assert of_kind(rows, QueryRow)[0].text == "Why?"
    assert ("topics without a title, read by their description", "robust-9") in oddities(rows)


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("topics.robust.txt", "<top>\n<title> x\n</top>", "1 num: This topic has no number."),
        ("topics.robust.txt", "<top>\n<num> 1\n</top>", "1 title: This topic has neither"),
        ("topics.robust.txt", "<top>\n<num> 1\n", "1: This <top> is never closed."),
        ("topics.robust.txt", "<top>\n<num> 1\n<title> a\x00\n</top>", "1 title: The text holds"),
        ("topics.robust.txt", "<topic><query>x</query></topic>", "1 number: This topic has no"),
        ("topics.robust.txt", "<t>\n<topic number='1'/></t>", "2 query: This topic has neither"),
        ("topics.robust.txt", "<topic number='1'>\n<query>a & b", "2: This is not valid XML (not"),
        ("topics.robust.txt", "<topic number='1'>" + "<a>" * 99, "1: Elements stand more than 32"),
        (
            "topics.robust.txt",
            "<!DOCTYPE t [<!ENTITY a 'aaaa'>]>\n<t><topic number='1'>&a;</topic></t>",
            "1: Declarations of a document type are not read",
        ),
        ("topics.robust.txt", "301 no tab\n", "1: Two columns are needed: query id, a tab"),
        ("docs.trectext", "<DOC>\n</DOC>\n", "1 DOCNO: This document has no <DOCNO>."),
        ("docs.trectext", "<DOC>\n<DOC>\n</DOC>\n", "1: This <DOC> is never closed."),
        ("docs.trectext", "<DOC></DOC><DOC></DOC>\n", "1: More than one <DOC> on a line."),
        ("docs.trectext", "<DOC>\n<DOCNO>1</DOCNO>\n</DOC>\nx\n", "4: A line outside of <DOC>."),
        ("qrels.txt", "301 0 FT-1\n", "1: Four columns are needed"),
        ("qrels.txt", "301 0 FT-1 1\n301 0 FT-1 x\n", "2 label: A whole number is needed"),
    ],
)
def test_what_cannot_be_read_is_named(folder, name, text, fault) -> None:
    (folder / name).write_text(text)
    assert faults(read("trec", folder))[0].startswith(f"{name}:{fault}")


def test_bytes_that_are_not_utf8_are_named_by_line(folder) -> None:
    (folder / "qrels.txt").write_bytes(b"301 0 caf\xe9 1\n301 0 FT-1 1\n")
    rows = read("trec", folder)
    assert faults(rows)[0].startswith("qrels.txt:1: This is not UTF-8 text (byte 10 of the line).")
    assert len(labels(rows)) == 1


def test_a_record_beyond_the_bound_is_not_held(folder, monkeypatch) -> None:
    monkeypatch.setattr(reading, "LINE_LIMIT", 1000)
    (folder / "docs.trectext").write_text("<DOC>\n" + "word\n" * 500 + "</DOC>\n")
    assert faults(read("trec", folder)) == [
        "docs.trectext:1: This <DOC> is too long to be one record."
    ]


def test_files_of_no_known_kind_are_counted(folder) -> None:
    (folder / "notes.txt").write_text("hello")
    assert [name for what, name in oddities(read("trec", folder)) if "not read" in what] == [
        "notes.txt"
    ]


@pytest.mark.parametrize(
    ("name", "judgments", "queries"),
    [
        ("qrels.test", 3681, 3),
        ("qrels.test.with-comments", 3681, 3),
        ("qrels.rel_level", 3681, 3),
        ("qrels-302.test", 1061, 1),
        ("ir_measures/compat.qrels", 311, 2),
    ],
)
def test_counts_of_real_judgments(shared, name, judgments, queries) -> None:
    rows = read("trec", shared / "trec_eval-tests" / name)
    assert faults(rows) == []
    assert (len(labels(rows)), len(of_kind(rows, QueryRow))) == (judgments, queries)


def test_real_judgments_of_subtopics(shared) -> None:
    rows = of_kind(read("trec", shared / "trec_eval-tests" / "qrels.123"), JudgmentRow)
    assert sum(len(row.subtopics) for row in rows) == 10362
    assert all(row.label == max(row.subtopics.values()) for row in rows)


def test_real_labels_of_people_and_of_a_judge(shared) -> None:
    folder = shared / "llmjudge"
    rows = read("trec", folder)
    assert Counter(row.gold for row in of_kind(rows, JudgmentRow)) == {
        "human_dev_qrels.txt": 7263,
        "human_test_qrels.txt": 4423,
    }
    assert len(of_kind(rows, QueryRow)) == 50
    assert len(labels(read("trec", folder, folder / "submissions" / "Olz-gpt4o.txt"))) == 4423
