"""Verbs of releases: whole or not at all, the same bytes twice, and no people inside."""

import sqlite3
from pathlib import Path

import pytest
from django.db import connections

from corpus.access import enter
from corpus.models import Passage, Source
from evaluation.content.view import frozen, view_of
from evaluation.models import Release
from evaluation.releases import building as folders
from evaluation.releases.building import build, carry_out, rebuild
from evaluation.releases.services import (
    cancel_release,
    retry_release,
    start_here,
    start_release,
    suggested_version,
)
from evaluation.releases.writing import write_release
from evaluation.tasks import build_release
from kit.errors import Refused
from kit.models import Event
from kit.runs.models import RunStatus
from tests.evaluation.conftest import Garden, label, release_into
from tests.factories import make_benchmark, make_gold, make_member, make_passage, make_query


def contents(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def left_overs(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


@pytest.fixture
def admin(garden: Garden):
    return enter(make_member(garden.benchmark, "garden-admin", "admin"), "garden")


def test_built_twice_is_byte_identical(garden: Garden, tmp_path: Path) -> None:
    release = release_into(garden.benchmark, tmp_path / "first")
    rebuild(release, folder=tmp_path / "second")
    assert contents(tmp_path / "first") == contents(tmp_path / "second")
    assert left_overs(tmp_path) == []


def test_rebuild_of_changed_benchmark_is_refused(garden: Garden, tmp_path: Path) -> None:
    release = release_into(garden.benchmark, tmp_path / "first")
    label(garden.plain, garden.passages["e1"], 1, Source.HUMAN)
    with pytest.raises(Refused, match="has changed since"):
        rebuild(release, folder=tmp_path / "second")
    assert not (tmp_path / "second").exists()
    assert left_overs(tmp_path) == []


def test_people_and_times_appear_nowhere(garden: Garden, tmp_path: Path) -> None:
    provenance = {
        "voter": "person-of-flowers-1",
        "votes": [3, 4, 9],
        "case": 2,
        "rule": "majority-3",
        "reason": "person-of-flowers-2 said that it is noise",
        "at": "2026-11-20T10:00:00Z",
        "run": {"by": "person-of-flowers-1", "model": "some-model"},
    }
    label(garden.plain, garden.passages["e1"], 1, Source.HUMAN, provenance=provenance)
    release_into(garden.benchmark, tmp_path / "out")
    written = b"".join(contents(tmp_path / "out").values())
    assert b"person-of-flowers" not in written
    assert b"2026-11-20" not in written
    assert b'{"case":2,"rule":"majority-3","run":{"model":"some-model"},"votes":[3,4,9]}' in written


class Killed(BaseException):
    """Stands for whatever ends a process."""


def test_build_that_is_killed_leaves_no_folder(garden: Garden, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    release = start_here(benchmark=garden.benchmark, version="0.1.0", folder=folder)
    place = folders.workplace(folder, release)

    def die(done: int, total: int) -> None:
        assert not folder.exists()
        if done == total:
            raise Killed

    with pytest.raises(Killed):
        write_release(view_of(garden.benchmark), place, version="0.1.0", is_draft=True, step=die)
    assert place.exists()
    assert not folder.exists()
    # The next claim sweeps what was left and builds as if nothing had been.
    Release.objects.update(lease_until=release.created_at)
    build_release(release.pk)
    assert left_overs(tmp_path) == []
    assert Release.objects.get().status == RunStatus.DONE
    assert (folder / "README.md").exists()


def test_cancelled_build_leaves_no_folder(garden: Garden, admin, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    release = start_here(benchmark=garden.benchmark, version="0.1.0", folder=folder)
    cancel_release(run=Release.objects.get(), actor=admin.user)
    carry_out(release)
    assert not folder.exists()
    assert left_overs(tmp_path) == []
    assert Release.objects.get().status == RunStatus.CANCELLED


def test_folder_of_others_is_never_replaced(garden: Garden, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    release = start_here(benchmark=garden.benchmark, version="0.1.0", folder=folder)
    folder.mkdir()
    (folder / "thesis.txt").write_text("mine")
    carry_out(release)
    release.refresh_from_db()
    assert (release.status, release.files) == (RunStatus.FAILED, {})
    assert "is not empty" in release.error
    assert contents(folder) == {"thesis.txt": b"mine"}


def test_own_folder_left_by_a_dead_claim_is_replaced(garden: Garden, admin) -> None:
    release = start_release(benchmark=admin.benchmark, actor=admin.user, version="0.1.0")
    left = Path(release.folder)
    left.mkdir(parents=True)
    (left / "README.md").write_text("from a claim that died before its commit")
    build_release(release.pk)
    release.refresh_from_db()
    assert release.status == RunStatus.DONE
    assert set(contents(left)) == set(release.files)


def test_task_delivered_twice_builds_once(garden: Garden, admin) -> None:
    release = start_release(benchmark=admin.benchmark, actor=admin.user, version="0.1.0")
    build_release(release.pk)
    build_release(release.pk)
    verbs = list(Event.objects.filter(verb__contains="release").values_list("verb", flat=True))
    assert verbs == ["build release", "start release"]


def test_release_lies_under_its_benchmark_and_version(garden: Garden, admin, settings) -> None:
    release = start_release(benchmark=admin.benchmark, actor=admin.user, version="1.0.0-rc.1")
    assert release.folder == str(settings.RELEASES / "garden" / "1.0.0-rc.1")
    assert (release.status, release.created_by) == (RunStatus.QUEUED, admin.user)


@pytest.mark.parametrize("version", ["", "1", "1.0", "01.0.0", "1.0.0-", "../1.0.0", "v1.0.0"])
def test_version_that_is_none_is_refused(garden: Garden, admin, version: str) -> None:
    with pytest.raises(Refused, match="is no version") as refusal:
        start_release(benchmark=admin.benchmark, actor=admin.user, version=version)
    assert refusal.value.field == "version"
    assert not Release.objects.exists()


@pytest.mark.parametrize("version", ["0.1.0-RC", "0.1.0-rc"])
@pytest.mark.parametrize(
    ("status", "message"),
    [
        ("queued", "is being built"),
        ("done", "exists already"),
        ("failed", "can try it again"),
        ("cancelled", "was stopped"),
    ],
)
def test_taken_version_is_refused_whatever_its_case(
    garden: Garden, admin, version: str, status: str, message: str
) -> None:
    start_release(benchmark=admin.benchmark, actor=admin.user, version="0.1.0-rc")
    Release.objects.update(status=status)
    with pytest.raises(Refused, match=message):
        start_release(benchmark=admin.benchmark, actor=admin.user, version=version)


def test_benchmark_without_queries_fails_with_a_plain_message(db, tmp_path: Path) -> None:
    release = start_here(benchmark=make_benchmark(), version="0.1.0", folder=tmp_path / "out")
    carry_out(release)
    release.refresh_from_db()
    assert release.status == RunStatus.FAILED
    assert "nothing to release yet" in release.error
    assert not (tmp_path / "out").exists()


def test_domains_that_clash_fail_naming_both(db, tmp_path: Path) -> None:
    benchmark = make_benchmark(domains=("earth-science", "Earth science"))
    make_query(benchmark)
    release = start_here(benchmark=benchmark, version="0.1.0", folder=tmp_path / "out")
    carry_out(release)
    release.refresh_from_db()
    assert "“Earth science” and “earth-science”" in release.error


def test_folder_that_cannot_be_written_fails(garden: Garden, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "out"
    release = start_here(benchmark=garden.benchmark, version="0.1.0", folder=folder)
    carry_out(release)
    release.refresh_from_db()
    assert release.status == RunStatus.FAILED
    assert "could not be written" in release.error


def test_failed_release_can_be_tried_again(db, settings) -> None:
    benchmark = make_benchmark()
    access = enter(make_member(benchmark, "keeper", "admin"), "demo")
    release = start_release(benchmark=access.benchmark, actor=access.user, version="0.1.0")
    build_release(release.pk)
    make_gold(make_query(benchmark), make_passage(benchmark))
    release.refresh_from_db()
    retry_release(run=release, actor=access.user)
    build_release(release.pk)
    release.refresh_from_db()
    assert (release.status, release.error) == (RunStatus.DONE, "")


def test_finished_release_cannot_be_tried_again_or_stopped(garden: Garden, admin, tmp_path) -> None:
    release = release_into(garden.benchmark, tmp_path / "out")
    with pytest.raises(Refused):
        retry_release(run=release, actor=admin.user)
    with pytest.raises(Refused):
        cancel_release(run=release, actor=admin.user)


def test_next_version_follows_the_highest(garden: Garden, admin) -> None:
    assert suggested_version(garden.benchmark) == "0.1.0"
    for version in ("0.9.0", "0.10.3", "0.2.0"):
        start_release(benchmark=admin.benchmark, actor=admin.user, version=version)
    assert suggested_version(garden.benchmark) == "0.11.0"


def test_stale_worker_cannot_end_a_release(garden: Garden, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    stale = start_here(benchmark=garden.benchmark, version="0.1.0", folder=folder)
    Release.objects.update(lease_until=stale.created_at)
    fresh = Release.objects.get()
    assert fresh.claim()
    carry_out(stale)
    assert not folder.exists()
    build(fresh, folder=folder)
    assert Release.objects.get().status == RunStatus.DONE


def test_frozen_view_sees_one_moment_and_holds_up_nobody(
    tmp_path: Path, django_db_blocker, settings
) -> None:
    path = tmp_path / "frozen.sqlite3"
    usual = connections["default"]
    if usual.vendor != "sqlite":
        pytest.skip("about the snapshot on SQLite")
    with django_db_blocker.unblock(), sqlite3.connect(path, timeout=0) as other:
        other.executescript(
            "PRAGMA journal_mode=WAL; CREATE TABLE word (id); INSERT INTO word VALUES (1)"
        )
        own = usual.copy()
        own.settings_dict = {**usual.settings_dict, "NAME": str(path)}
        connections["default"] = own
        try:
            with frozen():
                assert counted(own) == 1
                other.execute("INSERT INTO word VALUES (2)")
                other.commit()
                assert counted(own) == 1
            assert counted(own) == 2
        finally:
            own.close()
            connections["default"] = usual


def counted(connection) -> int:
    with connection.cursor() as cursor:
        return cursor.execute("SELECT count(*) FROM word").fetchone()[0]


def test_text_with_null_is_left_out_of_documents_only(garden: Garden, tmp_path: Path) -> None:
    Passage.objects.filter(pid="b0").update(text=None)
    release = release_into(garden.benchmark, tmp_path / "out")
    assert release.counts["documents"] == 5
    assert "7 0 b0 1" in (tmp_path / "out/qrels/biology.refined.txt").read_text().splitlines()
