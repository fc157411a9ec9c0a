"""One call in a process of its own, with bounds on its processor time, its memory and its output.

For what reads texts of strangers: a page of a few kilobytes can be built to cost a parser hours or
gigabytes. The process knows no secret of ours, writes nothing but its answer, and ends with us.
"""

import contextlib
import errno
import importlib
import json
import logging
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final, NoReturn

from kit.runs.processes import die_with_parent

logger = logging.getLogger(__name__)
# Seconds between two looks at whether the call is still wanted.
_LOOK: Final = 0.2
_NICENESS: Final = 5
# How the process ends where it ran out of something.
_NO_MEMORY, _TOO_LONG_AN_ANSWER = 91, 92
_TOLD: Final = 500


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
    order = {"function": function, "options": options, "parent": os.getpid()}
    order |= asdict(bounds or Bounds())
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as answer,
        tempfile.TemporaryFile() as said,
    ):
        given.write(json.dumps(order).encode() + b"\n" + body)
        given.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-B", "-X", "utf8", "-m", "kit.bounded"],
            stdin=given,
            stdout=answer,
            stderr=said,
            env=_environment(),
        )
        try:
            while process.poll() is None:
                if watch is not None:
                    watch()
                _wait(process)
        finally:
            process.kill()
            process.wait()
        if process.returncode:
            said.seek(0)
            _tell(function, process.returncode, said.read(_TOLD))
        answer.seek(0)
        return json.loads(answer.read())


def _wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_LOOK)
    except subprocess.TimeoutExpired:
        return


def _environment() -> dict[str, str]:
    """Where Python finds what it imports, and nothing else: no key, no password."""
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "PATH") if name in os.environ}
    # One thread: each of a numeric library's own reserves memory.
    return kept | {"PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}


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
        sys.stdout.write(json.dumps(value, ensure_ascii=False))
        sys.stdout.flush()
    except MemoryError:
        os._exit(_NO_MEMORY)
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        os._exit(_TOO_LONG_AN_ANSWER)


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
