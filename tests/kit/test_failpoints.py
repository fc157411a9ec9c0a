"""Failpoints end a process where a test says so, and nowhere else."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

CODE = """
from kit.failpoints import reach
for number in range(5):
    reach("here", number)
    print(number, flush=True)
"""


def run(module: str, failpoint: str, log: Path) -> tuple[int, list[str]]:
    """Exit code of a process that reaches the point five times, and how often it went on."""
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": module,
        "ASSAY_TEST_QUEUE": "none",
        "ASSAY_FAILPOINT": failpoint,
        "ASSAY_FAILPOINT_LOG": str(log),
    }
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(
        command, env=environment, cwd=settings.BASE_DIR, capture_output=True, check=False
    )
    return done.returncode, done.stdout.decode().split()


def test_a_process_dies_at_the_named_point_at_the_named_time(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert run("tests.chaos.settings", "here:3", log) == (-signal.SIGKILL, ["0", "1"])
    assert [line.split()[1:] for line in log.read_text().splitlines()] == [
        ["here", "0"],
        ["here", "1"],
        ["here", "2"],
    ]


@pytest.mark.parametrize(
    ("module", "failpoint"), [("tests.chaos.settings", "there:1"), ("config.settings", "here:1")]
)
def test_nothing_happens_elsewhere_or_under_the_settings_of_real_use(
    tmp_path: Path, module: str, failpoint: str
) -> None:
    assert run(module, failpoint, tmp_path / "log") == (0, ["0", "1", "2", "3", "4"])
    assert (tmp_path / "log").exists() == (module != "config.settings")
