"""Loading a full benchmark beside a raw bulk insert of the same rows, in turn in one run.

python -m tests.bench.loading [--rows 526319] [--rounds 3] [--format beir]; PostgreSQL too where
ASSAY_TEST_POSTGRES names a server. Read the ratios, not the seconds.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.bench.loading_data import FULL, WRITERS, make_files, make_folder
from tests.bench.loading_saves import Saving
from tests.bench.server import ROOT

Measured = dict[str, float]


@dataclass(frozen=True)
class Bench:
    """The same documents as the anchor reads them and as Assay does, and a scratch folder."""

    anchor: Path
    files: Path
    format: str
    data: Path
    rounds: int

    def turns(self, fresh: Callable[[], str]) -> list[dict[str, Measured]]:
        """Anchor and load, each into a fresh database, round by round."""
        kinds = ("raw", "ours")
        return [{kind: self.once(kind, fresh()) for kind in kinds} for _ in range(self.rounds)]

    def once(self, kind: str, url: str) -> Measured:
        """One load in a process of its own, its files read beforehand."""
        folder = self.anchor if kind == "raw" else self.files
        for path in (each for each in folder.rglob("*") if each.is_file()):
            with path.open("rb") as file:
                while file.read(1 << 20):
                    pass
        name = self.format.partition("-")[0]
        command = [sys.executable, "-m", "tests.bench.loading_once", kind, str(folder), name]
        environ = environment(self.data, url)
        done = subprocess.run(
            command, cwd=ROOT, env=environ, check=True, capture_output=True, text=True
        )
        measured: Measured = json.loads(done.stdout.splitlines()[-1])
        print(
            f"  {kind:5} {measured['wall']:7.2f} s, {measured['cpu']:6.2f} s of processor time",
            flush=True,
        )
        return measured


def main() -> None:
    """Print the tables that docs/measurements.md quotes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=FULL)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--format", default="bright_pro", choices=["bright_pro", *WRITERS])
    parser.add_argument("--only", choices=["sqlite", "postgres"])
    wanted, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        anchor, files, data = (Path(folder, name) for name in ("anchor", "files", "data"))
        data.mkdir()
        make_folder(anchor, wanted.rows)
        if wanted.format in WRITERS:
            make_files(files, wanted.format, anchor)
        else:
            files = anchor
        print(f"{wanted.format}:")
        bench = Bench(anchor, files, wanted.format, data, wanted.rounds)
        if wanted.only != "postgres":
            on_sqlite(bench)
        server = os.environ.get("ASSAY_TEST_POSTGRES")
        if server and wanted.only != "sqlite":
            on_postgres(bench, server)


def on_sqlite(bench: Bench) -> None:
    """Every round in a fresh copy of an empty, migrated file; at last one with people saving."""
    empty, database = bench.data / "empty.sqlite3", bench.data / "bench.sqlite3"
    prepare(bench.data, f"sqlite:///{empty}")

    def fresh() -> str:
        for ending in ("", "-wal", "-shm"):
            database.with_name(database.name + ending).unlink(missing_ok=True)
        shutil.copyfile(empty, database)
        return f"sqlite:///{database}"

    report("SQLite", bench.turns(fresh))
    url = fresh()
    with Saving(database) as saving:
        bench.once("ours", url)
    saving.report()


def on_postgres(bench: Bench, server: str) -> None:
    """Every round in a fresh copy of an empty, migrated database on that server."""
    import psycopg

    base, _, _ = server.rpartition("/")
    name = f"assay_bench_{os.getpid()}"
    empty = f"{name}_empty"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {empty}")
        prepare(bench.data, f"{base}/{empty}")

        def fresh() -> str:
            admin.execute(f"DROP DATABASE IF EXISTS {name}")
            admin.execute(f"CREATE DATABASE {name} TEMPLATE {empty}")
            admin.execute("CHECKPOINT")
            return f"{base}/{name}"

        try:
            turns = bench.turns(fresh)
        finally:
            for each in (name, empty):
                admin.execute(f"DROP DATABASE IF EXISTS {each}")
    report("PostgreSQL", turns)


def prepare(data: Path, url: str) -> None:
    """Migrate an empty database."""
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env=environment(data, url), check=True)


def environment(data: Path, url: str) -> dict[str, str]:
    """Settings of a scratch installation."""
    # Clients of a measurement ask as fast as they can.
    rates = dict.fromkeys(("ASSAY_RATE_PERSON", "ASSAY_RATE_TOKEN", "ASSAY_RATE_UPLOADS"), "")
    own = {"ASSAY_DATA": str(data), "DATABASE_URL": url, "SECRET_KEY": "bench-" * 9}
    return {**os.environ, **rates, **own}


def report(name: str, turns: list[dict[str, Measured]]) -> None:
    """Ratios within each round; their median and range."""
    assert all(turn["raw"]["rows"] == turn["ours"]["rows"] for turn in turns)
    ratios = sorted(turn["ours"]["wall"] / turn["raw"]["wall"] for turn in turns)
    busy = statistics.median(turn["ours"]["cpu"] / turn["raw"]["cpu"] for turn in turns)
    peak = max(turn["ours"]["peak"] for turn in turns)
    print(
        f"{name}: {turns[0]['ours']['rows']:,.0f} passages, load / raw insert "
        f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}), "
        f"processor time {busy:.2f}, peak memory {peak:,.0f} MB"
    )


if __name__ == "__main__":
    main()
