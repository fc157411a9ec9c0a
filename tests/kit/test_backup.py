"""One file for an installation: whole or refused, as of one moment, the same on every database."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from threading import Event as Flag
from threading import Thread
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction

from kit import audit
from kit.backup.archive import Reader, Writer
from kit.backup.paths import move_paths
from kit.backup.services import back_up
from kit.backup.tables import _settled, kind_of
from kit.database.space import copy_database
from kit.errors import Refused
from kit.models import Event, Tries
from kit.runs.polling import run_models
from tests.bench.server import ROOT
from tests.flush import CONSTANT_TABLES
from tests.routes.world import make_everything
from tests.services.processes import database_url, wait_until

WORDS = "What the owl said to the oak, at length, and what the oak said to the owl. "


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A small backup of two tables and a file."""
    (tmp_path / "page").write_bytes(b"<p>" * 500)
    writer = Writer(tmp_path / "kept.zip")
    for first in (1, 41, 81):
        lines = [json.dumps([n, WORDS * (n % 7)]).encode() for n in range(first, first + 40)]
        writer.add_rows("corpus_passage", first, lines)
    writer.add_rows("kit_event", 1, [b'[1,"x"]'])
    assert writer.add_file("pages/ab/page.gz", tmp_path / "page")
    assert not writer.add_file("uploads/gone", tmp_path / "gone")
    writer.close({"format": 1, "tables": []})
    return tmp_path / "kept.zip"


def test_a_backup_is_read_as_it_was_written(kept: Path) -> None:
    reader = Reader(kept)
    found = [(place, len(lines)) for place, lines in reader.pieces("corpus_passage")]
    assert found == [(f"corpus_passage, rows {n} to {n + 39}", 40) for n in (1, 41, 81)]
    assert [line for _, lines in reader.pieces("kit_event") for line in lines] == [b'[1,"x"]']
    assert [(name, source.read()) for name, source in reader.files()] == [
        ("pages/ab/page.gz", b"<p>" * 500)
    ]


def test_each_flipped_bit_is_refused_and_its_place_is_named(kept: Path) -> None:
    whole = kept.read_bytes()
    with zipfile.ZipFile(kept) as archive:
        second = archive.infolist()[1]
    for at in range(0, len(whole), 7):
        kept.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        with pytest.raises(Refused) as refused:
            Reader(kept)
        begins = second.header_offset + 30 + len(second.filename)
        if begins <= at < begins + second.compress_size:
            assert "corpus_passage, rows 41 to 80." in refused.value.message


def test_a_backup_that_was_cut_short_is_refused(kept: Path) -> None:
    kept.write_bytes(kept.read_bytes()[:-100])
    with pytest.raises(Refused, match="cut short"):
        Reader(kept)
    kept.write_bytes(b"")
    with pytest.raises(Refused, match="no backup"):
        Reader(kept)


def test_a_backup_replaces_no_file(kept: Path) -> None:
    with pytest.raises(Refused, match="Name a new file"):
        back_up(kept)


def test_every_column_has_a_kind() -> None:
    for model in apps.get_models(include_auto_created=True):
        assert all(kind_of(field) for field in model._meta.concrete_fields)


def test_json_counts_by_its_value_whatever_a_database_makes_of_it() -> None:
    written = '{"b": [1e-05, 1.5, -0.0, 1e+23], "a": "\\u00e9"}'
    by_postgresql = '{"a": "é", "b": [0.00001, 1.5, 0.0, 100000000000000000000000]}'
    assert _settled(written) == _settled(by_postgresql)
    others = ("[1]", "[1.0]", "[1.1]", '["1.0"]', '["1"]', "[1e-5]", "[null]", "[true]", "null")
    assert len({_settled(text) for text in others}) == len(others)


@pytest.mark.django_db
def test_paths_of_another_data_folder_lead_into_this_one() -> None:
    for scope in ("/old/data/releases/x", "/old/database", "corpus/demo"):
        Event.objects.create(verb="x", scope=scope)
    move_paths(Event, "scope", Path("/old/data"))
    found = set(Event.objects.values_list("scope", flat=True))
    assert found == {f"{settings.ASSAY_DATA}/releases/x", "/old/database", "corpus/demo"}


@pytest.mark.skipif(connection.vendor != "sqlite", reason="a copy of SQLite's file")
@pytest.mark.django_db(transaction=True)
def test_the_copy_before_an_upgrade_is_the_database(tmp_path: Path) -> None:
    User.objects.create(username="ann")
    copy_database(tmp_path / "copy.sqlite3")
    there = connection.copy()
    there.settings_dict = {**connection.settings_dict, "NAME": str(tmp_path / "copy.sqlite3")}
    with there.cursor() as cursor:
        cursor.execute("SELECT username FROM auth_user")
        assert cursor.fetchall() == [("ann",)]
    there.close()
    assert [path.name for path in tmp_path.iterdir()] == ["copy.sqlite3"]


def tables_in(path: Path) -> dict[str, Any]:
    return {each["name"]: each for each in Reader(path).manifest["tables"]}


def manage(data: Path, url: str, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env=os.environ | {"ASSAY_DATA": str(data), "DATABASE_URL": url} | more,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[list[tuple[Path, str]]]:
    """Two new installations: SQLite's, and one of the database that this test has."""
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir(mode=0o700)
    if connection.vendor == "sqlite":
        yield [(folder, "") for folder in folders]
        return
    name = f"{connection.settings_dict['NAME']}_restored"
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        cursor.execute(f'CREATE DATABASE "{name}"')
    yield [(folders[0], ""), (folders[1], f"{database_url()}_restored")]
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_an_installation_comes_back_from_one_database_to_the_other(
    elsewhere: list[tuple[Path, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "ASSAY_DATA", tmp_path)
    (tmp_path / "files").mkdir()
    make_everything(tmp_path / "files")
    User.objects.create(username="gone").delete()
    first = tmp_path / "first.zip"
    back_up(first)
    taken, before = first, tables_in(first)
    assert sum(table["rows"] for table in before.values()) > 200
    for data, url in elsewhere:
        done = manage(data, url, "restore", str(taken))
        assert done.returncode == 0, done.stderr
        taken = data / "again.zip"
        assert manage(data, url, "backup", str(taken)).returncode == 0
        after = tables_in(taken)
        assert after.keys() == before.keys()
        # Also the last key, so that no number of a deleted row is given again. What lay in the
        # data folder lies in another one.
        changed = {name for name in before if before[name] != after[name]}
        # Nobody pays twice because a copy came to life: what asks models waits for a person.
        asking = {
            each._meta.db_table
            for each in run_models()
            if hasattr(each, "asked") or hasattr(each, "budget_usd")
        }
        # The restore itself holds these against the backup; afterwards the code adds what a test
        # before this one took away.
        assert changed - asking - CONSTANT_TABLES == {"evaluation_release"}
        [(_, [run])] = Reader(taken).pieces("debate_debaterun")
        assert b'"paused"' in run
        assert b"restored from a backup" in run
        [(_, [release])] = Reader(taken).pieces("evaluation_release")
        assert f'"{data}/'.encode() in release
    again = manage(data, url, "restore", str(first))
    assert "The database is not empty" in again.stderr


@pytest.mark.slow
def test_a_seed_comes_back_beside_a_key_that_was_changed_since(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    taken = tmp_path / "taken.zip"
    kept = {"SECRET_KEY": "", "SEED_KEY": ""}
    assert manage(here, "", "prepare", **kept).returncode == 0
    (here / "secret.key").write_text("another key that somebody put here since\n")
    assert manage(here, "", "backup", str(taken), **kept).returncode == 0
    done = manage(there, "", "restore", str(taken), **kept)
    assert done.returncode == 0, done.stderr
    assert "key of the backup" not in done.stdout
    for name in ("seed.key", "secret.key"):
        assert (there / name).read_text() == (here / name).read_text()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_backup_under_load_is_of_one_moment_and_nobody_waits_for_it(tmp_path: Path) -> None:
    ann = User.objects.create(username="ann")
    over, written = Flag(), []

    def write() -> None:
        """Each transaction leaves a row in both of two tables, which are read one by one."""
        while not over.is_set():
            with transaction.atomic():
                tries = Tries.objects.create(key=f"k{len(written)}", ends_at="2030-01-01T00:00Z")
                audit.record(actor=ann, verb="try", target=tries)
            written.append(tries.pk)
        connection.close()

    writer = Thread(target=write)
    writer.start()
    seen = []
    try:
        wait_until(lambda: written)
        back_up(tmp_path / "kept.zip", say=lambda _: seen.append(len(written)))
    finally:
        over.set()
        writer.join()
    rows = {name: table["rows"] for name, table in tables_in(tmp_path / "kept.zip").items()}
    assert rows["kit_event"] == rows["kit_tries"]
    assert 0 < rows["kit_tries"] < len(written)
    assert seen[0] < seen[-1]
