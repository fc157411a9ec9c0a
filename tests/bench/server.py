"""Real servers for measurements and browser tests: started, waited for, ended by their id."""

import contextlib
import os
import random
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_LINK = re.compile(r"^\s+(\S+)\s+(http://\S+/sign-in/\S+/)\s*$", re.MULTILINE)


@dataclass
class Assay:
    """A running Assay of its own, with its data folder and the links it printed."""

    url: str
    data: Path
    process: subprocess.Popen[bytes]
    log: Path
    seconds_to_first_page: float
    environment: dict[str, str] = field(repr=False)
    _printed: dict[str, str] | None = field(default=None, repr=False)

    def link(self, name: str) -> str:
        """A one-time sign-in link for a person: first the one that the start printed."""
        if self._printed is None:
            self._printed = dict(_LINK.findall(self.log.read_text()))
        if link := self._printed.pop(name, None):
            return link
        said = self.manage("sign_in_link", name, "--url", self.url)
        return dict(_LINK.findall(said))[name]

    def manage(self, *arguments: str) -> str:
        """Run a management command on the same data; its standard output."""
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextmanager
def running_assay(
    data: Path, *, demo: bool = True, port: int = 0, workers: int = 0, **settings: str
) -> Iterator[Assay]:
    """Start what `make run` starts (without installing anything), on a free port or this one.

    `workers` is for another number of them, `settings` are environment variables of its own.
    """
    port = port or free_port()
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("ASSAY", "OPENAI"))}
    environment |= {"ASSAY_DATA": str(data), **settings}
    for name in ("SECRET_KEY", "DATABASE_URL", "BROKER_URL", "DJANGO_SETTINGS_MODULE"):
        environment.pop(name, None)
    command = [sys.executable, "manage.py", "serve", "--port", str(port)]
    command += [] if demo else ["--no-demo"]
    command += ["--workers", str(workers)] if workers else []
    data.mkdir(parents=True, exist_ok=True)
    log = data / "serve.log"
    with log.open("ab") as out, _process(command, environment, out) as process:
        started = time.monotonic()
        try:
            wait_for_port(port, process)
        except (RuntimeError, TimeoutError) as error:
            error.add_note(log.read_text(errors="replace")[-2_000:])
            raise
        url = f"http://127.0.0.1:{port}"
        yield Assay(url, data, process, log, time.monotonic() - started, environment)


@contextmanager
def running_bare() -> Iterator[str]:
    """The bare Django page under the same kind of web server."""
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "tests.bench.bare", "--log-level", "warning"]
    command += ["--worker-class", "gthread", "--threads", "8", "--workers", "2"]
    command += ["--bind", f"127.0.0.1:{port}", "--no-control-socket"]
    with _process(command, dict(os.environ), None) as process:
        wait_for_port(port, process)
        yield f"http://127.0.0.1:{port}"


@contextmanager
def _process(
    command: Sequence[str], environment: dict[str, str], out: object
) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=out,  # type: ignore[call-overload]
        stderr=subprocess.STDOUT if out else None,
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(240)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for_port(port: int, process: subprocess.Popen[bytes], seconds: float = 900.0) -> None:
    """Return once something listens; raises if the process ends or the time is over.

    A first start migrates, which may take minutes where many processes share the machine.
    """
    deadline = time.monotonic() + seconds
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}")
        if time.monotonic() > deadline:
            raise TimeoutError(f"nothing listened on port {port} for {seconds:.0f} seconds")
        time.sleep(0.05)


def free_port() -> int:
    """A port that nobody listens on now, below those that the system hands out by itself.

    A server binds it seconds later, when a port of the system's may have become another's.
    """
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
