import gzip
import json

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.importers import fields, reading
from corpus.importers.fields import Record
from corpus.importers.files import DataFile, Meter, data_files
from corpus.importers.rows import Location, Problem
from corpus.models import Domain, Passage, Query
from tests.corpus.import_files import write_lines


def records(path) -> list[Record | Problem]:
    return list(reading.records(DataFile(path, path.name, "biology"), Meter()))


def values(path) -> list[dict]:
    return [record.data for record in records(path)]


ROWS = [
    {"id": "a/b%27 [1].txt", "content": "na\u00efve \u2028 text\r\n"},
    {"id": "\u00fc", "content": ""},
]


def test_the_same_rows_come_out_of_every_kind_of_file(tmp_path) -> None:
    write_lines(tmp_path / "a.jsonl", ROWS)
    write_lines(tmp_path / "b.jsonl.gz", ROWS)
    (tmp_path / "c.json").write_text(json.dumps(ROWS, indent=2))
    (tmp_path / "d.json.gz").write_bytes(gzip.compress(json.dumps(ROWS).encode()))
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "e.parquet")
    write_lines(tmp_path / "f.json", ROWS)  # lines under the other name
    found = [values(each) for each in sorted(tmp_path.iterdir())]
    assert found == [ROWS] * 6


@given(st.lists(st.dictionaries(st.text(), st.text(), min_size=1), max_size=5))
def test_any_text_comes_out_of_lines_as_it_went_in(tmp_path_factory, rows) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.jsonl"
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    assert values(path) == rows


def test_blank_lines_and_a_byte_order_mark_are_passed_over_and_lines_still_count(tmp_path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id": 1}\n\n  \n{"id": 2}')
    assert [record.location.line for record in records(path)] == [1, 4]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"id": 1', "not valid JSON"),
        (b'{"id": "caf\xe9"}', "not UTF-8 text (byte 12 of it)"),
        (b'{"id": "\\ud800"}', "surrogate"),
        (b"[1, 2]", "A JSON object is needed"),
        (b"[" * 5000, "not valid JSON"),
    ],
)
def test_a_bad_line_is_named_and_the_next_is_read(tmp_path, line, message) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"id": 1}\n' + line + b'\n{"id": 3}\n')
    first, bad, third = records(path)
    assert (first.data, third.data) == ({"id": 1}, {"id": 3})
    assert str(bad).startswith("a.jsonl:2: ")
    assert message in bad.message


def test_a_truncated_gzip_file_says_so(tmp_path) -> None:
    whole = write_lines(tmp_path / "a.jsonl.gz", [{"id": n, "x": str(n) * 9} for n in range(500)])
    path = tmp_path / "b.jsonl.gz"
    path.write_bytes(whole.read_bytes()[:-200])
    assert "ends too early" in records(path)[-1].message


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.json.gz", "a.parquet"])
def test_a_file_that_is_not_what_its_name_says_is_a_problem(tmp_path, name) -> None:
    (tmp_path / name).write_bytes(b"\x1f\x8b\x08plain nonsense" * 20)
    (only,) = records(tmp_path / name)
    assert isinstance(only, Problem)
    assert only.location.file == name


def test_a_line_beyond_the_bound_is_not_held_in_memory(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(reading, "LINE_LIMIT", 1000)
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1}\n{"id": "' + "x" * 5000 + '"}\n')
    assert str(records(path)[1]).startswith("a.jsonl:2: The line is longer")


def test_a_broken_list_names_the_line(tmp_path) -> None:
    (tmp_path / "a.json").write_text('[\n {"id": 1},\n {"id": }\n]')
    (only,) = records(tmp_path / "a.json")
    assert only.location == Location("a.json", 3)


def test_progress_ends_at_the_total(tmp_path) -> None:
    write_lines(tmp_path / "a.jsonl.gz", ROWS * 100)
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "b.parquet")
    meter, files = Meter(), data_files(tmp_path)
    meter.expect(files)
    for file in files:
        list(reading.records(file, meter))
    assert meter.done == meter.total == sum(each.stat().st_size for each in tmp_path.iterdir())


def test_domains_come_from_names_without_endings_and_shard_numbers(tmp_path) -> None:
    for name in ("biology.jsonl.gz", "pony-00000-of-00002.parquet", ".hidden.json", "notes.txt"):
        (tmp_path / name).write_text("")
    assert [file.domain for file in data_files(tmp_path)] == ["biology", "pony"]


def test_fields_of_the_wrong_kind_are_named() -> None:
    record = Record(
        {
            "id": True,
            "query": 5,
            "gold_ids": "x",
            "list": ["a", None],
            "nul": "a\x00b",
            "long": "xx",
        },
        Location("f", 3),
    )
    record.ident("id")
    record.text("query")
    record.texts("gold_ids")
    record.texts("list")
    record.text("nul")
    record.text("long", limit=1)
    record.whole("weight")
    assert [each.location.field for each in record.problems] == [
        "id",
        "query",
        "gold_ids",
        "list[1]",
        "nul",
        "long",
        "weight",
    ]
    assert str(record.problems[0]) == "f:3 id: Text is needed here."


def test_whole_numbers_are_ids_and_empty_texts_are_not() -> None:
    record = Record({"a": 12, "b": "", "c": "012 "}, Location("f", 1))
    assert (record.ident("a"), record.ident("b"), record.ident("c")) == ("12", "", "012 ")
    assert [each.location.field for each in record.problems] == ["b"]


def test_limits_are_those_of_the_columns() -> None:
    limits = {
        (Domain, "name"): fields.DOMAIN_LIMIT,
        (Query, "qid"): fields.QID_LIMIT,
        (Passage, "pid"): fields.PID_LIMIT,
        (Passage, "source_url"): fields.URL_LIMIT,
    }
    for (model, name), limit in limits.items():
        assert model._meta.get_field(name).max_length == limit
