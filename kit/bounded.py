"""A call in a process of its own, with bounds on its processor time, its memory and its output.

For what reads texts of strangers: a page of a few kilobytes can be built to cost a parser hours or
gigabytes. The process knows no secret of ours, writes nothing but its answer, and ends with us.
"""

import contextlib
import errno
import importlib
import json
import logging
import os
import pickle
import resource
import select
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from io import BytesIO
from typing import IO, Any, Final, NoReturn

from kit.runs.processes import die_with_parent

logger = logging.getLogger(__name__)
# Seconds between two looks at whether the call is still wanted.
_LOOK: Final = 0.2
_NICENESS: Final = 5
# How the process ends where it ran out of something.
_NO_MEMORY, _TOO_LONG_AN_ANSWER = 91, 92
_TOLD: Final = 500
# In a stream the length of each thing stands before it, and 0 behind the last.
_LENGTH: Final = struct.Struct("<Q")


@dataclass(frozen=True)
class Bounds:
    """What one call may take: seconds of processor time, bytes of address space and of answer."""

    seconds: int = 60
    memory: int = 1024**3
    output: int = 64 * 1024**2


class OutOfBounds(Exception):
    """The call took more than it may, or broke its process; the message names which."""


def call(
    function: str,
    body: bytes,
    *,
    bounds: Bounds | None = None,
    watch: Callable[[], None] | None = None,
    **options: Any,
) -> Any:
    """What `function`, named "package.module:name", makes of `body` and `options`, as JSON has it.

    Raises OutOfBounds. `watch` is asked a few times a second whether to go on: what it raises ends
    the process and is raised here. The function may import no Django: its process has no settings.
    """
    with tempfile.TemporaryFile() as answer:
        order = {"function": function, "options": options, "streams": False}
        with _process(order, bounds or Bounds(), answer, body) as process:
            while process.poll() is None:
                if watch is not None:
                    watch()
                _wait(process)
        answer.seek(0)
        return json.loads(answer.read())


def stream(
    function: str,
    *,
    kinds: Collection[type],
    bounds: Bounds | None = None,
    watch: Callable[[], None] | None = None,
    **options: Any,
) -> Generator[Any, None, None]:
    """What `function` yields of an empty body and `options`, while it goes on to the next.

    `kinds` are the classes that come beside texts, numbers, lists, tuples and dicts: a process
    that a file has taken over can have no others made here. Raises and watches as `call` does; to
    be closed by who stops early.
    """
    bounds, kinds = bounds or Bounds(), frozenset(kinds)
    order = {"function": function, "options": options, "streams": True}
    with _process(order, bounds, subprocess.PIPE) as process:
        assert process.stdout is not None
        pipe, is_whole = process.stdout.fileno(), False
        while len(head := _take(pipe, _LENGTH.size, watch)) == _LENGTH.size:
            (length,) = _LENGTH.unpack(head)
            if length > bounds.memory:
                raise OutOfBounds("memory")
            body = _take(pipe, length, watch)
            is_whole = length == 0
            if is_whole or len(body) < length:
                break
            yield _Known(body, kinds).load()
        if not is_whole and not process.wait():
            raise OutOfBounds("care")


class _Known(pickle.Unpickler):
    """Makes objects of these classes alone."""

    def __init__(self, body: bytes, kinds: Collection[type]) -> None:
        super().__init__(BytesIO(body))
        self._kinds = {(each.__module__, each.__qualname__): each for each in kinds}

    def find_class(self, module: str, name: str) -> type:
        if found := self._kinds.get((module, name)):
            return found
        raise OutOfBounds("care")


def _take(pipe: int, count: int, watch: Callable[[], None] | None) -> bytes:
    """So many bytes; fewer only where the process has ended."""
    parts = []
    while count:
        while not select.select([pipe], [], [], _LOOK)[0]:
            if watch is not None:
                watch()
        if not (part := os.read(pipe, min(count, 2**20))):
            break
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


@contextmanager
def _process(
    order: dict[str, Any], bounds: Bounds, answer: IO[bytes] | int, body: bytes = b""
) -> Iterator[subprocess.Popen[bytes]]:
    """The process at work until the block ends; raises OutOfBounds where it did not end well."""
    order |= {"parent": os.getpid(), **asdict(bounds)}
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
        given.write(json.dumps(order).encode() + b"\n" + body)
        given.seek(0)
        with subprocess.Popen(
            [sys.executable, "-B", "-X", "utf8", "-m", "kit.bounded"],
            stdin=given,
            stdout=answer,
            stderr=said,
            env=_environment(),
        ) as process:
            try:
                yield process
                code = process.wait()
            finally:
                process.kill()
        if code:
            said.seek(0)
            _tell(order["function"], code, said.read(_TOLD))


def _wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_LOOK)
    except subprocess.TimeoutExpired:
        return


def _environment() -> dict[str, str]:
    """Where Python finds what it imports, and nothing else: no key, no password."""
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "PATH") if name in os.environ}
    # Few threads: each of a numeric library's own reserves memory, and so does each one's arena.
    few = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "2", "MALLOC_ARENA_MAX": "2"}
    return kept | few | {"PYTHONPATH": os.pathsep.join(sys.path)}


def _tell(function: str, code: int, said: bytes) -> NoReturn:
    if code == -signal.SIGXCPU:
        raise OutOfBounds("processor time")
    if code in (_NO_MEMORY, -signal.SIGKILL):  # by itself, or by a system that had none left
        raise OutOfBounds("memory")
    if code == _TOO_LONG_AN_ANSWER:
        raise OutOfBounds("room")
    # Of what it says only the end of a traceback is ours; the rest may be a stranger's words.
    logger.warning("%s broke off in its process (%s): %r", function, code, said[-_TOLD:])
    raise OutOfBounds("care")


def _serve() -> None:
    """The process: reads the order and the body, keeps within bounds, writes the answer."""
    source = sys.stdin.buffer
    order = json.loads(source.readline())
    _keep_within(Bounds(order["seconds"], order["memory"], order["output"]), order["parent"])
    try:
        module, _, name = order["function"].partition(":")
        value = getattr(importlib.import_module(module), name)(source.read(), **order["options"])
        if order["streams"]:
            for each in value:
                _send(pickle.dumps(each, pickle.HIGHEST_PROTOCOL))
            _send(b"")
            return
        sys.stdout.write(json.dumps(value, ensure_ascii=False))
        sys.stdout.flush()
    except MemoryError:
        os._exit(_NO_MEMORY)
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        os._exit(_TOO_LONG_AN_ANSWER)


def _send(body: bytes) -> None:
    sys.stdout.buffer.write(_LENGTH.pack(len(body)))
    sys.stdout.buffer.write(body)
    sys.stdout.buffer.flush()


def _keep_within(bounds: Bounds, parent: int) -> None:
    os.nice(_NICENESS)
    if sys.platform == "linux":
        die_with_parent()
    if os.getppid() != parent:  # it ended before this
        os._exit(1)
    # Python lets a write beyond the size fail (EFBIG) instead of ending the process.
    for kind, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, bounds.seconds),
        (resource.RLIMIT_AS, bounds.memory),
        (resource.RLIMIT_FSIZE, bounds.output),
    ):
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        # The softer limit of processor time says of what it ended; macOS bounds no address space.
        with contextlib.suppress(ValueError):
            resource.setrlimit(kind, (most, hard if kind == resource.RLIMIT_CPU else most))


if __name__ == "__main__":
    _serve()
