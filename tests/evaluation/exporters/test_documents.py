"""Documents of a release: two files written at once, the table in a thread beside."""

import json
import threading
from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from evaluation.exporters import documents
from evaluation.exporters.documents import write_documents

ROWS = [
    (
        f"d/{n}.txt",
        f"text {n} “quoted” \\ \n {'é' * n}",
        f"Title {n}" if n % 2 else "",
        f"https://example.org/{n}" if n % 3 else "",
        date(2024, 5, 1 + n) if n % 4 else None,
    )
    for n in range(25)
]


def write(folder: Path, rows=ROWS, **options) -> int:
    return write_documents(folder / "t/d.parquet", folder / "b/corpus.jsonl", rows, **options)


@pytest.fixture
def groups_of_ten(monkeypatch) -> None:
    monkeypatch.setattr(documents, "ROWS_IN_GROUP", 10)


@pytest.mark.usefixtures("groups_of_ten")
def test_both_files_hold_every_row_in_order(tmp_path) -> None:
    told: list[int] = []
    assert write(tmp_path, step=told.append) == 25
    assert told == [10, 20, 25]
    table = pq.ParquetFile(tmp_path / "t/d.parquet")
    assert [table.metadata.row_group(n).num_rows for n in range(3)] == [10, 10, 5]
    assert [tuple(row.values()) for row in table.read().to_pylist()] == ROWS
    lines = (tmp_path / "b/corpus.jsonl").read_bytes().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"_id": pid, "title": title, "text": text}
        | ({"source_url": url} if url else {})
        | ({"fetched_on": day.isoformat()} if day else {})
        for pid, text, title, url, day in ROWS
    ]


@pytest.mark.usefixtures("groups_of_ten")
def test_the_same_rows_give_the_same_bytes(tmp_path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name)
    for file in ("t/d.parquet", "b/corpus.jsonl"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_groups_are_bounded_by_their_text(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(documents, "TEXT_IN_GROUP", 10)
    told: list[int] = []
    write(tmp_path, rows=[(str(n), "abc", "d", "", None) for n in range(7)], step=told.append)
    assert told == [3, 6, 7]
    assert pq.ParquetFile(tmp_path / "t/d.parquet").num_row_groups == 3


def test_without_rows_there_is_no_table(tmp_path) -> None:
    assert write(tmp_path, rows=[]) == 0
    assert not (tmp_path / "t").exists()
    assert (tmp_path / "b/corpus.jsonl").read_bytes() == b""


@pytest.mark.usefixtures("groups_of_ten")
def test_a_stop_ends_the_thread_and_comes_out(tmp_path) -> None:
    def stop(done: int) -> None:
        raise InterruptedError(done)

    before = threading.active_count()
    with pytest.raises(InterruptedError, match="10"):
        write(tmp_path, step=stop)
    assert threading.active_count() == before


def test_a_full_disk_comes_out_of_the_thread(tmp_path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t/d.parquet").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space"):
        write(tmp_path)
