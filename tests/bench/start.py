"""How long a start takes beside importing three libraries, what waiting costs, and how soon a job
begins.

The anchor, a first start with the demo and a later start take turns, so that a machine whose speed
drifts changes all three: read the ratios.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.processor import busy_seconds, family, wait_until_idle
from tests.bench.server import Assay, running_assay

ROUNDS = 5
ANCHOR = [sys.executable, "-c", "import django, numpy, pyarrow"]
IDLE_SECONDS = 60.0
JOBS = 10
# Asks for a release from a process of its own, as a command does, and tells the time of asking.
ASK = """
import time
from corpus.access import Access
from corpus.models import Benchmark, Membership
from evaluation.releases.services import start_release
from evaluation.models import Release
benchmark = Benchmark.objects.get()
member = Membership.objects.get(benchmark=benchmark, user__username="admin")
access = Access(member.user, benchmark, member)
waits = []
for number in range({jobs}):
    version = f"3.{{number}}.0"
    release = start_release(
        benchmark=access.benchmark, actor=access.user, version=version
    )
    while release.started_at is None:
        time.sleep(0.01)
        release.refresh_from_db()
    waits.append((release.started_at - release.created_at).total_seconds())
    while not release.is_over:
        time.sleep(0.05)
        release.refresh_from_db()
print(*waits)
"""


def main() -> None:
    """Print one line a figure."""
    print(f"sum of 20,000,000 squares: {yardstick():.2f} s")
    seconds: dict[str, list[float]] = {"anchor": [], "first start": [], "later start": []}
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
            begun = time.perf_counter()
            subprocess.run(ANCHOR, check=True)
            seconds["anchor"].append(time.perf_counter() - begun)
            for name in ("first start", "later start"):
                with running_assay(Path(folder)) as assay:
                    seconds[name].append(assay.seconds_to_first_page)
    anchor = statistics.median(seconds["anchor"])
    for name, values in seconds.items():
        median = statistics.median(values)
        print(f"{name:12} {median:6.2f} s {median / anchor:6.1f} times the anchor")
    with (
        tempfile.TemporaryDirectory(prefix="assay-bench-") as folder,
        running_assay(Path(folder)) as assay,
    ):
        wait_until_idle(assay.process.pid)
        jobs(assay)
        wait_until_idle(assay.process.pid)
        idle(assay)


def yardstick() -> float:
    """What this machine's figures are read by."""
    begun = time.perf_counter()
    sum(i * i for i in range(20_000_000))
    return time.perf_counter() - begun


def jobs(assay: Assay) -> None:
    """From asking for a job to its begin."""
    waits = sorted(
        map(float, assay.manage("shell", "-v", "0", "-c", ASK.format(jobs=JOBS)).split())
    )
    print(f"a job begins after {statistics.median(waits):.2f} s, at most {waits[-1]:.2f} s")


def idle(assay: Assay) -> None:
    """Of one processor, for everything together."""
    pids = family(assay.process.pid)
    before = busy_seconds(pids)
    time.sleep(IDLE_SECONDS)
    share = (busy_seconds(pids) - before) / IDLE_SECONDS
    print(f"{len(pids)} processes without work: {100 * share:.2f} % of a processor")
