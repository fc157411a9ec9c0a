"""Cleaning by rules at size, beside the bare function and driver: time and memory, by rows.

Then the plan of a run with agents, which asks no model yet: its own time and memory; and a run
that is cancelled when it has made everything: the request, and the worker that removes it.

Each measurement is a process and a database of its own; bare and ours in turn, and the median of
the ratios of processor times counts. The texts are crawled passages of ../shared/data, repeated
with variation, where they are there. ASSAY_BENCH_ROWS changes the size (526319 is the largest
corpus of the literature we know), ASSAY_BENCH_TURNS how often.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ROWS = int(os.environ.get("ASSAY_BENCH_ROWS", "20000"))
TURNS = int(os.environ.get("ASSAY_BENCH_TURNS", "3"))


def main() -> None:
    """Print one line a size; the second size shows that memory does not grow with it."""
    print(f"{'rows':>8} {'bare s':>8} {'ours s':>8} {'ratio':>6} {'MB peak':>8} {'MB more':>8}")
    for rows in (ROWS // 10, ROWS):
        pairs = [(once("bare", rows), once("ours", rows)) for _ in range(TURNS)]
        ratio = statistics.median(ours["cpu"] / bare["cpu"] for bare, ours in pairs)
        bare, ours = (statistics.median(p[i]["cpu"] for p in pairs) for i in (0, 1))
        peak = statistics.median(p[1]["peak"] for p in pairs)
        more = statistics.median(p[1]["peak"] - p[1]["before"] for p in pairs)
        print(f"{rows:8} {bare:8.1f} {ours:8.1f} {ratio:6.2f} {peak:8.0f} {more:8.0f}", flush=True)
    print("plan with agents")
    for rows in (ROWS // 10, ROWS):
        plan = once("plan", rows)
        more = plan["peak"] - plan["before"]
        print(
            f"{rows:8} {'':8} {plan['cpu']:8.1f} {'':6} {plan['peak']:8.0f} {more:8.0f}", flush=True
        )
    print("cancelled when everything was made: request ms, removal s, longest group ms")
    for rows in (ROWS // 10, ROWS):
        gone = once("cancel", rows)
        more = gone["peak"] - gone["before"]
        print(
            f"{rows:8} {1000 * gone['request']:8.1f} {gone['cpu']:8.1f} "
            f"{1000 * gone['longest']:6.0f} {gone['peak']:8.0f} {more:8.0f}",
            flush=True,
        )


def once(kind: str, rows: int) -> dict[str, Any]:
    """One measured run on a fresh database."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY")}
        environment |= {"ASSAY_DATA": folder}
        for name in ("SECRET_KEY", "DATABASE_URL", "DJANGO_SETTINGS_MODULE"):
            environment.pop(name, None)

        def run(*command: str) -> str:
            done = subprocess.run(
                [sys.executable, *command],
                cwd=ROOT,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        run("manage.py", "prepare")
        return json.loads(run("-m", "tests.bench.cleaning_once", kind, str(rows)))
