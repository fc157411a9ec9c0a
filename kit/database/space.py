"""SQLite's file: giving the disk back what was deleted, and copying it.

SQLite keeps the pages of deleted rows in its file and fills them again; a refused import of a
gigabyte would hold its gigabyte for ever. PostgreSQL sees to it by itself.
"""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from django.db import OperationalError, connection

# Free pages (4 KB) that stay: the next rows are written there.
KEEP: Final = 4_096
# Pages that one step moves, in a transaction of some milliseconds, and steps at a time.
_STEP, _STEPS = 1_000, 25
_INCREMENTAL: Final = 2


def give_back(*, keep: int = KEEP) -> int:
    """Return free pages to the disk, a bounded number; how many went.

    Begins once there are twice as many as stay, so that small changes do not make it begin.
    """
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        return 0
    first = left = _ask("freelist_count")
    if left <= 2 * keep or _ask("auto_vacuum") != _INCREMENTAL:
        return 0
    try:
        for _ in range(_STEPS):
            if (step := min(_STEP, left - keep)) <= 0:
                break
            _ask(f"incremental_vacuum({step})")
            left -= step
        _ask("wal_checkpoint(PASSIVE)")  # after which the file itself is shorter
    except OperationalError:  # somebody writes for long; it is asked again
        return 0
    return first - _ask("freelist_count")


def rebuild_once() -> None:
    """Rebuild a database from before pages could be given back; of use while nobody else is at it.

    Left for another start where the disk has no room for the copy, or somebody is at work.
    """
    if connection.vendor != "sqlite" or _ask("auto_vacuum") == _INCREMENTAL:
        return
    place = Path(connection.settings_dict["NAME"])
    if not place.is_file() or shutil.disk_usage(place.parent).free < 3 * place.stat().st_size:
        return
    try:
        _ask("auto_vacuum = INCREMENTAL")
        with connection.cursor() as cursor:
            cursor.execute("VACUUM")
    except OperationalError:
        return


def copy_database(path: Path) -> None:
    """Copy the file as of one moment, with what its log holds; a part of it is never left."""
    part = path.with_name(f"{path.name}.part")
    try:
        connection.ensure_connection()
        with closing(sqlite3.connect(part)) as copy, connection.wrap_database_errors:
            part.chmod(0o600)
            connection.connection.backup(copy)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _ask(pragma: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA {pragma}")
        # All rows: a vacuum does its work while they are read.
        rows = cursor.fetchall()
    return int(rows[0][0]) if rows else 0
