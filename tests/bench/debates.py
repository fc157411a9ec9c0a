"""The screens of a debate run of full size: 120,000 pairs with their turns and calls.

python -m tests.bench.debates [--pairs 120000] [--rounds 20]; PostgreSQL too where
ASSAY_TEST_POSTGRES names a server. Ratios are to a bare Django page asked in the same turns.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.loading import environment, prepare
from tests.bench.server import ROOT

FULL = 120_000


def main() -> None:
    """Print the tables that docs/measurements.md quotes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=FULL)
    parser.add_argument("--rounds", type=int, default=20)
    wanted, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        data = Path(folder)
        on(f"sqlite:///{data / 'bench.sqlite3'}", data, wanted)
        if server := os.environ.get("ASSAY_TEST_POSTGRES"):
            on_postgres(server, data, wanted)


def on_postgres(server: str, data: Path, wanted: argparse.Namespace) -> None:
    """In a scratch database on that server."""
    import psycopg

    base, _, _ = server.rpartition("/")
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute("DROP DATABASE IF EXISTS assay_bench_debates")
        admin.execute("CREATE DATABASE assay_bench_debates")
        try:
            on(f"{base}/assay_bench_debates", data, wanted)
        finally:
            admin.execute("DROP DATABASE IF EXISTS assay_bench_debates WITH (FORCE)")


def on(url: str, data: Path, wanted: argparse.Namespace) -> None:
    """Fill that database, then ask."""
    prepare(data, url)
    for part in (["fill", str(wanted.pairs)], ["ask", str(wanted.rounds)]):
        command = [sys.executable, "-m", "tests.bench.debates_once", *part]
        subprocess.run(command, cwd=ROOT, env=environment(data, url), check=True)


if __name__ == "__main__":
    main()
