"""Work that goes on in a thread beside its caller: one reads and encodes, the other compresses.

Compression, checksums and waiting for a database leave the interpreter to others, so that two
processors are busy at once.
"""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

# Pieces of work that may wait: what they hold stays in memory.
_AHEAD = 2


class Beside:
    """Does one piece of work after the other, in the order given.

    What a piece raises comes out of the next `do` or of the end. Left by an error of the caller,
    it drops what waits.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "beside")
        self._waiting: deque[Future[Any]] = deque()

    def do(self, act: Callable[..., object], *given: object) -> None:
        """Have this done; returns at once unless too much waits."""
        while len(self._waiting) >= _AHEAD:
            self._waiting.popleft().result()
        self._waiting.append(self._pool.submit(act, *given))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=error is not None)
        if error is None:
            for each in self._waiting:
                each.result()
