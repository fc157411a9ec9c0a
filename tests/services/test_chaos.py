"""The short form of `make chaos`: every named point, a stopped worker and a few random kills."""

import subprocess
import sys

import pytest

from tests.services.conftest import address_of
from tests.services.processes import ROOT

pytestmark = pytest.mark.services


def drill(*options: str) -> None:
    """Run the driver in a process of its own, on a database that it makes; it checks itself."""
    short = ["--pairs", "250", "--kills", "3", "--hits", "1", "--latency-ms", "100"]
    command = [sys.executable, "-m", "tests.chaos", *short, *options]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:]
    assert "every promise held" in done.stdout


def test_killed_workers_over_a_server_and_a_broker() -> None:
    address_of("rabbitmq")
    drill("--database", "postgres", "--broker", "rabbitmq")


def test_killed_workers_over_one_file_and_an_endpoint_on_a_bad_day() -> None:
    drill("--database", "sqlite", "--script", "storm")
