"""Assays made of forked workers that may die at named points."""

import sys
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from tests.chaos.nursery import Nursery
from tests.services.processes import Site, Worker
from tests.stub.process import Stub

_SWEEP_S: Final = 0.25


@dataclass
class ChaosSite(Site):
    """An Assay of worker processes that answer to named points; `with` it to start them."""

    stub: Stub | None = None
    journal: Path = Path()

    def __enter__(self) -> Self:
        assert self.stub is not None
        environment = self.environment(_SWEEP_S) | self.stub.environment
        environment |= {
            "DJANGO_SETTINGS_MODULE": "tests.chaos.settings",
            "ASSAY_FAILPOINT_LOG": str(self.journal),
        }
        self._nursery = Nursery(environment).__enter__()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
        self._nursery.__exit__(*exc_info)

    def start_life(self, point: str) -> Worker:
        """A worker that dies at the point (`name:count`), or at none."""
        name = f"w{len(self.workers) + 1}-{uuid.uuid4().hex[:8]}"
        command = self._command(f"{name}@%h")
        log = self.folder / f"{name}.log"
        process = self._nursery.start(command[3:], {"ASSAY_FAILPOINT": point}, log)
        worker = Worker(process, log)  # type: ignore[arg-type]
        self.workers.append(worker)
        return worker

    @staticmethod
    def _command(name: str) -> list[str]:
        """As kit/management/commands/serve.py starts a worker."""
        command = [sys.executable, "-m", "celery", "--quiet", "-A", "config", "worker"]
        command += ["--pool", "threads", "--concurrency", "5", "--loglevel", "info"]
        command += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        return [*command, "--hostname", name]
