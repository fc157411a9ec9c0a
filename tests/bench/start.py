"""How long a start takes beside importing three libraries, what a command of files takes beside
importing Django, what waiting costs, and how soon a job begins.

The anchor, a first start with the demo and a later start take turns, so that a machine whose speed
drifts changes all three: read the ratios.
"""

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.processor import busy_seconds, family, wait_until_idle
from tests.bench.server import ROOT, Assay, running_assay
from tests.evaluation.metrics.score_files import QRELS, RUN

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
    alone()
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


def alone() -> None:
    """Processor time of a command that reads files and no database, from its start to its end."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        run, qrels = Path(folder, "r.run"), Path(folder, "q.txt")
        run.write_text(RUN)
        qrels.write_text(QRELS)
        commands = {
            "django": [sys.executable, "-c", "import django"],
            "score_run": [sys.executable, "manage.py", "score_run", run, "--qrels", qrels],
        }
        spent: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, command in commands.items():
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
                spent[name].append(user + system)
    django, ours = (statistics.median(values) for values in spent.values())
    print(
        f"score_run of files: {ours:.2f} s of a processor, {ours / django:.1f} of Django's import"
    )


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
