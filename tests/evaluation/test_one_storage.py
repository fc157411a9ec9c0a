"""With ASSAY_STORAGE uploads, pages, releases, indexes and files of benchmarks lie in a bucket, and
a machine whose disk holds none of them does all its work from there."""

import os
import shutil
import time
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from annotate.workspace.loading import run_import
from config.safety import read_storage
from corpus.computing.corpus import kept_index, read_corpus
from corpus.imports import uploads
from corpus.imports.services import start_import
from corpus.models import CorpusVersion
from corpus.pages.services import forget_raw, read_raw, write_raw
from evaluation.apps import _forget_releases
from evaluation.releases import building
from evaluation.releases.services import start_release
from evaluation.releases.views import diff_of
from evaluation.transfer import services as transfers
from kit import storage
from kit.backup.archive import Reader
from kit.backup.services import _put_files, back_up
from kit.errors import Refused
from tests.corpus.import_files import bright_row, write_lines
from tests.evaluation.conftest import Garden, make_garden
from tests.factories import make_member
from tests.s3 import KEYS, bucket

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, Any]]:
    with bucket() as made:
        yield made


@pytest.fixture
def stored(served, settings, tmp_path: Path, monkeypatch) -> Any:
    """The bucket, empty; the folder of this machine is one of its own."""
    url, made = served
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    settings.STORAGES = settings.STORAGES | {storage.FILES: read_storage(url)}
    settings.ASSAY_DATA = tmp_path
    for name in ("uploads", "pages", "releases", "indexes"):
        setattr(settings, name.upper(), tmp_path / name)
    yield made
    made.objects.all().delete()


@pytest.fixture
def garden(stored) -> Garden:
    return make_garden()


def keys(stored: Any) -> list[str]:
    return sorted(each.key.removeprefix("of/us/") for each in stored.objects.all())


def on_disk(folder: Path) -> list[str]:
    """Files of the data folder, those of the suite's own database left out."""
    return sorted(
        each.relative_to(folder).as_posix()
        for each in folder.rglob("*")
        if each.is_file() and "sqlite3" not in each.name
    )


def test_files_and_folders_come_back_as_they_went(stored, tmp_path) -> None:
    given = tmp_path / "given"
    (given / "a").mkdir(parents=True)
    (given / "a" / "one").write_bytes(b"1" * 3)
    (given / "two").write_bytes(b"")
    place = tmp_path / "releases" / "r" / "1.0.0"
    storage.put(given, place)
    assert (on_disk(tmp_path), storage.sizes(place)) == ([], {"a/one": 3, "two": 0})
    with storage.local(place) as here:
        assert (here.name, (here / "a/one").read_bytes()) == ("1.0.0", b"111")
    with storage.opened(place / "a/one") as file:
        assert file.read() == b"111"
    given.mkdir()
    (given / "three").write_bytes(b"3")
    storage.put(given, place)  # another one: nothing of the first is left
    assert keys(stored) == ["releases/r/1.0.0/three"]
    storage.drop(place.parent)
    assert (keys(stored), on_disk(tmp_path), storage.size(place / "three")) == ([], [], None)
    with pytest.raises(FileNotFoundError):
        storage.opened(place / "three")


def test_another_machine_imports_what_was_sent_to_this_one(stored, garden, tmp_path) -> None:
    content = write_lines(tmp_path / "rows.jsonl", [bright_row()]).read_bytes()
    (tmp_path / "rows.jsonl").unlink()
    run = start_import(
        benchmark=garden.benchmark,
        actor=None,
        format="bright",
        upload=SimpleUploadedFile("botany.jsonl", content),
        qrels=SimpleUploadedFile("botany.txt", b"0 0 late_0.txt 1\n"),
    )
    assert on_disk(tmp_path) == []
    assert [name.partition("/")[0] for name in keys(stored)] == ["uploads", "uploads"]
    assert uploads.sweep_uploads() == 0
    run.claim()
    run_import(run)
    run.refresh_from_db()
    assert (run.status, run.summary["gold"][0]["name"]) == ("done", "botany.txt")
    assert (keys(stored), on_disk(tmp_path)) == ([], [])


def test_what_a_killed_process_left_in_the_storage_is_swept(stored, tmp_path, monkeypatch) -> None:
    left = tmp_path / "uploads" / "left" / "file"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"x")
    storage.put(left, left)
    assert (uploads.sweep_uploads(), len(keys(stored))) == (0, 1)
    later = time.time() + 100_000
    monkeypatch.setattr(uploads.time, "time", lambda: later)
    uploads.sweep_uploads()
    assert keys(stored) == []


def test_pages_are_in_the_storage_alone(stored, tmp_path) -> None:
    digest = write_raw(b"<p>moss")
    assert (write_raw(b"<p>moss"), read_raw(digest), on_disk(tmp_path)) == (digest, b"<p>moss", [])
    assert keys(stored) == [f"pages/{digest[:2]}/{digest}.gz"]
    forget_raw(digest)
    with pytest.raises(Refused):
        read_raw(digest)


def released(garden, version: str) -> Any:
    release = start_release(benchmark=garden.benchmark, actor=None, version=version)
    release.claim()
    building.carry_out(release)
    release.refresh_from_db()
    assert release.status == "done", release.error
    return release


def test_a_release_is_served_compared_and_forgotten_anywhere(stored, garden, tmp_path) -> None:
    first, second = released(garden, "0.1.0-rc.1"), released(garden, "0.1.0-rc.2")
    assert on_disk(tmp_path) == []
    assert len(keys(stored)) == len(first.files) + len(second.files)
    client = Client()
    client.force_login(make_member(garden.benchmark, "admin", "admin"))
    at = f"/b/garden/releases/{first.pk}/"
    assert "no longer" not in client.get(at).content.decode()
    answer = client.get(f"{at}archive/")
    with zipfile.ZipFile(BytesIO(b"".join(answer.streaming_content))) as archive:
        assert len(archive.namelist()) == len(first.files)
    assert diff_of(first, second) == diff_of(first, first)
    _forget_releases(garden.benchmark)
    assert keys(stored) == []


def test_an_index_is_built_once_for_all_machines(stored, garden, settings) -> None:
    version = CorpusVersion.objects.current(garden.benchmark)
    domain = garden.query.domain
    corpus = read_corpus(version, domain, step=lambda done: None)
    built: list[Path] = []

    def build(place: Path) -> None:
        built.append(place)
        (place / "deep").mkdir()
        (place / "deep" / "index").write_bytes(b"x" * 1000)

    assert kept_index(corpus, {"method": "words"}, build)[1] is False
    shutil.rmtree(settings.INDEXES)  # another machine
    settings.INDEXES.mkdir()
    folder, was_there = kept_index(corpus, {"method": "words"}, build)
    assert (was_there, len(built)) == (True, 1)
    assert (folder / "deep" / "index").read_bytes() == b"x" * 1000
    assert [each.name for each in settings.INDEXES.iterdir()] == [folder.name]


def test_a_benchmark_s_file_and_a_backup_hold_what_lies_in_the_storage(
    stored, garden, tmp_path
) -> None:
    release = released(garden, "0.1.0-rc.1")
    back_up(tmp_path / "all.zip")
    before = keys(stored)
    for each in stored.objects.all():
        each.delete()
    _put_files(Reader(tmp_path / "all.zip"))
    assert (keys(stored), on_disk(tmp_path)) == (before, ["all.zip"])
    run = transfers.start_export(benchmark=garden.benchmark, actor=None)
    run.claim()
    transfers.carry_out(run)
    run.refresh_from_db()
    assert (run.status, on_disk(tmp_path)) == ("done", ["all.zip"])
    with storage.local(transfers.place_of(run)) as path:
        names = zipfile.ZipFile(path).namelist()
    assert sum("files/releases/" in name for name in names) == len(release.files)


def test_a_storage_that_is_away_is_an_error_of_the_disk(stored, settings, tmp_path) -> None:
    away = settings.STORAGES[storage.FILES]
    away["OPTIONS"]["endpoint_url"] = "http://127.0.0.1:9"
    settings.STORAGES = settings.STORAGES | {storage.FILES: dict(away)}
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(OSError, match="does not answer"):
        storage.put(tmp_path / "file", tmp_path / "file")
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize(
    "url", ["s3:///folder", "https://bucket", "s3://key:secret@bucket", "s3://bucket?key=secret"]
)
def test_what_is_no_storage_is_said_in_one_line(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="ASSAY_STORAGE is s3://"):
        read_storage(url)


def test_a_missing_package_is_said_in_one_line(monkeypatch) -> None:
    monkeypatch.setattr("config.safety.find_spec", lambda name: None)
    with pytest.raises(ImproperlyConfigured, match="packages of requirements-scale"):
        read_storage("s3://bucket")
