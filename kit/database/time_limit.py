"""How long a statement behind a request may take: some filters cost much, and so does some work.

PostgreSQL counts the time by itself (`statement_timeout`). SQLite has no such thing: it calls us
every few steps, and what counts there is the processor time of the thread, which other people's
load does not change. Of an answer that is sent in pieces every piece may take so long. Workers and
commands are not limited.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from typing import Any, Final

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, StreamingHttpResponse
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
        with _limits(seconds):
            response = get_response(request)
        if (
            isinstance(response, StreamingHttpResponse)
            and not response.is_async
            and getattr(response, "file_to_stream", None) is None
        ):
            parts = _within(seconds, response)
            # Most costs come before the first rows: what takes too long there is answered.
            response.streaming_content = chain(list(islice(parts, 1)), parts)
        return response

    return middleware


def _within(seconds: float, parts: Iterable[bytes]) -> Iterator[bytes]:
    rest = iter(parts)
    while True:
        with _limits(seconds):
            if connection.vendor == "sqlite":  # which reads rows of the same statement on
                _limit_steps(connection, seconds)
            part = next(rest, None)
        if part is None:
            return
        yield part


@contextmanager
def _limits(seconds: float) -> Iterator[None]:
    with connection.execute_wrapper(partial(_limited, seconds)):
        try:
            yield
        finally:
            connection.statement_ends = math.inf  # type: ignore[attr-defined]


def watch_steps(connection: Any, **_: Any) -> None:
    """Have SQLite ask on a new connection whether a statement has taken too long."""
    if connection.vendor == "sqlite":
        connection.statement_ends = math.inf
        connection.connection.set_progress_handler(partial(_is_over, connection), _STEPS)


def _limit_steps(connection: Any, seconds: float) -> None:
    connection.statement_ends = time.thread_time() + seconds if seconds else math.inf


def _is_over(connection: Any) -> bool:
    return time.thread_time() > connection.statement_ends


def _limited(
    seconds: float, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any
) -> Any:
    """Nothing is opened or asked for a request that asks nothing (`/-/live`)."""
    connection = context["connection"]
    if connection.vendor == "sqlite":
        _limit_steps(connection, seconds)
    else:
        connection.limit_statements(seconds)
    return execute(sql, params, many, context)
