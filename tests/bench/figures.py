"""What `/-/metrics` costs with a million rows, beside an empty installation.

python -m tests.bench.figures [--rows 1000000] [--only sqlite]; PostgreSQL too where
ASSAY_TEST_POSTGRES names a server. Two tables are filled, calls to models and fetches of pages: of
those that are counted no others grow so. The goal is 20 ms at a million.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.calls import on_postgres, on_sqlite
from tests.bench.loading import environment
from tests.bench.server import ROOT


def main() -> None:
    """Print the lines that docs/measurements.md quotes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", choices=("sqlite", "postgres"))
    wanted, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        data = Path(folder)
        databases = {"sqlite": on_sqlite(data)}
        if server := os.environ.get("ASSAY_TEST_POSTGRES"):
            databases["postgres"] = on_postgres(data, server)
        for name, fresh in databases.items():
            if wanted.only in (None, name):
                settings = environment(data, fresh()) | {"METRICS_KEY": "key-of-the-bench"}
                command = [sys.executable, "-m", "tests.bench.figures_once", name]
                command.append(str(wanted.rows))
                subprocess.run(command, cwd=ROOT, env=settings, check=True)


if __name__ == "__main__":
    main()
