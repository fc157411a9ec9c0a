"""Building a pool of DREAM's size, and of a part of it: seconds, pairs a second, peak memory.

python -m tests.bench.pooling [--queries 3657] [--depth 10] [--only sqlite]; PostgreSQL too where
ASSAY_TEST_POSTGRES names a server. 25 systems rank 20 passages for every query, out of as many
candidates as make DREAM's 296,053 pairs at depth 10. Memory must not grow with the queries.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.bench.calls import on_postgres, on_sqlite
from tests.bench.loading import environment
from tests.bench.server import ROOT

QUERIES = 3657


def main() -> None:
    """Print the table that docs/measurements.md quotes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--depth", type=int, default=10)
    parser.add_argument("--only", choices=("sqlite", "postgres"))
    wanted, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        data = Path(folder)
        databases = {"sqlite": on_sqlite(data)}
        if server := os.environ.get("ASSAY_TEST_POSTGRES"):
            databases["postgres"] = on_postgres(data, server)
        for name, fresh in databases.items():
            if wanted.only not in (None, name):
                continue
            for queries in (wanted.queries // 4, wanted.queries):
                once(name, data, fresh, queries, wanted.depth)


def once(name: str, data: Path, fresh: Callable[[], str], queries: int, depth: int) -> None:
    """One build in a process of its own."""
    settings = environment(data, fresh())
    module = "tests.bench.pooling_once"
    make = [sys.executable, "-m", module, "data", str(queries)]
    subprocess.run(make, cwd=ROOT, env=settings, check=True)
    build = [sys.executable, "-m", module, "build", str(depth)]
    done = subprocess.run(
        build, cwd=ROOT, env=settings, check=True, stdout=subprocess.PIPE, text=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    print(
        f"{name}, {queries:,} queries: {found['pairs']:,} pairs in {found['wall']:.1f} s "
        f"({found['pairs'] / found['wall']:,.0f} a second), peak memory {found['peak']} MB "
        f"({found['before']} MB before)",
        flush=True,
    )


if __name__ == "__main__":
    main()
