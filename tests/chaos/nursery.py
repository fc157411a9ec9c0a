"""Many workers from one process that has imported everything: a fork instead of a start.

A start costs seconds of processor time, which two hundred kills would pay two hundred times.
A child is a Celery worker like any other from its first own instruction on; what it shares with
its siblings is imported modules, and neither connections nor threads.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
_PR_SET_PDEATHSIG: Final = 1
_POLL_S: Final = 0.01


class Nursery:
    """The forking process: `with Nursery(environment) as nursery`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def __enter__(self) -> "Nursery":
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.nursery"],
            cwd=ROOT,
            env=dict(self._environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        return self

    def __exit__(self, *exc_info: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def start(self, command: Sequence[str], extra: Mapping[str, str], log: Path) -> "Forked":
        """Fork a worker with these arguments to Celery and further environment."""
        asked = {"command": list(command), "extra": dict(extra), "log": str(log)}
        return Forked(self, int(self.ask(asked)))

    def ask(self, question: object) -> Any:
        """One line of JSON there and one back."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


class Forked:
    """A forked worker with the face of a Popen, as far as it is used."""

    def __init__(self, nursery: Nursery, pid: int) -> None:
        self._nursery, self.pid = nursery, pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it lives."""
        if self.returncode is None:
            self.returncode = self._nursery.ask({"poll": self.pid})
        return self.returncode

    def kill(self) -> None:
        """SIGKILL."""
        self._signal(signal.SIGKILL)

    def terminate(self) -> None:
        """SIGTERM."""
        self._signal(signal.SIGTERM)

    def wait(self, timeout: float = 60.0) -> int:
        """Wait for its end."""
        deadline = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("worker", timeout)
            time.sleep(_POLL_S)
        assert self.returncode is not None
        return self.returncode

    def _signal(self, number: int) -> None:
        # Not yet reaped, so the id is still its own even where it has died meanwhile.
        if self.poll() is None:
            os.kill(self.pid, number)


def _main() -> None:
    """Fork on demand until nobody asks any more."""
    import django

    django.setup()
    _import_all()
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        answer = _poll(asked["poll"]) if "poll" in asked else _fork(asked)
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


def _import_all() -> None:
    """What a worker imports on its way to its first call."""
    import openai

    import debate.runs.pump  # noqa: F401
    from config.celery import app

    app.loader.import_default_modules()
    app.finalize()
    # Half of that package is imported at the first call.
    _ = openai.AsyncOpenAI(api_key="none", base_url="http://127.0.0.1").chat.completions.create


def _poll(pid: int) -> int | None:
    done, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if done else None


def _fork(asked: Mapping[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        out = os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (out, 1), (out, 2)):
            os.dup2(source, target)
        os.environ.update(asked["extra"])
        _become_worker(asked["command"])
    except SystemExit as end:
        os._exit(int(end.code or 0))
    except BaseException:
        traceback.print_exc()
    os._exit(1)


def _become_worker(command: Sequence[str]) -> None:
    from celery.__main__ import main

    sys.argv = ["celery", *command]
    sys.exit(main())


if __name__ == "__main__":
    _main()
