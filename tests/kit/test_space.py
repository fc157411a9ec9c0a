"""Deleted rows give their place on the disk back, in steps, and old databases learn to."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from kit.database.space import give_back
from kit.models import Event
from kit.runs.periodic import PeriodicTasks

SQLITE = pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL vacuums by itself")
OLD = """
import django, sys
django.setup()
from django.core.management import call_command
from django.db import connection
asked = lambda what: connection.cursor().execute("PRAGMA " + what).fetchall()[0][0]
call_command("migrate", verbosity=0)
asked("journal_mode = DELETE")
connection.cursor().execute("PRAGMA auto_vacuum = NONE")
connection.cursor().execute("VACUUM")
connection.close()
before = asked("auto_vacuum")
from kit.database.space import rebuild_once
rebuild_once()
connection.close()
tables = len(connection.introspection.table_names())
print(before, asked("auto_vacuum"), asked("journal_mode"), asked("integrity_check"), tables > 50)
"""


def pages() -> int:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA page_count")
        return cursor.fetchone()[0]


@pytest.mark.slow
@SQLITE
@pytest.mark.django_db(transaction=True)
def test_what_was_deleted_is_given_back() -> None:
    # Tests before this one may have left free pages, which the rows below would fill.
    while give_back(keep=0):
        pass
    before = pages()
    rows = [Event(verb="x", scope="s", data={"text": "x" * 20_000}) for _ in range(4_000)]
    Event.objects.bulk_create(rows, batch_size=500)
    full = pages()
    assert full > before + 16_000
    Event.objects.filter(verb="x")._raw_delete(connection.alias)
    assert pages() == full
    # A worker's round is bounded; that of the whole takes none of what the next rows need.
    PeriodicTasks().do_due(0.0)
    assert full - 25_000 <= pages() < full
    while give_back():
        pass
    assert pages() < before + 9_000
    while give_back(keep=0):
        pass
    assert pages() <= before + 10
    with connection.cursor() as cursor:
        name = cursor.execute("PRAGMA database_list").fetchone()[2]
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert Path(name).stat().st_size <= (before + 10) * 4096


@SQLITE
@pytest.mark.django_db
def test_the_log_is_cut() -> None:
    with connection.cursor() as cursor:
        assert cursor.execute("PRAGMA journal_size_limit").fetchone()[0] == 64 * 1024**2


@pytest.mark.slow
@SQLITE
def test_an_older_database_is_rebuilt_once(tmp_path: Path) -> None:
    environment = os.environ | {"ASSAY_DATA": str(tmp_path), "DATABASE_URL": ""}
    environment |= {"DJANGO_SETTINGS_MODULE": "config.settings", "SECRET_KEY": "k" * 40 + "abc"}
    answer = subprocess.run(
        [sys.executable, "-c", OLD], env=environment, capture_output=True, text=True, check=False
    )
    assert answer.stdout.split() == ["0", "2", "wal", "ok", "True"], answer.stderr
