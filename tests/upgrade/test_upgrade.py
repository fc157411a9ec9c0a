"""A database that an earlier release left is brought up to date, and nothing of it is lost."""

import gzip
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from kit.account.links import digest
from tests.bench.server import ROOT
from tests.services.processes import database_url

HERE = Path(__file__).parent
KIND = "sqlite3" if connection.vendor == "sqlite" else "sql"
# What people and agents decided: every column that an older table has keeps its values.
KEPT = (
    "corpus_judgment",
    "annotate_vote",
    "annotate_weightscore",
    "annotate_aspect",
    "annotate_goldpassage",
    "annotate_adjudication",
    "annotate_supportlabel",
    "corpus_cleanedpage",
    "corpus_violation",
    "debate_debate",
    "debate_turn",
    "llm_call",
    "kit_event",
)
pytestmark = pytest.mark.django_db


@pytest.fixture(params=sorted(HERE.glob(f"*.{KIND}.gz")), ids=lambda path: path.name)
def left(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Any, dict[str, str]]]:
    """A connection to what a release left, and the environment in which commands find it."""
    content = gzip.decompress(request.param.read_bytes())
    if KIND == "sqlite3":
        name = str(tmp_path / "assay.sqlite3")
        Path(name).write_bytes(content)
        url = f"sqlite:///{name}"
    else:
        name = f"{connection.settings_dict['NAME']}_upgrade"
        url = f"{database_url()}_upgrade"
        with connection._nodb_cursor() as cursor:
            cursor.execute(f"DROP DATABASE IF EXISTS {name}")
            cursor.execute(f"CREATE DATABASE {name}")
        subprocess.run(["psql", "--quiet", url], input=content, check=True, capture_output=True)
    there = connection.copy()
    there.settings_dict = {**connection.settings_dict, "NAME": name}
    yield there, {**os.environ, "ASSAY_DATA": str(tmp_path), "DATABASE_URL": url}
    there.close()
    if KIND == "sql":
        with connection._nodb_cursor() as cursor:
            cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")


def rows_of(there: Any, table: str, columns: list[str]) -> list[tuple[Any, ...]]:
    named = ", ".join(f'"{column}"' for column in columns)
    with there.cursor() as cursor:
        cursor.execute(f"SELECT {named} FROM {table} ORDER BY id")
        return list(cursor.fetchall())


def columns_of(there: Any, table: str) -> list[str]:
    with there.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {there.ops.quote_name(table)} LIMIT 0")
        return [column[0] for column in cursor.description]


def leave_token(there: Any) -> str:
    """A token as the version before 0.3 kept it: in the clear."""
    with there.cursor() as cursor:
        cursor.execute("SELECT id FROM auth_user ORDER BY id LIMIT 1")
        [user] = cursor.fetchone()
        cursor.execute(
            "INSERT INTO authtoken_token (key, user_id, created) VALUES (%s, %s, %s)",
            ["0123456789" * 4, user, "2026-01-02 03:04:05"],
        )
    return "0123456789" * 4


def leave_decisions(there: Any) -> None:
    """A person's word about a piece of a cleaning, a blind score and a settled case, where the
    database has none: by SQL, for no code of that version is here."""
    first, at = "(SELECT min(id) FROM {})".format, "'2026-01-02 03:04:05'"
    person, aspect, query = first("auth_user"), first("annotate_aspect"), first("corpus_query")
    with there.cursor() as cursor:
        cursor.execute(
            f"UPDATE corpus_violation SET decision = 'original', decided_by_id = {person},"
            f" decided_at = {at} WHERE decision = ''"
        )
        cursor.execute(
            "INSERT INTO annotate_weightscore (aspect_id, scorer_id, weight, author_weight,"
            " author_weighed, scale, guideline, review_id, created_at)"
            f" SELECT {aspect}, {person}, 4, 3, %s, 'likert5', 0, {first('annotate_review')}, {at}"
            " WHERE NOT EXISTS (SELECT 1 FROM annotate_weightscore)",
            [True],
        )
        cursor.execute(
            "INSERT INTO annotate_adjudication (kind, query_id, aspect_id, weight, before, reason,"
            f" adjudicator_id, created_at) SELECT 'weight', {query}, {aspect}, 5, 3, 'both differ',"
            f" {person}, {at} WHERE NOT EXISTS (SELECT 1 FROM annotate_adjudication)"
        )


def tokens(there: Any) -> tuple[int, list[tuple[Any, ...]]]:
    """How many stand there in the clear, and what is kept of them."""
    kept = "SELECT scope, token_hash, expires_at, CAST(created_at AS text) FROM kit_apitoken"
    with there.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM authtoken_token")
        [clear] = cursor.fetchone()
        cursor.execute(kept)
        return clear, list(cursor.fetchall())


def every_column(there: Any) -> dict[str, list[str]]:
    return {table: columns_of(there, table) for table in there.introspection.table_names()}


# Of tables that the versions since have no use for.
EMPTIED = {"authtoken_token", "corpus_cleaninggroup", "corpus_passage_text", "django_migrations"}


def check_the_old_version_still_works(there: Any, before: dict[str, list[str]]) -> None:
    """What its processes say until they are started anew: every table is read, and a row of it
    inserted and updated, by the columns that it had."""
    quote, written = there.ops.quote_name, set()
    there.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    with there.cursor() as cursor:
        for table, columns in before.items():
            named = ", ".join(map(quote, columns))
            cursor.execute(f"SELECT {named} FROM {quote(table)} LIMIT 1")
            row = cursor.fetchone()
            if row is None or table in EMPTIED or table.startswith("corpus_passage_text"):
                continue
            key = next(iter(there.introspection.get_primary_key_columns(cursor, table)))
            values = [row[columns.index(key)]]
            # Taken out and put back as it was: no rule about pairs of rows is in the way.
            cursor.execute(
                f"CREATE TEMPORARY TABLE one AS SELECT {named} FROM {quote(table)}"
                f" WHERE {quote(key)} = %s",
                values,
            )
            cursor.execute(f"DELETE FROM {quote(table)} WHERE {quote(key)} = %s", values)
            cursor.execute(f"INSERT INTO {quote(table)} ({named}) SELECT {named} FROM one")
            same = ", ".join(f"{quote(column)} = {quote(column)}" for column in columns)
            cursor.execute(f"UPDATE {quote(table)} SET {same} WHERE {quote(key)} = %s", values)
            assert cursor.rowcount == 1, table
            cursor.execute("DROP TABLE one")
            written.add(table)
        there.check_constraints()
    there.rollback()
    there.set_autocommit(True)
    assert len(written) > 60


def must_be_given(there: Any, before: dict[str, list[str]]) -> list[str]:
    """Columns that an insert of the old version leaves out, and the database asks for."""
    if KIND == "sqlite3":
        listed = (
            "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE"
            " t.type = 'table' AND c.\"notnull\" AND c.dflt_value IS NULL AND NOT c.pk"
        )
    else:
        listed = (
            "SELECT table_name, column_name FROM information_schema.columns"
            " WHERE is_nullable = 'NO' AND table_schema = 'public'"
            " AND column_default IS NULL AND is_identity = 'NO'"
        )
    with there.cursor() as cursor:
        cursor.execute(listed)
        found = cursor.fetchall()
    return [f"{t}.{name}" for t, name in found if t in before and name not in before[t]]


@pytest.mark.slow
def test_an_older_database_is_upgraded_and_its_backup_restored(left, tmp_path: Path) -> None:
    """Every decision is kept by both. A start that upgrades the database keeps what it was."""
    there, environment = left
    had = every_column(there)
    leave_decisions(there)
    before = {table: columns_of(there, table) for table in KEPT if table in had}
    decided = {table: rows_of(there, table, columns) for table, columns in before.items()}
    assert all(decided.values())
    token = leave_token(there) if "authtoken_token" in there.introspection.table_names() else ""
    there.close()
    new = tmp_path / "new"
    new.mkdir(mode=0o700)
    elsewhere = environment | {"ASSAY_DATA": str(new), "DATABASE_URL": ""}
    for command, where in (
        (["backup", str(tmp_path / "old.zip")], environment),
        (["prepare"], environment),
        (["restore", str(tmp_path / "old.zip")], elsewhere),
    ):
        line = [sys.executable, "manage.py", *command]
        subprocess.run(line, cwd=ROOT, env=where, check=True, capture_output=True)
    for table, columns in before.items():
        shared = [column for column in columns if column in columns_of(there, table)]
        places = [columns.index(column) for column in shared]
        wanted = [tuple(row[place] for place in places) for row in decided[table]]
        assert rows_of(there, table, shared) == wanted, table
    if token:
        clear, [(scope, kept, end, made)] = tokens(there)
        assert (clear, scope, kept) == (0, "admin", digest(token))
        assert end is not None  # in 90 days
        assert made.startswith("2026-01-02 03:04:05")
    there.check_constraints()
    assert must_be_given(there, had) == []
    check_the_old_version_still_works(there, had)
    assert len(list((tmp_path / "backups").glob("before-upgrade-*"))) == 1
    with closing(sqlite3.connect(new / "assay.sqlite3")) as restored:
        counts = {t: restored.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in before}
        assert counts == {table: len(rows) for table, rows in decided.items()}
        said = "SELECT decision, decided_by_id IS NOT NULL, decided_at FROM corpus_violation"
        assert restored.execute(said).fetchall() == [("original", 1, "2026-01-02 03:04:05")]
        made = restored.execute("SELECT count(*) FROM kit_apitoken").fetchone()[0]
    assert made == bool(token)
