"""What a verb may answer instead of doing it."""

import errno
import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from django.db import InterfaceError, OperationalError

# What SQLite says of a database that is locked, full or out of reach for a while; of its other
# operational errors, as of a table that does not exist, waiting mends none.
_PASSING: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
    }
)


# PostgreSQL's number of a statement that was stopped for its time.
_CANCELED: Final = "57014"


class Refused(Exception):
    """The verb cannot be done now; the message says why and what to do, in words for people."""

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class Pauses(Refused):
    """The run waits with these words until a person resumes it; nothing has to be mended here."""


class Conflict(Exception):
    """Somebody else changed the row since it was read; carries the row as it is now.

    `fields` names those that both changed, where the verb looks at fields.
    """

    def __init__(self, current: Any, *, fields: Sequence[str] = ()) -> None:
        super().__init__("This was changed by somebody else meanwhile.")
        self.current = current
        self.fields = tuple(fields)


def is_too_long(error: BaseException | None) -> bool:
    """Whether a statement was stopped because it took too long (kit.database.time_limit)."""
    cause = error.__cause__ if isinstance(error, OperationalError) else None
    if isinstance(cause, sqlite3.OperationalError):
        return cause.sqlite_errorcode & 0xFF == sqlite3.SQLITE_INTERRUPT
    return getattr(cause, "sqlstate", "") == _CANCELED


def is_passing(error: BaseException | None) -> bool:
    """Whether the database or the disk is only locked, full or away: the same may do later."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EREMOTEIO)
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    cause = error.__cause__
    # The low byte is the error, what stands above it says more of it.
    code = cause.sqlite_errorcode & 0xFF if isinstance(cause, sqlite3.OperationalError) else None
    return code is None or code in _PASSING
