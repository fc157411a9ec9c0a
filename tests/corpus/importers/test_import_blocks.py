"""Passages as columns say exactly what the same records say one by one."""

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.importers.blocks import BLOCK_ROWS, Block, Layout
from corpus.importers.files import DataFile, Meter
from corpus.importers.formats import FORMATS
from corpus.importers.reading import blocks
from corpus.importers.records import passage
from corpus.importers.rows import Location, PassageBatch, PassageRow, Problem
from tests.corpus.import_files import one_by_one, write_lines

LAYOUT = Layout(ids=("id",), texts=("content",), keeps_others=False)
WIDE = Layout(ids=("docno", "_id"), texts=("contents", "text"))
GOOD = {"id": "a/b_0.txt", "content": "na\u00efve \U0001f98b\r\n"}


def block_of(*values: dict) -> Block:
    return Block.of("a.jsonl", range(1, len(values) + 1), list(values))


def rows_one_by_one(block: Block, layout: Layout = LAYOUT) -> list:
    """As a reader takes a block that holds anything unusual."""
    return [row for each in block.records() for row in passage("biology", each, layout)]


@pytest.mark.parametrize(
    "odd",
    [
        {"id": "b"},
        {"content": "x"},
        {"id": "", "content": "x"},
        {"id": "b", "content": 12},
        {"id": "b", "content": None},
        {"id": "b", "content": "x\x00"},
        {"id": "b\x00", "content": "x"},
        {"id": "b", "content": "half \ud83e of a pair"},
        {"id": "x" * 501, "content": "x"},
        {"id": "b", "content": "x", "title": 3},
        {"id": "b", "content": "x", "source_url": "x" * 2001},
        {"id": "b", "content": "x", "fetched_on": "2024-02-30"},
        {"id": "b", "content": "x", "fetched_on": "20240229"},
        {"id": "b", "content": "x", "fetched_on": 2024},
    ],
)
def test_a_block_with_anything_unusual_is_not_taken_as_columns(odd) -> None:
    assert block_of(GOOD, odd, GOOD).passages("biology", LAYOUT) is None


def test_limits_are_met_exactly() -> None:
    edge = {"id": "x" * 500, "content": "", "title": "t" * 500, "source_url": "u" * 2000}
    batch = block_of(GOOD, edge).passages("biology", LAYOUT)
    assert list(batch) == rows_one_by_one(block_of(GOOD, edge))
    assert batch.titles == [None, "t" * 500]


def test_places_are_those_of_the_records() -> None:
    batch = Block.of("a.jsonl", [3, 7], [GOOD, {**GOOD, "id": "c"}]).passages("biology", LAYOUT)
    assert [row.location for row in batch] == [Location("a.jsonl", n, "content") for n in (3, 7)]
    assert batch.location == Location("a.jsonl", 3, "content")


texts = st.text(st.characters(exclude_categories=[]), max_size=6)
values = texts | st.none() | st.integers() | st.booleans()
days = values | st.dates().map(str) | st.dates()
records = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("id", "content", "title", "source_url"), values),
        "fetched_on": days,
    },
)


@given(st.lists(records, min_size=1, max_size=4))
def test_columns_and_records_agree_on_anything(given_values) -> None:
    block = block_of(*given_values)
    batch = block.passages("biology", LAYOUT)
    expected = rows_one_by_one(block)
    if batch is None:
        # Taken apart: for a problem, or for a whole number where a text was expected.
        numbers = [v for each in given_values for v in each.values() if isinstance(v, int)]
        assert numbers or any(isinstance(row, Problem) for row in expected)
    else:
        assert list(batch) == expected


others = st.recursive(values | st.floats(), lambda inner: st.lists(inner, max_size=2))
wide_records = st.fixed_dictionaries(
    {"_id": st.text(min_size=1, max_size=3) | st.integers(), "text": texts},
    optional={
        "docno": values,
        "contents": values,
        "title": texts | st.none(),
        "metadata": st.dictionaries(texts, others, max_size=1) | others,
    },
)


@given(st.lists(wide_records, min_size=1, max_size=3))
def test_columns_and_records_agree_on_other_names_and_fields(given_values) -> None:
    block = block_of(*given_values)
    batch = block.passages("biology", WIDE)
    expected = rows_one_by_one(block, WIDE)
    if batch is not None:
        assert list(batch) == expected
        assert [row.location for row in batch] == [row.location for row in expected]
    else:
        mixed = any(
            len({each.get(name) is None for each in given_values}) > 1
            for name in ("docno", "contents")
        )
        numbers = any(type(each.get("title")) is int for each in given_values)
        is_odd = any(not isinstance(row, PassageRow) for row in expected)
        assert mixed or numbers or is_odd


def test_other_fields_and_numbers_as_ids_do_not_slow_a_block_down() -> None:
    rows = [
        {"_id": 3, "text": "x", "title": None, "metadata": {}},
        {"_id": 4, "text": "y", "title": "Y", "metadata": {"url": "u"}},
    ]
    batch = block_of(*rows).passages("nq", WIDE)
    assert (batch.pids, batch.titles) == (["3", "4"], [None, "Y"])
    assert batch.extras == [None, {"metadata": {"url": "u"}}]
    assert batch.without(["3"]).extras == [{"metadata": {"url": "u"}}]


@pytest.mark.parametrize("name", ["biology.jsonl", "biology.parquet"])
def test_large_files_come_in_blocks_with_every_row_once(tmp_path, name) -> None:
    rows = [{"id": f"p{n}", "content": f"text {n}"} for n in range(2 * BLOCK_ROWS + 3)]
    path = tmp_path / "documents" / name
    path.parent.mkdir()
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    batches = list(FORMATS["bright_pro"].read(tmp_path))
    assert [type(each) for each in batches] == [PassageBatch] * 3
    found = list(one_by_one(batches))
    assert [(row.pid, row.location.line) for row in found] == [
        (f"p{n}", n + 1) for n in range(len(rows))
    ]


def test_only_the_block_with_a_problem_is_taken_apart(tmp_path) -> None:
    rows = [{"id": f"p{n}", "content": "x"} for n in range(2 * BLOCK_ROWS)]
    rows[5] = {"id": "bad"}
    write_lines(tmp_path / "documents" / "biology.jsonl", rows)
    found = list(FORMATS["bright_pro"].read(tmp_path))
    assert [str(row) for row in found if isinstance(row, Problem)] == [
        "documents/biology.jsonl:6 content: This field is missing."
    ]
    assert sum(isinstance(row, PassageBatch) for row in found) == 1
    assert len(list(one_by_one(found))) == 2 * BLOCK_ROWS


def parquet_blocks(path, table: pa.Table, **options) -> list:
    pq.write_table(table, path, **options)
    return list(blocks(DataFile(path, path.name, "biology"), Meter()))


def test_blocks_of_long_texts_hold_fewer_rows(tmp_path) -> None:
    long = [str(n) + "x" * 200_000 for n in range(50)]
    table = pa.table({"id": [str(n) for n in range(50)], "content": long})
    found = parquet_blocks(tmp_path / "a.parquet", table, compression="none")
    assert max(len(block.lines) for block in found) <= 25
    assert [row.text for block in found for row in block.passages("biology", LAYOUT)] == long


def test_text_that_is_not_unicode_is_a_problem_at_its_block(tmp_path) -> None:
    bad = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]
    )
    (block,) = parquet_blocks(tmp_path / "a.parquet", pa.table({"id": ["a"], "content": bad}))
    assert block.passages("biology", LAYOUT) is None
    (problem,) = block.records()
    assert str(problem).startswith("a.parquet:1: The records from here on cannot be read")


def test_a_column_that_is_there_twice_is_left_to_the_records(tmp_path) -> None:
    table = pa.table([["a"], ["x"], ["one"], ["two"]], names=["id", "content", "title", "title"])
    (block,) = parquet_blocks(tmp_path / "a.parquet", table)
    assert block.passages("biology", LAYOUT) is None
