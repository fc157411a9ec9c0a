"""The backend that config/settings.py names for PostgreSQL."""

import select
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.db.backends.postgresql import base, operations

# Seconds for which a connection that answered is believed without being asked again.
_TRUST: Final = 1.0


class DatabaseOperations(operations.DatabaseOperations):
    """As Django's, for cursors of both kinds."""

    def last_executed_query(self, cursor: Any, sql: str, params: Any) -> str:
        """The text with its values, for logs and tests."""
        if isinstance(cursor, base.ServerBindingCursor):
            written: str = self.compose_sql(sql, params)
            return written
        return super().last_executed_query(cursor, sql, params)


class DatabaseWrapper(base.DatabaseWrapper):
    """As Django's, with statements that the server plans once, and cheaper health checks."""

    ops_class = DatabaseOperations

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._is_preparing = False
        self._usable_at = 0.0
        # What the server was told last; a new connection knows of no limit.
        self._statement_seconds = 0.0

    def get_new_connection(self, conn_params: Any) -> Any:
        """Django's, on which no statement is limited yet."""
        self._statement_seconds = 0.0
        return super().get_new_connection(conn_params)

    def limit_statements(self, seconds: float) -> None:
        """Let the server stop every statement after so long; 0 is no limit.

        Told only when it changes: it costs a way to the server and back.
        """
        if seconds != self._statement_seconds:
            assert self.connection is not None
            with self.wrap_database_errors:
                self.connection.execute(f"SET statement_timeout = {int(1000 * seconds)}")
            self._statement_seconds = seconds

    @contextmanager
    def preparing(self) -> Iterator[None]:
        """Statements asked inside are planned by the server once a connection, then run by name.

        For few texts asked very often, whose best plan does not depend on their values: Django's
        own cursors write the values into the text, so that each is parsed and planned anew.
        """
        before, self._is_preparing = self._is_preparing, True
        try:
            yield
        finally:
            self._is_preparing = before

    def create_cursor(self, name: str | None = None) -> Any:
        """Django's cursor; inside `preparing` the one that keeps values apart from the text."""
        if name is not None or not self._is_preparing:
            return super().create_cursor(name)
        assert self.connection is not None
        usual, self.connection.cursor_factory = (
            self.connection.cursor_factory,
            base.ServerBindingCursor,
        )
        try:
            return super().create_cursor()
        finally:
            self.connection.cursor_factory = usual

    def is_usable(self) -> bool:
        """Whether the connection works; one that did a moment ago is asked nothing.

        What can be read from a connection that waits for nothing is its end.
        """
        now = time.monotonic()
        is_trusted = now - self._usable_at < _TRUST and not self.errors_occurred
        if not (is_trusted and self._is_silent()) and not super().is_usable():
            return False
        self._usable_at = now
        return True

    def _is_silent(self) -> bool:
        assert self.connection is not None
        if self.connection.closed:
            return False
        waiting = select.poll()
        waiting.register(self.connection.fileno(), select.POLLIN)
        return not waiting.poll(0)
