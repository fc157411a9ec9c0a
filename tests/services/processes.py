"""Real processes of one Assay: workers as `serve` starts them, and the practice model."""

import itertools
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from django.db import connection

from kit.runs.processes import die_with_parent

ROOT = Path(__file__).resolve().parents[2]
_numbers = itertools.count(1)
_RENAMED = """
import os, sys
from django.core.management import execute_from_command_line
from llm.practice import completion
completion.MODEL = sys.argv.pop(1)
execute_from_command_line(["manage.py", *sys.argv[1:]])
"""


def wait_until(
    condition: Callable[[], object],
    seconds: float = 240.0,
    pause: float = 0.02,
    *,
    saw: Callable[[], object] = lambda: "",
) -> None:
    """Return once the condition holds; fails after that many seconds with what was seen."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds:g} s in vain: {saw()}"
        time.sleep(pause)


@dataclass
class Worker:
    """One Celery worker process, and what it said."""

    process: subprocess.Popen[bytes]
    log: Path

    def wait_ready(self) -> None:
        """Return once it takes work."""
        wait_until(
            lambda: " ready." in self.said or self.process.poll() is not None,
            saw=lambda: self.said,
        )
        assert self.process.poll() is None, self.said

    def kill(self) -> None:
        """SIGKILL: as a power cut, or the kernel short of memory."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """SIGTERM, and wait until it is gone."""
        self.process.terminate()
        wait_until(lambda: self.process.poll() is not None, saw=lambda: self.said)

    @property
    def said(self) -> str:
        """Its log so far."""
        return self.log.read_text()


@dataclass
class Site:
    """An Assay made of processes: the test's database, a folder for logs, maybe a broker."""

    folder: Path
    practice_url: str
    broker: str = ""
    queue: str = "celery"
    # Long enough for a worker on a busy machine; short only where a worker is to be missed.
    lease_s: float = 20.0
    # More environment of its processes.
    more: dict[str, str] = field(default_factory=dict)
    workers: list[Worker] = field(default_factory=list)

    def start_worker(self, *, sweep_s: float = 1.0, on: Sequence[str] = ()) -> Worker:
        """A worker process with the options of kit/management/commands/serve.py.

        `on` is what stands before its command: on which machine it runs.
        """
        # A name that no other test's worker on the same broker has, dead or alive.
        name = f"w{next(_numbers)}-{uuid.uuid4().hex[:8]}"
        command = [*on, sys.executable, "-m", "celery", "--quiet", "-A", "config", "worker"]
        command += ["--pool", "threads", "--concurrency", "5", "--loglevel", "info"]
        command += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        command += ["--hostname", f"{name}@%h"]
        log = self.folder / f"{name}.log"
        with log.open("wb") as out:
            worker = Worker(_start(command, self.environment(sweep_s), out), log)
        self.workers.append(worker)
        return worker

    @property
    def lost_leases(self) -> int:
        """How often a worker that lived lost what it held: on a busy machine it may stall."""
        return sum(each.said.count("was paused, cancelled or taken over") for each in self.workers)

    def close(self) -> None:
        """No process outlives its test."""
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.kill()

    def environment(self, sweep_s: float = 1.0) -> dict[str, str]:
        """That of its processes."""
        return os.environ | {
            "DJANGO_SETTINGS_MODULE": "tests.services.settings",
            "ASSAY_TEST_QUEUE": self.queue,
            "DATABASE_URL": database_url(),
            "BROKER_URL": self.broker,
            "ASSAY_PRACTICE_URL": self.practice_url,
            "ASSAY_SWEEP_SECONDS": str(sweep_s),
            "ASSAY_LEASE_SECONDS": str(self.lease_s),
            **self.more,
        }


@contextmanager
def practice_process(latency_ms: int, *, model: str = "") -> Iterator[str]:
    """The practice model in a process of its own; its base URL.

    Under the name of another `model` nobody takes it for practice, and its tokens have a price.
    """
    command = [sys.executable, "manage.py", "practice_model", "--latency-ms", str(latency_ms)]
    if model:
        command = [sys.executable, "-c", _RENAMED, model, *command[2:]]
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings"}
    process = _start(command, environment, subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().decode().strip()
    finally:
        process.kill()
        process.wait()


def database_url() -> str:
    """Where this test's database is, for another process."""
    given = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{given['NAME']}"
    password = f":{quote(given['PASSWORD'], safe='')}" if given["PASSWORD"] else ""
    return f"postgres://{given['USER']}{password}@{given['HOST']}:{given['PORT']}/{given['NAME']}"


def _start(
    command: Sequence[str], environment: dict[str, str], out: object
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=out,  # type: ignore[call-overload]
        # The practice model complains of killed clients, which is what these tests are about.
        stderr=subprocess.DEVNULL if out is subprocess.PIPE else subprocess.STDOUT,
        # A worker without its test would look into a dropped database for ever.
        preexec_fn=die_with_parent if sys.platform == "linux" else None,
    )
