"""Whatever stands in a file, every reader ends, raises nothing and says what is wrong."""

import gzip
import os
import resource
import subprocess
import sys
import tracemalloc
from itertools import islice
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.importers import files
from corpus.importers.formats import FORMATS, RUN_FORMATS
from corpus.importers.rows import Problem
from tests.corpus.import_files import faults, labels, one_by_one, read, write_lines
from tests.fuzz.mutate import broken
from tests.fuzz.samples import SAMPLES, parquet
from tests.fuzz.trial import READERS, files_of, write

ALL = [*FORMATS, *RUN_FORMATS]
MEGABYTE = 1 << 20
# One file that each format reads first, and whose name it knows.
FIRST = {
    "bright_pro": "examples/bio.jsonl",
    "bright": "queries/bio.jsonl",
    "bridge": "nq.jsonl",
    "beir": "queries.jsonl",
    "trec": "qrels.txt",
    "cranfield": "cran.qry",
    "hotpotqa": "dev.jsonl",
    "pairs": "pairs.jsonl",
    "trec_run": "bio.run",
    "score_json": "bio.json",
}


def in_full_slowly(*quick: str) -> list[Any]:
    """Every format but score_json, which is one object; those but the named ones are slow."""
    names = [name for name in ALL if name != "score_json"]
    return [pytest.param(name, marks=[] if name in quick else pytest.mark.slow) for name in names]


def problems(name, root) -> list[Problem]:
    return [row for row in islice(READERS[name](root), 10_000) if isinstance(row, Problem)]


def one_file(root, name, content, ending=""):
    write(root, {FIRST[name] + ending: content})
    return root


def test_every_format_has_samples_and_they_are_sound(tmp_path) -> None:
    assert set(SAMPLES) == set(FIRST) == set(ALL)
    for name, samples in SAMPLES.items():
        for n, sample in enumerate(samples):
            root = tmp_path / name / str(n) / "nq"
            write(root, sample)
            assert problems(name, root) == []


@pytest.mark.parametrize("name", ALL)
@given(content=st.binary(max_size=400), ending=st.sampled_from(["", ".gz"]))
def test_any_bytes_are_read_to_the_end(tmp_path_factory, name, content, ending) -> None:
    root = one_file(tmp_path_factory.mktemp("any"), name, content, ending)
    list(READERS[name](root))


@pytest.mark.parametrize("name", ALL)
@given(seed=st.integers(0, 10**9))
def test_damaged_files_are_read_to_the_end(tmp_path_factory, name, seed) -> None:
    root = tmp_path_factory.mktemp("damaged")
    write(root, files_of(name, Random(seed)))
    list(READERS[name](root))


def test_damage_differs_by_seed_and_not_by_run() -> None:
    content = SAMPLES["trec"][0]["docs.txt"]
    first = [broken(content, Random(seed)) for seed in range(20)]
    assert first == [broken(content, Random(seed)) for seed in range(20)]
    assert len(set(first)) > 15


@pytest.mark.parametrize("name", ALL)
def test_a_truncated_gzip_file_is_named(tmp_path, name) -> None:
    content = os.urandom(5000).hex().encode() + b"\n"
    packed = gzip.compress(content)[:-500]
    root = one_file(tmp_path, name, packed, "" if name == "cranfield" else ".gz")
    if name == "cranfield":
        (tmp_path / "cran.qry").rename(tmp_path / "cran.qry.gz")
    found = problems(name, root)
    assert "The gzip file ends too early" in str(found[-1])
    assert found[-1].location.file.endswith(".gz")


@pytest.mark.parametrize("name", ALL)
def test_bytes_that_are_no_utf8_are_named_by_line(tmp_path, name) -> None:
    root = one_file(tmp_path, name, b'\n{"a": "caf\xe9"}\n')
    (found, *_) = problems(name, root)
    assert (found.location.line, "not UTF-8 text" in found.message) == (2, True)


@pytest.mark.parametrize("name", in_full_slowly("beir", "cranfield"))
def test_a_line_of_a_gigabyte_is_refused_without_being_read(tmp_path, name) -> None:
    root = one_file(tmp_path, name, b"")
    path = root / FIRST[name]
    os.truncate(path, 1 << 30)  # sparse: takes no room on the disk
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (found, *_) = problems(name, root)
    assert "longer than 64 MB" in found.message or "Nothing to load" in found.message
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 400 * 1024


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'{"id":['])
def test_json_nested_a_hundred_thousand_deep_is_a_problem(tmp_path, name, opening) -> None:
    assert problems(name, one_file(tmp_path, name, opening * 100_000))


@pytest.mark.parametrize("name", in_full_slowly("bright_pro", "cranfield"))
def test_a_bomb_of_blank_lines_ends_early(tmp_path, name, monkeypatch) -> None:
    monkeypatch.setattr(files, "ALWAYS_FINE", 1 << 16)
    packed = gzip.compress(b"\n" * (MEGABYTE >> 1))
    root = one_file(tmp_path, name, packed, ".gz")
    (found,) = problems(name, root)
    assert "far more than its size" in found.message
    assert found.location.line < MEGABYTE >> 2


def test_names_of_columns_that_are_no_utf8_are_a_problem(tmp_path) -> None:
    content = parquet({"id": "1", "content": "x"}).replace(b"content", b"\xd3ontent")
    write(tmp_path, {"documents/bio.parquet": content})
    (found,) = problems("bright", tmp_path)
    assert "not a readable parquet file" in found.message


# In a process of its own: what is looked for here is the end of the process.
READ_WITH_BYTES_OF_THE_FOOTER_DAMAGED = """
import sys
from pathlib import Path
from corpus.importers.formats import FORMATS
file = Path(sys.argv[1], "documents", "bio.parquet")
whole = file.read_bytes()
end = len(whole) - 8
start = end - int.from_bytes(whole[end : end + 4], "little")
for place in range(start, end, int(sys.argv[2])):
    file.write_bytes(whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :])
    list(FORMATS["bright_pro"].read(Path(sys.argv[1])))
print(end - start)
"""


@pytest.mark.parametrize("step", [16, pytest.param(1, marks=pytest.mark.slow)])
def test_no_damage_to_the_footer_of_a_parquet_file_ends_the_process(tmp_path, step) -> None:
    (tmp_path / "documents").mkdir()
    file = tmp_path / "documents" / "bio.parquet"
    table = pa.table({"id": ["a", "b"], "content": ["x", "y"]})
    pq.write_table(table, file, row_group_size=1, store_schema=False)
    script = [sys.executable, "-c", READ_WITH_BYTES_OF_THE_FOOTER_DAMAGED]
    script += [str(tmp_path), str(step)]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert (done.returncode, int(done.stdout or 0) > 300) == (0, True), done.stderr


@pytest.mark.parametrize("name", ALL)
def test_a_folder_of_too_many_files_is_not_gone_through(tmp_path, name, monkeypatch) -> None:
    monkeypatch.setattr(files, "MAX_ENTRIES", 50)
    for n in range(60):
        (tmp_path / f"{n}.jsonl").touch()
    (found,) = problems(name, tmp_path)
    assert "more than" in found.message


def test_links_to_folders_are_not_followed_when_looking_for_files(tmp_path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    write_lines(tmp_path / "nq.jsonl", [{"doc_id": "1", "text": "x"}])
    assert [each.name for each in files.files_under(tmp_path)] == ["nq.jsonl"]


@pytest.mark.parametrize("name", ALL)
def test_a_folder_where_a_file_should_be_is_no_error(tmp_path, name) -> None:
    (tmp_path / FIRST[name]).mkdir(parents=True)
    assert all(isinstance(row, Problem) for row in READERS[name](tmp_path))


def test_ids_are_data_whatever_they_look_like(tmp_path) -> None:
    ids = ["=HYPERLINK(1)", "../../etc/passwd", "@SUM(A1)", "a\tb", "<script>", "-1", "\u202e"]
    row = {"q_id": "=1", "query": "q", "answers": ["a"], "doc_id": ids}
    rows = read("bridge", write_lines(tmp_path / "nq.jsonl", [row]))
    assert (faults(rows), [pid for *_, pid, _ in labels(rows)]) == ([], ids)


def test_a_name_given_twice_in_an_object_takes_its_last_value(tmp_path) -> None:
    (tmp_path / "b.jsonl").write_text('{"id": "1", "id": "2", "query": "q", "gold_ids": []}\n')
    assert [row.qid for row in read("bright", tmp_path)] == ["2"]


@pytest.mark.slow
def test_many_repeated_gold_ids_take_no_longer_each(tmp_path) -> None:
    row = {"id": "1", "query": "q", "gold_ids": ["a", "b"] * 100_000}
    rows = read("bright", write_lines(tmp_path / "b.jsonl", [row]))
    assert (len(labels(rows)), len(rows)) == (2, 200_001)


@pytest.mark.parametrize("megabytes", [12, pytest.param(30, marks=pytest.mark.slow)])
def test_passages_are_read_in_constant_memory(tmp_path, megabytes) -> None:
    row = {"_id": "d", "text": "word " * 200}
    write_lines(tmp_path / "queries.jsonl", [{"_id": "1", "text": "q"}])
    write_lines(tmp_path / "corpus.jsonl", [row] * megabytes * 1000)
    tracemalloc.start()
    count = sum(1 for _ in one_by_one(READERS["beir"](tmp_path)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == megabytes * 1000 + 1
    assert peak < 10 * MEGABYTE
