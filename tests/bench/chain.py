"""Cranfield through a whole chain with the practice model: 20 systems, 1,000 pairs and more.

python -m tests.bench.chain [--queries 225] [--systems 20] [--depth 2]. Reads the collection from
../shared/data. The goal is 20 minutes on two cores.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

from tests.bench.loading import environment, prepare
from tests.bench.server import ROOT

SOURCE = ROOT.parent / "shared" / "data" / "cranfield"


def main() -> None:
    """Print the table that docs/measurements.md quotes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=225)
    parser.add_argument("--systems", type=int, default=20)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--once", action="store_true")
    wanted, _ = parser.parse_known_args()
    if not SOURCE.is_dir():
        print(f"Cranfield is not at {SOURCE}")
        return
    sizes = [wanted.queries, wanted.systems, wanted.depth]
    if wanted.once:
        once(*sizes)
        return
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        data = Path(folder)
        url = f"sqlite:///{data / 'bench.sqlite3'}"
        prepare(data, url)
        command = [sys.executable, "-m", "tests.bench.chain", "--once"]
        for name, size in zip(("queries", "systems", "depth"), sizes, strict=True):
            command += [f"--{name}", str(size)]
        subprocess.run(command, cwd=ROOT, env=environment(data, url), check=True)


def once(queries: int, systems: int, depth: int) -> None:
    """Load, chain and vote in one process, on a scratch database."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    played = import_module("tests.evaluation.chain.cranfield")
    data = Path(os.environ["ASSAY_DATA"])
    began = time.perf_counter()
    benchmark = played.load(SOURCE, data, queries=queries)
    loaded = time.perf_counter()
    (data / "plan.toml").write_text(played.plan(systems=systems, depth=depth), encoding="utf-8")
    told = played.drive(benchmark, data / "plan.toml")
    ended = time.perf_counter()
    steps = list(benchmark.chains.get().steps.all())
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        if step.ended_at is None:
            break
        took = (step.ended_at - step.started_at).total_seconds()
        # Until the next begins it is hashed and measured.
        next_at = after.started_at if after else None
        measuring = (next_at - step.ended_at).total_seconds() if next_at else 0.0
        pairs = step.outcome.get("pairs", "")
        print(f"{step!s:16} {took:8.1f} s, measured {measuring:6.1f} s  {pairs}", flush=True)
    print(f"{told['name']} is {told['status']} {told['waits_for']}")
    print(
        f"loaded in {loaded - began:.1f} s, chained in {ended - loaded:.1f} s, of which "
        f"{time.process_time():.0f} s of this processor; load {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()
