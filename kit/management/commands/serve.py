"""One command for a whole Assay on one machine: web, worker and practice model."""

import fcntl
import math
import os
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from kit.runs.processes import Child, Supervisor

_MAX_WORKERS, _MAX_WEB = 2, 4
_NICENESS = 5
# Settings that say where models answer: with any of them the practice model is not started.
_MODELS = ("OPENAI_BASE_URL", "OPENAI_API_KEY", "ASSAY_ENDPOINTS", "ASSAY_PRACTICE_URL")


class Command(BaseCommand):
    help = "Run web server, worker and (with no model endpoint configured) the practice model."
    requires_system_checks = []  # `make check` runs them; here they would import every page first

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default=os.environ.get("HOST") or "127.0.0.1")
        parser.add_argument("--port", type=int, default=os.environ.get("PORT") or "8000")
        parser.add_argument(
            "--web-processes",
            type=int,
            default=0,
            help=f"0, the default: one more than processors, {_MAX_WEB} at most",
        )
        parser.add_argument(
            "--workers",
            type=int,
            default=min(_MAX_WORKERS, os.cpu_count() or 1),
            help="worker processes: they share long runs (default: one per core, two at most)",
        )
        parser.add_argument("--no-demo", action="store_true", help="leave a new database empty")

    def handle(self, *args: Any, **options: Any) -> None:
        self.check(tags=["files"])  # a setting that no page could use
        host, port = options["host"], options["port"]
        url = f"http://{host}:{port}"
        with alone(settings.ASSAY_DATA / "serve.lock", url):
            _check_free(host, port)
            os.environ["ASSAY_URL"] = url
            call_command("prepare", demo=not options["no_demo"], stdout=self.stdout)
            connections.close_all()
            self.stdout.flush()  # the links must be seen now, into a file or a pipe too
            children = _children(host, port, options["web_processes"], options["workers"])
            Thread(target=self._announce, args=[url, children], daemon=True).start()
            Supervisor(children).run()
        self.stdout.write("Assay has stopped; everything is kept.")

    def _announce(self, url: str, children: Sequence[Child]) -> None:
        """Say where Assay listens once it really does; only then do the others start."""
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{url}/sign-in/", timeout=30)  # noqa: S310 (our own address)
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
            else:
                self.stdout.write(f"\nAssay listens at {url} (Ctrl-C stops it).")
                self.stdout.flush()
                break
        for child in children:
            child.not_before = 0.0


def _children(host: str, port: int, web_processes: int, workers: int) -> list[Child]:
    environment = dict(os.environ)
    manage = [sys.executable, sys.argv[0]]
    # Nobody waits for them before the first page, which would come later beside their start.
    later: dict[str, Any] = {"not_before": math.inf}
    children = [Child("web", web_command(host, port, web_processes), environment)]
    if not any(getattr(settings, name) for name in _MODELS):
        practice = _free_port()
        environment["ASSAY_PRACTICE_URL"] = f"http://127.0.0.1:{practice}/v1"
        command = [*manage, "practice_model", "--port", str(practice)]
        children.append(Child("practice model", command, environment, is_quiet=True, **later))
    worker = [sys.executable, "-m", "celery", "--quiet", "-A", "config", "worker"]
    worker += ["--pool", "threads"]
    worker += ["--concurrency", "5", "--loglevel", "warning"]
    worker += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    for number in range(1, max(1, workers) + 1):
        name = "worker" if number == 1 else f"worker {number}"
        command = [*worker, "--hostname", f"worker{number}-{port}@%h"]
        # People who wait for a page go first.
        children.append(Child(name, command, environment, niceness=_NICENESS, **later))
    return children


def web_command(host: str, port: int, processes: int = 0) -> list[str]:
    """What starts the web server; measurements and tests start the same."""
    # One waits for a database while as many as there are processors compute.
    processes = processes or min(_MAX_WEB, 1 + (os.cpu_count() or 1))
    web = [sys.executable, "-m", "gunicorn", "config.wsgi", "--bind", f"{host}:{port}"]
    web += ["--worker-class", "gthread", "--threads", "8", "--workers", str(processes)]
    web += ["--keep-alive", "15", "--graceful-timeout", "5", "--preload"]
    return [*web, "--log-level", "warning", "--no-control-socket"]


@contextmanager
def alone(lock: Path, doing: str) -> Iterator[None]:
    """Keep a second Assay off the data folder; the lock ends with this process, however it ends."""
    with lock.open("a+") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            held.seek(0)
            raise CommandError(
                f"Assay runs on {lock.parent} already ({held.read().strip()}). Stop it, or give "
                "this one a folder of its own: ASSAY_DATA=/somewhere PORT=8001 make run"
            ) from None
        held.truncate(0)
        held.write(f"{doing}, process {os.getpid()}")
        held.flush()
        yield


def _check_free(host: str, port: int) -> None:
    if not 1 <= port <= 65_535:
        raise CommandError(f"{port} is no port. Choose one from 1 to 65535: PORT=8001 make run")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except PermissionError:
            raise CommandError(
                f"This system lets nobody but its administrator listen on port {port}. "
                "Choose one above 1023: PORT=8001 make run"
            ) from None
        except socket.gaierror:
            raise CommandError(f"{host!r} is no address of this machine.") from None
        except OSError:
            raise CommandError(
                f"{host}:{port} is taken. Stop what runs there, or choose another port: "
                "PORT=8001 make run"
            ) from None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
