"""How long processors worked for a server: on a shared machine it says more than seconds."""

import resource
import time
from collections.abc import Iterable
from pathlib import Path

PROC = Path("/proc")


def family(pid: int) -> list[int]:
    """A process and its children, theirs too."""
    found = [pid]
    for task in (PROC / str(pid) / "task").iterdir():
        for child in (task / "children").read_text().split():
            found += family(int(child))
    return found


def busy_seconds(pids: Iterable[int]) -> float:
    """Seconds that the living threads of these processes were on a processor (Linux)."""
    tasks = [task for pid in pids for task in (PROC / str(pid) / "task").iterdir()]
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def own_peak() -> int:
    """Megabytes that this process had at most; getrusage counts those of its starter, too."""
    status = (PROC / "self" / "status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def waited_seconds() -> float:
    """The same of our own children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def wait_until_idle(pid: int, seconds: float = 60.0) -> None:
    """Return once this server has started in all its processes and has nothing to do.

    The first process to be ready takes every connection that is made before the others are.
    """
    deadline, before = time.monotonic() + seconds, -1.0
    while time.monotonic() < deadline:
        time.sleep(1)
        now = busy_seconds(family(pid))
        if before >= 0 and now - before < 0.02:
            return
        before = now
