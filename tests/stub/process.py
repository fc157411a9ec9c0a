"""The stub as a child process of a test or a driver."""

import json
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MODEL = "stub-1"


@dataclass(frozen=True)
class Stub:
    """A running stub: where it answers, and the file of its bill."""

    url: str
    bill: Path

    @property
    def environment(self) -> dict[str, str]:
        """What makes Assay use it."""
        return {"OPENAI_BASE_URL": self.url, "OPENAI_API_KEY": "sk-stub", "ASSAY_MODEL": MODEL}

    def configure(self, settings: Any) -> None:
        """The same, in this process."""
        for name, value in self.environment.items():
            setattr(settings, name, value)

    def play(self, script: str) -> None:
        """Go on by another script of faults."""
        self._control("play", script.encode())

    def hold(self) -> None:
        """Keep answers back; requests are accepted and charged."""
        self._control("hold")

    def release(self) -> None:
        """Let held answers go."""
        self._control("release")

    def allow(self, answers: int | None) -> None:
        """Let so many more answers go and keep back what comes after; None lets all go."""
        self._control("allow", json.dumps(answers).encode())

    @property
    def held(self) -> int:
        """Requests that were charged and whose answers are kept back."""
        return int(self._state()["held"])

    @property
    def is_dry(self) -> bool:
        """Whether somebody waits for an answer because no more are allowed."""
        return bool(self._state()["dry"])

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Ask the bill."""
        with closing(sqlite3.connect(self.bill, timeout=240)) as link:
            return link.execute(sql, values).fetchall()

    def _state(self) -> dict[str, Any]:
        with urllib.request.urlopen(self._address("state"), timeout=240) as answer:
            return json.load(answer)

    def _control(self, verb: str, data: bytes = b"") -> None:
        urllib.request.urlopen(self._address(verb), data=data, timeout=240).close()

    def _address(self, verb: str) -> str:
        return f"{self.url.removesuffix('/v1')}/control/{verb}"


@contextmanager
def stub_process(bill: Path, *options: str) -> Iterator[Stub]:
    """Run `python -m tests.stub` with these further options."""
    command = [sys.executable, "-m", "tests.stub", "--bill", str(bill), "--die-with-parent"]
    process = subprocess.Popen([*command, *options], cwd=ROOT, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().decode().strip()
        assert url, "the stub did not start"
        yield Stub(url, bill)
    finally:
        process.terminate()
        process.wait()
