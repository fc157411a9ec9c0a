"""The supervisor with real processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.services.processes import wait_until

SCRIPT = """
import os, sys
from kit.runs.processes import Child, Supervisor
body = "import os,time; open(sys.argv[1],'a').write(str(os.getpid())+chr(10)); time.sleep(600)"
code = "import sys;" + body
Supervisor([Child("sleeper", [sys.executable, "-c", code, sys.argv[1]], dict(os.environ))]).run()
"""


def pids(file: Path) -> list[int]:
    return [int(line) for line in file.read_text().splitlines()] if file.exists() else []


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def supervise(file: Path) -> subprocess.Popen:
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(file)], cwd=Path.cwd())
    wait_until(lambda: len(pids(file)) == 1, saw=lambda: (pids(file), process.poll()))
    return process


def test_killed_child_is_started_again(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    supervisor = supervise(file)
    try:
        os.kill(pids(file)[0], signal.SIGKILL)
        wait_until(lambda: len(pids(file)) == 2, saw=lambda: pids(file))
    finally:
        supervisor.terminate()
        supervisor.wait(240)
    assert not alive(pids(file)[1])


def test_ctrl_c_ends_every_child(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    supervisor = supervise(file)
    supervisor.send_signal(signal.SIGINT)
    assert supervisor.wait(240) == 0
    assert not alive(pids(file)[0])


def test_no_child_outlives_a_killed_supervisor(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    supervisor = supervise(file)
    supervisor.kill()
    supervisor.wait(240)
    wait_until(lambda: not alive(pids(file)[0]), saw=lambda: pids(file))
