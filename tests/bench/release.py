"""A release beside pyarrow writing the same table: seconds, processor time and peak memory.

python -m tests.bench.release [--rows 526319] [--rounds 3]; PostgreSQL too where
ASSAY_TEST_POSTGRES names a server. The anchor holds ids and texts in memory and writes the one
documents table with the options of the release. The release reads a database and writes the
documents twice (parquet, BEIR), everything else that a release holds, and checksums of it all.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.loading import environment, prepare
from tests.bench.loading_data import FULL, columns_of, make_folder
from tests.bench.processor import own_peak
from tests.bench.server import ROOT


def main() -> None:
    """Print the figures that docs/measurements.md quotes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=FULL)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--once", choices=("ours", "theirs"))
    parser.add_argument("--source", type=Path)
    wanted, _ = parser.parse_known_args()
    if wanted.once:
        print(json.dumps((ours if wanted.once == "ours" else theirs)(wanted.source)))
        return
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        place = Path(folder)
        make_folder(place / "source", wanted.rows)
        url = f"sqlite:///{place / 'bench.sqlite3'}"
        compare("SQLite", place, url, wanted.rounds, wanted.rows)
        if server := os.environ.get("ASSAY_TEST_POSTGRES"):
            on_postgres(server, place, wanted.rounds, wanted.rows)


def on_postgres(server: str, place: Path, rounds: int, rows: int) -> None:
    """In a scratch database on that server."""
    import psycopg

    base, _, _ = server.rpartition("/")
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute("DROP DATABASE IF EXISTS assay_bench_release")
        admin.execute("CREATE DATABASE assay_bench_release")
        try:
            url = f"{base}/assay_bench_release"
            compare("PostgreSQL", place, url, rounds, rows)
        finally:
            admin.execute("DROP DATABASE IF EXISTS assay_bench_release")


def compare(name: str, place: Path, url: str, rounds: int, rows: int) -> None:
    """Both in turn, each in a process of its own; ratios within each round."""
    data = place / name
    data.mkdir()
    prepare(data, url)
    load = ["load_benchmark", str(place / "source"), "--format", "bright_pro"]
    load += ["--benchmark", "bench"]
    _run(["manage.py", *load], environment(data, url))
    turns = []
    for _ in range(rounds):
        once = ["-m", "tests.bench.release", "--source", str(place / "source"), "--once"]
        found = {
            each: json.loads(_run([*once, each], environment(data, url)).splitlines()[-1])
            for each in ("theirs", "ours")
        }
        turns.append((found["ours"], found["theirs"]))
    kinds = {
        "seconds": "wall time",
        "cpu": "processor time of the process",
        # What a build on two processors would have to wait for at least.
        "longest": "processor time of the first thread, or of the others together",
    }
    for kind, words in kinds.items():
        ratios = sorted(one[kind] / other[kind] for one, other in turns)
        print(
            f"{name}, {rows:,} documents, {words}: {statistics.median(ratios):.2f} of pyarrow's "
            f"({ratios[0]:.2f} to {ratios[-1]:.2f}); at best "
            f"{min(one[kind] for one, _ in turns):.1f} s against "
            f"{min(other[kind] for _, other in turns):.1f} s"
        )
    print(f"{name}: peak memory {max(one['peak'] for one, _ in turns):.0f} MB")


def _run(command: list[str], env: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout


def ours(source: Path) -> dict[str, float]:
    """What `build_release` does."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from corpus.models import Benchmark, Judgment, Passage
    from evaluation.models import Release
    from evaluation.releases.building import build
    from evaluation.releases.services import start_here
    from kit.database.bulk import vacuum

    with tempfile.TemporaryDirectory() as folder:
        benchmark = Benchmark.objects.get(slug="bench")
        Release.objects.all().delete()
        vacuum(Passage, Judgment)  # as the indexing of a new version does
        place = Path(folder) / "release"
        release = start_here(benchmark=benchmark, version="0.1.0", folder=place)
        begun = _now()
        build(release, folder=place)
        return _measured(begun)


def theirs(source: Path) -> dict[str, float]:
    """The documents alone, from memory, domain by domain."""
    import pyarrow as pa

    from evaluation.exporters.bright_pro import DOCUMENTS
    from evaluation.exporters.files import open_writer

    held = columns_of(source)
    with tempfile.TemporaryDirectory() as folder:
        begun = _now()
        for name, (ids, texts) in held.items():
            with open_writer(Path(folder) / f"{name}.parquet", DOCUMENTS) as writer:
                columns = {"id": ids, "content": texts}
                empty = {each: [None] * len(ids) for each in DOCUMENTS.names if each not in columns}
                table = pa.table(columns | empty, schema=DOCUMENTS)
                writer.write_table(table, row_group_size=10_000)
        return _measured(begun)


def _now() -> tuple[float, float, float]:
    return time.perf_counter(), time.process_time(), time.thread_time()


def _measured(begun: tuple[float, float, float]) -> dict[str, float]:
    wall, cpu, own = (now - then for now, then in zip(_now(), begun, strict=True))
    return {
        "seconds": wall,
        "cpu": cpu,
        # This thread, or all the others together: those that sum up files, too.
        "longest": max(own, cpu - own),
        "peak": own_peak(),
    }


if __name__ == "__main__":
    main()
