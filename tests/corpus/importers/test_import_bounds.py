"""What one import may unpack to, and files that hold far more than their size."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus.importers import files, parquet, reading
from corpus.importers.files import Meter
from corpus.importers.formats import FORMATS, RUN_FORMATS
from corpus.importers.rows import PassageBatch
from tests.corpus.import_files import bright_row, faults, one_by_one

TOO_MUCH, TOO_DENSE = "more than may be loaded at once", "far more than its size"


def packed(path, *rows) -> int:
    """Write JSON lines, gzipped; return how many bytes they unpack to."""
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(content))
    return len(content)


def read(path, limit: int, name: str = "bright") -> list:
    return list(FORMATS[name].read(path, meter=Meter(limit=limit)))


def test_compressed_files_share_one_bound(tmp_path) -> None:
    sizes = [packed(tmp_path / f"{name}.jsonl.gz", bright_row()) for name in ("a", "b")]
    assert faults(read(tmp_path, sum(sizes))) == []
    (found,) = faults(read(tmp_path, sum(sizes) - 1))
    assert found.startswith("b.jsonl.gz")
    assert TOO_MUCH in found


def test_plain_files_have_no_such_bound(tmp_path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(bright_row()))
    assert faults(read(tmp_path, 1)) == []


@pytest.mark.parametrize(
    ("name", "content"),
    [("trec_run", "q Q0 a 1 2 t\n" * 9), ("score_json", '{"q": {"a": 1, "b": 0.5}}')],
)
def test_runs_keep_to_the_bound(tmp_path, name, content) -> None:
    (tmp_path / "biology.json.gz").write_bytes(gzip.compress(content.encode()))
    path = tmp_path / "biology.json.gz"
    (found,) = faults(list(RUN_FORMATS[name].read(path, meter=Meter(limit=len(content) - 1))))
    assert TOO_MUCH in found
    assert faults(list(RUN_FORMATS[name].read(path, meter=Meter(limit=len(content))))) == []


def test_a_qrels_file_is_not_gone_through_beyond_the_bound(tmp_path) -> None:
    (tmp_path / "qrels.txt.gz").write_bytes(gzip.compress(b"1 0 d 1\n" * 1000))
    assert any(TOO_MUCH in each for each in faults(read(tmp_path, 4000, "trec")))


def test_a_compressed_list_that_is_a_bomb_is_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(files, "ALWAYS_FINE", 1 << 16)
    content = json.dumps([bright_row(query="a" * 4_000_000)]).encode()
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(content))
    (found,) = faults(read(tmp_path, 0))
    assert TOO_DENSE in found


def test_a_list_beyond_the_bound_says_to_use_lines(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(reading, "LIST_LIMIT", 100)
    (tmp_path / "a.json").write_text(json.dumps([bright_row()] * 3))
    (found,) = faults(read(tmp_path, 0))
    assert "Use JSON lines" in found


def documents(tmp_path, **columns) -> None:
    (tmp_path / "documents").mkdir()
    pq.write_table(pa.table(columns), tmp_path / "documents" / "biology.parquet")


def passages(rows: list) -> list[tuple[str, str]]:
    return [(row.pid, row.text) for row in one_by_one(rows)]


def test_texts_that_come_again_are_unpacked_a_few_at_a_time(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(parquet, "MAX_AT_ONCE", 100_000)
    texts = ["x" * 30_000, "y"] * 20
    documents(tmp_path, id=[str(n) for n in range(40)], content=texts)
    rows = read(tmp_path, 0, "bright_pro")
    sizes = [len(row) for row in rows if isinstance(row, PassageBatch)]
    assert passages(rows) == [(str(n), text) for n, text in enumerate(texts)]
    assert max(sizes) <= 3


def test_usual_texts_are_unpacked_in_full_blocks(tmp_path) -> None:
    documents(tmp_path, id=[str(n) for n in range(3000)], content=["word " * 130] * 3000)
    rows = read(tmp_path, 0, "bright_pro")
    assert [len(row) for row in rows] == [reading.BLOCK_ROWS, 1000]


def test_one_text_too_long_to_be_unpacked_is_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(parquet, "MAX_AT_ONCE", 10_000)
    documents(tmp_path, id=["1", "2"], content=["x" * 30_000] * 2)
    (found,) = faults(read(tmp_path, 0, "bright_pro"))
    assert found.startswith("documents/biology.parquet")
    assert TOO_DENSE in found


def test_lists_of_long_values_that_come_again_are_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(parquet, "MAX_AT_ONCE", 10_000)
    monkeypatch.setattr(parquet, "MAX_IN_LISTS", 10_000)
    (tmp_path / "examples").mkdir()
    ids = pa.array([["x" * 400] * 50])
    table = pa.table({"id": ["1"], "query": ["q"], "gold_ids": ids})
    pq.write_table(table, tmp_path / "examples" / "biology.parquet")
    (found,) = faults(read(tmp_path, 0))
    assert TOO_DENSE in found


def test_what_parquet_unpacks_to_counts_too(tmp_path, monkeypatch) -> None:
    documents(tmp_path, id=[str(n) for n in range(50)], content=["x" * 1000] * 50)
    assert any(TOO_MUCH in each for each in faults(read(tmp_path, 40_000, "bright_pro")))
    monkeypatch.setattr(files, "ALWAYS_FINE", 1000)
    monkeypatch.setattr(files, "MAX_TIMES", 2)
    assert any(TOO_DENSE in each for each in faults(read(tmp_path, 0, "bright_pro")))
