"""Keeping a few child processes alive until told to stop."""

import ctypes
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

logger = logging.getLogger(__name__)
_PR_SET_PDEATHSIG = 1
_STEADY_SECONDS = 10.0  # a child that lived this long starts again with a fresh count
_MAX_PAUSE = 10.0
_GRACE_SECONDS = 20.0


@dataclass
class Child:
    """One process that should be running."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    is_quiet: bool = False
    # How far it stands back behind others where processors are short (nice(2)).
    niceness: int = 0
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    failures: int = 0
    not_before: float = field(default=0.0)

    def start(self) -> None:
        """Start it in a session of its own: Ctrl-C reaches the supervisor alone."""
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            self.command,
            env=dict(self.environment),
            stdout=subprocess.DEVNULL if self.is_quiet else None,
            start_new_session=True,
            preexec_fn=self._before_it_begins,
        )

    def _before_it_begins(self) -> None:
        if sys.platform == "linux":
            die_with_parent()
        if self.niceness:
            os.nice(self.niceness)

    def tend(self) -> None:
        """Start it again if it ended, with growing pauses while it keeps ending at once."""
        if self.process is None or self.process.poll() is None:
            if self.process is None and time.monotonic() >= self.not_before:
                self.start()
            return
        steady = time.monotonic() - self.started > _STEADY_SECONDS
        self.failures = 0 if steady else self.failures + 1
        pause = min(_MAX_PAUSE, 0.5 * 2**self.failures)
        logger.warning("%s ended (%s); again in %.1f s", self.name, self.process.returncode, pause)
        self.process, self.not_before = None, time.monotonic() + pause


class Supervisor:
    """Runs children until SIGINT or SIGTERM, then ends them, politely first."""

    def __init__(self, children: Sequence[Child]) -> None:
        self.children = list(children)
        self._stop = threading.Event()

    def run(self) -> None:
        """Block until told to stop; no child outlives this call."""
        # The alarm is that of an interrupt which came before and was lost (manage.py).
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
            signal.signal(number, lambda *_: self._stop.set())
        try:
            while True:
                for child in self.children:
                    child.tend()
                if self._stop.wait(0.2):
                    return
        finally:
            self._end()

    def _end(self) -> None:
        running = [child.process for child in self.children if child.process]
        for process in running:
            if process.poll() is None:
                process.terminate()
        deadline = time.monotonic() + _GRACE_SECONDS
        for process in running:
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def die_with_parent() -> None:
    """Linux: the calling process gets SIGTERM when its parent dies, however that dies."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
