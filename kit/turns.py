"""Requests of one process, one after another."""

import threading
from collections.abc import Callable, Iterable
from typing import Any, Final

# Seconds after which nobody waits any more for a request that takes long.
PATIENCE: Final = 0.05


class Turns:
    """A WSGI application whose requests are answered one at a time, as long as each is short.

    Threads that compute at the same time take the interpreter from each other after every
    statement of a database: sixteen votes at once cost nearly twice as much each as one after the
    other. Whoever waits for a request that takes long, such as a report, goes on beside it.
    """

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self._application = application
        self._turn = threading.Lock()
        self._ended = 0

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        seen = self._ended
        while not (has_turn := self._turn.acquire(timeout=PATIENCE)) and seen != self._ended:
            seen = self._ended  # the turn went on meanwhile, to others who waited
        try:
            return self._application(environ, start_response)
        finally:
            if has_turn:
                self._ended += 1
                self._turn.release()
