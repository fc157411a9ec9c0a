"""Plain SQL on a database of Assay's, for drivers and checkers that must not use its code."""

import os
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg

Row = tuple[Any, ...]
# How long a change waits for a lock: briefly, and as long as ever.
_SOON = {
    "sqlite": ("PRAGMA busy_timeout = 500", "PRAGMA busy_timeout = 60000"),
    "postgres": ("SET lock_timeout = '500ms'", "SET lock_timeout = 0"),
}


class Database:
    """A database by its URL, sqlite:///FILE or postgres://..., over one connection."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.is_sqlite = url.startswith("sqlite:")
        self._link: Any = None

    def rows(self, sql: str, *values: object) -> list[Row]:
        """The answer to a question with ? for values."""
        rows: list[Row] = self._execute(sql, values).fetchall()
        return rows

    def change(self, sql: str, *values: object) -> int:
        """Carry out a change; the number of rows."""
        count: int = self._execute(sql, values).rowcount
        return count

    def change_soon(self, sql: str, *values: object) -> bool:
        """Carry out a change unless somebody who holds a lock keeps it waiting; whether it was."""
        begin, end = _SOON["sqlite" if self.is_sqlite else "postgres"]
        self._execute(begin, ())
        try:
            self._execute(sql, values)
        except (sqlite3.OperationalError, psycopg.errors.LockNotAvailable):
            return False
        finally:
            self._execute(end, ())
        return True

    def close(self) -> None:
        """End the connection; the next question opens another."""
        if self._link is not None:
            self._link.close()
            self._link = None

    def _execute(self, sql: str, values: tuple[object, ...]) -> Any:
        if self._link is None:
            self._link = self._open()
        return self._link.execute(sql if self.is_sqlite else sql.replace("?", "%s"), values)

    def _open(self) -> Any:
        if self.is_sqlite:
            path = self.url.removeprefix("sqlite:///")
            return sqlite3.connect(path, timeout=240, isolation_level=None)
        return psycopg.connect(self.url, autocommit=True)


@contextmanager
def new_database(kind: str, folder: Path) -> Iterator[Database]:
    """An empty database of that kind, gone afterwards.

    PostgreSQL needs ASSAY_TEST_POSTGRES or DATABASE_URL to name a server whose role may make
    databases. Raises SystemExit where there is none.
    """
    if kind == "sqlite":
        yield Database(f"sqlite:///{folder / 'chaos.sqlite3'}")
        return
    server = os.environ.get("ASSAY_TEST_POSTGRES") or os.environ.get("DATABASE_URL") or ""
    if not server.startswith("postgres"):
        raise SystemExit("Name a PostgreSQL server in ASSAY_TEST_POSTGRES.")
    name = f"assay_chaos_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as link:
        link.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type]
    try:
        yield Database(urlunsplit(urlsplit(server)._replace(path=f"/{name}")))
    finally:
        with psycopg.connect(server, autocommit=True) as link:
            link.execute(f"DROP DATABASE {name} WITH (FORCE)")  # type: ignore[arg-type]
