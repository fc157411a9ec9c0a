"""Search agents: an index asked beside the bare one, 64 agents at once, traces read and shown.

python -m tests.bench.agents [--passages 526319] [--queries 1500] [--traces 7000]. The goals: a
search at most 10 ms above the bare index, .80 of calls in flight / latency, 7,000 traces in a
minute, and a page of 100 rounds in 300 ms.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.loading import environment, prepare
from tests.bench.server import ROOT

LATENCY_MS, AT_ONCE = 200, 64


def main() -> None:
    """Print the lines that docs/measurements.md quotes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=526_319)
    parser.add_argument("--queries", type=int, default=1_500)
    parser.add_argument("--traces", type=int, default=7_000)
    wanted, _ = parser.parse_known_args()
    stub = [sys.executable, "manage.py", "practice_model", "--latency-ms", str(LATENCY_MS)]
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        data = Path(folder)
        url = f"sqlite:///{data / 'bench.sqlite3'}"
        prepare(data, url)
        settings = environment(data, url) | {"ASSAY_CALLS_IN_FLIGHT": str(AT_ONCE)}
        with subprocess.Popen(
            stub, cwd=ROOT, env=settings, stdout=subprocess.PIPE, text=True
        ) as practice:
            try:
                assert practice.stdout is not None
                sizes = map(str, (wanted.passages, wanted.queries, wanted.traces))
                address = practice.stdout.readline().strip()
                command = [sys.executable, "-m", "tests.bench.agents_once", *sizes]
                settings["ASSAY_PRACTICE_URL"] = address
                subprocess.run(command, cwd=ROOT, env=settings, check=True)
            finally:
                practice.terminate()


if __name__ == "__main__":
    main()
