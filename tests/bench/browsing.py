"""Lists of a benchmark of full size, each with typical and worst parameters.

python -m tests.bench.browsing [--rows 526319] [--rounds 20]; PostgreSQL too where
ASSAY_TEST_POSTGRES names a server. 100,000 labels, 2,000 open cases, two runs of depth 1,000.
Somebody saves while SQLite fills its text index.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.browsing_files import make_files
from tests.bench.loading import environment, prepare
from tests.bench.loading_data import FULL
from tests.bench.loading_saves import Saving
from tests.bench.server import ROOT


def main() -> None:
    """Print the tables that docs/measurements.md quotes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=FULL)
    parser.add_argument("--rounds", type=int, default=20)
    wanted, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        files, data = Path(folder, "files"), Path(folder, "data")
        data.mkdir()
        make_files(files, wanted.rows)
        on_sqlite(files, data, wanted.rounds)
        if server := os.environ.get("ASSAY_TEST_POSTGRES"):
            on_postgres(server, files, data, wanted.rounds)


def on_sqlite(files: Path, data: Path, rounds: int) -> None:
    """In a file, with people saving while the text index is filled."""
    database = data / "bench.sqlite3"
    url = f"sqlite:///{database}"
    prepare(data, url)
    once(data, url, "fill", str(files))
    with Saving(database) as saving:
        once(data, url, "index")
    saving.report()
    once(data, url, "ask", str(rounds))


def on_postgres(server: str, files: Path, data: Path, rounds: int) -> None:
    """In a scratch database on that server."""
    import psycopg

    base, _, _ = server.rpartition("/")
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute("DROP DATABASE IF EXISTS assay_bench")
        admin.execute("CREATE DATABASE assay_bench")
        try:
            url = f"{base}/assay_bench"
            prepare(data, url)
            for part in (["fill", str(files)], ["index"], ["ask", str(rounds)]):
                once(data, url, *part)
        finally:
            admin.execute("DROP DATABASE IF EXISTS assay_bench")


def once(data: Path, url: str, *part: str) -> None:
    """One part in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.browsing_once", *part]
    subprocess.run(command, cwd=ROOT, env=environment(data, url), check=True)


if __name__ == "__main__":
    main()
