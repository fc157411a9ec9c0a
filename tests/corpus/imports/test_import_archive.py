import stat
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.importers import archive, files
from corpus.importers.archive import BadArchive, directory_size, unpack
from tests.corpus.import_files import bright_pro, read

PLENTY = 1 << 20


@pytest.fixture
def target(tmp_path):
    folder = tmp_path / "target"
    folder.mkdir()
    return folder


def zipped(path, entries) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in entries:
            opened.writestr(name, content)


def test_a_zipped_folder_reads_as_the_folder_does(tmp_path, target) -> None:
    folder = bright_pro(tmp_path / "data")
    names = list(folder.rglob("*.jsonl"))
    zipped(
        tmp_path / "a.zip",
        [(f"top/level/{each.relative_to(folder)}", each.read_bytes()) for each in names],
    )
    found = unpack(tmp_path / "a.zip", target, most_bytes=PLENTY)
    assert read("bright_pro", found) == read("bright_pro", folder)


def test_a_single_file_is_the_path_to_read(tmp_path, target) -> None:
    zipped(tmp_path / "a.zip", [("__MACOSX/x", "x"), ("deep/dev.jsonl", "{}"), (".DS_Store", "")])
    assert unpack(tmp_path / "a.zip", target, most_bytes=PLENTY) == target / "dev.jsonl"


@pytest.mark.parametrize("name", ["../../evil.jsonl", "/etc/evil.jsonl", "..\\..\\evil.jsonl"])
def test_nothing_is_written_outside(tmp_path, target, name) -> None:
    zipped(tmp_path / "a.zip", [(name, "{}")])
    unpack(tmp_path / "a.zip", target, most_bytes=PLENTY)
    written = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert sorted(each.name for each in written) == ["a.zip", "evil.jsonl"]
    assert (target / "evil.jsonl").is_file()


def test_a_bomb_stops_at_the_bound(tmp_path, target) -> None:
    zipped(tmp_path / "a.zip", [("a.jsonl", b"0" * 50 * PLENTY)])
    with pytest.raises(BadArchive, match="too large"):
        unpack(tmp_path / "a.zip", target, most_bytes=PLENTY)
    assert sum(each.stat().st_size for each in target.iterdir()) <= PLENTY


def test_a_link_is_refused(tmp_path, target) -> None:
    link = zipfile.ZipInfo("a.jsonl")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    zipped(tmp_path / "a.zip", [(link, "/etc/passwd")])
    with pytest.raises(BadArchive, match="not taken"):
        unpack(tmp_path / "a.zip", target, most_bytes=PLENTY)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([], "empty"),
        ([("a/x.jsonl", ""), ("./a/x.jsonl", "")], "twice"),
        ([("a b/x.jsonl", ""), ("a_b/x.jsonl", ""), ("y", "")], "twice"),
        ([("x", ""), ("x/y.jsonl", "")], "clashes"),
        ([("-rf.jsonl", "")], "not taken"),
        ([("a/inner.zip", ""), ("x.jsonl", "")], "another archive"),
        ([("/".join("abcdefg") + "/x.jsonl", ""), ("y", "")], "too deep"),
        ([(f"{n}.jsonl", "") for n in range(1001)], "more than 1,000 files"),
    ],
)
def test_unusual_archives_are_refused(tmp_path, target, entries, message) -> None:
    zipped(tmp_path / "a.zip", entries)
    with pytest.raises(BadArchive, match=message):
        unpack(tmp_path / "a.zip", target, most_bytes=PLENTY)


def test_what_is_no_zip_is_refused(tmp_path, target) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04 nonsense")
    with pytest.raises(BadArchive, match="not a readable zip"):
        unpack(tmp_path / "a.zip", target, most_bytes=PLENTY)


def test_folders_stay_so_that_subsets_can_bear_the_same_names(tmp_path, target) -> None:
    zipped(tmp_path / "a.zip", [("top/nq/corpus.jsonl", "1"), ("top/msmarco/corpus.jsonl", "2")])
    found = unpack(tmp_path / "a.zip", target, most_bytes=PLENTY)
    assert found == target / "top"
    assert (found / "nq" / "corpus.jsonl").read_text() == "1"


def test_a_folder_without_a_name_bears_that_of_the_archive(tmp_path, target) -> None:
    zipped(tmp_path / "scifact.zip", [("corpus.jsonl", ""), ("queries.jsonl", "")])
    assert unpack(tmp_path / "scifact.zip", target, most_bytes=PLENTY) == target / "scifact"


def test_a_folder_that_formats_know_is_never_dropped(tmp_path, target) -> None:
    zipped(tmp_path / "x.zip", [("d/documents/a.jsonl", ""), ("d/documents/b.jsonl", "")])
    found = unpack(tmp_path / "x.zip", target, most_bytes=PLENTY)
    assert sorted(each.name for each in (found / "documents").iterdir()) == ["a.jsonl", "b.jsonl"]


def test_what_grows_as_only_bombs_do_stops_early(tmp_path, target, monkeypatch) -> None:
    monkeypatch.setattr(files, "ALWAYS_FINE", 4 * PLENTY)
    zipped(tmp_path / "a.zip", [("a.jsonl", b"0" * 10 * PLENTY)])
    with pytest.raises(BadArchive, match="far more than its size"):
        unpack(tmp_path / "a.zip", target, most_bytes=1000 * PLENTY)
    assert sum(each.stat().st_size for each in target.rglob("*") if each.is_file()) <= 5 * PLENTY


@pytest.mark.parametrize("is_64", [False, True])
def test_a_list_of_entries_beyond_the_bound_is_not_read(
    tmp_path, target, monkeypatch, is_64
) -> None:
    monkeypatch.setattr(archive, "MAX_DIRECTORY", 100)
    if is_64:
        monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    zipped(tmp_path / "a.zip", [("a.jsonl", ""), ("b.jsonl", ""), ("c.jsonl", "")])
    assert directory_size(tmp_path / "a.zip") > 100
    monkeypatch.setattr(zipfile, "ZipFile", None)  # not even opened
    with pytest.raises(BadArchive, match="more than 1,000 files"):
        unpack(tmp_path / "a.zip", target, most_bytes=PLENTY)


def test_device_entries_are_refused(tmp_path, target) -> None:
    device = zipfile.ZipInfo("a.jsonl")
    device.external_attr = (stat.S_IFCHR | 0o600) << 16
    zipped(tmp_path / "a.zip", [(device, "")])
    with pytest.raises(BadArchive, match="not taken"):
        unpack(tmp_path / "a.zip", target, most_bytes=PLENTY)


@given(data=st.binary(max_size=300), cut=st.integers(0, 300), at=st.integers(0, 300))
def test_any_bytes_unpack_or_are_refused(tmp_path_factory, data, cut, at) -> None:
    folder = tmp_path_factory.mktemp("zips")
    path = folder / "a.zip"
    zipped(path, [("a/x.jsonl", "{}" * 20), ("a/y.jsonl", "1")])
    whole = path.read_bytes()
    path.write_bytes(whole[:at] + data + whole[cut:])
    inside = folder / "target"
    inside.mkdir()
    try:
        found = unpack(path, inside, most_bytes=PLENTY)
    except BadArchive:
        found = inside
    assert found.is_relative_to(inside)
    assert {each.name for each in folder.iterdir()} == {"a.zip", "target"}
