"""`manage.py serve` as a person starts it: once to a folder, in one line where it cannot."""

import contextlib
import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.bench.server import ROOT, free_port, running_assay


def start(data: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `serve` to its end, which comes at once where it is refused."""
    own = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME")}
    return subprocess.run(
        [sys.executable, "manage.py", "serve", "--port", str(free_port()), *options],
        cwd=ROOT,
        env=own | {"ASSAY_DATA": str(data)} | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


def processes_of(data: Path) -> list[str]:
    """The command lines of what still runs on that folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            if f"ASSAY_DATA={data}\0" in (process / "environ").read_text(errors="replace"):
                found.append((process / "cmdline").read_text().replace("\0", " "))
    return found


def in_one_line(done: subprocess.CompletedProcess[str], words: str) -> None:
    assert done.returncode != 0
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert not done.stdout


@pytest.mark.slow
def test_a_second_start_on_one_folder_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "serve.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        in_one_line(start(tmp_path), f"runs on {tmp_path} already")


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    in_one_line(start(tmp_path / "file" / "data"), "cannot write to its data folder")


@pytest.mark.slow
def test_a_database_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "assay.sqlite3").write_text("This is a letter, and no database. " * 99)
    in_one_line(start(tmp_path), "does not work: file is not a database")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_nobody_may_write_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    in_one_line(start(tmp_path), "cannot write to its data folder")


def wait_until_it_handles_interrupts(process: subprocess.Popen[str]) -> None:
    """Before that Ctrl-C meets Python's own start, which answers with a traceback."""
    status = Path(f"/proc/{process.pid}/status")
    bit = 1 << (signal.SIGALRM - 1)  # SIGINT is handled by Python itself from its start on
    while process.poll() is None:
        caught = re.search(r"^SigCgt:\s*(\w+)", status.read_text(), re.M)
        if caught and int(caught[1], 16) & bit:
            return
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
@pytest.mark.parametrize("tenths", [9, 41])
def test_ctrl_c_at_any_moment_leaves_a_folder_that_starts(tmp_path: Path, tenths: int) -> None:
    environment = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME")}
    process = subprocess.Popen(
        [sys.executable, "manage.py", "serve", "--port", str(free_port())],
        cwd=ROOT,
        env=environment | {"ASSAY_DATA": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    wait_until_it_handles_interrupts(process)
    try:
        process.wait(tenths / 10)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=240)[0]
    assert "Traceback" not in said
    assert not processes_of(tmp_path)
    with running_assay(tmp_path) as assay:
        assert len(assay.link("annotator-1")) > 20


def in_python(code: str, data: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | {"ASSAY_DATA": str(data)},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


def test_an_interrupt_that_python_drops_comes_again(tmp_path: Path) -> None:
    code = """
import os, signal, sys, time
import django.core.management, manage

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(600)

def run(arguments):
    Finalized()
    print("dropped", flush=True)
    time.sleep(600)

django.core.management.execute_from_command_line = run
sys.argv = ["manage.py", "prepare"]
manage.main()
"""
    done = in_python(code, tmp_path)
    assert (done.stdout, done.returncode) == ("dropped\n", 130)
    assert done.stderr == "Stopped. The next start goes on from here.\n"


def test_an_interrupt_that_python_raises_as_another_error_is_one(tmp_path: Path) -> None:
    code = """
import os, signal, sys
import django.core.management, manage

class Interrupting:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), signal.SIGINT)

def run(arguments):
    class Options:  # Python 3.11 raises a RuntimeError here
        named = Interrupting()

django.core.management.execute_from_command_line = run
sys.argv = ["manage.py", "prepare"]
manage.main()
"""
    done = in_python(code, tmp_path)
    assert (done.stdout, done.returncode) == ("", 130)
    assert done.stderr == "Stopped. The next start goes on from here.\n"
