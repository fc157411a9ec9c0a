"""A migrated empty database, made once and copied.

Migrating takes ten seconds of processor time, which every process of a test run would pay again.
A copy belongs to the migrations as they are written: to their text, to that of the modules they
import (not of those that these import), to the database's options and to the versions of all
packages. Whoever copies still migrates, and finds nothing to do.

SQLite copies lie in the environment's folder. PostgreSQL's are databases called test_ROLE_KEY.
"""

import fcntl
import hashlib
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from django.db import connection

_ROOT = Path(__file__).resolve().parents[1]
_OLDER = 12  # as of branches that are worked on in turn, or side by side with one environment
_IMPORT = re.compile(r"^from ([\w.]+) import (\w+)", re.MULTILINE)


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Of several processes, one makes the database that the others copy."""
    with (_folder() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def copy_to(name: str) -> bool:
    """Put a copy where the default database of that name belongs, in place of what is there.

    Returns False, and does nothing, if none was kept yet.
    """
    if connection.vendor == "sqlite":
        if not _file().exists():
            return False
        shutil.copyfile(_file(), name)
        return True
    with connection._nodb_cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [_database()])
        if cursor.fetchone() is None:
            return False
        cursor.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE "{_database()}"')
    return True


def keep() -> None:
    """Keep a copy of the default database, migrated and still empty, and only a few older ones."""
    if connection.vendor == "sqlite":
        older = sorted(_folder().glob("*.sqlite3"), key=lambda path: path.stat().st_mtime)
        for path in older[:-_OLDER]:
            path.unlink()
        part = _file().with_suffix(".part")
        part.unlink(missing_ok=True)
        with connection.cursor() as cursor:
            cursor.execute("VACUUM INTO %s", [str(part)])
        part.rename(_file())
        return
    name = connection.settings_dict["NAME"]
    connection.close()
    with connection._nodb_cursor() as cursor:
        cursor.execute(
            "SELECT datname FROM pg_database WHERE datname ~ %s ORDER BY oid DESC OFFSET %s",
            [f"^{_prefix()}[0-9a-f]{{12}}$", _OLDER],
        )
        for (old,) in cursor.fetchall():
            cursor.execute(f'DROP DATABASE "{old}"')
        cursor.execute(f'CREATE DATABASE "{_database()}" TEMPLATE "{name}"')


def _folder() -> Path:
    folder = Path(sys.prefix) / "test-databases"
    if not os.access(sys.prefix, os.W_OK):
        folder = Path(os.environ["ASSAY_TEST_DATA"]) / "test-databases"
    folder.mkdir(exist_ok=True)
    return folder


def _file() -> Path:
    return _folder() / f"{_key()}.sqlite3"


def _prefix() -> str:
    return f"test_{connection.settings_dict['USER']}_"


def _database() -> str:
    return f"{_prefix()}{_key()}"


@cache
def _key() -> str:
    """Twelve letters that change with anything that may change what migrating makes."""
    migrations = sorted(_ROOT.glob("*/migrations/*.py"))
    modules = set()
    for path in migrations:
        for package, name in _IMPORT.findall(path.read_text()):
            folder = _ROOT.joinpath(*package.split("."))
            modules |= {folder.with_suffix(".py"), folder / "__init__.py", folder / f"{name}.py"}
    found = hashlib.sha256(repr(connection.settings_dict["OPTIONS"]).encode())
    for path in (*migrations, *sorted(modules), _ROOT / "requirements.txt"):
        if path.exists():
            found.update(f"{path.relative_to(_ROOT)}\n".encode() + path.read_bytes())
    return found.hexdigest()[:12]
