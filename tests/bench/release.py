"""A release beside pyarrow writing the same table: seconds and peak memory.

python -m tests.bench.release [--rows 526319]. The anchor holds ids and texts in memory and writes
them with the options of the release; a release also writes gold, evidence and a BEIR corpus.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.loading_data import FULL, columns_of, make_folder


def main() -> None:
    """Print the figures that docs/measurements.md quotes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=FULL)
    parser.add_argument("--once", choices=("ours", "theirs"))
    parser.add_argument("--source", type=Path)
    wanted, _ = parser.parse_known_args()
    if wanted.once:
        print(json.dumps((ours if wanted.once == "ours" else theirs)(wanted.source)))
        return
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        place = Path(folder)
        make_folder(place / "source", wanted.rows)
        data = {**os.environ, "ASSAY_DATA": str(place / "var")}
        (place / "var").mkdir()
        manage = [sys.executable, "manage.py"]
        prepare = [sys.executable, "-m", "config.safety", str(place / "var")]
        subprocess.run(prepare, env=data, check=True, capture_output=True)
        subprocess.run([*manage, "migrate", "--verbosity", "0"], env=data, check=True)
        load = ["load_benchmark", str(place / "source"), "--format", "bright_pro"]
        load += ["--benchmark", "bench"]
        subprocess.run([*manage, *load], env=data, check=True, capture_output=True)
        found = {name: _once(name, place / "source", data) for name in ("theirs", "ours")}
    one, other = found["ours"], found["theirs"]
    print(
        f"{wanted.rows:,} documents: {one['seconds']:.1f} s and {one['peak']:.0f} MB, "
        f"{one['seconds'] / other['seconds']:.2f} of pyarrow's {other['seconds']:.1f} s; "
        f"processor time {one['cpu'] / other['cpu']:.2f}"
    )


def _once(name: str, source: Path, env: dict[str, str]) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.release", "--once", name]
    done = subprocess.run(
        [*command, "--source", str(source)], env=env, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def ours(source: Path) -> dict[str, float]:
    """What `build_release` does."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from corpus.models import Benchmark
    from evaluation.services.releases import build, start_here

    with tempfile.TemporaryDirectory() as folder:
        benchmark = Benchmark.objects.get(slug="bench")
        place = Path(folder) / "release"
        release = start_here(benchmark=benchmark, version="0.1.0", folder=place)
        begun = time.perf_counter(), time.process_time()
        build(release, folder=place)
        return _measured(begun)


def theirs(source: Path) -> dict[str, float]:
    """The documents alone, from memory, domain by domain."""
    import pyarrow as pa

    from evaluation.exporters.bright_pro import DOCUMENTS
    from evaluation.exporters.parquet import open_writer

    held = columns_of(source)
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter(), time.process_time()
        for name, (ids, texts) in held.items():
            with open_writer(Path(folder) / f"{name}.parquet", DOCUMENTS) as writer:
                table = pa.table({"id": ids, "content": texts}, schema=DOCUMENTS)
                writer.write_table(table, row_group_size=10_000)
        return _measured(begun)


def _measured(begun: tuple[float, float]) -> dict[str, float]:
    wall, cpu = begun
    return {
        "seconds": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    main()
