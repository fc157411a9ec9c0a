"""Documents read in pieces say exactly what the same documents say line by line."""

import gzip
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus.importers import reading
from corpus.importers.files import DataFile, Meter
from corpus.importers.rows import PassageBatch, PassageRow, Problem
from corpus.importers.trec import documents as pieces
from corpus.importers.trec.documents import _documents, _line_by_line, read_documents
from tests.corpus.import_files import one_by_one

TAGS = ["DOC", "DOCNO", "TEXT", "TITLE", "HEADLINE", "P", "DOCHDR", "docno", "text", "doc"]
BITS = st.sampled_from(
    [*chain.from_iterable((f"<{tag}>", f"</{tag}>") for tag in TAGS), "\n", " ", "\r\n", "a", "é"]
)
CONTENT = st.lists(BITS, max_size=4).map("".join) | st.just(" x ")


@st.composite
def documents(draw) -> str:
    """Mostly as files write them, with anything in any place."""
    head = f"<DOC>\n<DOCNO>{draw(CONTENT)}</DOCNO>\n"
    title = draw(st.sampled_from(["", "<TITLE> t </TITLE>\n", "<HL>t</hl>"]))
    text = f"<TEXT>{draw(CONTENT)}</TEXT>{draw(st.sampled_from(['', chr(10), 'x']))}"
    return f"{draw(st.sampled_from(['', ' ', chr(10)]))}{head}{title}{text}\n</DOC>\n"


@st.composite
def plain_documents(draw) -> str:
    """As newswire writes them, but for what may stand in a text."""
    pid = draw(st.sampled_from([" d ", "d", " ", "d\n"]))
    title = draw(st.sampled_from(["", "<HL>t</HL>\n", "<TITLE>\n t\n</TITLE>\n"]))
    text = draw(CONTENT | st.sampled_from(["\nwords\nmore\n", "\n", "a < b"]))
    blank = draw(st.sampled_from(["", "", "\n", "\n\n"]))
    return f"{blank}<DOC>\n<DOCNO>{pid}</DOCNO>\n{title}<TEXT>{text}</TEXT>\n</DOC>\n"


@given(
    st.lists(plain_documents() | documents(), min_size=2, max_size=6),
    st.sampled_from(["", "", "x", "\n", "<DOC>\n"]),
    st.booleans(),
)
def test_odd_documents_among_plain_ones_change_nothing(given_documents, tail, is_lower) -> None:
    text = "".join(given_documents) + tail
    piece = (text.lower() if is_lower else text).encode()
    assert list(_documents("a", 7, piece)) == list(_line_by_line("a", 7, piece))


@given(st.lists(documents(), min_size=1, max_size=3), st.lists(BITS, max_size=5))
def test_a_glance_and_line_by_line_agree_on_anything(given_documents, tail) -> None:
    piece = "".join([*given_documents, *tail]).encode()
    assert list(_documents("a", 7, piece)) == list(_line_by_line("a", 7, piece))


def rows_of(path, content: bytes) -> list:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    file = DataFile(path, path.name, "news")
    return list(read_documents(file, Meter(), content.lstrip(b"\xef\xbb\xbf")[:9]))


def document(n: int, text: str = "some text", end: str = "</DOC>") -> str:
    return f"<DOC>\n<DOCNO> d-{n} </DOCNO>\n<TEXT>\n{text}\n</TEXT>\n{end}\n"


@pytest.mark.parametrize("size", [5, 7, 64, 1000])
@pytest.mark.parametrize("name", ["d.txt", "d.txt.gz"])
def test_where_a_piece_is_cut_changes_nothing(tmp_path, monkeypatch, name, size) -> None:
    monkeypatch.setattr(pieces, "PIECE", size)
    ends = ["</DOC>", "</doc>", "</Doc> ", "</DOC>\t"]
    content = "\ufeff" + "".join(document(n, "é\n" * n, ends[n % 4]) for n in range(20))
    found = list(one_by_one(rows_of(tmp_path / name, content.encode())))
    assert [(row.pid, row.text) for row in found] == [
        (f"d-{n}", "\n".join("é" * n) + "\n" * bool(n)) for n in range(20)
    ]
    assert [row.location.line for row in found] == [1 + 6 * n + sum(range(n)) for n in range(20)]


def test_sound_documents_come_as_columns_and_a_problem_is_named_by_its_line(tmp_path) -> None:
    good = "".join(document(n) for n in range(3)).encode()
    (batch,) = rows_of(tmp_path / "d.txt", good)
    assert isinstance(batch, PassageBatch)
    rows = rows_of(tmp_path / "d.txt", good + b"stray\n" + document(9).encode())
    assert [type(row) for row in rows] == [PassageRow] * 3 + [Problem, PassageRow]
    assert str(rows[3]) == "d.txt:19: A line outside of <DOC>."
    *_, problem = rows_of(tmp_path / "d.txt", document(1).encode() + b"<DOC>\ncaf\xe9\n")
    assert problem.location.line == 8


@settings(max_examples=20)
@given(limit=st.integers(1, 200))
def test_a_record_beyond_the_bound_ends_the_file(tmp_path_factory, limit) -> None:
    path = tmp_path_factory.mktemp("bound") / "d.txt"
    content = (document(1) + document(2, "word " * 80) + document(3)).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "LINE_LIMIT", limit)
        patch.setattr(pieces, "PIECE", 64)
        found = [row for row in one_by_one(rows_of(path, content)) if isinstance(row, Problem)]
    assert len(found) == 1


@pytest.mark.parametrize("rest", [b"x" * 200, b"x\n" * 100, b"</DOC>\n" + b"\n" * 200])
def test_what_has_no_end_is_refused_without_being_held(tmp_path, monkeypatch, rest) -> None:
    monkeypatch.setattr(reading, "LINE_LIMIT", 100)
    monkeypatch.setattr(pieces, "PIECE", 32)
    problems = rows_of(tmp_path / "d.txt", b"<DOC>\n" + rest)
    assert "without a line that ends with </DOC>" in problems[-1].message


def test_columns_come_as_columns_too(tmp_path) -> None:
    (batch,) = rows_of(tmp_path / "d.tsv", b"a\tone\nb\ttwo\twords\n")
    assert [(row.pid, row.text) for row in batch] == [("a", "one"), ("b", "two\twords")]
