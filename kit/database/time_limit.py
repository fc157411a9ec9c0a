"""How long a statement behind a request may take: some filters cost much, and so does some work.

PostgreSQL counts the time by itself (`statement_timeout`). SQLite has no such thing: it calls us
every few steps, and what counts there is the processor time of the thread, which other people's
load does not change. Workers, commands and files that are sent in pieces are not limited.
"""

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from django.conf import settings
from django.db import connection
from django.http import HttpRequest
from django.http.response import HttpResponseBase

GetResponse = Callable[[HttpRequest], HttpResponseBase]
_LOOKS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
# Steps of SQLite's machine between two looks at the clock: each waits for the interpreter.
_STEPS: Final = 200_000


def limited_statements(get_response: GetResponse) -> GetResponse:
    """Middleware: ASSAY_QUERY_SECONDS for each statement of a GET, ASSAY_WRITE_SECONDS else."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        is_look = request.method in _LOOKS
        seconds = settings.ASSAY_QUERY_SECONDS if is_look else settings.ASSAY_WRITE_SECONDS
        with connection.execute_wrapper(partial(_limited, seconds)):
            try:
                return get_response(request)
            finally:
                connection.statement_ends = math.inf  # type: ignore[attr-defined]

    return middleware


def watch_steps(connection: Any, **_: Any) -> None:
    """Have SQLite ask on a new connection whether a statement has taken too long."""
    if connection.vendor == "sqlite":
        connection.statement_ends = math.inf
        connection.connection.set_progress_handler(partial(_is_over, connection), _STEPS)


def _is_over(connection: Any) -> bool:
    return time.thread_time() > connection.statement_ends


def _limited(
    seconds: float, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any
) -> Any:
    """Nothing is opened or asked for a request that asks nothing (`/-/live`)."""
    connection = context["connection"]
    if connection.vendor == "sqlite":
        connection.statement_ends = time.thread_time() + seconds if seconds else math.inf
    else:
        connection.limit_statements(seconds)
    return execute(sql, params, many, context)
